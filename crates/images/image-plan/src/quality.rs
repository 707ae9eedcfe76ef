//! Translation of a quality on the JPEG scale to the setting of each encoder that gives equal
//! quality.

#[cfg(test)]
mod tests;

use std::num::NonZeroU8;

use crate::{Stage, Target};

/// Quality that is used if the request names none. It gives a SSIMULACRA2 score of 76 on
/// photographs and corresponds to 80 on WebP's scale, which is WebP's usual setting.
pub const DEFAULT_QUALITY_PCT: u8 = 70;

/// Score of SSIMULACRA2 that `q=auto` aims at, for a sample of the output. A score of 70 means high
/// quality; the whole picture scores up to 3.5 points less than the sample. Never `None`.
pub(crate) const AUTO_SCORE: Option<NonZeroU8> = NonZeroU8::new(72);

/// Settings that give equal mean SSIMULACRA2 scores, one row per JPEG quality. Columns: JPEG; WebP
/// at [`Stage::Quick`] and [`Stage::Better`]; AVIF at the same two stages.
///
/// Measured by `lab quality` on the photographs of Debian's mate-backgrounds, reduced to a third;
/// the record is lab/record/2026-11-22T0112Z-quality.toml. The JPEG scale is that of libjpeg-turbo
/// with 4:2:0 chroma.
///
/// Above a quality of 90, JPEG surpasses lossy WebP, whose highest settings add bytes but little
/// quality. There, the settings of WebP rise more slowly than equal quality would require.
const KNOTS: [[u8; 5]; 16] = [
    [1, 1, 1, 1, 1],
    [10, 1, 1, 11, 8],
    [20, 10, 11, 29, 24],
    [30, 26, 29, 41, 36],
    [40, 42, 45, 48, 43],
    [50, 58, 61, 53, 50],
    [60, 71, 73, 58, 54],
    [70, 80, 80, 66, 60],
    [75, 84, 83, 73, 67],
    [80, 88, 87, 79, 75],
    [85, 91, 90, 85, 81],
    [89, 94, 93, 90, 86],
    [90, 95, 94, 91, 89],
    [95, 98, 98, 97, 96],
    [98, 99, 99, 99, 99],
    [100, 100, 100, 100, 100],
];

/// Returns the setting, on the scale of `target`'s encoder, that gives the quality of JPEG at
/// `quality_pct`. PNG has no quality setting and gets the JPEG value.
///
/// # Panics
/// If `quality_pct` is not in 1…100: a bug of the caller, because queries are checked.
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
    // Rounds to the nearest integer. No term is negative, as the formula requires, because the
    // numbers of a column never decrease.
    (low[column] + (2 * along * rise + run) / (2 * run)) as u8
}
