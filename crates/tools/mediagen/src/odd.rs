//! Files that are empty, truncated or inconsistent, each with the error that a tag reader must
//! report.

use crate::manifest::Expected;
use crate::plan::{Kind, Song, albums};
use crate::random::Random;
use crate::{LibraryParameters, write};

/// Number of empty, truncated or inconsistent files per hundred tracks.
const BROKEN_PCT: u32 = 2;

/// Way to corrupt an audio file.
struct Corruption {
    name: &'static str,
    verdict: &'static str,
    /// Kind of the audio file to corrupt, or `None` if the corrupted file does not depend on the
    /// kind.
    kind: Option<Kind>,
    corrupt: fn(&[u8]) -> Vec<u8>,
}

const CORRUPTIONS: &[Corruption] = &[
    Corruption {
        name: "empty",
        verdict: "Truncated",
        kind: None,
        corrupt: |_| Vec::new(),
    },
    Corruption {
        name: "text",
        verdict: "Unknown",
        kind: None,
        corrupt: |_| b"Buy milk.\n".to_vec(),
    },
    Corruption {
        name: "zeros",
        verdict: "Unknown",
        kind: None,
        corrupt: |file| vec![0; file.len().min(100_000)],
    },
    Corruption {
        name: "truncated within the header",
        verdict: "Truncated",
        kind: Some(Kind::Flac),
        corrupt: |file| file[..30].to_vec(),
    },
    Corruption {
        name: "lying block",
        verdict: "Truncated",
        kind: Some(Kind::Flac),
        // Bytes 43..46 are the length of the second metadata block.
        corrupt: |file| [&file[..43], &[0xff; 3], &file[46..]].concat(),
    },
    Corruption {
        name: "lying tag",
        verdict: "Malformed",
        kind: Some(Kind::Mp3),
        corrupt: |file| [&file[..6], &[0x7f; 4], &file[10..]].concat(),
    },
    Corruption {
        name: "tag alone",
        verdict: "Malformed",
        kind: Some(Kind::Mp3),
        corrupt: |_| b"ID3\x04\0\0\0\0\0\0".to_vec(),
    },
    Corruption {
        name: "truncated inside a box",
        verdict: "Truncated",
        kind: Some(Kind::Aac),
        corrupt: |file| file[..100].to_vec(),
    },
    Corruption {
        name: "box alone",
        verdict: "Malformed",
        kind: Some(Kind::Aac),
        corrupt: |file| file[..28].to_vec(),
    },
    Corruption {
        name: "truncated in a page",
        verdict: "Truncated",
        kind: Some(Kind::Opus),
        corrupt: |file| file[..40].to_vec(),
    },
    Corruption {
        name: "head alone",
        verdict: "Truncated",
        kind: Some(Kind::Wav),
        corrupt: |file| file[..36].to_vec(),
    },
];

/// Returns the name, content and expected error of each empty, truncated or inconsistent file.
pub(super) fn files<'a>(
    parameters: &'a LibraryParameters<'_>,
) -> impl Iterator<Item = (Vec<u8>, Vec<u8>, Expected)> + 'a {
    let count = (parameters.tracks * BROKEN_PCT).div_ceil(100) as usize;
    // The corrupted files are made from songs of a second, small library. Its intact files are not
    // written.
    let mut intact: Vec<Song> = albums(parameters.seed ^ 1, 4)
        .flat_map(|album| album.songs)
        .collect();
    let mut random = Random::apart(parameters.seed, 3);
    (0..count).map(move |number| {
        let corruption = &CORRUPTIONS[number % CORRUPTIONS.len()];
        let song = random.below(intact.len());
        let song = &mut intact[song];
        song.kind = corruption.kind.unwrap_or(Kind::Mp3);
        song.embeds = false;
        let cover = parameters.art.cover(&mut random, false);
        let file = write::song(song, &cover, parameters.payloads);
        let name = format!(
            "Odd/{number:05} {}.{}",
            corruption.name,
            song.kind.extension()
        );
        let expected = Expected::Verdict(corruption.verdict.to_owned());
        (
            name.into_bytes(),
            (corruption.corrupt)(&file.bytes),
            expected,
        )
    })
}
