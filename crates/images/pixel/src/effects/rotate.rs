//! Rotation by any angle.

use super::frame::with_alpha;
use image_plan::{Angle, Packed, Size};
use std::sync::LazyLock;

/// Number of positions within a pixel for which weights are computed.
const PHASES: usize = 256;
/// Number of fractional bits of a weight.
const BITS: u32 = 12;

/// Weights of four neighbouring pixels for each position between the second and the third of them:
/// the Catmull-Rom spline. The weights of one position add up to 1.
static WEIGHTS: LazyLock<[[i32; 4]; PHASES]> = LazyLock::new(|| {
    std::array::from_fn(|phase| {
        let t = phase as f64 / PHASES as f64;
        let real = [
            ((2.0 - t) * t - 1.0) * t / 2.0,
            ((3.0 * t - 5.0) * t * t + 2.0) / 2.0,
            ((4.0 - 3.0 * t) * t + 1.0) * t / 2.0,
            (t - 1.0) * t * t / 2.0,
        ];
        let one = 1 << BITS;
        let mut weights = real.map(|weight| (weight * f64::from(one)).round() as i32);
        weights[1] += one - weights.iter().sum::<i32>();
        weights
    })
});

/// Rotates the picture clockwise by `angle` into a frame of size `frame`, around the centres of
/// both. The corners of the frame are transparent, and the picture's edges are smooth: everything
/// outside the picture counts as transparent.
///
/// The filter works on encoded samples, as that of [`crate::scale`], and on premultiplied colours.
///
/// # Panics
/// If the picture is CMYK.
#[must_use]
pub fn rotate(packed: Packed, angle: Angle, frame: Size) -> Packed {
    let source = with_alpha(packed);
    let (sine, cosine) = angle.sin_cos();
    let centre = |size: Size| {
        (
            f64::from(size.width_px) / 2.0,
            f64::from(size.height_px) / 2.0,
        )
    };
    let (source_centre, frame_centre) = (centre(source.size), centre(frame));
    let mut data = Vec::with_capacity(4 * frame.pixels() as usize);
    let sampler = Sampler::new(&source);
    for y in 0..frame.height_px {
        let down = f64::from(y) + 0.5 - frame_centre.1;
        for x in 0..frame.width_px {
            let right = f64::from(x) + 0.5 - frame_centre.0;
            let at = (
                source_centre.0 + right * cosine + down * sine - 0.5,
                source_centre.1 - right * sine + down * cosine - 0.5,
            );
            data.extend(sampler.sample(at));
        }
    }
    Packed {
        size: frame,
        data,
        ..source
    }
}

struct Sampler<'a> {
    pixels: &'a [[u8; 4]],
    width: i64,
    height: i64,
    weights: &'static [[i32; 4]; PHASES],
}

impl<'a> Sampler<'a> {
    fn new(source: &'a Packed) -> Sampler<'a> {
        Sampler {
            pixels: source.data.as_chunks().0,
            width: i64::from(source.size.width_px),
            height: i64::from(source.size.height_px),
            weights: &WEIGHTS,
        }
    }

    /// Returns the colour at a position; whole numbers are the centres of pixels.
    fn sample(&self, (x, y): (f64, f64)) -> [u8; 4] {
        let (left, across) = self.split(x);
        let (top, down) = self.split(y);
        if left <= -4 || top <= -4 || self.width <= left || self.height <= top {
            return [0; 4];
        }
        // Sums of red, green, blue, each premultiplied, and of alpha, all of 16 bits.
        let mut sums = [0_i64; 4];
        for (row, weight) in (top..).zip(down) {
            let pixels = self.row(row, left);
            let mut row_sums = [0_i32; 4];
            for (pixel, weight) in pixels.iter().zip(across) {
                let alpha = i32::from(pixel[3]);
                let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(i32::from);
                let terms = [red * alpha, green * alpha, blue * alpha, 255 * alpha];
                for (sum, term) in row_sums.iter_mut().zip(terms) {
                    *sum += weight * term;
                }
            }
            for (sum, row_sum) in sums.iter_mut().zip(row_sums) {
                *sum += i64::from(*weight) * i64::from(row_sum);
            }
        }
        straight(sums)
    }

    /// Splits a coordinate into the first of four neighbouring pixels and their weights.
    fn split(&self, position: f64) -> (i64, &[i32; 4]) {
        let steps = (position * PHASES as f64).round() as i64;
        let phase = steps.rem_euclid(PHASES as i64) as usize;
        (steps.div_euclid(PHASES as i64) - 1, &self.weights[phase])
    }

    /// Returns four pixels of a row; those outside the picture are transparent.
    fn row(&self, y: i64, left: i64) -> [[u8; 4]; 4] {
        if y < 0 || self.height <= y {
            return [[0; 4]; 4];
        }
        let start = y * self.width + left;
        if 0 <= left && left + 4 <= self.width {
            let four = self.pixels[start as usize..].first_chunk();
            return *four.expect("the row has four pixels from `left` on");
        }
        std::array::from_fn(|at| {
            let x = left + at as i64;
            match 0 <= x && x < self.width {
                true => self.pixels[(start + at as i64) as usize],
                false => [0; 4],
            }
        })
    }
}

/// Converts sums of premultiplied samples to straight alpha.
fn straight([red, green, blue, alpha]: [i64; 4]) -> [u8; 4] {
    let unit = 255 << (2 * BITS);
    let rounded = (alpha + unit / 2).div_euclid(unit).clamp(0, 255) as u8;
    if alpha <= 0 || rounded == 0 {
        return [0; 4];
    }
    let level = |sum: i64| ((255 * sum + alpha / 2).div_euclid(alpha)).clamp(0, 255) as u8;
    [level(red), level(green), level(blue), rounded]
}
