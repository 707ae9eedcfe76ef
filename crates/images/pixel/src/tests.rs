//! Tests that compare kernels with naive implementations, for odd sizes, rows with arbitrary bytes
//! as padding, and every subsampling.

mod alpha;
mod colour;
mod effects;
mod naive;
mod orient;
mod pad;
mod placeholder;
mod range;
mod rgb;
mod scale;
mod trim;

use image_plan::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
use proptest::prelude::*;

/// Returns pseudorandom bytes, the same for equal seeds. Each byte is one step of a linear
/// congruential generator.
fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Returns a plane of noise whose rows are followed by `padding` bytes of `poison`.
fn noise_plane(seed: u64, size: Size, padding: usize, poison: u8) -> Plane {
    let stride = size.width_px as usize + padding;
    let mut data = Vec::new();
    for row in noise(seed, size.pixels() as usize).chunks(size.width_px as usize) {
        data.extend_from_slice(row);
        data.extend(std::iter::repeat_n(poison, padding));
    }
    Plane { size, stride, data }
}

fn noise_yuv(size: Size, subsampling: Subsampling, alpha: bool, poison: Option<u8>) -> Yuv {
    let (padding, poison) = poison.map_or((0, 0), |poison| (5, poison));
    let chroma_size = subsampling.chroma(size);
    let plane = |seed, size| noise_plane(seed, size, padding, poison);
    Yuv {
        size,
        subsampling,
        range: Range::Full,
        matrix: Matrix::Bt601,
        luma: plane(1, size),
        chroma: (subsampling != Subsampling::S400)
            .then(|| [plane(2, chroma_size), plane(3, chroma_size)]),
        alpha: alpha.then(|| plane(4, size)),
    }
}

fn noise_packed(size: Size, layout: Layout) -> Packed {
    Packed {
        size,
        layout,
        data: noise(5, layout.channels() * size.pixels() as usize),
    }
}

/// Returns a picture without fine detail, for which all correctly aligned filters give nearly the
/// same result.
fn smooth_rgb(size: Size) -> Packed {
    let (width, height) = (f64::from(size.width_px), f64::from(size.height_px));
    let mut data = Vec::new();
    for y in 0..size.height_px {
        for x in 0..size.width_px {
            let (x, y) = ((f64::from(x) + 0.5) / width, (f64::from(y) + 0.5) / height);
            data.extend([x * 250.0, y * 250.0, (1.0 - x * y) * 200.0].map(|v| v.round() as u8));
        }
    }
    Packed {
        size,
        layout: Layout::Rgb,
        data,
    }
}

/// Converts `packed` to planes with any subsampling; chroma is the mean of each block.
fn subsampled(packed: &Packed, subsampling: Subsampling) -> Yuv {
    let yuv = crate::to_planes(
        Raster::Packed(packed.clone()),
        Subsampling::S444,
        Range::Full,
        Matrix::Bt601,
    );
    if subsampling == Subsampling::S400 {
        return Yuv {
            subsampling,
            chroma: None,
            ..yuv
        };
    }
    crate::scale::with_subsampling(yuv, subsampling)
}

#[track_caller]
fn assert_near(a: &[u8], b: &[u8], mean_max: f64, worst_max: u8) {
    assert_eq!(a.len(), b.len());
    let differences = || a.iter().zip(b).map(|(a, b)| a.abs_diff(*b));
    let sum: u64 = differences().map(u64::from).sum();
    let mean = sum as f64 / a.len() as f64;
    let worst = differences().max().unwrap_or(0);
    assert!(
        mean <= mean_max && worst <= worst_max,
        "mean difference {mean:.3} of {mean_max}, worst {worst} of {worst_max}"
    );
}

fn packed_of(raster: Raster) -> Packed {
    crate::to_packed(raster)
}

const COLOURED: [Subsampling; 5] = [
    Subsampling::S444,
    Subsampling::S422,
    Subsampling::S420,
    Subsampling::S440,
    Subsampling::S411,
];

fn any_size(side_px_max: u32) -> impl Strategy<Value = Size> {
    (1..=side_px_max, 1..=side_px_max).prop_map(|(width, height)| Size::new(width, height))
}
