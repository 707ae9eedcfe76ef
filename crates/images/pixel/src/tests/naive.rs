//! Naive implementations that follow the definitions and compute one sample at a time.

use image_plan::{Matrix, Orientation, Plane, Range, Size};

/// Returns the stored position of pixel (x, y) of the upright picture, given the size of the stored
/// picture (EXIF 2.32, tag 0x0112).
pub(super) fn stored_at(orientation: Orientation, stored: Size, x: u32, y: u32) -> (u32, u32) {
    let right = stored.width_px - 1;
    let bottom = stored.height_px - 1;
    match orientation {
        Orientation::Upright => (x, y),
        Orientation::Mirror => (right - x, y),
        Orientation::Turn180 => (right - x, bottom - y),
        Orientation::Flip => (x, bottom - y),
        Orientation::Transpose => (y, x),
        Orientation::Turn90 => (y, bottom - x),
        Orientation::Transverse => (right - y, bottom - x),
        Orientation::Turn270 => (right - y, x),
    }
}

/// Applies Lanczos3 as [`filtered`] does.
pub(super) fn lanczos(plane: &Plane, area: [f64; 4], size: Size) -> Vec<u8> {
    filtered(plane, area, size, sinc3)
}

/// Applies a filter in double precision to the samples that `area` touches: columns first, rounded
/// and clamped, then rows. `kernel` is the weight at a distance from the centre.
pub(super) fn filtered(
    plane: &Plane,
    area: [f64; 4],
    size: Size,
    kernel: fn(f64) -> f64,
) -> Vec<u8> {
    let [left, top, width, height] = area;
    let round = |sum: f64| f64::from(sum.round().clamp(0.0, 255.0) as u8);
    let rows: Vec<Vec<f64>> = weights(top, height, size.height_px, kernel)
        .iter()
        .map(|(first, weights)| {
            let sample = |x: usize, at: usize| f64::from(plane.row(first + at as u32)[x]);
            let sum = |x| {
                weights
                    .iter()
                    .enumerate()
                    .map(|(at, w)| w * sample(x, at))
                    .sum()
            };
            (0..plane.size.width_px as usize)
                .map(|x| round(sum(x)))
                .collect()
        })
        .collect();
    let columns = weights(left, width, size.width_px, kernel);
    let mut out = Vec::new();
    for row in rows {
        for (first, weights) in &columns {
            let samples = &row[*first as usize..];
            let sum = weights
                .iter()
                .zip(samples)
                .map(|(w, sample)| w * sample)
                .sum();
            out.push(round(sum) as u8);
        }
    }
    out
}

/// Returns, for each output sample, the index of the first input sample and the weights of this
/// sample and of those after it.
fn weights(start: f64, extent: f64, count: u32, kernel: fn(f64) -> f64) -> Vec<(u32, Vec<f64>)> {
    let (first, last) = (start.floor() as u32, (start + extent).ceil() as u32);
    let scale = extent / f64::from(count);
    let stretch = scale.max(1.0);
    (0..count)
        .map(|index| {
            let centre = start + (f64::from(index) + 0.5) * scale;
            let at = |sample: u32| kernel((f64::from(sample) + 0.5 - centre) / stretch);
            let sum: f64 = (first..last).map(at).sum();
            (
                first,
                (first..last).map(|sample| at(sample) / sum).collect(),
            )
        })
        .collect()
}

/// Weight of linear interpolation.
pub(super) fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// Weight of the cubic convolution of R. G. Keys (1981) with a = −1/2.
pub(super) fn catmull_rom(x: f64) -> f64 {
    let x = x.abs();
    if x <= 1.0 {
        1.5 * x.powi(3) - 2.5 * x.powi(2) + 1.0
    } else if x < 2.0 {
        -0.5 * x.powi(3) + 2.5 * x.powi(2) - 4.0 * x + 2.0
    } else {
        0.0
    }
}

fn sinc3(x: f64) -> f64 {
    let sinc = |x: f64| {
        if x == 0.0 {
            1.0
        } else {
            (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x)
        }
    };
    if x.abs() < 3.0 {
        sinc(x) * sinc(x / 3.0)
    } else {
        0.0
    }
}

const fn red_and_blue(matrix: Matrix) -> (f64, f64) {
    match matrix {
        Matrix::Bt601 => (0.299, 0.114),
        Matrix::Bt709 => (0.2126, 0.0722),
        Matrix::Bt2020 => (0.2627, 0.0593),
    }
}

/// Returns the black level of luma, the number of levels between luma's black and white, and the
/// number of levels between the extremes of chroma.
const fn extents(range: Range) -> (f64, f64, f64) {
    match range {
        Range::Full => (0.0, 255.0, 255.0),
        Range::Limited => (16.0, 219.0, 224.0),
    }
}

pub(super) fn yuv_of(rgb: [u8; 3], range: Range, matrix: Matrix) -> [f64; 3] {
    let [r, g, b] = rgb.map(|v| f64::from(v) / 255.0);
    let (red, blue) = red_and_blue(matrix);
    let (origin, luma_extent, chroma_extent) = extents(range);
    let y = red * r + (1.0 - red - blue) * g + blue * b;
    [
        origin + luma_extent * y,
        128.0 + chroma_extent * (b - y) / (2.0 * (1.0 - blue)),
        128.0 + chroma_extent * (r - y) / (2.0 * (1.0 - red)),
    ]
}

pub(super) fn rgb_of(yuv: [u8; 3], range: Range, matrix: Matrix) -> [u8; 3] {
    let (red, blue) = red_and_blue(matrix);
    let (origin, luma_extent, chroma_extent) = extents(range);
    let y = (f64::from(yuv[0]) - origin) / luma_extent;
    let b = y + (f64::from(yuv[1]) - 128.0) / chroma_extent * 2.0 * (1.0 - blue);
    let r = y + (f64::from(yuv[2]) - 128.0) / chroma_extent * 2.0 * (1.0 - red);
    let g = (y - red * r - blue * b) / (1.0 - red - blue);
    [r, g, b].map(|v| (v * 255.0).round().clamp(0.0, 255.0) as u8)
}

/// Returns the linear light of an encoded sRGB level, from 0 to 1 (IEC 61966-2-1).
pub(super) fn linear(level: f64) -> f64 {
    let encoded = level / 255.0;
    if encoded <= 0.04045 {
        encoded / 12.92
    } else {
        ((encoded + 0.055) / 1.055).powf(2.4)
    }
}

/// Returns the encoded sRGB level of linear light, from 0 to 255.
pub(super) fn encoded(linear: f64) -> f64 {
    let encoded = if linear <= 0.003_130_8 {
        linear * 12.92
    } else {
        1.055 * linear.powf(1.0 / 2.4) - 0.055
    };
    encoded * 255.0
}

/// Blurs samples with a Gaussian in double precision; the edges are repeated.
pub(super) fn gaussian(samples: &[f64], width: usize, sigma: f64) -> Vec<f64> {
    let height = samples.len() / width;
    let radius = (6.0 * sigma).ceil() as i64;
    let weights: Vec<f64> = (-radius..=radius)
        .map(|at| (-(at as f64).powi(2) / (2.0 * sigma * sigma)).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    let clamped = |at: i64, length: usize| at.clamp(0, length as i64 - 1) as usize;
    let along = |sample: &dyn Fn(i64) -> f64| {
        let products = (-radius..=radius)
            .zip(&weights)
            .map(|(at, w)| w * sample(at));
        products.sum::<f64>() / sum
    };
    let mut across = Vec::new();
    for y in 0..height {
        for x in 0..width {
            across.push(along(&|at| {
                samples[y * width + clamped(x as i64 + at, width)]
            }));
        }
    }
    let mut both = Vec::new();
    for y in 0..height {
        for x in 0..width {
            both.push(along(&|at| {
                across[clamped(y as i64 + at, height) * width + x]
            }));
        }
    }
    both
}
