//! Scaling of one plane with a filter kernel, first along its columns and then along its rows.
//!
//! ```text
//! view ─ sums of rows ─► width × new height
//!      ─ transpose ────► new height × width
//!      ─ sums of rows ─► new height × new width
//!      ─ transpose ────► new width × new height
//! ```
//! Both passes add whole rows to each other, so one vector processes samples that are adjacent in
//! memory. Transposing a plane costs less than adding the samples within a row. Weights have 16
//! bits, with as many fractional bits as fit; the weights of one output sample add up to exactly 1.
//! Sums are integers, so every processor gives the same bytes.

use super::lanczos3_weight;
use image_plan::{Kernel, Plane, Size};
use std::rc::Rc;

/// Maximum number of fractional bits of a weight. With more bits, the sum of 255 times the absolute
/// weights could exceed 32 bits.
const PRECISION_MAX: u32 = 22;

/// Resampling of one axis: the interval of length `extent` from `start` becomes `count` samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    /// Number of input samples of the whole axis.
    pub(super) length: usize,
    /// Start of the interval, in input samples.
    pub(super) start: f64,
    /// Length of the interval, in input samples.
    pub(super) extent: f64,
    /// Number of output samples.
    pub(super) count: usize,
    /// Filter.
    pub(super) kernel: Kernel,
}

/// Returns the distance from the centre of a filter to the end of its weights, in samples.
const fn support(kernel: Kernel) -> f64 {
    match kernel {
        Kernel::Lanczos3 => 3.0,
        Kernel::Cubic => 2.0,
        Kernel::Linear => 1.0,
        Kernel::Nearest => 0.0,
    }
}

/// Returns the weight of a sample at distance `x` from the centre of the filter.
fn weight(kernel: Kernel, x: f64) -> f64 {
    let x = x.abs();
    match kernel {
        Kernel::Lanczos3 => lanczos3_weight(x),
        // The Catmull-Rom spline.
        Kernel::Cubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
        Kernel::Cubic if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
        Kernel::Cubic => 0.0,
        Kernel::Linear => (1.0 - x).max(0.0),
        Kernel::Nearest => 1.0,
    }
}

/// Filter weights for all output samples of an axis.
#[derive(Debug)]
pub(super) struct Taps {
    each: Vec<Tap>,
    /// Weights of all taps, in pairs; an odd last weight is paired with 0.
    weights: Vec<[i16; 2]>,
    /// Number of fractional bits of a weight.
    precision: u32,
    /// Number of input samples of the axis.
    length: usize,
}

/// Inputs of one output sample: the index of the first input sample, and the range of the output
/// sample's weight pairs in `Taps::weights`.
#[derive(Debug)]
struct Tap {
    first: usize,
    from: usize,
    to: usize,
}

impl Taps {
    pub(super) fn new(axis: Axis) -> Taps {
        let scale = axis.extent / axis.count as f64;
        let stretch = scale.max(1.0);
        let reach = support(axis.kernel) * stretch;
        let (mut real, mut windows) = (Vec::new(), Vec::with_capacity(axis.count));
        let mut largest = 0.0_f64;
        for index in 0..axis.count {
            let centre = axis.start + (index as f64 + 0.5) * scale - 0.5;
            // Casts to `usize` saturate, so a negative start becomes 0.
            let (first, last) = match axis.kernel {
                Kernel::Nearest => ((centre + 0.5) as usize, (centre + 0.5) as usize),
                _ => ((centre - reach).ceil() as usize, (centre + reach) as usize),
            };
            let (first, last) = (first.min(axis.length - 1), last.min(axis.length - 1));
            let from = real.len();
            let weight = |at| weight(axis.kernel, (at as f64 - centre) / stretch);
            real.extend((first..=last).map(weight));
            let sum: f64 = real[from..].iter().sum();
            for weight in &mut real[from..] {
                *weight /= sum;
                largest = largest.max(weight.abs());
            }
            windows.push((first, from..real.len()));
        }
        let fitting = (f64::from(i16::MAX - 1) / largest).log2().floor();
        let precision = (fitting as u32).min(PRECISION_MAX);
        let (mut each, mut weights) = (Vec::with_capacity(axis.count), Vec::new());
        for (first, window) in windows {
            let from = weights.len();
            // Rounds the running sum instead of each weight, so that the rounded weights add up
            // exactly to 1.
            let (mut sum, mut rounded) = (0.0, 0);
            let mut next = |weight: &f64| {
                sum += weight * f64::from(1_u32 << precision);
                let before = rounded;
                rounded = (sum + 0.5).floor() as i32;
                (rounded - before) as i16
            };
            for pair in real[window].chunks(2) {
                let low = next(&pair[0]);
                weights.push([low, pair.get(1).map_or(0, &mut next)]);
            }
            let to = weights.len();
            each.push(Tap { first, from, to });
        }
        Taps {
            each,
            weights,
            precision,
            length: axis.length,
        }
    }
}

/// Cache of taps by axis. The planes of a picture share taps, and so do the two axes of a square.
#[derive(Default)]
pub(super) struct TapsCache(Vec<(Axis, Rc<Taps>)>);

impl TapsCache {
    pub(super) fn taps(&mut self, axis: Axis) -> Rc<Taps> {
        let cached = self.0.iter().find(|(cached, _)| *cached == axis);
        match cached {
            Some((_, taps)) => Rc::clone(taps),
            None => {
                let taps = Rc::new(Taps::new(axis));
                self.0.push((axis, Rc::clone(&taps)));
                taps
            }
        }
    }
}

/// Rectangular part of a plane.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) plane: &'a Plane,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

impl<'a> View<'a> {
    fn whole(plane: &'a Plane) -> View<'a> {
        View {
            plane,
            x: 0,
            y: 0,
            width: plane.size.width_px as usize,
            height: plane.size.height_px as usize,
        }
    }

    fn row(&self, y: usize) -> &'a [u8] {
        let start = (self.y + y) * self.plane.stride + self.x;
        &self.plane.data[start..start + self.width]
    }
}

/// Filters a view with the weights `across` along its rows and `down` along its columns.
///
/// # Panics
/// If the weights were computed for other lengths than the view's.
pub(super) fn filtered(view: View<'_>, across: &Taps, down: &Taps) -> Plane {
    assert_eq!((view.width, view.height), (across.length, down.length));
    let low = transpose(&sum_rows(view, down));
    transpose(&sum_rows(View::whole(&low), across))
}

/// Two input rows and the weight of each.
type Pair<'a> = (&'a [u8], &'a [u8], [i16; 2]);

/// Computes each output row as the weighted sum of the input rows of its tap.
fn sum_rows(view: View<'_>, taps: &Taps) -> Plane {
    let mut out = Plane::filled(size(view.width, taps.each.len()), 0);
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    for (tap, out) in taps.each.iter().zip(out.data.chunks_exact_mut(view.width)) {
        pairs.clear();
        pairs.extend((tap.from..tap.to).map(|at| {
            let y = tap.first + 2 * (at - tap.from);
            // Rows are summed in pairs. If an output row depends on an odd number of rows, the
            // partner of the last one has the weight 0, so any row that exists will do.
            let next = (y + 1).min(view.height - 1);
            (view.row(y), view.row(next), taps.weights[at])
        }));
        sum(&pairs, taps.precision, out);
    }
    out
}

fn sum(pairs: &[Pair<'_>], precision: u32, out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if avx2::WIDTH <= out.len() && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the line above checked that the processor supports AVX2, for which the callee is
        // compiled.
        return unsafe { avx2::sum(pairs, precision, out) };
    }
    sum_scalar(pairs, precision, out);
}

fn sum_scalar(pairs: &[Pair<'_>], precision: u32, out: &mut [u8]) {
    for (x, out) in out.iter_mut().enumerate() {
        let products = pairs.iter().map(|(a, b, [low, high])| {
            i32::from(*low) * i32::from(a[x]) + i32::from(*high) * i32::from(b[x])
        });
        let sum = products.sum::<i32>() + half(precision);
        *out = (sum >> precision).clamp(0, 255) as u8;
    }
}

const fn half(precision: u32) -> i32 {
    1 << precision >> 1
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Pair, half};
    use std::arch::x86_64::*;

    /// Number of samples of a row that are computed at once.
    pub(super) const WIDTH: usize = 32;

    /// Computes the weighted sum of rows with AVX2.
    ///
    /// # Panics
    /// If `out` is shorter than [`WIDTH`], or a row is shorter than `out`.
    #[target_feature(enable = "avx2")]
    pub(super) fn sum(pairs: &[Pair<'_>], precision: u32, out: &mut [u8]) {
        let width = out.len();
        for x in (0..width - WIDTH).step_by(WIDTH) {
            stretch(pairs, precision, x, out);
        }
        // The last group of `WIDTH` samples ends at the end of the row, so it may overlap the
        // previous group.
        stretch(pairs, precision, width - WIDTH, out);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn stretch(pairs: &[Pair<'_>], precision: u32, x: usize, out: &mut [u8]) {
        let zero = _mm256_setzero_si256();
        let mut sums = [_mm256_set1_epi32(half(precision)); 4];
        for (a, b, [low, high]) in pairs {
            let weights = i32::from(*low) & 0xffff | i32::from(*high) << 16;
            let weights = _mm256_set1_epi32(weights);
            let (a, b) = (load(&a[x..x + WIDTH]), load(&b[x..x + WIDTH]));
            // Interleaves the samples of `a` and `b` and widens them to 16 bits.
            let (front, back) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
            let samples = [
                _mm256_unpacklo_epi8(front, zero),
                _mm256_unpackhi_epi8(front, zero),
                _mm256_unpacklo_epi8(back, zero),
                _mm256_unpackhi_epi8(back, zero),
            ];
            for (sum, samples) in sums.iter_mut().zip(samples) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(samples, weights));
            }
        }
        let shift = _mm_cvtsi32_si128(precision as i32);
        let [a, b, c, d] = sums.map(|sum| _mm256_sra_epi32(sum, shift));
        // Both pack instructions saturate: to signed 16 bits, then to unsigned 8 bits.
        let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        let out = &mut out[x..x + WIDTH];
        // SAFETY: `out` has 32 bytes, by the line above, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(samples: &[u8]) -> __m256i {
        assert_eq!(samples.len(), WIDTH);
        // SAFETY: `samples` has 32 bytes, by the line above, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(samples.as_ptr().cast()) }
    }
}

fn transpose(plane: &Plane) -> Plane {
    let (width, height) = (plane.size.width_px as usize, plane.size.height_px as usize);
    let mut out = Plane::filled(size(height, width), 0);
    let (whole_x, whole_y) = (width / 8 * 8, height / 8 * 8);
    for y in (0..whole_y).step_by(8) {
        for x in (0..whole_x).step_by(8) {
            let rows = std::array::from_fn(|row| {
                let start = (y + row) * plane.stride + x;
                let eight = plane.data[start..].first_chunk();
                u64::from_le_bytes(*eight.expect("the row contains a whole block"))
            });
            for (column, eight) in transpose_block(rows).into_iter().enumerate() {
                let start = (x + column) * out.stride + y;
                out.data[start..start + 8].copy_from_slice(&eight.to_le_bytes());
            }
        }
    }
    for y in 0..height {
        let first_column = if y < whole_y { whole_x } else { 0 };
        for x in first_column..width {
            out.data[x * out.stride + y] = plane.data[y * plane.stride + x];
        }
    }
    out
}

/// Transposes a block of 8 × 8 bytes. Exchanges squares of 4 × 4 across the diagonal, then of 2 ×
/// 2, then single bytes.
fn transpose_block(mut rows: [u64; 8]) -> [u64; 8] {
    for (side, mask) in [
        (4, 0x0000_0000_ffff_ffff),
        (2, 0x0000_ffff_0000_ffff),
        (1, 0x00ff_00ff_00ff_00ff),
    ] {
        for at in (0..8).filter(|at| at & side == 0) {
            let (upper, lower) = (rows[at], rows[at + side]);
            let bits = 8 * side as u32;
            rows[at] = upper & mask | (lower & mask) << bits;
            rows[at + side] = upper >> bits & mask | lower & !mask;
        }
    }
    rows
}

fn size(width: usize, height: usize) -> Size {
    // The casts are lossless, because both values come from a `Size`.
    Size::new(width as u32, height as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noise(width: usize, height: usize, seed: u32) -> Plane {
        let mut plane = Plane::filled(size(width, height), 0);
        let mut state = seed | 1;
        for sample in &mut plane.data {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Generates many samples of 0 and 255, because these are most likely to cause
            // overflows.
            *sample = match state >> 30 {
                0 => 0,
                1 => 255,
                _ => (state >> 16) as u8,
            };
        }
        plane
    }

    #[test]
    fn weights_add_up_to_one() {
        let lengths = [(500, 300), (1000, 7), (3, 900), (100_000, 1), (1, 1)];
        let each_kernel = |lengths| Kernel::ALL.map(|kernel| (lengths, kernel));
        for ((length, count), kernel) in lengths.into_iter().flat_map(each_kernel) {
            let axis = Axis {
                length,
                start: 0.0,
                extent: length as f64,
                count,
                kernel,
            };
            let taps = Taps::new(axis);
            for tap in &taps.each {
                let weights = taps.weights[tap.from..tap.to].iter().flatten();
                let sum: i32 = weights.map(|weight| i32::from(*weight)).sum();
                assert_eq!(sum, 1 << taps.precision, "{axis:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn wide_sums_are_plain_sums(
            width in 32_usize..150, height in 1_usize..40, count in 1_usize..60, seed: u32,
        ) {
            let plane = noise(width, height, seed);
            let kernel = Kernel::Lanczos3;
            let axis = Axis { length: height, start: 0.0, extent: height as f64, count, kernel };
            let taps = Taps::new(axis);
            let view = View::whole(&plane);
            let made = sum_rows(view, &taps);
            for (tap, made) in taps.each.iter().zip(made.data.chunks(width)) {
                let pairs: Vec<Pair<'_>> = (tap.from..tap.to).map(|at| {
                    let y = tap.first + 2 * (at - tap.from);
                    (view.row(y), view.row((y + 1).min(height - 1)), taps.weights[at])
                }).collect();
                let mut plain = vec![0; width];
                sum_scalar(&pairs, taps.precision, &mut plain);
                prop_assert_eq!(made, &plain[..]);
            }
        }

        #[test]
        fn transposing_makes_rows_columns(width in 1_usize..40, height in 1_usize..40, seed: u32) {
            let plane = noise(width, height, seed);
            let transposed = transpose(&plane);
            prop_assert_eq!(transposed.size, size(height, width));
            for y in 0..height {
                for x in 0..width {
                    prop_assert_eq!(transposed.data[x * height + y], plane.data[y * width + x]);
                }
            }
        }
    }
}
