//! Conversion between full and limited range. In full range, YCbCr samples use all levels 0…255; in
//! limited range, they use only some of them.

use image_plan::{Plane, Range, Yuv};

/// Returns the picture with luma and chroma in `range`. Alpha does not change.
///
/// To limited range: luma becomes `16 + 219/255·Y`, and chroma `128 + 224/255·(C − 128)` (ITU-R
/// BT.601). Limited range has about seven levels for every eight levels of full range. Rounding to
/// nearest would put visible steps into every slow gradient, so the samples are dithered: the 16
/// samples of a 4 × 4 tile round at 16 different thresholds. Their mean preserves the fraction.
///
/// To full range: samples are rounded to nearest. Samples outside the limited range are clamped,
/// which changes colours. [`exceeds_limited`] detects such pictures, and `rgb` converts them
/// through RGB.
pub(crate) fn with_range(mut yuv: Yuv, range: Range) -> Yuv {
    let chroma = yuv.chroma.iter_mut().flatten();
    match (yuv.range, range) {
        (Range::Full, Range::Limited) => {
            dither(&mut yuv.luma, limited_luma);
            chroma.for_each(|plane| dither(plane, limited_chroma));
        }
        (Range::Limited, Range::Full) => {
            map(&mut yuv.luma, full_luma);
            chroma.for_each(|plane| map(plane, full_chroma));
        }
        (Range::Full, Range::Full) | (Range::Limited, Range::Limited) => {}
    }
    yuv.range = range;
    yuv
}

/// Returns whether a coloured picture has samples outside the limited range that it states. VP8
/// files may have such samples. They must not be clamped before the conversion to RGB, because luma
/// outside the range can still give a valid colour together with its chroma.
pub(crate) fn exceeds_limited(yuv: &Yuv) -> bool {
    let Some(chroma) = &yuv.chroma else {
        return false;
    };
    let outside = |plane: &Plane, first: u8, last: u8| {
        (0..plane.size.height_px).any(|y| {
            // No early exit within a row, so that the compiler can vectorize the loop.
            let row = plane.row(y).iter();
            row.fold(false, |found, sample| {
                found | !(first..=last).contains(sample)
            })
        })
    };
    yuv.range == Range::Limited
        && (outside(&yuv.luma, 16, 235) || chroma.iter().any(|plane| outside(plane, 16, 240)))
}

/// Thresholds of the dithering, one per sample of a 4 × 4 tile. Each is added to the dividend of a
/// division by 255 that rounds down. The 16 thresholds are equidistant, and ordered so that
/// neighbours differ most (Bayer's matrix of order 4).
const THRESHOLDS: [[u8; 4]; 4] = {
    const ORDER: [[u8; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];
    let mut thresholds = [[0; 4]; 4];
    let mut index = 0;
    while index < 16 {
        let (y, x) = (index / 4, index % 4);
        thresholds[y][x] = ((ORDER[y][x] as u16 * 2 + 1) * 255 / 32) as u8;
        index += 1;
    }
    thresholds
};

fn dither(plane: &mut Plane, to: impl Fn(u8, u8) -> u8) {
    for (row, thresholds) in plane
        .data
        .chunks_mut(plane.stride)
        .zip(THRESHOLDS.iter().cycle())
    {
        // A chunk has a vector's width, so that the compiler unrolls the loop. The remainder of a
        // row is shorter.
        let wide: [u8; 32] = std::array::from_fn(|x| thresholds[x % 4]);
        for samples in row.chunks_mut(wide.len()) {
            for (sample, threshold) in samples.iter_mut().zip(wide) {
                *sample = to(*sample, threshold);
            }
        }
    }
}

fn map(plane: &mut Plane, to: impl Fn(u8) -> u8) {
    for sample in &mut plane.data {
        *sample = to(*sample);
    }
}

// Each formula below gives the correctly rounded quotient with 16-bit arithmetic only, so the
// compiler can process sixteen samples at once. A table lookup per sample takes several times as
// long. `tests::range` compares all 256 values with the formula in real numbers.

fn limited_luma(y: u8, threshold: u8) -> u8 {
    (16 + (u16::from(y) * 219 + u16::from(threshold)) / 255) as u8
}

fn limited_chroma(c: u8, threshold: u8) -> u8 {
    // The summand 3968 = 128·255 − 224·128 maps the neutral level 128 to 128.
    ((u16::from(c) * 224 + 3968 + u16::from(threshold)) / 255) as u8
}

fn full_luma(y: u8) -> u8 {
    (((u16::from(y.clamp(16, 235)) - 16) * 255 + 109) / 219) as u8
}

fn full_chroma(c: u8) -> u8 {
    // The summand −3968 = 128·224 − 255·128 maps the neutral level 128 to 128. The summand 112,
    // half the divisor, makes the division round to nearest.
    ((u16::from(c.clamp(16, 240)) * 255 - 3968 + 112) / 224).min(255) as u8
}
