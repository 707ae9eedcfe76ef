//! Full and limited range: which part of 0…255 the samples of YCbCr use.

use picture::{Plane, Range, Yuv};

/// The same picture with luma and chroma in `range`; alpha stays as it is.
///
/// Limited luma is `16 + 219/255·Y` and limited chroma `128 + 224/255·(C − 128)`, rounded to nearest (ITU-R BT.601).
/// Samples outside the limited range are clamped on the way to full range.
pub(crate) fn with_range(mut yuv: Yuv, range: Range) -> Yuv {
    let chroma = yuv.chroma.iter_mut().flatten();
    match (yuv.range, range) {
        (Range::Full, Range::Limited) => {
            map(&mut yuv.luma, limited_luma);
            chroma.for_each(|plane| map(plane, limited_chroma));
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

fn map(plane: &mut Plane, to: impl Fn(u8) -> u8) {
    for sample in &mut plane.data {
        *sample = to(*sample);
    }
}

// Each formula below is its exact quotient in 16 bits, so that the compiler can work on sixteen samples at a time; a
// table look-up a sample costs several times as much. `tests::range` holds all 256 values against the real formula.

fn limited_luma(y: u8) -> u8 {
    (16 + (u16::from(y) * 219 + 127) / 255) as u8
}

fn limited_chroma(c: u8) -> u8 {
    // 128·255 − 224·128 = 3968 moves the origin to 0.
    ((u16::from(c) * 224 + 3968 + 127) / 255) as u8
}

fn full_luma(y: u8) -> u8 {
    (((u16::from(y.clamp(16, 235)) - 16) * 255 + 109) / 219) as u8
}

fn full_chroma(c: u8) -> u8 {
    // 255·128 − 128·224 = 3968 again, this time to be taken away; 112 rounds.
    ((u16::from(c.clamp(16, 240)) * 255 - 3968 + 112) / 224).min(255) as u8
}
