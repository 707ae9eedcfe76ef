//! Which representations of a picture are worth making for one client.

#[cfg(test)]
mod tests;

use crate::fit::Geometry;
use crate::{Facts, Format, Recipe, Target};

/// The formats that a client says it reads: its `Accept`, folded. `*/*` and `image/*` promise neither AVIF nor WebP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Accepts {
    /// `image/avif`.
    pub avif: bool,
    /// `image/webp`.
    pub webp: bool,
    /// Some picture format by its name. Such a client does not read the modern formats that it leaves out; one that names
    /// none gets originals as they are.
    pub named: bool,
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

    /// Whether an original of `format` may be sent to the client as it is.
    #[must_use]
    pub const fn takes_original(self, format: Format) -> bool {
        self.reads(format) || !self.named
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
}

/// Which targets are worth making of a picture with `facts`, and whether its original competes with them.
///
/// ```text
/// animated, SVG, unsupported   the original
/// format=F                     F; the original too, when it is an F and no pixel moves
/// pixels move                  AVIF, WebP as accepted, else the baseline
/// no pixel moves               AVIF, WebP as accepted, and the original; the baseline where the client names
///                              formats and the original's is not among them
/// ```
/// The baseline is JPEG for opaque lossy originals, and PNG for all others. What cannot beat a competing original is left
/// out. So is a format that cannot hold the answer, unless it was named: then [`crate::plan`] says what is wrong.
#[must_use]
pub fn candidates(facts: &Facts, recipe: &Recipe, accepts: Accepts) -> Candidates {
    if facts.animated || facts.unsupported.is_some() {
        return Candidates::ORIGINAL;
    }
    let upright = facts.oriented();
    let geometry = Geometry::of(upright, recipe);
    let is_readable = match recipe.format {
        Some(target) => target.format() == facts.format,
        None => accepts.takes_original(facts.format),
    };
    let original_competes = is_readable && geometry.keeps(upright);
    let contends = |target: &Target| !original_competes || may_beat(facts, recipe, *target);
    let modern = |target: &Target| {
        accepts.reads(target.format()) && target.holds(geometry.target) && contends(target)
    };
    let mut targets = match recipe.format {
        Some(target) => [Some(target).filter(contends), None],
        None => [Target::Avif, Target::Webp].map(|target| Some(target).filter(modern)),
    };
    if targets == [None; 2] {
        targets[0] = Some(baseline(facts)).filter(contends);
    }
    Candidates {
        targets,
        original_competes,
    }
}

/// Whether an original that the client reads, and of which no pixel moves, can turn out larger than `target`.
fn may_beat(facts: &Facts, recipe: &Recipe, target: Target) -> bool {
    let asked = recipe.quality_pct;
    match (facts.format, target) {
        // Encoding again at the same quality or a better one loses some, and saves nothing.
        (Format::Jpeg, Target::Jpeg) => asked.is_some_and(|asked| Some(asked) < facts.jpeg_quality),
        (_, Target::Jpeg | Target::Png) => false,
        (Format::Avif, _) | (Format::Webp, Target::Webp) if !facts.lossless => asked.is_some(),
        _ => true,
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
