//! Which representations of a picture are worth making for one client.

#[cfg(test)]
mod tests;

use crate::fit::Geometry;
use crate::{Facts, Format, Recipe, Target};

/// Which formats beyond the old ones a client says it reads: its `Accept`, folded. `*/*` and `image/*` promise neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Accepts {
    /// `image/avif`.
    pub avif: bool,
    /// `image/webp`.
    pub webp: bool,
}

impl Accepts {
    /// Whether the client reads `format`; whoever asks for pictures reads the old ones.
    #[must_use]
    pub const fn reads(self, format: Format) -> bool {
        match format {
            Format::Avif => self.avif,
            Format::Webp => self.webp,
            Format::Jpeg | Format::Png | Format::Gif | Format::Bmp | Format::Svg => true,
        }
    }
}

/// The contenders for an answer; the smallest that was made wins. Never empty: there is a target, or the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates {
    targets: [Option<Target>; 2],
    /// Whether the untouched original answers the request too.
    pub original_competes: bool,
}

impl Candidates {
    /// What is worth making, the preferred one first.
    pub fn targets(&self) -> impl Iterator<Item = Target> + use<> {
        self.targets.into_iter().flatten()
    }

    const ORIGINAL: Candidates = Candidates {
        targets: [None; 2],
        original_competes: true,
    };

    const fn only(target: Target) -> Candidates {
        Candidates {
            targets: [Some(target), None],
            original_competes: false,
        }
    }
}

/// Which targets are worth making of a picture with `facts`, and whether its original competes with them.
///
/// ```text
/// animated, SVG, unsupported   the original
/// format=F                     F; the original too, when it is an F and no pixel moves
/// something to change          AVIF, WebP as accepted, else the baseline
/// nothing to change            AVIF, WebP as accepted, and the original; the baseline where it cannot be read
/// ```
/// The baseline is JPEG for opaque lossy originals, and PNG for all others. A format that cannot hold the answer's size
/// is no candidate unless it was named, and then [`crate::plan`] says what is wrong.
#[must_use]
pub fn candidates(facts: &Facts, recipe: &Recipe, accepts: Accepts) -> Candidates {
    if facts.animated || facts.unsupported.is_some() {
        return Candidates::ORIGINAL;
    }
    let upright = facts.oriented();
    let geometry = Geometry::of(upright, recipe);
    let keeps_pixels = geometry.keeps(upright);
    if let Some(target) = recipe.format {
        return Candidates {
            original_competes: keeps_pixels && target.format() == facts.format,
            ..Candidates::only(target)
        };
    }
    let unchanged = keeps_pixels && recipe.quality_pct.is_none();
    let original_competes = keeps_pixels && accepts.reads(facts.format);
    let original_suffices = unchanged && original_competes;
    let targets = [Target::Avif, Target::Webp].map(|target| {
        let gains = !(original_suffices && is_as_small(facts, target));
        let worthwhile = accepts.reads(target.format()) && target.holds(geometry.target) && gains;
        worthwhile.then_some(target)
    });
    if targets == [None; 2] && !original_suffices {
        return Candidates {
            original_competes,
            ..Candidates::only(baseline(facts))
        };
    }
    Candidates {
        targets,
        original_competes,
    }
}

/// Whether an original is already what `target` would make of it, or of a stronger format.
fn is_as_small(facts: &Facts, target: Target) -> bool {
    match facts.format {
        Format::Avif => true,
        Format::Webp => !facts.lossless && target == Target::Webp,
        _ => false,
    }
}

/// The format for a change asked by a client that reads only the old ones. Lossless originals stay lossless: they are
/// drawings and screenshots as often as not.
const fn baseline(facts: &Facts) -> Target {
    if facts.alpha || facts.lossless {
        Target::Png
    } else {
        Target::Jpeg
    }
}
