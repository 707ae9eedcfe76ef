//! Tests with icons that are written by the test itself.

use image_plan::{Encoding, Format, Layout, Raster, Size};

use crate::tests::pictures::{assert_decodes, of_samples, packed};
use crate::{DecodeOptions, ErrorKind, decode, encode};

/// Returns an icon with these pictures; a side of 0 means 256 pixels or more.
fn write(pictures: &[(u8, u8, u8, &[u8])]) -> Vec<u8> {
    let mut file = vec![0, 0, 1, 0, pictures.len() as u8, 0];
    let mut offset = 6 + 16 * pictures.len();
    for (width, height, bits, bytes) in pictures {
        file.extend([*width, *height, 0, 0, 1, 0, *bits, 0]);
        file.extend((bytes.len() as u32).to_le_bytes());
        file.extend((offset as u32).to_le_bytes());
        offset += bytes.len();
    }
    for (.., bytes) in pictures {
        file.extend(*bytes);
    }
    file
}

/// Returns a BMP of 2 × 1 pixels without its file header, with a mask.
fn bitmap(bits: u8, palette: &[u8], row: &[u8], mask: u8) -> Vec<u8> {
    let mut file = [40_u32, 2, 2].map(u32::to_le_bytes).concat();
    file.extend([1, 0, bits, 0]);
    file.extend([0; 24]);
    file[32] = (palette.len() / 4) as u8;
    file.extend(palette);
    file.extend(row);
    file.extend([mask, 0, 0, 0]);
    file
}

#[test]
fn bitmaps_are_decoded_with_their_masks() {
    let check = |bitmap: &[u8], samples: &[u8]| {
        let file = write(&[(2, 1, 32, bitmap)]);
        let expected = of_samples(Size::new(2, 1), samples.to_vec());
        assert_decodes(Format::Ico, &file, &expected);
    };
    let translucent = bitmap(32, &[], &[3, 2, 1, 9, 6, 5, 4, 255], 0);
    check(&translucent, &[1, 2, 3, 9, 4, 5, 6, 255]);
    let masked = bitmap(24, &[], &[3, 2, 1, 6, 5, 4, 0, 0], 0x40);
    check(&masked, &[1, 2, 3, 255, 4, 5, 6, 0]);
    let unmasked = bitmap(24, &[], &[3, 2, 1, 6, 5, 4, 0, 0], 0);
    check(&unmasked, &[1, 2, 3, 4, 5, 6]);
    let indexed = bitmap(1, &[3, 2, 1, 0, 6, 5, 4, 0], &[0x40, 0, 0, 0], 0);
    check(&indexed, &[1, 2, 3, 4, 5, 6]);
    let without_alpha = bitmap(32, &[], &[3, 2, 1, 0, 6, 5, 4, 0], 0);
    check(&without_alpha, &[1, 2, 3, 4, 5, 6]);
}

#[test]
fn the_largest_picture_is_decoded() {
    let raster = Raster::Packed(packed(Size::new(300, 7), Layout::Rgb));
    let png = encode(&raster, None, Encoding::Png).expect("encodes");
    let small = bitmap(24, &[], &[3, 2, 1, 6, 5, 4, 0, 0], 0);
    for pictures in [
        [(2, 1, 32, &small[..]), (0, 7, 24, &png[..])],
        [(0, 7, 24, &png[..]), (2, 1, 32, &small[..])],
    ] {
        assert_decodes(Format::Ico, &write(&pictures), &raster);
    }
}

#[test]
fn pictures_outside_of_the_file_are_refused() {
    let file = write(&[(2, 1, 32, &bitmap(32, &[], &[3, 2, 1, 9, 6, 5, 4, 255], 0))]);
    let options = DecodeOptions::whole(Size::new(2, 1));
    for len in [0, 5, 21, 22, 40, file.len() - 13] {
        let refusal = decode(Format::Ico, &file[..len], &options).expect_err("refused");
        assert_eq!(refusal.kind, ErrorKind::Undecodable, "{len}: {refusal}");
    }
}
