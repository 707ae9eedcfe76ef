//! Tests with files that are written by hand.

use image_plan::{Format, Size};

use crate::tests::pictures::{assert_decodes, of_samples};
use crate::{DecodeOptions, ErrorKind, decode};

#[track_caller]
fn check(file: &[u8], (width, height): (u32, u32), samples: &[u8]) {
    let expected = of_samples(Size::new(width, height), samples.to_vec());
    assert_decodes(Format::Pnm, file, &expected);
}

#[test]
fn text_is_decoded() {
    check(
        b"P1 3 2\n01 0\n# second row\n110",
        (3, 2),
        &[255, 0, 255, 0, 0, 255],
    );
    check(
        b"P2 # grey\n3 1 # columns\n4\n0 2 4",
        (3, 1),
        &[0, 128, 255],
    );
    check(b"P3\n1 1\n65535\n0 32896 65535\n", (1, 1), &[0, 128, 255]);
}

#[test]
fn integers_and_bits_are_decoded() {
    check(
        b"P4 9 2\n\xaa\x80\x55\x00",
        (9, 2),
        &[
            0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255,
        ],
    );
    check(b"P5 3 1 255\n\x00\x80\xff", (3, 1), &[0, 128, 255]);
    check(b"P5 3 1 15\n\x00\x05\xff", (3, 1), &[0, 85, 255]);
    check(b"P5 2 1 65535\n\x80\x80\xff\xff", (2, 1), &[128, 255]);
    check(
        b"P6 2 1 255\n\x01\x02\x03\x04\x05\x06",
        (2, 1),
        &[1, 2, 3, 4, 5, 6],
    );
    // The file contains a second picture.
    check(b"P5 1 1 255\n\x07P5 1 1 255\n\x08", (1, 1), &[7]);
}

#[test]
fn arbitrary_maps_are_decoded() {
    let head =
        "P7\nWIDTH 2\nHEIGHT 1\n# by hand\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n";
    let file = [head.as_bytes(), &[1, 2, 3, 4, 5, 6, 7, 8]].concat();
    check(&file, (2, 1), &[1, 2, 3, 4, 5, 6, 7, 8]);
    // In this format, 1 is white.
    let head = "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nENDHDR\n";
    let file = [head.as_bytes(), &[0, 1]].concat();
    check(&file, (2, 1), &[0, 255]);
}

#[test]
fn a_picture_that_ends_early_is_damaged() {
    let read = |file: &[u8]| decode(Format::Pnm, file, &DecodeOptions::whole(Size::new(3, 2)));
    for file in [
        &b"P5 3 2 255\n\x01\x02"[..],
        b"P2 3 2 255\n1 2 x",
        b"P4 3 2\n\xa0",
    ] {
        assert!(read(file).expect("some samples").damaged);
    }
    for file in [&b"P5 3 2 255\n"[..], b"P2 3 2 255\n", b"P4 3 2\n"] {
        let refusal = read(file).expect_err("no samples");
        assert_eq!(refusal.kind, ErrorKind::Undecodable);
    }
}

#[test]
fn unknown_samples_are_not_guessed() {
    let file = b"P7\nWIDTH 3\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nTUPLTYPE CMYK\nENDHDR\n";
    let refusal = decode(Format::Pnm, file, &DecodeOptions::whole(Size::new(3, 2)));
    assert_eq!(refusal.expect_err("refused").kind, ErrorKind::Unsupported);
}
