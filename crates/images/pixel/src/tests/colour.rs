use super::*;
use crate::colour::{CARRY_BYTES_MAX, Converter, ProfileAction, SmallProfiles, classify};
use moxcms::{ColorProfile, curve_from_gamma};

fn bytes(profile: &ColorProfile) -> Vec<u8> {
    profile.encode().expect("a profile of moxcms' own")
}

fn row(layout: Layout, data: &[u8]) -> Raster {
    let width = data.len() / layout.channels();
    Raster::Packed(Packed {
        size: Size::new(width as u32, 1),
        layout,
        data: data.to_vec(),
    })
}

fn grey_row(samples: &[u8]) -> Raster {
    let size = Size::new(samples.len() as u32, 1);
    let luma = Plane {
        size,
        stride: samples.len(),
        data: samples.to_vec(),
    };
    Raster::Yuv(Yuv {
        luma,
        ..noise_yuv(size, Subsampling::S400, false, None)
    })
}

#[track_caller]
fn converter(profile: &[u8], raster: &Raster) -> Converter {
    match classify(profile, raster, SmallProfiles::Carry) {
        ProfileAction::Convert(converter) => converter,
        other => panic!("{}", name(&other)),
    }
}

fn name(disposition: &ProfileAction) -> &str {
    match disposition {
        ProfileAction::Drop => "drop",
        ProfileAction::Carry => "carry",
        ProfileAction::Convert(_) => "convert",
        ProfileAction::Malformed(why) => why,
    }
}

#[track_caller]
fn check(profile: &[u8], raster: &Raster, expected: &str) {
    assert_eq!(
        name(&classify(profile, raster, SmallProfiles::Carry)),
        expected
    );
}

/// Serializes a profile and appends `tail` zero bytes that no tag refers to.
fn with_tail(profile: &ColorProfile, tail: usize) -> Vec<u8> {
    let mut bytes = bytes(profile);
    bytes.resize(bytes.len() + tail, 0);
    let length = (bytes.len() as u32).to_be_bytes();
    bytes[..4].copy_from_slice(&length);
    bytes
}

#[test]
fn srgb_is_dropped_however_its_curve_is_written() {
    let rgb = row(Layout::Rgb, &[1, 2, 3]);
    let mut srgb = ColorProfile::new_srgb();
    check(&bytes(&srgb), &rgb, "drop");
    check(&bytes(&srgb), &row(Layout::Rgba, &[1, 2, 3, 4]), "drop");
    check(&bytes(&srgb), &grey_row(&[1, 2]), "drop");
    // A table of 1024 values, as in profiles embedded by cameras.
    let table = (0..1024_u32).map(|at| {
        let code = f64::from(at) / 1023.0;
        let light = if code <= 0.04045 {
            code / 12.92
        } else {
            ((code + 0.055) / 1.055).powf(2.4)
        };
        (light * 65535.0).round() as u16
    });
    let curve = Some(moxcms::ToneReprCurve::Lut(table.collect()));
    srgb.red_trc = curve.clone();
    srgb.green_trc = curve.clone();
    srgb.blue_trc = curve;
    check(&bytes(&srgb), &rgb, "drop");
    // Gamma 2.2 is not sRGB: dark colours differ by eight levels.
    let gamma = Some(curve_from_gamma(2.2));
    srgb.red_trc = gamma.clone();
    srgb.green_trc = gamma.clone();
    srgb.blue_trc = gamma;
    check(&bytes(&srgb), &rgb, "carry");
}

#[test]
fn small_matrix_profiles_are_carried_and_large_ones_converted() {
    let rgb = row(Layout::Rgb, &[1, 2, 3]);
    let wide = ColorProfile::new_display_p3();
    check(&bytes(&wide), &rgb, "carry");
    check(&bytes(&ColorProfile::new_adobe_rgb()), &rgb, "carry");
    let tail_bytes_max = CARRY_BYTES_MAX - bytes(&wide).len();
    check(&with_tail(&wide, tail_bytes_max), &rgb, "carry");
    check(&with_tail(&wide, tail_bytes_max + 1), &rgb, "convert");
}

#[test]
fn small_matrix_profiles_are_converted_on_request() {
    let rgb = row(Layout::Rgb, &[1, 2, 3]);
    let action = |profile: &ColorProfile| {
        name(&classify(&bytes(profile), &rgb, SmallProfiles::Convert)).to_owned()
    };
    assert_eq!(action(&ColorProfile::new_display_p3()), "convert");
    assert_eq!(action(&ColorProfile::new_srgb()), "drop");
}

/// The expected colours were computed from the definitions of Display P3 and sRGB in double
/// precision.
#[test]
fn converted_colours_are_those_of_the_definition() {
    let cases = [
        // Pairs of a colour in Display P3 and the same colour in sRGB.
        ([200, 100, 50], [215, 93, 31]),
        ([128, 128, 128], [128, 128, 128]),
        ([0, 0, 0], [0, 0, 0]),
        ([255, 255, 255], [255, 255, 255]),
        ([100, 150, 200], [83, 152, 205]),
        ([255, 0, 0], [255, 0, 0]),
    ];
    let profile = with_tail(&ColorProfile::new_display_p3(), CARRY_BYTES_MAX);
    for (wide, srgb) in cases {
        let rgb = row(Layout::Rgb, &wide);
        let converted = packed_of(converter(&profile, &rgb).to_srgb(rgb));
        assert_near(&converted.data, &srgb, 1.0, 1);
        let rgba = row(Layout::Rgba, &[wide[0], wide[1], wide[2], 77]);
        let converted = packed_of(converter(&profile, &rgba).to_srgb(rgba));
        assert_near(&converted.data[..3], &srgb, 1.0, 1);
        assert_eq!(converted.data[3], 77, "alpha is no colour");
    }
}

#[test]
fn planes_are_converted_by_way_of_rgb() {
    let profile = with_tail(&ColorProfile::new_display_p3(), CARRY_BYTES_MAX);
    let yuv = Raster::Yuv(subsampled(&smooth_rgb(Size::new(9, 7)), Subsampling::S420));
    let converter = converter(&profile, &yuv);
    assert!(converter.needs_rgb());
    let rgb = Raster::Packed(packed_of(yuv.clone()));
    assert_eq!(converter.to_srgb(yuv), converter.to_srgb(rgb));
}

#[test]
fn grey_is_mapped_by_a_curve_and_stays_grey() {
    let profile = bytes(&ColorProfile::new_gray_with_gamma(1.0));
    let grey = grey_row(&[0, 55, 127, 255]);
    let converter = converter(&profile, &grey);
    assert!(!converter.needs_rgb());
    let Raster::Yuv(mapped) = converter.to_srgb(grey) else {
        panic!("grey planes stay planes");
    };
    assert_eq!(mapped.subsampling, Subsampling::S400);
    // In sRGB, a linear light of 55/255 is encoded as 128.
    assert_near(&mapped.luma.data, &[0, 128, 187, 255], 1.0, 1);
    let spread = row(Layout::Rgb, &[55, 55, 55]);
    let mapped = packed_of(converter.to_srgb(spread));
    assert_near(&mapped.data, &[128; 3], 1.0, 1);
}

#[test]
fn malformed_and_unsuitable_profiles_are_reported() {
    let rgb = row(Layout::Rgb, &[1, 2, 3]);
    let ink = row(Layout::Cmyk, &[1, 2, 3, 4]);
    let profile = bytes(&ColorProfile::new_display_p3());
    for (profile, raster) in [(&[][..], &rgb), (&[7; 300], &rgb), (&profile, &ink)] {
        let judged = classify(profile, raster, SmallProfiles::Carry);
        let ProfileAction::Malformed(why) = judged else {
            panic!("{}", name(&judged));
        };
        assert_ne!(why, "");
    }
    check(&profile, &ink, "Rgb profile on Cmyk");
}

/// Builds the profile of a printing press in the oldest table format (ICC.1 `mft1`): two grid
/// points per ink, hence 16 colours, and identity curves. All inks reduce lightness; cyan, magenta
/// and yellow also shift the hue.
fn press_profile() -> Vec<u8> {
    let mut table = Vec::new();
    table.extend(b"mft1\0\0\0\0");
    table.extend([4, 3, 2, 0]);
    for at in 0..9 {
        table.extend(if at % 4 == 0 { 0x1_0000_i32 } else { 0 }.to_be_bytes());
    }
    table.extend((0..4).flat_map(|_| 0..=255));
    for colour in 0..16_u8 {
        let ink = |bit: u8| i32::from(colour >> bit & 1);
        let (c, m, y, k) = (ink(3), ink(2), ink(1), ink(0));
        let light = ((4 - c - m - y) * 25 * (1 - k)).clamp(0, 100);
        let tint = |v: i32| (128 + v * (1 - k)) as u8;
        table.push((light * 255 / 100) as u8);
        table.extend([tint(-40 * c + 60 * m), tint(-40 * c + 70 * y)]);
    }
    table.extend((0..3).flat_map(|_| 0..=255));
    let mut profile = vec![0; 128];
    profile[8..12].copy_from_slice(&[2, 0x40, 0, 0]);
    profile[12..24].copy_from_slice(b"prtrCMYKLab ");
    profile[36..40].copy_from_slice(b"acsp");
    for (at, value) in [(68, 0xf6d6_u32), (72, 0x1_0000), (76, 0xd32d)] {
        profile[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
    profile.extend(1_u32.to_be_bytes());
    profile.extend(b"A2B0");
    profile.extend(144_u32.to_be_bytes());
    profile.extend((table.len() as u32).to_be_bytes());
    profile.extend(table);
    let length = (profile.len() as u32).to_be_bytes();
    profile[..4].copy_from_slice(&length);
    profile
}

#[test]
fn ink_goes_through_its_table() {
    let profile = press_profile();
    // The inks give paper, black, cyan, yellow, and half black.
    let inks = row(
        Layout::Cmyk,
        &[
            0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 128,
        ],
    );
    let rgb = packed_of(converter(&profile, &inks).to_srgb(inks));
    assert_eq!(rgb.layout, Layout::Rgb);
    // The Lab colours (100 0 0), (0 0 0), (75 −40 −40), (75 0 70) and (50 0 0), converted to sRGB.
    let expected = [
        [255, 255, 255],
        [0, 0, 0],
        [0, 207, 255],
        [210, 183, 36],
        [119, 119, 119],
    ];
    assert_near(&rgb.data, &expected.concat(), 3.0, 10);
}

proptest! {
    #[test]
    fn no_profile_reaches_a_panic(
        at in 0..400_usize,
        to: u8,
        cut in 0..600_usize,
        kind in 0..3_usize,
    ) {
        let mut profile = match kind {
            0 => bytes(&ColorProfile::new_display_p3()),
            1 => bytes(&ColorProfile::new_gray_with_gamma(1.8)),
            _ => press_profile(),
        };
        profile.truncate(profile.len().saturating_sub(cut.saturating_sub(300)));
        let at = at % profile.len();
        profile[at] = to;
        for raster in [
            row(Layout::Rgb, &[1, 2, 3]),
            row(Layout::Cmyk, &[1, 2, 3, 4]),
            grey_row(&[1, 2]),
        ] {
            if let ProfileAction::Convert(converter) = classify(&profile, &raster, SmallProfiles::Carry)
            {
                let size = raster.size();
                prop_assert_eq!(converter.to_srgb(raster).size(), size);
            }
        }
    }
}
