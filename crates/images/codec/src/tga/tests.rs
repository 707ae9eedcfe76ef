//! Tests with files that are composed byte by byte.

use image_plan::{Format, Size};

use crate::tests::pictures::{assert_decodes, of_samples};
use crate::{DecodeOptions, decode};

/// Returns a TGA of 2 × 1 pixels.
fn write(palette: [u8; 5], image_type: u8, bits: u8, descriptor: u8, data: &[u8]) -> Vec<u8> {
    let mut file = vec![2, u8::from(palette != [0; 5]), image_type];
    file.extend(palette);
    file.extend([0, 0, 0, 0, 2, 0, 1, 0, bits, descriptor]);
    file.extend(b"id");
    file.extend(data);
    file
}

#[track_caller]
fn check(file: &[u8], samples: &[u8]) {
    let expected = of_samples(Size::new(2, 1), samples.to_vec());
    assert_decodes(Format::Tga, file, &expected);
}

#[test]
fn every_kind_of_pixel_is_decoded() {
    const NONE: [u8; 5] = [0; 5];
    check(
        &write(NONE, 2, 24, 0x20, &[3, 2, 1, 6, 5, 4]),
        &[1, 2, 3, 4, 5, 6],
    );
    check(
        &write(NONE, 2, 32, 0x28, &[3, 2, 1, 9, 6, 5, 4, 8]),
        &[1, 2, 3, 9, 4, 5, 6, 8],
    );
    // Five bits each: red of 31, and a grey of 16, with the highest bit set.
    check(
        &write(NONE, 2, 16, 0x20, &[0x00, 0x7c, 0x10, 0xc2]),
        &[255, 0, 0, 132, 132, 132],
    );
    check(&write(NONE, 3, 8, 0x20, &[7, 200]), &[7, 200]);
    // A palette of two colours with the indexes 5 and 6.
    check(
        &write([5, 0, 2, 0, 24], 1, 8, 0x20, &[3, 2, 1, 6, 5, 4, 6, 5]),
        &[4, 5, 6, 1, 2, 3],
    );
}

#[test]
fn runs_and_literals_are_decoded() {
    let none = [0; 5];
    check(&write(none, 11, 8, 0x20, &[0x81, 7]), &[7, 7]);
    check(&write(none, 11, 8, 0x20, &[0, 7, 0, 8]), &[7, 8]);
    check(
        &write(none, 10, 24, 0x20, &[0x80, 3, 2, 1, 0, 6, 5, 4]),
        &[1, 2, 3, 4, 5, 6],
    );
}

#[test]
fn a_fourth_byte_that_hides_everything_is_no_alpha() {
    let data = [3, 2, 1, 0, 6, 5, 4, 0];
    check(&write([0; 5], 2, 32, 0x20, &data), &[1, 2, 3, 4, 5, 6]);
    let stated = write([0; 5], 2, 32, 0x28, &data);
    check(&stated, &[1, 2, 3, 0, 4, 5, 6, 0]);
}

#[test]
fn an_index_outside_of_the_palette_is_black() {
    let file = write([0, 0, 1, 0, 24], 1, 8, 0x20, &[3, 2, 1, 0, 200]);
    check(&file, &[1, 2, 3, 0, 0, 0]);
}

#[test]
fn a_picture_that_ends_early_is_damaged() {
    let mut file = testkit::stills::tga(10, 24, 0, &[0x81, 3, 2, 1]);
    file.extend([0; 8]);
    file.extend(b"TRUEVISION-XFILE.\0");
    let size = Size::new(testkit::stills::WIDTH, testkit::stills::HEIGHT);
    let decoded = decode(Format::Tga, &file, &DecodeOptions::whole(size)).expect("two pixels");
    assert!(decoded.damaged);
}
