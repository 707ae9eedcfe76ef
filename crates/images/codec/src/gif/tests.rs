//! Tests of frames that do not cover their canvas, and of interlaced rows.

use std::borrow::Cow;

use gif::{Encoder, Frame};
use image_plan::{Layout, Packed, Raster, Size};

use super::decode;
use crate::tests::pictures::noise;
use crate::{DecodeOptions, ErrorKind, Limits};

const COLOURS: [u8; 12] = [10, 11, 12, 20, 21, 22, 30, 31, 32, 40, 41, 42];

fn write(size: Size, colours: &[u8], frame: &Frame<'_>) -> Vec<u8> {
    let (width, height) = (size.width_px as u16, size.height_px as u16);
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height, colours).expect("a header");
    encoder.write_frame(frame).expect("written");
    drop(encoder);
    file
}

fn frame(left: u16, top: u16, width: u16, height: u16, indexes: &[u8]) -> Frame<'_> {
    Frame {
        left,
        top,
        width,
        height,
        buffer: Cow::Borrowed(indexes),
        ..Frame::default()
    }
}

#[track_caller]
fn check(file: &[u8], size: Size, layout: Layout, data: &[u8]) {
    let decoded = decode(file, &DecodeOptions::whole(size)).expect("decodes");
    let data = data.to_vec();
    assert_eq!(
        decoded.raster,
        Raster::Packed(Packed { size, layout, data })
    );
    assert!(!decoded.damaged);
}

#[test]
fn a_frame_that_covers_the_canvas_is_opaque() {
    let size = Size::new(2, 1);
    let file = write(size, &COLOURS, &frame(0, 0, 2, 1, &[3, 1]));
    check(&file, size, Layout::Rgb, &[40, 41, 42, 20, 21, 22]);
}

#[test]
fn uncovered_canvas_is_transparent() {
    let size = Size::new(3, 2);
    let file = write(size, &COLOURS, &frame(1, 1, 1, 1, &[2]));
    let mut pixels = [0; 24];
    pixels[16..20].copy_from_slice(&[30, 31, 32, 255]);
    check(&file, size, Layout::Rgba, &pixels);
}

#[test]
fn a_frame_over_the_edge_makes_the_canvas_larger() {
    let screen = Size::new(2, 2);
    let file = write(screen, &COLOURS, &frame(1, 1, 2, 2, &[0, 1, 2, 3]));
    let mut pixels = [0; 36];
    for (at, index) in [(4, 0), (5, 1), (7, 2), (8, 3)] {
        pixels[4 * at..][..3].copy_from_slice(&COLOURS[3 * index..][..3]);
        pixels[4 * at + 3] = 255;
    }
    check(&file, Size::new(3, 3), Layout::Rgba, &pixels);
    let outside = write(screen, &COLOURS, &frame(3, 0, 1, 1, &[0]));
    let mut pixels = [0; 32];
    pixels[12..16].copy_from_slice(&[10, 11, 12, 255]);
    check(&outside, Size::new(4, 2), Layout::Rgba, &pixels);
    // If the file's logical screen is empty, the canvas has the size of the frame.
    let without_screen = write(Size::new(0, 0), &COLOURS, &frame(0, 0, 1, 1, &[0]));
    check(&without_screen, Size::new(1, 1), Layout::Rgb, &[10, 11, 12]);
}

#[test]
fn the_transparent_index_and_a_palette_of_the_frames_own() {
    let size = Size::new(2, 1);
    let mut frame = frame(0, 0, 2, 1, &[0, 1]);
    frame.palette = Some(vec![1, 2, 3, 4, 5, 6]);
    frame.transparent = Some(1);
    let file = write(size, &COLOURS, &frame);
    check(&file, size, Layout::Rgba, &[1, 2, 3, 255, 0, 0, 0, 0]);
}

#[test]
fn interlaced_rows_are_reordered() {
    for height in [1, 2, 5, 8, 11, 17] {
        let size = Size::new(1, u32::from(height));
        // Row y has colour index y modulo 4, independent of its position in the file.
        let order = super::row_order(height, true);
        let indexes: Vec<u8> = order.map(|y| (y % 4) as u8).collect();
        let mut frame = frame(0, 0, 1, height, &indexes);
        frame.interlaced = true;
        let rows = (0..usize::from(height)).flat_map(|y| COLOURS[y % 4 * 3..][..3].to_vec());
        let pixels: Vec<u8> = rows.collect();
        check(&write(size, &COLOURS, &frame), size, Layout::Rgb, &pixels);
    }
}

#[test]
fn interlacing_starts_with_every_eighth_row() {
    let order: Vec<u16> = super::row_order(10, true).collect();
    assert_eq!(order, [0, 8, 4, 2, 6, 1, 3, 5, 7, 9]);
}

#[test]
fn a_cut_file_gives_the_rows_before_the_cut() {
    let size = Size::new(40, 40);
    let indexes: Vec<u8> = noise(1600, 1).iter().map(|byte| byte % 4).collect();
    let file = write(size, &COLOURS, &frame(0, 0, 40, 40, &indexes));
    let mut damaged = 0;
    for len in 0..file.len() {
        if let Ok(decoded) = decode(&file[..len], &DecodeOptions::whole(size)) {
            damaged += u32::from(decoded.damaged);
        }
    }
    assert!(damaged > 100, "{damaged}");
    for bit in 0..file.len() * 8 {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Err(err) = decode(&flipped, &DecodeOptions::whole(size)) {
            assert_ne!(err.kind, ErrorKind::Failed, "{bit}: {err}");
        }
    }
}

#[test]
fn a_profile_is_extracted() {
    let size = Size::new(1, 1);
    let mut file = write(size, &COLOURS, &frame(0, 0, 1, 1, &[0]));
    let mut block = b"\x21\xff\x0bICCRGBG1012\x05hello\x00".to_vec();
    let palette_end = 13 + COLOURS.len();
    file.splice(palette_end..palette_end, block.drain(..));
    let decoded = decode(&file, &DecodeOptions::whole(size)).expect("decodes");
    assert_eq!(decoded.profile.as_deref(), Some(b"hello".as_slice()));
    let limits = Limits {
        profile_bytes_max: 4,
        ..Limits::DEFAULT
    };
    let options = DecodeOptions {
        limits,
        ..DecodeOptions::whole(size)
    };
    let refusal = decode(&file, &options).expect_err("refused");
    assert_eq!(refusal.kind, ErrorKind::TooLarge);
}
