//! Tests of the three codings of scanlines, and of the tones.

use image_plan::{Format, Layout, Packed, Raster, Size};

use crate::{DecodeOptions, decode};

fn write((width, height): (u32, u32), data: &[u8]) -> Vec<u8> {
    let head = format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n");
    [head.as_bytes(), data].concat()
}

fn read((width, height): (u32, u32), data: &[u8]) -> (Vec<u8>, bool) {
    let file = write((width, height), data);
    let options = DecodeOptions::whole(Size::new(width, height));
    let decoded = decode(Format::Hdr, &file, &options).expect("decodes");
    let Raster::Packed(Packed { layout, data, .. }) = decoded.raster else {
        panic!("planes of a radiance hdr");
    };
    assert_eq!(layout, Layout::Rgb);
    (data, decoded.damaged)
}

#[test]
fn all_codings_of_a_scanline_give_the_same_pixels() {
    let (dark, light) = ([10, 20, 30, 128], [200, 100, 50, 130]);
    let pixels = [dark, dark, dark, dark, dark, light, light, light, light];
    let plain = pixels.concat();
    let repeated = [dark, [1, 1, 1, 4], light, [1, 1, 1, 3]].concat();
    let mut planes = vec![2, 2, 0, 9];
    for (from, to) in dark.iter().zip(light) {
        planes.extend([128 + 5, *from, 4, to, to, to, to]);
    }
    let expected = read((9, 1), &plain);
    assert!(!expected.1);
    assert_eq!(read((9, 1), &repeated), expected);
    assert_eq!(read((9, 1), &planes), expected);
}

#[test]
fn an_even_grey_becomes_the_grey_of_a_grey_card() {
    // The level of sRGB for 18 % of the light is 118, whatever the exposure of the file.
    for exponent in [100, 128, 150, 200] {
        let pixels = [[200, 200, 200, exponent]; 8].concat();
        assert_eq!(read((8, 1), &pixels).0, [118; 24], "{exponent}");
    }
    assert_eq!(read((8, 1), &[0; 32]).0, [0; 24], "black");
}

/// The expected levels follow from the equations: the logarithmic average of luminances 1/64, 1/4
/// and 4 is 1/4, so they are exposed to 0.01125, 0.18 and 2.88; the largest becomes white.
#[test]
fn the_brightest_pixel_becomes_white_and_no_detail_is_cut_off() {
    let pixels = [
        [128, 128, 128, 123],
        [128, 128, 128, 127],
        [128, 128, 128, 131],
    ]
    .concat();
    let (tones, _) = read((3, 1), &pixels);
    let tone = |luminance: f64| luminance * (1.0 + luminance / (2.88 * 2.88)) / (1.0 + luminance);
    let srgb = |linear: f64| 255.0 * (1.055 * linear.powf(1.0 / 2.4) - 0.055);
    for (index, exposed) in [0.01125, 0.18, 2.88].into_iter().enumerate() {
        let level = f64::from(tones[3 * index]);
        assert!(
            (level - srgb(tone(exposed))).abs() <= 1.0,
            "{exposed}: {level}"
        );
    }
    assert_eq!(tones[6..], [255; 3]);
}

#[test]
fn a_picture_that_ends_early_is_damaged() {
    let one = [[200, 200, 200, 128]; 8].concat();
    let (tones, is_damaged) = read((8, 2), &one);
    assert!(is_damaged);
    assert_eq!(tones[..24], [118; 24]);
    let file = write((8, 2), &one[..20]);
    assert!(decode(Format::Hdr, &file, &DecodeOptions::whole(Size::new(8, 2))).is_err());
}
