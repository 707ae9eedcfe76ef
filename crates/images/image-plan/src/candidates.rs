//! Selects the representations of a picture that are worth producing for one client.

#[cfg(test)]
mod tests;

use crate::fit::Geometry;
use crate::{Facts, Format, Orientation, Recipe, Target};

/// Image formats that a client accepts, extracted from its `Accept` field. The wildcards `*/*` and
/// `image/*` are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Accepts {
    /// True if the `Accept` field contains `image/avif`.
    pub avif: bool,
    /// True if the `Accept` field contains `image/webp`.
    pub webp: bool,
    /// True if the `Accept` field contains `image/jxl`.
    pub jxl: bool,
    /// True if the `Accept` field contains `image/heic`.
    pub heic: bool,
    /// True if the `Accept` field names at least one image format. Such a client gets an AVIF or
    /// WebP original only if the field names that format. A client that names no image format gets
    /// every original unchanged.
    pub named: bool,
}

impl Accepts {
    /// Returns whether the client supports `format`. Formats older than WebP that browsers show are
    /// always assumed to be supported, and formats that browsers do not show never.
    #[must_use]
    pub const fn reads(self, format: Format) -> bool {
        match format {
            Format::Avif => self.avif,
            Format::Webp => self.webp,
            Format::Jxl => self.jxl,
            Format::Heif => self.heic,
            other => other.is_shown_by_browsers(),
        }
    }

    /// Returns whether an original of `format` may be sent to the client unchanged.
    #[must_use]
    pub const fn accepts_original(self, format: Format) -> bool {
        self.reads(format) || (!self.named && format.is_shown_by_browsers())
    }
}

/// Candidates for the response. The server produces them and sends the smallest one. There is
/// always at least one candidate: a target or the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates {
    targets: [Option<Target>; 2],
    /// True if the unchanged original is also a valid response.
    pub original_competes: bool,
}

impl Candidates {
    /// Returns the targets worth producing, in order of preference.
    pub fn targets(&self) -> impl Iterator<Item = Target> + use<> {
        self.targets.into_iter().flatten()
    }

    const ORIGINAL: Candidates = Candidates {
        targets: [None; 2],
        original_competes: true,
    };
}

/// Returns the targets that are worth producing from a picture with `facts`, and whether its
/// original competes with them.
///
/// ```text
/// unsupported                  the original
/// animated                     animated WebP; also the original, as below
/// ··· WebP is impossible       the original: the client does not accept WebP, another format is
///                              requested, WebP cannot hold the size, or the original is an AVIF
/// animated, frame=N            as for a still picture whose pixels change
/// ICO or SVG, no change        the original, if accepted and if no format is requested
/// format=F                     F; also the original, if its format is F and no pixel changes
/// pixels change                AVIF and WebP if accepted, else the baseline
/// pixels are unchanged         as if pixels change; also the original, if accepted
/// ```
/// "Pixels are unchanged" means that the recipe neither rotates, mirrors, trims, scales, crops nor
/// pads the picture, and that its effects do not change the picture. A client that names no image
/// format accepts every original that browsers show. An ICO contains the picture in several sizes,
/// and an SVG can be rendered at any size, so no variant replaces them. The baseline is JPEG for
/// opaque outputs of lossy originals, and for opaque outputs with a maximum length; it is PNG for
/// all others.
///
/// Two kinds of targets are left out: those that cannot be smaller than a competing original, and
/// formats that are too small for the output. If the request names such a small format, it is kept,
/// and [`crate::plan`] returns an error.
#[must_use]
pub fn candidates(facts: &Facts, recipe: &Recipe, accepts: Accepts) -> Candidates {
    if facts.unsupported.is_some() || is_sent_as_it_is(facts, recipe, accepts) {
        return Candidates::ORIGINAL;
    }
    let recipe = &recipe.applied_to(facts);
    let rotated = facts.rotated(recipe.orientation);
    let is_readable = match recipe.format {
        Some(target) => target.format() == facts.format,
        None => accepts.accepts_original(facts.format),
    };
    let is_resized = !Geometry::planned(rotated, recipe).keeps(rotated);
    let is_one_frame = facts.animated && recipe.frame.is_some();
    let is_unchanged = recipe.orientation == Orientation::Upright
        && !is_one_frame
        && recipe.trim.is_none()
        && recipe.effects.is_identity_for(is_resized, facts.alpha);
    let is_kept = matches!(facts.format, Format::Ico | Format::Svg) && recipe.format.is_none();
    if is_kept && is_readable && is_unchanged {
        return Candidates::ORIGINAL;
    }
    Candidates::select(facts, recipe, accepts, is_readable && is_unchanged)
}

/// Returns the targets that are worth producing if the original must not be sent, for example
/// because its metadata is private. The original is then encoded again even if no pixel changes.
/// Returns `None` if a picture with `facts` cannot be converted.
#[must_use]
pub fn candidates_without_original(
    facts: &Facts,
    recipe: &Recipe,
    accepts: Accepts,
) -> Option<Candidates> {
    let is_convertible = facts.unsupported.is_none() && !is_sent_as_it_is(facts, recipe, accepts);
    is_convertible.then(|| Candidates::select(facts, recipe, accepts, false))
}

impl Candidates {
    /// Selects the targets for a picture that can be converted.
    fn select(
        facts: &Facts,
        recipe: &Recipe,
        accepts: Accepts,
        original_competes: bool,
    ) -> Candidates {
        let recipe = &recipe.applied_to(facts);
        let geometry = Geometry::planned(facts.rotated(recipe.orientation), recipe);
        let is_candidate = |target: &Target| !original_competes || may_beat(facts, recipe, *target);
        let modern = |target: &Target| {
            accepts.reads(target.format()) && target.holds(geometry.target) && is_candidate(target)
        };
        let mut targets = match recipe.format {
            // Only WebP can be animated.
            _ if facts.animated && recipe.frame.is_none() => {
                return Candidates {
                    targets: [Some(Target::Webp).filter(is_candidate), None],
                    original_competes,
                };
            }
            Some(target) => [Some(target).filter(is_candidate), None],
            None => [Target::Avif, Target::Webp].map(|target| Some(target).filter(modern)),
        };
        if targets == [None; 2] {
            let has_margins = geometry.may_have_margins(recipe);
            let has_alpha = recipe.effects.leaves_alpha(facts.alpha, has_margins);
            let baseline = match recipe.bytes_max {
                // A PNG cannot be reduced.
                Some(_) if !has_alpha => Target::Jpeg,
                _ => baseline(facts, has_alpha),
            };
            targets[0] = Some(baseline).filter(is_candidate);
        }
        Candidates {
            targets,
            original_competes,
        }
    }
}

/// Returns whether the original is the only candidate because the picture is animated: its frames
/// cannot be decoded, or all frames are requested and the output cannot be an animated WebP.
fn is_sent_as_it_is(facts: &Facts, recipe: &Recipe, accepts: Accepts) -> bool {
    let becomes_webp = match recipe.format {
        Some(target) => target == Target::Webp,
        None => {
            let rotated = facts.rotated(recipe.orientation);
            let size = Geometry::planned(rotated, recipe).target;
            accepts.reads(Format::Webp) && Target::Webp.holds(size)
        }
    };
    facts.animated && (!facts.has_decodable_frames() || (recipe.frame.is_none() && !becomes_webp))
}

/// Returns whether `target` can be smaller than the original. Assumes that the client supports the
/// original's format and that the original's pixels are neither scaled nor cropped.
fn may_beat(facts: &Facts, recipe: &Recipe, target: Target) -> bool {
    let requested = recipe.quality_pct;
    if recipe.bytes_max.is_some() && target != Target::Png {
        return true;
    }
    match (facts.format, target) {
        // Encoding again at equal or higher quality loses detail and saves no bytes.
        (Format::Jpeg, Target::Jpeg) => {
            requested.is_some_and(|requested| Some(requested) < facts.jpeg_quality)
        }
        (_, Target::Jpeg | Target::Png) => false,
        (Format::Avif, _) | (Format::Webp, Target::Webp) if !facts.lossless => requested.is_some(),
        _ => true,
    }
}

/// Returns the format for clients that support neither AVIF nor WebP. Lossless originals get a
/// lossless format, because many of them are drawings or screenshots. `has_alpha` tells whether the
/// output has transparent pixels.
const fn baseline(facts: &Facts, has_alpha: bool) -> Target {
    if has_alpha || facts.lossless {
        Target::Png
    } else {
        Target::Jpeg
    }
}
