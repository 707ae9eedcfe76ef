//! One knob on the JPEG scale, and the settings of each encoder that give the same quality.

#[cfg(test)]
mod tests;

use crate::{Stage, Target};

/// Quality when a request names none: about 75 by SSIMULACRA2 on photographs.
pub const DEFAULT_QUALITY_PCT: u8 = 70;

/// Settings of equal quality: JPEG · WebP quick · WebP better · AVIF quick · AVIF better.
///
/// The rows from 50 to 85 come from published SSIMULACRA2 of libjpeg-turbo, libwebp and libaom on ten DIV2K pictures,
/// interpolated where the grids differ (kadykov/web-image-formats-research): JPEG 70, 80 and 85 score 75.5, 80.2 and
/// 82.6. The others are extrapolated. `lab quality` measures the table anew and records it.
const KNOTS: [[u8; 5]; 12] = [
    [1, 1, 1, 1, 1],
    [10, 8, 8, 15, 13],
    [30, 45, 45, 37, 34],
    [50, 68, 68, 50, 47],
    [60, 75, 75, 56, 53],
    [70, 80, 80, 61, 59],
    [80, 85, 85, 67, 65],
    [85, 88, 88, 75, 72],
    [90, 92, 92, 82, 79],
    [95, 96, 96, 90, 88],
    [99, 99, 99, 98, 97],
    [100, 100, 100, 100, 100],
];

/// The setting with which `target`'s encoder looks like JPEG at `quality_pct`, in that encoder's own scale. PNG has none
/// and gets JPEG's.
///
/// # Panics
/// When `quality_pct` is not 1…100: a bug of the caller, as queries are checked.
#[must_use]
pub fn native(quality_pct: u8, target: Target, stage: Stage) -> u8 {
    assert!((1..=100).contains(&quality_pct), "quality {quality_pct}");
    let column = match (target, stage) {
        (Target::Jpeg | Target::Png, _) => 0,
        (Target::Webp, Stage::Quick) => 1,
        (Target::Webp, Stage::Better) => 2,
        (Target::Avif, Stage::Quick) => 3,
        (Target::Avif, Stage::Better) => 4,
    };
    let above = KNOTS.partition_point(|knot| knot[0] < quality_pct).max(1);
    let (low, high) = (KNOTS[above - 1].map(u32::from), KNOTS[above].map(u32::from));
    let (run, rise) = (high[0] - low[0], high[column] - low[column]);
    let along = u32::from(quality_pct) - low[0];
    // Rounded to the nearest; all terms are positive, as every column rises.
    (low[column] + (2 * along * rise + run) / (2 * run)) as u8
}
