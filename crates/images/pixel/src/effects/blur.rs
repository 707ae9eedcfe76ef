//! Gaussian blur of planes with 16 bits per sample.
//!
//! Both directions are filtered by the same code, [`LANES`] lines of samples at a time: a group of
//! rows or columns is copied to an array in which the samples at the same position of all lines are
//! adjacent, so that one vector holds one sample of each line.
//!
//! ```text
//! plane ─ copy 16 rows ─► lines ─ filter ─ copy back ─► plane ─ the same with columns ─► plane
//! ```
//! A small Gaussian is summed directly. A large one is approximated by three box filters in
//! sequence, whose time does not depend on their length (P. Gwosdek et al., "Theoretical
//! Foundations of Gaussian Convolution by Extended Box Filtering", 2011). The edges are repeated
//! before the first of them, far enough for all three. All sums are integers.

use super::light::{to_encoded, to_linear};
use image_plan::{Layout, Packed, Size};

/// Number of lines that are filtered at a time.
const LANES: usize = 16;
/// Samples of [`LANES`] lines at one position.
type Samples = [u16; LANES];

/// Largest standard deviation in pixels for which the Gaussian is summed directly.
const DIRECT_SIGMA_MAX: f64 = 3.0;
/// Number of standard deviations from the centre of a Gaussian to the end of its weights.
const EXTENT_SIGMAS: f64 = 3.5;
/// Sum of the weights of a Gaussian that is summed directly.
const ONE: u32 = 1 << 16;

/// Blurs the picture with a Gaussian of standard deviation `sigma_px`, in linear light. Colours are
/// weighted by alpha; the picture's edges are repeated.
///
/// # Panics
/// If the picture is CMYK.
#[must_use]
pub fn blur(mut packed: Packed, sigma_px: f64) -> Packed {
    assert!(packed.layout != Layout::Cmyk, "CMYK is not light");
    let (size, channels) = (packed.size, packed.layout.channels());
    let filter = Gaussian::new(sigma_px);
    let alphas = (packed.layout == Layout::Rgba).then(|| {
        let alphas = packed.data.iter().skip(3).step_by(4);
        let mut plane: Vec<u16> = alphas.map(|alpha| u16::from(*alpha) * 257).collect();
        filter.blur(&mut plane, size);
        plane
    });
    let (to_linear, to_encoded) = (to_linear(), to_encoded());
    for channel in 0..3 {
        let pixels = packed.data.chunks_exact(channels);
        let mut plane: Vec<u16> = match alphas {
            None => pixels
                .map(|pixel| to_linear[usize::from(pixel[channel])])
                .collect(),
            Some(_) => pixels
                .map(|pixel| premultiplied(to_linear[usize::from(pixel[channel])], pixel[3]))
                .collect(),
        };
        filter.blur(&mut plane, size);
        let pixels = packed.data.chunks_exact_mut(channels);
        match &alphas {
            None => pixels.zip(&plane).for_each(|(pixel, light)| {
                pixel[channel] = to_encoded[usize::from(*light)];
            }),
            Some(alphas) => {
                for ((pixel, light), alpha) in pixels.zip(&plane).zip(alphas) {
                    pixel[channel] = to_encoded[usize::from(unmultiplied(*light, *alpha))];
                }
            }
        }
    }
    if let Some(alphas) = alphas {
        for (pixel, alpha) in packed.data.as_chunks_mut::<4>().0.iter_mut().zip(alphas) {
            pixel[3] = ((u32::from(alpha) + 128) / 257) as u8;
        }
    }
    packed
}

fn premultiplied(light: u16, alpha: u8) -> u16 {
    ((u32::from(light) * u32::from(alpha) + 127) / 255) as u16
}

/// Returns the light without the factor `alpha`, or 0 if alpha is 0.
fn unmultiplied(light: u16, alpha: u16) -> u16 {
    let (light, alpha) = (u32::from(light), u32::from(alpha));
    match (light * 65_535 + alpha / 2).checked_div(alpha) {
        Some(light) => light.min(65_535) as u16,
        None => 0,
    }
}

/// Gaussian filter for one direction.
pub(super) enum Gaussian {
    /// Weights from the centre outwards. The centre's weight plus twice the others is [`ONE`].
    Direct(Vec<u32>),
    /// Box filter that is applied three times.
    Boxes(ExtendedBox),
}

/// Box filter whose outermost samples have a smaller weight than the others, so that the filter can
/// have any standard deviation.
pub(super) struct ExtendedBox {
    /// Number of samples with full weight on each side of the centre.
    radius: usize,
    /// Weight of the samples within the radius, in units of 2⁻³².
    inner: u64,
    /// Weight of the two samples outside the radius, in units of 2⁻³².
    outer: u64,
}

impl Gaussian {
    /// Creates a filter of standard deviation `sigma_px`.
    pub(super) fn new(sigma_px: f64) -> Gaussian {
        if sigma_px <= DIRECT_SIGMA_MAX {
            Gaussian::direct(sigma_px)
        } else {
            Gaussian::Boxes(ExtendedBox::new(sigma_px * sigma_px / 3.0))
        }
    }

    fn direct(sigma_px: f64) -> Gaussian {
        let radius = (EXTENT_SIGMAS * sigma_px).ceil().max(1.0) as u32;
        let weight = |at: u32| (-0.5 * (f64::from(at) / sigma_px).powi(2)).exp();
        let sum = weight(0) + 2.0 * (1..=radius).map(weight).sum::<f64>();
        let rounded = |at: u32| (weight(at) / sum * f64::from(ONE)).round() as u32;
        let mut weights: Vec<u32> = (0..=radius).map(rounded).collect();
        weights[0] = ONE - 2 * weights[1..].iter().sum::<u32>();
        Gaussian::Direct(weights)
    }

    /// Blurs a plane of `size` in both directions.
    pub(super) fn blur(&self, plane: &mut [u16], size: Size) {
        let (width, height) = (size.width_px as usize, size.height_px as usize);
        assert_eq!(plane.len(), width * height);
        let (mut lines, mut scratch) = (Vec::new(), Scratch::default());
        for rows in plane.chunks_mut(LANES * width) {
            lines.clear();
            lines.resize(width, [0; LANES]);
            for (lane, row) in rows.chunks_exact(width).enumerate() {
                for (samples, sample) in lines.iter_mut().zip(row) {
                    samples[lane] = *sample;
                }
            }
            self.filter(&mut lines, &mut scratch);
            for (lane, row) in rows.chunks_exact_mut(width).enumerate() {
                for (sample, samples) in row.iter_mut().zip(&lines) {
                    *sample = samples[lane];
                }
            }
        }
        for left in (0..width).step_by(LANES) {
            let columns = LANES.min(width - left);
            lines.clear();
            lines.resize(height, [0; LANES]);
            for (samples, row) in lines.iter_mut().zip(plane.chunks_exact(width)) {
                samples[..columns].copy_from_slice(&row[left..left + columns]);
            }
            self.filter(&mut lines, &mut scratch);
            for (samples, row) in lines.iter().zip(plane.chunks_exact_mut(width)) {
                row[left..left + columns].copy_from_slice(&samples[..columns]);
            }
        }
    }

    /// Filters along the lines.
    fn filter(&self, lines: &mut [Samples], scratch: &mut Scratch) {
        let (extended, other) = (&mut scratch.extended, &mut scratch.other);
        match self {
            Gaussian::Direct(weights) => {
                extend_edges(lines, weights.len() - 1, extended);
                sum_directly(weights, extended, lines);
            }
            Gaussian::Boxes(filter) => {
                // Each box shortens the lines by its margin on both sides.
                let margin = filter.radius + 1;
                extend_edges(lines, 3 * margin, extended);
                other.resize(extended.len() - 2 * margin, [0; LANES]);
                filter.slide(extended, other);
                extended.truncate(other.len() - 2 * margin);
                filter.slide(other, extended);
                filter.slide(extended, lines);
            }
        }
    }
}

/// Buffers of a filter; their content has no meaning between two groups of lines.
#[derive(Default)]
struct Scratch {
    extended: Vec<Samples>,
    other: Vec<Samples>,
}

/// Copies `lines` to `extended`, with `margin` copies of the first and the last sample around it.
fn extend_edges(lines: &[Samples], margin: usize, extended: &mut Vec<Samples>) {
    let last = lines.len() - 1;
    extended.clear();
    extended.resize(margin, lines[0]);
    extended.extend_from_slice(lines);
    extended.resize(2 * margin + last + 1, lines[last]);
}

/// Computes each sample of `out` as the weighted sum of the samples around it. `extended` has the
/// samples of `out` with margins of the radius of the filter.
fn sum_directly(weights: &[u32], extended: &[Samples], out: &mut [Samples]) {
    let radius = weights.len() - 1;
    for (at, out) in out.iter_mut().enumerate() {
        let window = &extended[at..=at + 2 * radius];
        // The sum of weights is 2¹⁶ and a sample has 16 bits, so 32 bits hold the sum.
        let mut sums = window[radius].map(|sample| weights[0] * u32::from(sample) + ONE / 2);
        for (distance, weight) in weights.iter().enumerate().skip(1) {
            let pair = (&window[radius - distance], &window[radius + distance]);
            for (sum, (a, b)) in sums.iter_mut().zip(pair.0.iter().zip(pair.1)) {
                *sum += weight * (u32::from(*a) + u32::from(*b));
            }
        }
        *out = sums.map(|sum| (sum >> 16) as u16);
    }
}

impl ExtendedBox {
    /// Creates the filter of the given variance in square pixels.
    fn new(variance: f64) -> ExtendedBox {
        // A box of radius `r` has the variance r(r + 1)/3.
        let box_variance = |radius: f64| radius * (radius + 1.0) / 3.0;
        let radius = ((1.0 + 12.0 * variance).sqrt() - 1.0) / 2.0;
        let radius = radius.floor();
        let outside = (radius + 1.0) * (radius + 1.0);
        let full = 2.0 * radius + 1.0;
        // Weight of an outer sample relative to an inner one, from the equation
        // variance · (full + 2 · share) = full · box_variance + 2 · share · outside.
        let share = full * (variance - box_variance(radius)) / (2.0 * (outside - variance));
        let share = share.max(0.0);
        let one = 2.0_f64.powi(32);
        // An even weight of the inner samples leaves an even rest for the two outer ones.
        let inner = (one / (full + 2.0 * share) / 2.0).floor() as u64 * 2;
        let radius = radius as usize;
        let outer = ((1 << 32) - inner * (2 * radius as u64 + 1)) / 2;
        ExtendedBox {
            radius,
            inner,
            outer,
        }
    }

    /// Computes each sample of `out` as the weighted sum of the samples around it. `extended` has
    /// the samples at the positions of `out`, and margins of the radius plus 1.
    fn slide(&self, extended: &[Samples], out: &mut [Samples]) {
        let length = 2 * self.radius + 1;
        // The longest box has fewer than 2¹⁶ samples of 16 bits, so 32 bits hold the sum.
        let mut sums = [0_u32; LANES];
        for samples in &extended[1..=length] {
            for (sum, sample) in sums.iter_mut().zip(samples) {
                *sum += u32::from(*sample);
            }
        }
        for (at, out) in out.iter_mut().enumerate() {
            let (before, after) = (&extended[at], &extended[at + length + 1]);
            let leaving = &extended[at + 1];
            let lanes = out
                .iter_mut()
                .zip(&mut sums)
                .zip(before.iter().zip(after))
                .zip(leaving);
            for (((out, sum), (before, after)), leaving) in lanes {
                let outer = u64::from(u32::from(*before) + u32::from(*after));
                let weighted = u64::from(*sum) * self.inner + outer * self.outer + (1 << 31);
                *out = (weighted >> 32) as u16;
                *sum = *sum + u32::from(*after) - u32::from(*leaving);
            }
        }
    }
}
