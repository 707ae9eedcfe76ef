//! Simple scaler for reference pictures. It applies Lanczos3 in `f64`, first to the rows and then
//! to the columns, and rounds once at the end.
//!
//! It works on gamma-encoded samples, as Pelton and its peers do. It is not optimised for speed.

#[cfg(test)]
mod tests;

use std::f64::consts::PI;

use image_plan::{Layout, Packed, Size};

/// Number of lobes of the kernel on each side.
const LOBES: f64 = 3.0;

/// Scales a picture to `size`.
///
/// # Panics
/// Panics if the picture is not RGB or the size is empty; reference pictures are RGB and not empty.
pub(crate) fn scale(picture: &Packed, size: Size) -> Packed {
    assert_eq!(picture.layout, Layout::Rgb);
    assert!(0 < size.pixels());
    let (from, to) = (picture.size, size);
    let samples: Vec<f64> = picture.data.iter().copied().map(f64::from).collect();
    let columns = kernels(from.width_px, to.width_px);
    let mut across = Vec::with_capacity(to.width_px as usize * from.height_px as usize * 3);
    for row in samples.chunks_exact(from.width_px as usize * 3) {
        for Kernel { first, weights } in &columns {
            for channel in 0..3 {
                let taps = weights.iter().enumerate();
                across.push(
                    taps.map(|(tap, weight)| weight * row[(first + tap) * 3 + channel])
                        .sum::<f64>(),
                );
            }
        }
    }
    let stride = to.width_px as usize * 3;
    let mut data = Vec::with_capacity(stride * to.height_px as usize);
    for Kernel { first, weights } in kernels(from.height_px, to.height_px) {
        for at in 0..stride {
            let taps = weights.iter().enumerate();
            let sum: f64 = taps
                .map(|(tap, weight)| weight * across[(first + tap) * stride + at])
                .sum();
            data.push(sum.round().clamp(0.0, 255.0) as u8);
        }
    }
    Packed {
        size,
        layout: Layout::Rgb,
        data,
    }
}

/// Weights of the input samples that contribute to one output sample. The input samples are
/// successive; `first` is the index of the first one.
struct Kernel {
    first: usize,
    weights: Vec<f64>,
}

fn kernels(from: u32, to: u32) -> Vec<Kernel> {
    let step = f64::from(from) / f64::from(to);
    // If the picture is reduced, the kernel is widened, so that every input sample contributes.
    let stretch = step.max(1.0);
    let kernel = |index: u32| {
        let centre = (f64::from(index) + 0.5) * step;
        let first = (centre - LOBES * stretch).floor().max(0.0) as usize;
        let end = ((centre + LOBES * stretch).ceil() as usize).min(from as usize);
        let weights: Vec<f64> = (first..end)
            .map(|sample| lanczos((sample as f64 + 0.5 - centre) / stretch))
            .collect();
        let sum: f64 = weights.iter().sum();
        let weights = weights.iter().map(|weight| weight / sum).collect();
        Kernel { first, weights }
    };
    (0..to).map(kernel).collect()
}

fn lanczos(x: f64) -> f64 {
    if x == 0.0 {
        1.0
    } else if LOBES <= x.abs() {
        0.0
    } else {
        let angle = PI * x;
        LOBES * angle.sin() * (angle / LOBES).sin() / (angle * angle)
    }
}
