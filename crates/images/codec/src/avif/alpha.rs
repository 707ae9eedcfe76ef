//! Converts premultiplied colours to straight ones.

use image_plan::{Plane, Range, Subsampling, Yuv};

/// Divides colours by alpha, in place. Luma and chroma depend linearly on RGB, so the factor for
/// RGB is also the factor for luma and chroma. A stored chroma sample is the mean of chroma × alpha
/// over its block of pixels. So this sample is divided by the mean alpha of the block.
///
/// If `rgb` is true, the planes hold green, blue and red instead of luma and chroma. The zero level
/// of blue and red is 0; the zero level of chroma is 128.
pub(super) fn unpremultiply(yuv: &mut Yuv, rgb: bool) {
    let Some(alpha) = &yuv.alpha else {
        return;
    };
    let black = match yuv.range {
        Range::Full => 0,
        Range::Limited => 16,
    };
    divide(&mut yuv.luma, alpha, (1, 1), black);
    let neutral = if rgb { 0 } else { 128 };
    for plane in yuv.chroma.iter_mut().flatten() {
        divide(
            plane,
            alpha,
            Subsampling::divisors(yuv.subsampling),
            neutral,
        );
    }
}

/// Divides the distance of each sample from `zero` by the mean alpha of the pixels that the sample
/// covers. `block` is the number of columns and rows of these pixels.
fn divide(plane: &mut Plane, alpha: &Plane, block: (u32, u32), zero: i32) {
    let (stride, width) = (plane.stride, plane.size.width_px as usize);
    for (y, row) in (0..).zip(plane.data.chunks_exact_mut(stride)) {
        let rows = || y * block.1..alpha.size.height_px.min((y + 1) * block.1);
        for (x, sample) in row[..width].iter_mut().enumerate() {
            let first = x * block.0 as usize;
            let last = (first + block.0 as usize).min(alpha.size.width_px as usize);
            let (mut sum, mut count) = (0, 0);
            for alpha_row in rows().map(|y| alpha.row(y)) {
                sum += alpha_row[first..last]
                    .iter()
                    .map(|a| i32::from(*a))
                    .sum::<i32>();
                count += (last - first) as i32;
            }
            if sum > 0 {
                let distance = i32::from(*sample) - zero;
                let straight = (2 * distance * 255 * count + sum).div_euclid(2 * sum);
                *sample = (zero + straight).clamp(0, 255) as u8;
            }
        }
    }
}
