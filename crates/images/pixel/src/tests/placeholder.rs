//! Tests that compare placeholders with other implementations of the two hashes, and with known
//! results.

use super::{noise, noise_packed, noise_yuv};
use crate::{placeholder, shrink_for_placeholder, to_packed};
use image_plan::{BASE_83, Layout, Packed, Placeholder, Raster, Size, Subsampling};
use proptest::prelude::*;

fn packed(size: Size, rgba: impl Fn(u32, u32) -> [u8; 4]) -> Packed {
    let rows = (0..size.height_px).flat_map(|y| (0..size.width_px).map(move |x| (x, y)));
    Packed {
        size,
        layout: Layout::Rgba,
        data: rows.flat_map(|(x, y)| rgba(x, y)).collect(),
    }
}

fn of(raster: &Raster) -> Placeholder {
    placeholder(&to_packed(shrink_for_placeholder(raster)))
}

/// Returns the mean colour encoded in a BlurHash.
fn mean(blurhash: &str) -> [u8; 3] {
    let digits = blurhash[2..6].bytes().map(|digit| {
        let mut known = BASE_83.iter();
        known.position(|known| *known == digit).expect("a digit") as u32
    });
    let [_, mean @ ..] = digits.fold(0, |sum, digit| sum * 83 + digit).to_be_bytes();
    mean
}

/// Returns the numbers in a ThumbHash: means, scales, size and coefficients. Each number occupies a
/// fixed count of bits, the lowest bit first.
fn numbers(thumbhash: &[u8], alpha: bool) -> Vec<u8> {
    const HEAD_BITS: [u32; 9] = [6, 6, 6, 5, 1, 3, 6, 6, 1];
    const COEFFICIENT_BITS: u32 = 4;
    let mut bits = thumbhash
        .iter()
        .flat_map(|byte| (0..8).map(move |at| byte >> at & 1));
    let mut numbers = Vec::new();
    // If the picture has alpha, the mean and the scale of alpha follow the head. They have as many
    // bits as a coefficient.
    let head = HEAD_BITS.into_iter();
    for width in head.chain(std::iter::repeat(COEFFICIENT_BITS)) {
        let number: Vec<u8> = bits.by_ref().take(width as usize).collect();
        if number.len() < width as usize {
            break;
        }
        numbers.push(number.iter().rev().fold(0, |sum, bit| sum << 1 | bit));
    }
    assert_eq!(numbers[4] == 1, alpha, "the flag of alpha");
    numbers
}

/// Returns whether the numbers of two hashes are equal, or at most two of them differ by one level.
/// The crate `thumbhash` adds in another order, so it may round in the other direction.
fn is_near_thumbhash(ours: &[u8], theirs: &[u8], alpha: bool) -> bool {
    let (ours, theirs) = (numbers(ours, alpha), numbers(theirs, alpha));
    let differences = ours.iter().zip(&theirs).map(|(a, b)| a.abs_diff(*b));
    ours.len() == theirs.len()
        && differences.clone().all(|it| it <= 1)
        && differences.map(u32::from).sum::<u32>() <= 2
}

fn is_near(a: [u8; 3], b: [u8; 3], levels: u8) -> bool {
    a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= levels)
}

#[test]
fn the_colour_is_that_of_most_pixels_and_not_their_mean() {
    let size = Size::new(30, 20);
    let red_and_blue = packed(size, |x, _| {
        if x < 20 {
            [200, 10, 10, 255]
        } else {
            [0, 0, 250, 255]
        }
    });
    assert_eq!(placeholder(&red_and_blue).colour(), "#c80a0a");
    // Nearly transparent pixels do not count for the dominant colour.
    let hidden = packed(size, |x, _| {
        if x < 20 {
            [200, 10, 10, 9]
        } else {
            [0, 0, 250, 255]
        }
    });
    assert_eq!(placeholder(&hidden).colour(), "#0000fa");
}

#[test]
fn a_large_picture_looks_as_it_does_when_small() {
    let shades = |size: Size| {
        packed(size, move |x, y| {
            let share = |at: u32, side: u32| (at * 255 / side) as u8;
            [share(x, size.width_px), share(y, size.height_px), 90, 255]
        })
    };
    let large = of(&Raster::Packed(shades(Size::new(1600, 1200))));
    let small = placeholder(&shades(Size::new(32, 24)));
    assert_eq!(large.blurhash()[..1], small.blurhash()[..1]);
    assert!(is_near(mean(large.blurhash()), mean(small.blurhash()), 8));
}

proptest! {
    #[test]
    fn every_picture_has_a_placeholder(
        width_px in 1..700_u32, height_px in 1..700_u32, kind in 0..4_usize, chroma in 0..6_usize,
    ) {
        let size = Size::new(width_px, height_px);
        let chroma = [
            Subsampling::S444, Subsampling::S422, Subsampling::S420, Subsampling::S440,
            Subsampling::S411, Subsampling::S400,
        ][chroma];
        let raster = match kind {
            0 => Raster::Packed(noise_packed(size, Layout::Rgb)),
            1 => Raster::Packed(noise_packed(size, Layout::Rgba)),
            2 => Raster::Yuv(noise_yuv(size, chroma, false, Some(7))),
            _ => Raster::Yuv(noise_yuv(size, chroma, true, Some(7))),
        };
        let placeholder = of(&raster);
        prop_assert_eq!(Placeholder::from_bytes(&placeholder.to_bytes()), Some(placeholder));
    }

    #[test]
    fn hashes_are_those_of_their_crates(
        width_px in 1..=32_u32, height_px in 1..=32_u32, seed: u64, alpha: bool,
    ) {
        let size = Size::new(width_px, height_px);
        let layout = if alpha { Layout::Rgba } else { Layout::Rgb };
        let data = noise(seed, layout.channels() * size.pixels() as usize);
        let small = Packed { size, layout, data };
        let rgba: Vec<u8> = match layout {
            Layout::Rgba => small.data.clone(),
            _ => small.data.chunks(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect(),
        };
        let ours = placeholder(&small);
        let theirs = thumbhash::rgba_to_thumb_hash(width_px as usize, height_px as usize, &rgba);
        let bytes = ours.to_bytes();
        let thumbhash = &bytes[33..33 + usize::from(bytes[32])];
        prop_assert!(
            is_near_thumbhash(thumbhash, &theirs, alpha),
            "{} {:?}",
            ours.thumbhash(),
            Placeholder::new([0; 3], "0", &theirs)
        );
        if !alpha {
            let (x, y) = if height_px <= width_px { (4, 3) } else { (3, 4) };
            let theirs = blurhash::encode(x, y, width_px, height_px, &rgba).expect("a picture");
            let ours = ours.blurhash();
            // The crate `blurhash` rounds the mean twice, so its mean is sometimes one level
            // higher.
            prop_assert!(is_near(mean(ours), mean(&theirs), 1), "{} {}", ours, theirs);
            prop_assert_eq!((&ours[..2], &ours[6..]), (&theirs[..2], &theirs[6..]));
        }
    }
}
