//! One plane filtered by Lanczos3, along its columns and then along its rows.
//!
//! ```text
//! view ─ sums of rows ─► width × new height ─ turned over ─► sums of rows ─► turned back: new width × new height
//! ```
//! Sums run along memory both ways, with neighbours in one vector; turning a plane over costs less than sums across it.
//! Weights have 16 bits and as many of them behind the point as fit; each output's add up to exactly 1. Sums are whole
//! numbers, so that every processor gives the same bytes.

use super::lanczos3_weight;
use image_plan::{Plane, Size};
use std::rc::Rc;

/// Bits behind the point of a weight: with more, a sum of 255 times the weights, negative ones counted as positive, could
/// leave 32 bits.
const PRECISION_MAX: u32 = 22;

/// A stretch of an axis that becomes so many samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    /// Samples there are.
    pub(super) length: usize,
    /// Where the stretch begins, in samples.
    pub(super) start: f64,
    /// How long it is, in samples.
    pub(super) extent: f64,
    /// Samples it becomes.
    pub(super) count: usize,
}

/// What each new sample of an axis is made of.
#[derive(Debug)]
pub(super) struct Taps {
    each: Vec<Tap>,
    /// Of all taps, each with an even number of them.
    weights: Vec<[i16; 2]>,
    /// Bits of a weight behind the point.
    precision: u32,
    /// Samples there are.
    length: usize,
}

/// Of one new sample: the first old one, and its stretch of the weights.
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
        let (mut real, mut windows) = (Vec::new(), Vec::with_capacity(axis.count));
        let mut largest = 0.0_f64;
        for index in 0..axis.count {
            let centre = axis.start + (index as f64 + 0.5) * scale - 0.5;
            // Casts saturate: what would begin before the axis begins with it.
            let first = (centre - 3.0 * stretch).ceil() as usize;
            let last = (centre + 3.0 * stretch) as usize;
            let (first, last) = (first.min(axis.length - 1), last.min(axis.length - 1));
            let from = real.len();
            real.extend((first..=last).map(|at| lanczos3_weight((at as f64 - centre) / stretch)));
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
            // Rounding what there is so far, and not each weight, leaves the sum of all exact.
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

/// Taps by their axes: the planes of a picture, and both sides of a square, share them.
#[derive(Default)]
pub(super) struct Known(Vec<(Axis, Rc<Taps>)>);

impl Known {
    pub(super) fn taps(&mut self, axis: Axis) -> Rc<Taps> {
        let known = self.0.iter().find(|(known, _)| *known == axis);
        match known {
            Some((_, taps)) => Rc::clone(taps),
            None => {
                let taps = Rc::new(Taps::new(axis));
                self.0.push((axis, Rc::clone(&taps)));
                taps
            }
        }
    }
}

/// Part of a plane.
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

/// What a view becomes by these taps.
///
/// # Panics
/// When the taps are those of other lengths.
pub(super) fn filtered(view: View<'_>, across: &Taps, down: &Taps) -> Plane {
    assert_eq!((view.width, view.height), (across.length, down.length));
    let low = turned(&summed(view, down));
    turned(&summed(View::whole(&low), across))
}

/// Two rows and their weights.
type Pair<'a> = (&'a [u8], &'a [u8], [i16; 2]);

/// Each new row, from those that its tap names.
fn summed(view: View<'_>, taps: &Taps) -> Plane {
    let mut out = Plane::filled(size(view.width, taps.each.len()), 0);
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    for (tap, out) in taps.each.iter().zip(out.data.chunks_exact_mut(view.width)) {
        pairs.clear();
        pairs.extend((tap.from..tap.to).map(|at| {
            let y = tap.first + 2 * (at - tap.from);
            // An odd number of rows ends with one that weighs nothing.
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
        // SAFETY: the processor has what the callee is compiled for, as the line above saw.
        return unsafe { avx2::sum(pairs, precision, out) };
    }
    sum_plainly(pairs, precision, out);
}

fn sum_plainly(pairs: &[Pair<'_>], precision: u32, out: &mut [u8]) {
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

    /// Samples that are summed at once.
    pub(super) const WIDTH: usize = 32;

    /// # Panics
    /// When `out` is shorter than [`WIDTH`], or a row is shorter than `out`.
    #[target_feature(enable = "avx2")]
    pub(super) fn sum(pairs: &[Pair<'_>], precision: u32, out: &mut [u8]) {
        let width = out.len();
        for x in (0..width - WIDTH).step_by(WIDTH) {
            stretch(pairs, precision, x, out);
        }
        // The last stretch may begin in the one before it.
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
            // Each sample of `a` beside its own of `b`, as numbers of 16 bits.
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
        // Both clamp: numbers of 16 bits, then of 8 without a sign.
        let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        let out = &mut out[x..x + WIDTH];
        // SAFETY: `out` has 32 bytes, by the line above, and the store asks for no alignment.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(samples: &[u8]) -> __m256i {
        assert_eq!(samples.len(), WIDTH);
        // SAFETY: `samples` has 32 bytes, by the line above, and the load asks for no alignment.
        unsafe { _mm256_loadu_si256(samples.as_ptr().cast()) }
    }
}

/// Rows become columns.
fn turned(plane: &Plane) -> Plane {
    let (width, height) = (plane.size.width_px as usize, plane.size.height_px as usize);
    let mut out = Plane::filled(size(height, width), 0);
    let (whole_x, whole_y) = (width / 8 * 8, height / 8 * 8);
    for y in (0..whole_y).step_by(8) {
        for x in (0..whole_x).step_by(8) {
            let rows = std::array::from_fn(|row| {
                let start = (y + row) * plane.stride + x;
                let eight = plane.data[start..].first_chunk();
                u64::from_le_bytes(*eight.expect("a whole block"))
            });
            for (column, eight) in turned_block(rows).into_iter().enumerate() {
                let start = (x + column) * out.stride + y;
                out.data[start..start + 8].copy_from_slice(&eight.to_le_bytes());
            }
        }
    }
    for y in 0..height {
        let rest = if y < whole_y { whole_x } else { 0 };
        for x in rest..width {
            out.data[x * out.stride + y] = plane.data[y * plane.stride + x];
        }
    }
    out
}

/// The same for eight rows of eight: blocks of four change places, then of two, then of one.
fn turned_block(mut rows: [u64; 8]) -> [u64; 8] {
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
    // Both come from sizes.
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
            // Extremes too: they are what overflows.
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
        for (length, count) in [(500, 300), (1000, 7), (3, 900), (100_000, 1), (1, 1)] {
            let axis = Axis {
                length,
                start: 0.0,
                extent: length as f64,
                count,
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
            let axis = Axis { length: height, start: 0.0, extent: height as f64, count };
            let taps = Taps::new(axis);
            let view = View::whole(&plane);
            let made = summed(view, &taps);
            for (tap, made) in taps.each.iter().zip(made.data.chunks(width)) {
                let pairs: Vec<Pair<'_>> = (tap.from..tap.to).map(|at| {
                    let y = tap.first + 2 * (at - tap.from);
                    (view.row(y), view.row((y + 1).min(height - 1)), taps.weights[at])
                }).collect();
                let mut plain = vec![0; width];
                sum_plainly(&pairs, taps.precision, &mut plain);
                prop_assert_eq!(made, &plain[..]);
            }
        }

        #[test]
        fn turning_over_makes_rows_columns(width in 1_usize..40, height in 1_usize..40, seed: u32) {
            let plane = noise(width, height, seed);
            let over = turned(&plane);
            prop_assert_eq!(over.size, size(height, width));
            for y in 0..height {
                for x in 0..width {
                    prop_assert_eq!(over.data[x * height + y], plane.data[y * width + x]);
                }
            }
        }
    }
}
