//! Tests of colour profiles in whole jobs.

use super::pictures::{
    AVIF, ENCODINGS, JPEG, PNG, WEBP, distance, done, file, planes, png, read, scene, whole,
};
use image_plan::{
    Effects, Encoding, Format, Layout, Packed, Padding, Plan, Range, Raster, Rgba, Size,
    Subsampling,
};
use moxcms::ColorProfile;

/// Side of a single-coloured block in pixels. In a block of this size, the chroma at the centre is
/// exact even with subsampling.
const BLOCK_PX: u32 = 16;
/// Colours in Display P3, and the same colours in sRGB, computed from the definitions in double
/// precision.
const PATCHES: [([u8; 3], [u8; 3]); 5] = [
    ([200, 100, 50], [215, 93, 31]),
    ([100, 150, 200], [83, 152, 205]),
    ([128, 128, 128], [128, 128, 128]),
    ([60, 120, 80], [23, 121, 78]),
    ([250, 240, 220], [253, 240, 218]),
];

fn patches() -> Packed {
    let size = Size::new(BLOCK_PX * PATCHES.len() as u32, BLOCK_PX);
    let row = PATCHES
        .iter()
        .flat_map(|(wide, _)| wide.repeat(BLOCK_PX as usize));
    let row: Vec<u8> = row.collect();
    Packed {
        size,
        layout: Layout::Rgb,
        data: row.repeat(BLOCK_PX as usize),
    }
}

fn bytes(profile: &ColorProfile) -> Vec<u8> {
    profile.encode().expect("a profile of moxcms' own")
}

/// Returns a profile of Display P3 that is too long to be embedded.
fn long_profile() -> Vec<u8> {
    let mut profile = bytes(&ColorProfile::new_display_p3());
    profile.resize(8 << 10, 0);
    let length = (profile.len() as u32).to_be_bytes();
    profile[..4].copy_from_slice(&length);
    profile
}

fn middles(picture: &Packed) -> Vec<[u8; 3]> {
    let pixels = picture.data.as_chunks::<3>().0;
    let row = &pixels[(BLOCK_PX / 2 * picture.size.width_px) as usize..];
    let columns = (BLOCK_PX / 2..picture.size.width_px).step_by(BLOCK_PX as usize);
    columns.map(|x| row[x as usize]).collect()
}

/// Returns the CIE 1976 colour difference of two sRGB colours, white point D65.
fn delta_e(a: [u8; 3], b: [u8; 3]) -> f64 {
    let [a, b] = [a, b].map(lab);
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

fn lab(rgb: [u8; 3]) -> [f64; 3] {
    let [r, g, b] = rgb.map(|code| {
        let code = f64::from(code) / 255.0;
        if code <= 0.04045 {
            code / 12.92
        } else {
            ((code + 0.055) / 1.055).powf(2.4)
        }
    });
    let xyz = [
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    ];
    let [x, y, z] = xyz.map(|v| {
        if v > 0.008_856 {
            v.cbrt()
        } else {
            7.787 * v + 16.0 / 116.0
        }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[test]
fn wide_colours_are_right_after_conversion() {
    let picture = patches();
    let original = png(&picture, Some(&long_profile()));
    for encoding in ENCODINGS {
        let plan = whole(Format::Png, picture.size, encoding);
        let output = done(&plan, &original);
        let (pixels, profile) = read(&plan, &output.bytes);
        assert_eq!(profile, None, "{encoding:?}");
        let difference = |(shown, (_, srgb)): ([u8; 3], &([u8; 3], [u8; 3]))| delta_e(shown, *srgb);
        let differences = middles(&pixels).into_iter().zip(&PATCHES).map(difference);
        let worst = differences.fold(0.0, f64::max);
        assert!(worst <= 3.0, "{encoding:?}: ΔE {worst:.2}");
    }
}

/// A background colour is given in sRGB, so a picture with a background is converted to sRGB.
#[test]
fn a_background_has_its_colour_beside_a_wide_picture() {
    let picture = patches();
    let original = png(&picture, Some(&bytes(&ColorProfile::new_display_p3())));
    let effects = Effects {
        pad: Padding {
            bottom_px: 16,
            ..Padding::default()
        },
        background: Some(Rgba([215, 93, 31, 255])),
        ..Effects::NONE
    };
    let plan = Plan {
        target: effects.pad.around(picture.size),
        effects,
        ..whole(Format::Png, picture.size, PNG)
    };
    let (pixels, profile) = read(&plan, &done(&plan, &original).bytes);
    assert_eq!(profile, None);
    let (shown, margin) = (middles(&pixels), pixels.data.last_chunk::<3>());
    assert!(delta_e(shown[0], [215, 93, 31]) <= 1.0, "{:?}", shown[0]);
    assert_eq!(margin, Some(&[215, 93, 31]));
}

#[test]
fn a_short_profile_is_carried_and_the_samples_stay() {
    let wide = bytes(&ColorProfile::new_display_p3());
    let picture = scene(Size::new(64, 48));
    let raster = Raster::Yuv(planes(&picture, Subsampling::S420, Range::Full));
    let original = file(&raster, Some(&wide), Encoding::Jpeg { quality: 97 });
    for encoding in ENCODINGS {
        let plan = whole(Format::Jpeg, picture.size, encoding);
        let (pixels, profile) = read(&plan, &done(&plan, &original).bytes);
        assert_eq!(profile.as_deref(), Some(&wide[..]), "{encoding:?}");
        let distance = distance(&pixels, &picture);
        assert!(distance <= 3.0, "{encoding:?}: {distance:.2}");
    }
}

#[test]
fn srgb_needs_no_profile() {
    let picture = scene(Size::new(33, 20));
    let original = png(&picture, Some(&bytes(&ColorProfile::new_srgb())));
    let bare = png(&picture, None);
    for encoding in ENCODINGS {
        let plan = whole(Format::Png, picture.size, encoding);
        assert_eq!(done(&plan, &original), done(&plan, &bare), "{encoding:?}");
    }
}

#[test]
fn a_malformed_profile_is_remarked_on() {
    let picture = scene(Size::new(33, 20));
    let mut profile = bytes(&ColorProfile::new_display_p3());
    profile[36..40].copy_from_slice(b"nope");
    let original = png(&picture, Some(&profile));
    let plan = whole(Format::Png, picture.size, PNG);
    let output = done(&plan, &original);
    assert_eq!(output.remarks.len(), 1);
    assert!(
        output.remarks[0]
            .starts_with("the colour profile is unusable, so the colours are treated as sRGB: "),
        "{:?}",
        output.remarks
    );
    assert_eq!(read(&plan, &output.bytes), (picture, None));
}

#[test]
fn a_grey_profile_changes_lightness_and_nothing_else() {
    let linear = bytes(&ColorProfile::new_gray_with_gamma(1.0));
    let size = Size::new(32, 32);
    let mut grey = planes(&scene(size), Subsampling::S400, Range::Full);
    grey.luma.data.fill(55);
    let original = file(&Raster::Yuv(grey), Some(&linear), PNG);
    for encoding in [PNG, AVIF, WEBP, JPEG] {
        let plan = whole(Format::Png, size, encoding);
        let (pixels, profile) = read(&plan, &done(&plan, &original).bytes);
        assert_eq!(profile, None, "{encoding:?}");
        // A linear light of 55/255 is encoded as 128 in sRGB.
        assert!(
            pixels.data.iter().all(|sample| sample.abs_diff(128) <= 2),
            "{encoding:?}: {:?}",
            &pixels.data[..3]
        );
    }
}
