//! Tests with files that are truncated, modified or random.

use audio_plan::Codec;
use proptest::prelude::*;

use super::{plan, transcoded};
use crate::ErrorKind;

const FILES: [(Codec, &[u8]); 7] = [
    (
        Codec::Flac,
        include_bytes!("../../../tags/testdata/sine.flac"),
    ),
    (
        Codec::Mpeg,
        include_bytes!("../../../tags/testdata/sine.mp3"),
    ),
    (
        Codec::Vorbis,
        include_bytes!("../../../tags/testdata/sine.ogg"),
    ),
    (
        Codec::Opus,
        include_bytes!("../../../tags/testdata/sine.opus"),
    ),
    (
        Codec::Wav,
        include_bytes!("../../../tags/testdata/sine.wav"),
    ),
    (
        Codec::Aiff,
        include_bytes!("../../../tags/testdata/sine.aiff"),
    ),
    (
        Codec::Alac,
        include_bytes!("../../../tags/testdata/sine-alac.m4a"),
    ),
];

#[test]
fn small_files_of_every_format_are_transcoded() {
    for (codec, file) in FILES {
        let transcoded =
            transcoded(&plan(codec, 1, 1), file).unwrap_or_else(|err| panic!("{codec:?}: {err}"));
        assert!(
            (23_000..27_000).contains(&transcoded.frames),
            "{codec:?}: {}",
            transcoded.frames
        );
    }
}

#[test]
fn nothing_noise_and_another_format_are_the_files_fault() {
    let noise: Vec<u8> = (0_u32..20_000)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for (codec, _) in FILES {
        for file in [
            &b""[..],
            b"x",
            &[0; 5_000],
            &noise,
            b"OggS",
            b"RIFF\0\0\0\0WAVE",
        ] {
            let transcoded = transcoded(&plan(codec, 2, 1), file);
            let kind = transcoded
                .map(|transcoded| transcoded.frames)
                .map_err(|err| err.kind);
            assert_eq!(
                kind,
                Err(ErrorKind::Undecodable),
                "{codec:?}: {} bytes",
                file.len()
            );
        }
    }
}

#[test]
fn a_truncated_track_is_transcoded_up_to_the_truncation() {
    for (codec, file) in FILES {
        let whole = transcoded(&plan(codec, 1, 1), file).expect("sound").frames;
        let cut = transcoded(&plan(codec, 1, 1), &file[..file.len() * 3 / 4]);
        match cut {
            Ok(cut) => assert!(cut.frames < whole, "{codec:?}"),
            // No frame could be decoded: the file has only one block, or its tables were in the end
            // that is cut off.
            Err(err) => assert_eq!(err.kind, ErrorKind::Undecodable, "{codec:?}: {err}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_change_of_a_file_reaches_a_panic(
        which in 0..FILES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let (codec, file) = FILES[which];
        let mut file = file.to_vec();
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        if cut {
            file.truncate(end.index(file.len()));
        }
        // `transcoded` verifies the output, if any, as the server does.
        drop(transcoded(&plan(codec, 1, 1), &file));
    }
}
