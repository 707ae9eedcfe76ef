use super::*;
use crate::tests::pictures::assert_damage_is_harmless;
use crate::{Limits, decode as decode_any};
use image_plan::{Colour, Facts, Format, Layout, Packed, Raster, probe};
use proptest::prelude::*;
use proptest::{collection, sample};

const LOSSY: &[u8] = include_bytes!("../../testdata/lossy.jxl");
const ALPHA: &[u8] = include_bytes!("../../testdata/alpha.jxl");
const GREY_16: &[u8] = include_bytes!("../../testdata/grey16.jxl");
const TURNED: &[u8] = include_bytes!("../../testdata/turned.jxl");
const WIDE: &[u8] = include_bytes!("../../testdata/wide.jxl");

const ALL: [&[u8]; 5] = [LOSSY, ALPHA, GREY_16, TURNED, WIDE];

fn facts(file: &[u8]) -> Facts {
    probe(file, file.len() as u64).expect("a JPEG XL")
}

#[track_caller]
fn decoded(file: &[u8]) -> Decoded {
    let facts = facts(file);
    assert_eq!(facts.format, Format::Jxl);
    let decoded = decode_any(Format::Jxl, file, &DecodeOptions::whole(facts.stored));
    let decoded = decoded.expect("a sound file");
    assert!(!decoded.damaged);
    assert_eq!(decoded.raster.size(), facts.stored);
    decoded
}

fn packed(decoded: Decoded) -> Packed {
    match decoded.raster {
        Raster::Packed(packed) => packed,
        Raster::Yuv(_) => panic!("colours are packed"),
    }
}

/// Returns the pixel at column `x` of row `y`.
fn pixel(picture: &Packed, x: u32, y: u32) -> &[u8] {
    let channels = picture.layout.channels();
    let at = (y * picture.size.width_px + x) as usize * channels;
    &picture.data[at..at + channels]
}

/// Asserts that two pixels differ by at most 16 levels, as after lossy encoding.
#[track_caller]
fn assert_near(a: &[u8], b: &[u8]) {
    let is_near = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= 16);
    assert!(is_near, "{a:?} and {b:?}");
}

#[test]
fn headers_state_the_properties() {
    let of = |file| {
        let facts = facts(file);
        let size = (facts.stored.width_px, facts.stored.height_px);
        (
            size,
            facts.colour,
            facts.bit_depth,
            facts.alpha,
            facts.lossless,
        )
    };
    assert_eq!(of(LOSSY), ((48, 32), Colour::Rgb, 8, false, false));
    assert_eq!(of(ALPHA), ((48, 32), Colour::Rgb, 8, true, true));
    assert_eq!(of(GREY_16), ((48, 32), Colour::Grey, 16, false, true));
    assert_eq!(of(TURNED), ((32, 48), Colour::Rgb, 8, false, true));
    assert_eq!(of(WIDE), ((48, 32), Colour::Rgb, 8, false, true));
    for file in ALL {
        let facts = facts(file);
        assert_eq!((facts.animated, facts.unsupported), (false, None));
    }
}

#[test]
fn colours_become_rgb() {
    let picture = packed(decoded(LOSSY));
    assert_eq!(picture.layout, Layout::Rgb);
    assert_near(pixel(&picture, 5, 0), &[255, 0, 0]);
    assert_near(pixel(&picture, 40, 31), &[0, 0, 255]);
    assert_near(pixel(&picture, 20, 16), &[123, 0, 132]);
}

#[test]
fn alpha_is_kept() {
    let picture = packed(decoded(ALPHA));
    assert_eq!(picture.layout, Layout::Rgba);
    assert_eq!(pixel(&picture, 0, 0)[3], 0);
    assert_eq!(pixel(&picture, 24, 16), [255, 255, 255, 248]);
}

#[test]
fn grey_of_16_bits_becomes_a_plane() {
    let Raster::Yuv(yuv) = decoded(GREY_16).raster else {
        panic!("grey has a plane");
    };
    assert!(yuv.chroma.is_none() && yuv.alpha.is_none());
    let column: Vec<u8> = [0, 8, 16, 31].map(|y| yuv.luma.row(y)[7]).to_vec();
    assert_eq!(column, [0, 66, 132, 255]);
}

#[test]
fn the_orientation_is_applied() {
    let picture = packed(decoded(TURNED));
    // The upper edge of the stored picture is red, and becomes the right edge.
    assert_near(pixel(&picture, 31, 20), &[254, 0, 0]);
    assert_near(pixel(&picture, 0, 20), &[0, 0, 254]);
}

#[test]
fn the_profile_is_returned() {
    let decoded = decoded(WIDE);
    let profile = decoded.profile.clone().expect("a profile");
    assert_eq!((profile.len(), &profile[36..40]), (940, &b"acsp"[..]));
    // The samples are those of the file: they were not converted to sRGB.
    assert_eq!(pixel(&packed(decoded), 5, 0), [255, 0, 0]);
}

#[test]
fn files_beyond_the_limits_are_refused() {
    let size = Size::new(48, 32);
    let refusal = |limits: Limits, stored: Size| {
        let options = DecodeOptions {
            limits,
            ..DecodeOptions::whole(stored)
        };
        decode(LOSSY, &options).expect_err("beyond the limits").kind
    };
    let tight = |change: fn(&mut Limits)| {
        let mut limits = Limits::DEFAULT;
        change(&mut limits);
        refusal(limits, size)
    };
    assert_eq!(
        tight(|limits| limits.pixels_max = 1535),
        ErrorKind::TooLarge
    );
    assert_eq!(tight(|limits| limits.side_px_max = 47), ErrorKind::TooLarge);
    assert_eq!(
        tight(|limits| limits.profile_bytes_max = 99),
        ErrorKind::TooLarge
    );
    assert_eq!(
        tight(|limits| limits.scratch_bytes_max = 5_000),
        ErrorKind::TooLarge
    );
    let other = refusal(Limits::DEFAULT, Size::new(48, 33));
    assert_eq!(other, ErrorKind::Undecodable);
}

#[test]
fn a_huge_size_in_a_small_file_is_not_decoded() {
    // A codestream that states 2^30 x 2^30 pixels, and nothing after its header.
    let mut file = vec![0xff, 0x0a];
    let mut bits = 0_u128;
    let mut at = 0;
    let mut put = |value: u128, count: u32| {
        bits |= value << at;
        at += count;
    };
    put(0, 1);
    put(3, 2);
    put((1 << 30) - 1, 30);
    put(1, 3);
    put(1, 1);
    file.extend(bits.to_le_bytes());
    let facts = facts(&file);
    assert_eq!(facts.stored, Size::new(1 << 30, 1 << 30));
    let refusal = decode(&file, &DecodeOptions::whole(facts.stored)).expect_err("too large");
    assert!(matches!(
        refusal.kind,
        ErrorKind::TooLarge | ErrorKind::Undecodable
    ));
}

#[test]
fn damages_are_harmless() {
    // The other files have thousands of bits, so flipping each of their bits would take too long.
    for file in [LOSSY, GREY_16] {
        assert_damage_is_harmless(Format::Jxl, file, facts(file).stored);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_files_do_not_panic(
        file in sample::select(ALL.to_vec()),
        damage in collection::vec((any::<sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = file.to_vec();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let Ok(facts) = probe(&bytes[..], bytes.len() as u64) else {
            return Ok(());
        };
        if facts.stored.pixels() <= 1 << 20 {
            match decode_any(facts.format, &bytes, &DecodeOptions::whole(facts.stored)) {
                Ok(decoded) => prop_assert_eq!(decoded.raster.size(), facts.stored),
                Err(err) => prop_assert_ne!(err.kind, ErrorKind::Failed, "{}", err),
            }
        }
    }
}
