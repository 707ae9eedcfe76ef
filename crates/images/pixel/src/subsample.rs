//! Reduction of chroma planes: each new sample is the mean of a block of samples.

use image_plan::{Plane, Size};

/// Returns a plane in which each sample is the mean of `across` × `down` samples of `plane`. Blocks
/// that extend beyond the right or bottom edge repeat the edge's samples, as in JPEG encoders.
pub(crate) fn reduce(plane: Plane, across: u32, down: u32) -> Plane {
    if (across, down) == (1, 1) {
        return plane;
    }
    let count = across * down;
    assert!(
        count.is_power_of_two() && count <= 16,
        "cannot average blocks of {across}×{down} samples"
    );
    let size = Size::new(
        plane.size.width_px.div_ceil(across),
        plane.size.height_px.div_ceil(down),
    );
    let mut data = Vec::with_capacity(size.pixels() as usize);
    let mut sums = vec![0_u16; (size.width_px * across) as usize];
    for y in 0..size.height_px {
        sums.fill(0);
        for row in y * down..(y + 1) * down {
            let row = plane.row(row.min(plane.size.height_px - 1));
            for (sum, &sample) in sums.iter_mut().zip(row) {
                *sum += u16::from(sample);
            }
        }
        let width = plane.size.width_px as usize;
        let edge = sums[width - 1];
        sums[width..].fill(edge);
        push_means(&mut data, &sums, across, count);
    }
    Plane {
        size,
        stride: size.width_px as usize,
        data,
    }
}

/// Appends one row of means, computed from the sums of each column of the blocks. Each value of
/// `across` has its own loop, so that strides are constants.
fn push_means(data: &mut Vec<u8>, sums: &[u16], across: u32, count: u32) {
    let half = (count / 2) as u16;
    let shift = count.ilog2();
    let mean = |sum: u16| ((sum + half) >> shift) as u8;
    match across {
        1 => data.extend(sums.iter().map(|&sum| mean(sum))),
        2 => data.extend(sums.as_chunks().0.iter().map(|[a, b]| mean(a + b))),
        4 => data.extend(
            sums.as_chunks()
                .0
                .iter()
                .map(|[a, b, c, d]| mean(a + b + c + d)),
        ),
        _ => unreachable!("subsampling has divisors 1, 2 and 4"),
    }
}
