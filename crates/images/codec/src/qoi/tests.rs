//! Tests with files that are composed byte by byte.

use image_plan::{Format, Size};

use crate::tests::pictures::{assert_decodes, of_samples};
use crate::{DecodeOptions, ErrorKind, decode};

/// Returns a QOI of one row.
fn write(width: u8, channels: u8, codes: &[u8]) -> Vec<u8> {
    let head = [&b"qoif\0\0\0"[..], &[width, 0, 0, 0, 1, channels, 0]].concat();
    [&head, codes, &[0, 0, 0, 0, 0, 0, 0, 1]].concat()
}

#[track_caller]
fn check(channels: u8, codes: &[u8], samples: &[u8]) {
    let width = samples.len() as u8 / channels;
    let expected = of_samples(Size::new(width.into(), 1), samples.to_vec());
    assert_decodes(Format::Qoi, &write(width, channels, codes), &expected);
}

#[test]
fn every_code_is_decoded() {
    // A colour; a small difference of 1, −1 and −2; a difference of green by 4, of red by 3 and of
    // blue by 6; two repetitions; the colour at index 10·3 + 20·5 + 30·7 + 255·11 mod 64.
    let codes = [
        &[0xfe, 10, 20, 30][..],
        &[0x40 | 3 << 4 | 1 << 2],
        &[0x80 | (32 + 4), (8 - 1) << 4 | (8 + 2)],
        &[0xc1],
        &[((10 * 3 + 20 * 5 + 30 * 7 + 255 * 11) % 64) as u8],
    ];
    let samples = [
        [10, 20, 30],
        [11, 19, 28],
        [14, 23, 34],
        [14, 23, 34],
        [14, 23, 34],
        [10, 20, 30],
    ];
    check(3, &codes.concat(), &samples.concat());
}

#[test]
fn alpha_is_kept_until_it_changes() {
    let codes = [
        &[0xff, 1, 2, 3, 4][..],
        &[0xfe, 9, 9, 9],
        &[0xff, 9, 9, 9, 255],
    ];
    check(4, &codes.concat(), &[1, 2, 3, 4, 9, 9, 9, 4, 9, 9, 9, 255]);
}

#[test]
fn sums_wrap_around() {
    // The first pixel differs from black, whose alpha is 255.
    check(3, &[0x40, 0x7f], &[254, 254, 254, 255, 255, 255]);
}

#[test]
fn a_picture_that_ends_early_is_damaged() {
    let file = write(9, 3, &[0xfe, 10, 20, 30]);
    let options = DecodeOptions::whole(Size::new(9, 1));
    let decoded = decode(Format::Qoi, &file[..18], &options).expect("one pixel");
    assert!(decoded.damaged);
    let refusal = decode(Format::Qoi, &file[..14], &options).expect_err("no pixel");
    assert_eq!(refusal.kind, ErrorKind::Undecodable);
}
