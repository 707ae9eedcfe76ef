//! Tests of EXIF in each picture format that supports it.

use crate::{Limits, PhotoMetadata, read_photo_metadata};
use expect_test::{Expect, expect};

pub(super) fn entry(tag: u16, kind: u16, count: u32, value: u32) -> Vec<u8> {
    let mut out = tag.to_be_bytes().to_vec();
    out.extend(kind.to_be_bytes());
    out.extend(count.to_be_bytes());
    out.extend(value.to_be_bytes());
    out
}

/// Returns a TIFF directory with these entries. Its link to the next directory is 0, which means
/// none.
fn directory(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = (entries.len() as u16).to_be_bytes().to_vec();
    out.extend(entries.concat());
    out.extend([0; 4]);
    out
}

/// Returns a TIFF with the first directory at offset 8, EXIF at 100, GPS at 200, and values from
/// offset 300 on.
fn tiff() -> Vec<u8> {
    let mut out = b"MM\0\x2a\0\0\0\x08".to_vec();
    let first = [
        entry(0x0110, 2, 8, 300),
        entry(0x8769, 4, 1, 100),
        entry(0x8825, 4, 1, 200),
    ];
    let camera = [
        entry(0x829a, 5, 1, 388),
        entry(0x829d, 5, 1, 396),
        entry(0x8827, 3, 1, 400 << 16),
        entry(0x9003, 2, 20, 310),
        entry(0x9011, 2, 7, 330),
        entry(0x920a, 5, 1, 404),
        entry(0xa434, 2, 4, u32::from_be_bytes(*b"50m\0")),
    ];
    let place = [
        entry(1, 2, 2, u32::from_be_bytes(*b"S\0\0\0")),
        entry(2, 5, 3, 340),
        entry(3, 2, 2, u32::from_be_bytes(*b"E\0\0\0")),
        entry(4, 5, 3, 364),
    ];
    for (at, part) in [
        (8, first.to_vec()),
        (100, camera.to_vec()),
        (200, place.to_vec()),
    ] {
        out.resize(at, 0);
        out.extend(directory(&part));
    }
    out.resize(300, 0);
    out.extend(b"Camera1\0\0\0");
    out.extend(b"2003:05:12 14:30:01\0+02:00\0\0\0\0");
    for number in [33u32, 1, 51, 1, 3540, 100, 151, 1, 12, 1, 0, 1] {
        out.extend(number.to_be_bytes());
    }
    for number in [1u32, 250, 28, 10, 505, 10] {
        out.extend(number.to_be_bytes());
    }
    out
}

fn jpeg(exif: &[u8]) -> Vec<u8> {
    let mut out = vec![0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xe1];
    out.extend((exif.len() as u16 + 8).to_be_bytes());
    out.extend(b"Exif\0\0");
    out.extend(exif);
    out.extend([0xff, 0xda]);
    out
}

fn png(exif: &[u8]) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n\0\0\0\x01IHDRx0000".to_vec();
    out.extend((exif.len() as u32).to_be_bytes());
    out.extend(b"eXIf");
    out.extend(exif);
    out.extend([0; 4]);
    out
}

fn webp(exif: &[u8]) -> Vec<u8> {
    let mut out = b"RIFF\0\0\0\0WEBPVP8X\x03\0\0\0xyz\0EXIF".to_vec();
    out.extend((exif.len() as u32).to_le_bytes());
    out.extend(exif);
    out
}

pub(super) fn atom(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 8).to_be_bytes(), &kind[..], body].concat()
}

fn heic(exif: &[u8]) -> Vec<u8> {
    let name = atom(b"infe", b"\x02\0\0\0\0\x07\0\0Exif\0");
    let names = atom(b"iinf", &[&b"\0\0\0\0\0\x01"[..], &name].concat());
    let block = [&[0, 0, 0, 0][..], exif].concat();
    let places = |offset: u32| {
        let mut body = b"\0\0\0\0\x44\0\0\x01\0\x07\0\0\0\x01".to_vec();
        body.extend(offset.to_be_bytes());
        body.extend((block.len() as u32).to_be_bytes());
        atom(b"iloc", &body)
    };
    let head = atom(b"ftyp", b"heic\0\0\0\0mif1");
    let meta = |offset| {
        let body = [&[0; 4][..], &names, &places(offset)].concat();
        atom(b"meta", &body)
    };
    let offset = (head.len() + meta(0).len() + 8) as u32;
    [head, meta(offset), atom(b"mdat", &block)].concat()
}

fn read(bytes: &[u8]) -> Result<PhotoMetadata, crate::Error> {
    read_photo_metadata(bytes, bytes.len() as u64, &Limits::default())
}

fn check(bytes: &[u8], expected: &Expect) {
    match read(bytes) {
        Ok(metadata) => expected.assert_eq(&format!("{metadata:?}")),
        Err(err) => expected.assert_eq(&err.to_string()),
    }
}

#[test]
fn every_container_is_read() {
    let expected = expect![[
        r#"PhotoMetadata { taken_local_s: Some(1052749801), offset_min: Some(120), make: None, model: Some("Camera1"), lens: Some("50m"), exposure: Exposure { time_ns: Some(4000000), f_number_e2: Some(280), iso: Some(400), focal_mm_e2: Some(5050) }, position: Some(Position { latitude_e7: -338598333, longitude_e7: 1512000000, altitude_m: None }), places: [] }"#
    ]];
    let exif = tiff();
    let mut avif = heic(&exif);
    avif[8..12].copy_from_slice(b"avif");
    let files = [jpeg(&exif), png(&exif), webp(&exif), heic(&exif), avif];
    for bytes in files.into_iter().chain([exif]) {
        check(&bytes, &expected);
    }
}

#[test]
fn offsets_that_no_clock_has_are_none() {
    let exif = tiff();
    let at = exif.windows(6).position(|text| text == b"+02:00");
    let at = at.expect("it is in there");
    let result = |offset: &[u8; 6]| {
        let mut exif = exif.clone();
        exif[at..at + 6].copy_from_slice(offset);
        read(&jpeg(&exif)).expect("a sound picture").offset_min
    };
    assert_eq!(result(b"-09:30"), Some(-570));
    for none in [b"+999:0", b"-20:00", b"+02:60", b"+-2:00", b" 02:00"] {
        assert_eq!(result(none), None);
    }
}

#[test]
fn exposures_that_no_camera_has_are_none() {
    let with = |at: usize, value: [u32; 2]| {
        let mut exif = tiff();
        let value = value.map(u32::to_be_bytes).concat();
        exif[at..at + 8].copy_from_slice(&value);
        read(&jpeg(&exif)).expect("a sound picture").exposure
    };
    assert_eq!(with(388, [30, 1]).time_ns, Some(30_000_000_000));
    for value in [[0, 1], [1, 0], [u32::MAX, 1]] {
        assert_eq!(with(388, value).time_ns, None, "{value:?}");
    }
    assert_eq!(with(396, [14, 10]).f_number_e2, Some(140));
    for value in [[0, 0], [1, 0], [1, 1000], [u32::MAX, 1]] {
        assert_eq!(with(396, value).f_number_e2, None, "{value:?}");
    }
}

#[test]
fn a_broken_block_says_nothing_and_a_broken_picture_says_so() {
    let exif = tiff();
    let nothing = PhotoMetadata::default();
    assert_eq!(read(&jpeg(&exif[..7])).expect("a sound picture"), nothing);
    assert_eq!(
        read(&png(b"II\x2a\0\xff\xff\xff\xff")).expect("a sound picture"),
        nothing
    );
    check(
        &jpeg(&exif)[..40],
        &expect![
            "PhotoMetadata { taken_local_s: None, offset_min: None, make: None, model: None, lens: None, exposure: Exposure { time_ns: None, f_number_e2: None, iso: None, focal_mm_e2: None }, position: None, places: [] }"
        ],
    );
    for cut in 0..jpeg(&exif).len() {
        let whole = jpeg(&exif);
        let result = read(&whole[..cut]);
        assert!(
            result.is_err()
                || result.is_ok_and(|metadata| metadata == nothing || metadata.model.is_some())
        );
    }
}
