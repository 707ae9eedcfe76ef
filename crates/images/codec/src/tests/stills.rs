//! Tests of the formats that are only read, with generated files: limits, and damage of any kind.

use image_plan::{Format, Size, probe};
use proptest::prelude::*;
use proptest::{collection, sample};
use testkit::stills::{HEIGHT, WIDTH, all};

use super::pictures::assert_damage_is_harmless;
use crate::{DecodeOptions, ErrorKind, Limits, decode};

const SIZE: Size = Size::new(WIDTH, HEIGHT);

fn format(file: &[u8]) -> Format {
    let facts = probe(file, file.len() as u64).expect("a sound header");
    assert_eq!(facts.stored, SIZE);
    facts.format
}

#[test]
fn every_file_is_decoded_and_its_damages_are_harmless() {
    for (name, file) in all() {
        let format = format(&file);
        let decoded = decode(format, &file, &DecodeOptions::whole(SIZE));
        let decoded = decoded.unwrap_or_else(|err| panic!("{name}: {err}"));
        assert_eq!(
            (decoded.raster.size(), decoded.damaged),
            (SIZE, false),
            "{name}"
        );
        assert_damage_is_harmless(format, &file, SIZE);
    }
}

#[test]
fn pictures_beyond_the_limits_are_refused() {
    let tight = [
        Limits {
            pixels_max: WIDTH * HEIGHT - 1,
            ..Limits::DEFAULT
        },
        Limits {
            side_px_max: WIDTH - 1,
            ..Limits::DEFAULT
        },
    ];
    for (name, file) in all() {
        for limits in tight {
            let options = DecodeOptions {
                limits,
                ..DecodeOptions::whole(SIZE)
            };
            let refusal = decode(format(&file), &file, &options).expect_err(name);
            assert_eq!(refusal.kind, ErrorKind::TooLarge, "{name}: {refusal}");
        }
        let options = DecodeOptions::whole(Size::new(WIDTH, HEIGHT + 1));
        let refusal = decode(format(&file), &file, &options).expect_err(name);
        assert_eq!(refusal.kind, ErrorKind::Undecodable, "{name}: {refusal}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// The caller of a decoder passes the size that the probe of the same bytes returned. Sizes of
    /// more than a million pixels are left out, since they only take time.
    #[test]
    fn damaged_files_do_not_panic(
        file in any::<sample::Index>(),
        damage in collection::vec((any::<sample::Index>(), any::<u8>()), 1..8),
        keep in prop_oneof![4 => Just(None), 1 => any::<sample::Index>().prop_map(Some)],
    ) {
        let (_, mut bytes) = file.get(&all()).clone();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(keep) = keep {
            bytes.truncate(keep.index(bytes.len()));
        }
        let Ok(facts) = probe(&bytes[..], bytes.len() as u64) else {
            return Ok(());
        };
        if facts.stored.pixels() <= 1 << 20 {
            match decode(facts.format, &bytes, &DecodeOptions::whole(facts.stored)) {
                Ok(decoded) => prop_assert_eq!(decoded.raster.size(), facts.stored),
                Err(err) => prop_assert_ne!(err.kind, ErrorKind::Failed, "{}", err),
            }
        }
    }
}
