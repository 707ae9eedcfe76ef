//! Blocks of one colour.

use super::light::{to_encoded, to_linear};
use image_plan::{Layout, Packed};

/// Replaces the pixels of each block of `side_px` × `side_px` pixels by their mean, in linear light
/// and weighted by alpha. The first block begins at the top left; blocks at the right and at the
/// bottom are cut off by the edge.
///
/// # Panics
/// If the picture is CMYK, or `side_px` is 0.
#[must_use]
pub fn pixelate(mut packed: Packed, side_px: u32) -> Packed {
    assert!(packed.layout != Layout::Cmyk, "CMYK is not light");
    let side = side_px as usize;
    let channels = packed.layout.channels();
    let row_bytes = packed.size.width_px as usize * channels;
    for rows in packed.data.chunks_mut(row_bytes * side) {
        for left in (0..row_bytes).step_by(side * channels) {
            let right = (left + side * channels).min(row_bytes);
            let mut block = Block::default();
            for row in rows.chunks_exact(row_bytes) {
                block.add(&row[left..right], channels);
            }
            let mean = block.mean();
            for row in rows.chunks_exact_mut(row_bytes) {
                for pixel in row[left..right].chunks_exact_mut(channels) {
                    pixel.copy_from_slice(&mean[..channels]);
                }
            }
        }
    }
    packed
}

/// Sums of the pixels of a block.
#[derive(Default)]
struct Block {
    /// Sums of red, green and blue in linear light, each multiplied with alpha.
    lights: [u64; 3],
    alpha: u64,
    pixels: u64,
}

impl Block {
    fn add(&mut self, row: &[u8], channels: usize) {
        let to_linear = to_linear();
        for pixel in row.chunks_exact(channels) {
            let alpha = pixel.get(3).map_or(255, |alpha| u64::from(*alpha));
            for (sum, sample) in self.lights.iter_mut().zip(pixel) {
                *sum += u64::from(to_linear[usize::from(*sample)]) * alpha;
            }
            self.alpha += alpha;
            self.pixels += 1;
        }
    }

    fn mean(&self) -> [u8; 4] {
        let nearest = |sum: u64, of: u64| (sum + of / 2) / of;
        if self.alpha == 0 {
            return [0; 4];
        }
        let [red, green, blue] = self
            .lights
            .map(|sum| to_encoded()[nearest(sum, self.alpha) as usize]);
        [red, green, blue, nearest(self.alpha, self.pixels) as u8]
    }
}
