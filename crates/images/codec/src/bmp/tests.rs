//! Tests with bitmaps written by the test itself.

use image_plan::{Layout, Packed, Raster, Size};

use super::decode;
use crate::{DecodeOptions, ErrorKind};

/// Writes a bitmap with BITMAPINFOHEADER; the caller provides rows bottom-up, padded to 4 bytes.
fn write(size: Size, pixel_bits: u16, palette: &[u8], rows: &[u8]) -> Vec<u8> {
    let pixels_at = 54 + palette.len() as u32;
    let mut file = b"BM".to_vec();
    file.extend_from_slice(&(pixels_at + rows.len() as u32).to_le_bytes());
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(&pixels_at.to_le_bytes());
    file.extend_from_slice(&40_u32.to_le_bytes());
    file.extend_from_slice(&size.width_px.to_le_bytes());
    file.extend_from_slice(&size.height_px.to_le_bytes());
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&pixel_bits.to_le_bytes());
    file.extend_from_slice(&[0; 16]);
    file.extend_from_slice(&(palette.len() as u32 / 4).to_le_bytes());
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(palette);
    file.extend_from_slice(rows);
    file
}

#[track_caller]
fn check(file: &[u8], size: Size, data: &[u8]) {
    let decoded = decode(file, &DecodeOptions::whole(size)).expect("decodes");
    let data = data.to_vec();
    let layout = Layout::Rgb;
    assert_eq!(
        decoded.raster,
        Raster::Packed(Packed { size, layout, data })
    );
}

#[test]
fn true_colour_rows_are_read_bottom_up() {
    let size = Size::new(1, 2);
    let file = write(size, 24, &[], &[3, 2, 1, 0, 6, 5, 4, 0]);
    check(&file, size, &[4, 5, 6, 1, 2, 3]);
}

#[test]
fn palettes_are_looked_up() {
    let size = Size::new(2, 1);
    let file = write(size, 8, &[3, 2, 1, 0, 6, 5, 4, 0], &[1, 0, 0, 0]);
    check(&file, size, &[4, 5, 6, 1, 2, 3]);
}

#[test]
fn cut_and_flipped_files_do_no_harm() {
    let size = Size::new(3, 3);
    let rows: Vec<u8> = (0..36).collect();
    let file = write(size, 24, &[], &rows);
    for len in 0..file.len() {
        let refusal = decode(&file[..len], &DecodeOptions::whole(size)).expect_err("refused");
        assert_ne!(refusal.kind, ErrorKind::Failed, "{len}");
    }
    for bit in 0..file.len() * 8 {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(decoded) = decode(&flipped, &DecodeOptions::whole(size)) {
            assert_eq!(decoded.raster.size(), size);
        }
    }
}
