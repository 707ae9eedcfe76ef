//! One knob on the JPEG scale, and the settings of each encoder that give the same quality.

#[cfg(test)]
mod tests;

use crate::{Stage, Target};

/// Quality when a request names none. SSIMULACRA2 of about 75 on photographs.
pub const DEFAULT_QUALITY_PCT: u8 = 70;

/// Quality on the JPEG scale, and the encoder's own setting there.
type Knot = (u8, u8);

// The knots up to 90 come from published SSIMULACRA2 of libjpeg-turbo, libwebp and libaom on ten DIV2K pictures,
// interpolated where the grids differ (kadykov/web-image-formats-research): JPEG 70, 80 and 85 score 75.5, 80.2 and
// 82.6. The ends are extrapolated. `lab quality` measures the tables anew and records them.
const WEBP_QUICK: &[Knot] = &[
    (1, 1),
    (10, 8),
    (30, 45),
    (50, 68),
    (60, 75),
    (70, 80),
    (80, 85),
    (85, 88),
    (90, 92),
    (95, 96),
    (99, 99),
    (100, 100),
];
const WEBP_BETTER: &[Knot] = &[
    (1, 1),
    (10, 8),
    (30, 45),
    (50, 68),
    (60, 75),
    (70, 80),
    (80, 85),
    (85, 88),
    (90, 92),
    (95, 96),
    (99, 99),
    (100, 100),
];
const AVIF_QUICK: &[Knot] = &[
    (1, 1),
    (10, 15),
    (30, 37),
    (50, 50),
    (60, 56),
    (70, 61),
    (80, 67),
    (85, 75),
    (90, 82),
    (95, 90),
    (99, 98),
    (100, 100),
];
const AVIF_BETTER: &[Knot] = &[
    (1, 1),
    (10, 13),
    (30, 34),
    (50, 47),
    (60, 53),
    (70, 59),
    (80, 65),
    (85, 72),
    (90, 79),
    (95, 88),
    (99, 97),
    (100, 100),
];
/// JPEG's own scale; PNG ignores it.
const IDENTITY: &[Knot] = &[(1, 1), (100, 100)];

/// The setting with which `target`'s encoder looks like JPEG at `quality_pct`, in that encoder's own scale.
///
/// # Panics
/// When `quality_pct` is not 1…100: a bug of the caller, as queries are checked.
#[must_use]
pub fn native(quality_pct: u8, target: Target, stage: Stage) -> u8 {
    assert!((1..=100).contains(&quality_pct), "quality {quality_pct}");
    let knots = match (target, stage) {
        (Target::Webp, Stage::Quick) => WEBP_QUICK,
        (Target::Webp, Stage::Better) => WEBP_BETTER,
        (Target::Avif, Stage::Quick) => AVIF_QUICK,
        (Target::Avif, Stage::Better) => AVIF_BETTER,
        (Target::Jpeg | Target::Png, _) => IDENTITY,
    };
    let above = knots
        .partition_point(|(knot, _)| *knot < quality_pct)
        .max(1);
    let ((x0, y0), (x1, y1)) = (knots[above - 1], knots[above]);
    let [x, x0, y0, x1, y1] = [quality_pct, x0, y0, x1, y1].map(u32::from);
    // Rounded to the nearest, as all terms are positive.
    let y = y0 + (2 * (x - x0) * (y1 - y0) + (x1 - x0)) / (2 * (x1 - x0));
    y as u8
}
