//! Files that are empty, truncated or inconsistent, each with the error that a reader must report.

use crate::manifest::Expected;
use crate::plan::{Kind, Song, albums};
use crate::random::Random;
use crate::{Order, write};

/// Number of empty, truncated or inconsistent files per hundred tracks.
const ODD_PCT: u32 = 2;

/// One way to spoil an audio file.
struct Trick {
    name: &'static str,
    verdict: &'static str,
    /// Kind of the audio file to spoil, or `None` if the spoilt file does not depend on the kind.
    kind: Option<Kind>,
    spoil: fn(&[u8]) -> Vec<u8>,
}

const TRICKS: &[Trick] = &[
    Trick {
        name: "empty",
        verdict: "Truncated",
        kind: None,
        spoil: |_| Vec::new(),
    },
    Trick {
        name: "text",
        verdict: "Unknown",
        kind: None,
        spoil: |_| b"Buy milk.\n".to_vec(),
    },
    Trick {
        name: "zeros",
        verdict: "Unknown",
        kind: None,
        spoil: |file| vec![0; file.len().min(100_000)],
    },
    Trick {
        name: "cut in its head",
        verdict: "Truncated",
        kind: Some(Kind::Flac),
        spoil: |file| file[..30].to_vec(),
    },
    Trick {
        name: "lying block",
        verdict: "Truncated",
        kind: Some(Kind::Flac),
        // Bytes 43..46 are the length of the second metadata block.
        spoil: |file| [&file[..43], &[0xff; 3], &file[46..]].concat(),
    },
    Trick {
        name: "lying tag",
        verdict: "Malformed",
        kind: Some(Kind::Mp3),
        spoil: |file| [&file[..6], &[0x7f; 4], &file[10..]].concat(),
    },
    Trick {
        name: "tag alone",
        verdict: "Malformed",
        kind: Some(Kind::Mp3),
        spoil: |_| b"ID3\x04\0\0\0\0\0\0".to_vec(),
    },
    Trick {
        name: "cut in a box",
        verdict: "Truncated",
        kind: Some(Kind::Aac),
        spoil: |file| file[..100].to_vec(),
    },
    Trick {
        name: "box alone",
        verdict: "Malformed",
        kind: Some(Kind::Aac),
        spoil: |file| file[..28].to_vec(),
    },
    Trick {
        name: "cut in a page",
        verdict: "Truncated",
        kind: Some(Kind::Opus),
        spoil: |file| file[..40].to_vec(),
    },
    Trick {
        name: "head alone",
        verdict: "Truncated",
        kind: Some(Kind::Wav),
        spoil: |file| file[..36].to_vec(),
    },
];

/// Returns the name, content and expected error of each empty, truncated or inconsistent file.
pub(super) fn files<'a>(
    order: &'a Order<'_>,
) -> impl Iterator<Item = (Vec<u8>, Vec<u8>, Expected)> + 'a {
    let count = (order.tracks * ODD_PCT).div_ceil(100) as usize;
    // The files to spoil are written from the songs of a second library, which is not generated
    // itself.
    let mut sound: Vec<Song> = albums(order.seed ^ 1, 4)
        .flat_map(|album| album.songs)
        .collect();
    let mut random = Random::apart(order.seed, 3);
    (0..count).map(move |number| {
        let trick = &TRICKS[number % TRICKS.len()];
        let song = random.below(sound.len());
        let song = &mut sound[song];
        song.kind = trick.kind.unwrap_or(Kind::Mp3);
        song.embeds = false;
        let cover = order.art.cover(&mut random, false);
        let file = write::song(song, &cover, order.payloads);
        let name = format!("Odd/{number:05} {}.{}", trick.name, song.kind.extension());
        let expected = Expected::Verdict(trick.verdict.to_owned());
        (name.into_bytes(), (trick.spoil)(&file.bytes), expected)
    })
}
