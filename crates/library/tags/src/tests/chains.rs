//! Tests of Ogg files with more than one stream.

use super::{read, read_counted, sine, summary};
use expect_test::expect;

/// Splits a file into its pages.
fn pages(mut file: &[u8]) -> Vec<Vec<u8>> {
    let mut pages = Vec::new();
    while !file.is_empty() {
        let segments = usize::from(file[26]);
        let lengths = &file[27..27 + segments];
        let body: usize = lengths.iter().map(|length| usize::from(*length)).sum();
        let (page, rest) = file.split_at(27 + segments + body);
        pages.push(page.to_vec());
        file = rest;
    }
    pages
}

/// Returns the pages of the test file `name`, with the serial number `serial`. The stream lasts
/// half a second.
fn stream(name: &str, serial: u32) -> Vec<Vec<u8>> {
    let mut pages = pages(sine(name));
    for page in &mut pages {
        page[14..18].copy_from_slice(&serial.to_le_bytes());
    }
    pages
}

/// Returns a stream of `seconds` seconds. Each second is one page, which contains 4,335 bytes of
/// noise.
fn long(serial: u32, seconds: u64) -> Vec<u8> {
    let mut pages = stream("ogg", serial);
    let head = pages.pop().expect("there are three");
    for second in 1..=seconds {
        let mut page = head[..26].to_vec();
        page[6..14].copy_from_slice(&(44_100 * second).to_le_bytes());
        page.push(17);
        page.extend([255; 17]);
        page.extend((0..255 * 17).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 13) as u8));
        pages.push(page);
    }
    pages.concat()
}

#[test]
fn a_chain_plays_as_long_as_its_links_together() {
    let link = |name, serial| stream(name, serial).concat();
    expect!["Vorbis 1000 ms 44100 Hz 1 ch 0 bit 65 kbit/s [] 0 pictures []"]
        .assert_eq(&summary(&[link("ogg", 7), link("ogg", 8)].concat()));
    // The links have different codecs and sample rates; the Speex link lasts 495 ms.
    expect!["Opus 1495 ms 48000 Hz 1 ch 0 bit 37 kbit/s [] 0 pictures []"].assert_eq(&summary(
        &[link("opus", 7), link("ogg", 8), link("spx", 9)].concat(),
    ));
}

#[test]
fn the_links_of_a_large_chain_are_found_by_a_few_reads() {
    let seconds = [900, 3, 700, 1, 2_000];
    let links: Vec<Vec<u8>> = (0..)
        .zip(seconds)
        .map(|(serial, it)| long(serial, it))
        .collect();
    let (media, spent) = read_counted(&links.concat());
    assert_eq!(
        (media.audio.duration_ms, media.audio.exact),
        (3_604_000, true)
    );
    assert!(spent.reads <= 150 && spent.bytes <= 2 << 20, "{spent:?}");
    // A file with one stream needs no search for links, so a few reads suffice.
    let (media, spent) = read_counted(&links[4]);
    assert_eq!(
        (media.audio.duration_ms, media.audio.exact),
        (2_000_000, true)
    );
    assert!(spent.reads <= 3 && spent.bytes <= 24 << 10, "{spent:?}");
}

#[test]
fn more_links_than_are_counted_are_taken_to_be_like_them() {
    let links: Vec<Vec<u8>> = (0..40).map(|serial| long(serial, 2)).collect();
    let audio = read(&links.concat()).expect("a sound file").audio;
    assert_eq!((audio.duration_ms, audio.exact), (80_000, false));
}

#[test]
fn streams_beside_each_other_are_no_chain() {
    let (one, two) = (stream("ogg", 7), stream("opus", 8));
    let file = [&one[0], &two[0], &one[1], &two[1], &one[2], &two[2]];
    expect!["Vorbis 500 ms 44100 Hz 1 ch 0 bit 92 kbit/s [] 0 pictures []"]
        .assert_eq(&summary(&file.map(Vec::as_slice).concat()));
    // A page is ignored if the first page of its stream is missing.
    let file = [&one[0], &one[1], &one[2], &two[2]];
    expect!["Vorbis 500 ms 44100 Hz 1 ch 0 bit 79 kbit/s [] 0 pictures []"]
        .assert_eq(&summary(&file.map(Vec::as_slice).concat()));
}
