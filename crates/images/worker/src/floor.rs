//! Minimum quality of lossy outputs: a sample of each output is decoded and compared with the
//! picture before encoding.
//!
//! A quality setting gives the intended quality only on average. An encoder may treat dark or faint
//! detail as noise and lose it at a setting that preserves photographs well. Such an output is
//! encoded again at a higher setting. If a request names a quality below the default, its output is
//! not measured.
//!
//! ```text
//! picture ─ tiles ─► sample ──────────────────────┬─► SSIMULACRA2 ─► low: encode again, higher
//!    └─ encode ─► output ─ decode ─ tiles ─► sample ─┘
//! ```
//! SSIMULACRA2 gives a score: 100 is identical, 70 high, 50 medium quality. SSIMULACRA2 averages
//! errors over the whole picture at six scales, so a sample of evenly spread tiles has a score
//! close to that of the whole picture. The number of tiles is limited, so measuring costs the same
//! for every large picture. Most outputs are far above the minimum. To recognise them at a fraction
//! of the cost, the tiles of the sample with the largest errors ([`worst`]) are compared first.

#[cfg(test)]
mod tests;
mod worst;

use std::cell::OnceCell;
use std::num::NonZeroU8;

use crate::similarity::{slice, with_alpha};
use fast_ssim2::Ssimulacra2Reference;
use image_plan::quality::{DEFAULT_QUALITY_PCT, native};
use image_plan::{Encoding, Layout, Packed, Plane, Raster, Size, Stage, Target, Yuv};
use pixel::to_packed;

/// Minimum score of the sample of an output; an output with a lower score is encoded again.
/// docs/SPEC.md promises a score of 60 for the whole picture. This minimum is higher because the
/// scores of sample and picture differ by a few points.
const SCORE_MIN: f64 = 64.5;
/// Maximum number of times that an output is encoded again.
const ATTEMPTS_MAX: u32 = 4;
/// Expected points of SSIMULACRA2 per step of the quality setting, used until the scores of two
/// outputs give the true value.
const POINTS_PER_STEP: f64 = 0.8;
/// Minimum points above [`SCORE_MIN`] at which a lower quality is tried, to save bytes.
const SURPLUS_POINTS: f64 = 2.5;
/// Maximum number of times that an output is encoded again to reach a requested score.
const ATTEMPTS_FOR_SCORE_MAX: u32 = 3;
/// Minimum points above a requested score at which a lower quality is tried.
const SURPLUS_POINTS_FOR_SCORE: f64 = 1.0;
/// Minimum quality that is tried for a requested score, in the encoder's unit.
const QUALITY_MIN: u8 = 10;
/// Points above the goal at which a quality between two others is interpolated.
const INTERPOLATED_POINTS: f64 = 1.0;
/// Maximum quality that is tried. Above it, an encoder adds many bytes and little quality.
const QUALITY_MAX: u8 = 98;

/// Minimum points above [`SCORE_MIN`] that a picture must score after its conversion to the
/// encoder's pixel layout, before any encoding. With fewer points, the output gets full chroma,
/// although that costs bytes.
const HEADROOM_POINTS_MIN: f64 = 8.0;
/// Minimum points above [`SCORE_MIN`] of the worst tiles of an output's sample, with which the
/// output passes without a comparison of the whole sample.
const WORST_POINTS_MIN: f64 = 3.0;
/// Minimum percentage of pixels equal to their left neighbour in a flat picture.
const FLAT_PCT: u64 = 60;
/// Maximum number of pixels of a lossless output. Lossless encoding takes several times as long as
/// lossy encoding.
const LOSSLESS_PIXELS_MAX: u64 = 4 << 20;

/// Side of a sampled tile in pixels. It is divisible by each factor by which subsampling shrinks
/// chroma planes.
const TILE_PX: u32 = 128;
/// Maximum number of sampled tiles along each side of a picture, while a client waits.
const TILES: u32 = 4;
/// Maximum number of sampled tiles along each side of a picture, at high effort. Encoding then
/// costs far more than comparing a larger sample.
const TILES_BETTER: u32 = 6;

/// Score that the search for a quality aims at.
#[derive(Clone, Copy)]
enum Goal {
    /// An output of at least [`SCORE_MIN`], not below the quality of the plan.
    Floor,
    /// The lowest quality with at least this score.
    Score(f64),
}

/// Parts of a picture before it was encoded. Outputs are compared with them, to check that their
/// quality is not below the floor.
pub(crate) struct Floor {
    size: Size,
    goal: Goal,
    /// Maximum number of sampled tiles along each side of the picture.
    tiles: u32,
    has_alpha: bool,
    is_flat: bool,
    sample: Packed,
    /// The sample, prepared for comparisons on first use; `None` inside if it has no score.
    reference: OnceCell<Option<Ssimulacra2Reference>>,
}

impl Floor {
    /// Samples `raster`, the picture before encoding. Returns `None` if outputs are not measured:
    /// if the encoding is lossless, if the layout has no score, or if the quality is below the
    /// default. A client that requests such a low quality prefers fewer bytes.
    pub(crate) fn of(raster: &Raster, encoding: Encoding) -> Option<Floor> {
        if quality(encoding)? < default_quality(encoding.target()) {
            return None;
        }
        let tiles = tiles_for(encoding);
        let sample = sample(raster, tiles);
        slice(&sample)?;
        Some(Floor {
            tiles,
            size: raster.size(),
            goal: Goal::Floor,
            has_alpha: sample.layout == Layout::Rgba,
            is_flat: matches!(raster, Raster::Packed(_)) && is_flat(&sample),
            sample,
            reference: OnceCell::new(),
        })
    }

    /// Returns the floor with the score that a plan requests, if any.
    pub(crate) fn aiming_at(self, score: Option<NonZeroU8>) -> Floor {
        let goal = match score {
            None => Goal::Floor,
            Some(score) => Goal::Score(score.get().into()),
        };
        Floor { goal, ..self }
    }

    fn score_min(&self) -> f64 {
        match self.goal {
            Goal::Floor => SCORE_MIN,
            Goal::Score(score) => score,
        }
    }

    /// Returns the lossless form of the encoding, or `None` if it is not worth trying. It is worth
    /// trying for WebP, up to a maximum size of the picture.
    pub(crate) fn lossless(&self, encoding: Encoding) -> Option<Encoding> {
        match encoding {
            Encoding::Webp {
                quality,
                method,
                lossless: false,
            } if self.size.pixels() <= LOSSLESS_PIXELS_MAX => Some(Encoding::Webp {
                quality,
                method,
                lossless: true,
            }),
            _ => None,
        }
    }

    /// Returns whether most pixels equal their left neighbour, as in drawings and text.
    pub(crate) fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// Returns whether `raster`, converted to the encoder's pixel layout, scores at least
    /// [`HEADROOM_POINTS_MIN`] above the floor. Returns true if the score cannot be computed.
    pub(crate) fn is_exceeded_by(&self, raster: &Raster) -> bool {
        let score = self.compare(&self.sample_of(raster));
        score.is_none_or(|score| SCORE_MIN + HEADROOM_POINTS_MIN <= score)
    }

    /// Decodes `output` and returns its sample, or `None` if the output cannot be decoded. The
    /// server detects undecodable outputs itself.
    fn decode_sample(&self, encoding: Encoding, output: &[u8]) -> Option<Packed> {
        let options = codec::DecodeOptions::whole(self.size);
        let format = encoding.target().format();
        let decoded = codec::decode(format, output, &options).ok()?;
        Some(self.sample_of(&decoded.raster))
    }

    fn sample_of(&self, raster: &Raster) -> Packed {
        let sample = sample(raster, self.tiles);
        match self.has_alpha {
            true => with_alpha(sample),
            false => sample,
        }
    }

    /// Returns whether the worst tiles of `sample` alone score so high that the whole sample is
    /// certain to reach the floor. Returns false if a certain score is requested, because that
    /// needs the score of the whole sample. Costs a fraction of [`compare`](Floor::compare).
    fn is_clearly_reached(&self, sample: &Packed) -> bool {
        let score = || {
            let (reference, output) = worst::tiles(&self.sample, sample)?;
            fast_ssim2::compute_ssimulacra2(&slice(&reference)?, &slice(&output)?).ok()
        };
        matches!(self.goal, Goal::Floor)
            && score().is_some_and(|score| SCORE_MIN + WORST_POINTS_MIN <= score)
    }

    /// Returns the score of `sample`, or `None` if it has no score, for example because it is too
    /// small.
    fn compare(&self, sample: &Packed) -> Option<f64> {
        let prepare = || Ssimulacra2Reference::new(&slice(&self.sample)?).ok();
        let reference = self.reference.get_or_init(prepare).as_ref()?;
        reference.compare(&slice(sample)?).ok()
    }
}

/// Search for the lowest quality whose output reaches the floor.
pub(crate) struct Search<'floor> {
    floor: &'floor Floor,
    /// Number of outputs that the search may still request.
    attempts_left: u32,
    points_per_step: f64,
    /// Highest quality tried so far whose output is below the floor, with the output's score.
    below: Option<(u8, f64)>,
    /// Lowest quality tried so far whose output reaches the floor, with the output's score.
    reaching: Option<(u8, f64)>,
    best: Vec<u8>,
}

impl<'floor> Search<'floor> {
    pub(crate) fn new(floor: &'floor Floor) -> Search<'floor> {
        Search {
            floor,
            attempts_left: match floor.goal {
                Goal::Floor => ATTEMPTS_MAX,
                Goal::Score(_) => ATTEMPTS_FOR_SCORE_MAX,
            },
            points_per_step: POINTS_PER_STEP,
            below: None,
            reaching: None,
            best: Vec::new(),
        }
    }

    /// Records `output`, which has `encoding`. Returns the encoding to try next, or `None` if the
    /// search has ended.
    pub(crate) fn advance(&mut self, encoding: Encoding, output: Vec<u8>) -> Option<Encoding> {
        let is_first = self.below.is_none() && self.reaching.is_none();
        let sample = self.floor.decode_sample(encoding, &output);
        // A search ends with a first output that reaches the floor, whatever its score.
        let sample = sample.filter(|it| !(is_first && self.floor.is_clearly_reached(it)));
        let score = sample.and_then(|sample| self.floor.compare(&sample));
        let Some((quality, score)) = quality(encoding).zip(score) else {
            self.best = output;
            return None;
        };
        if self.floor.score_min() <= score {
            if let Some((higher, higher_score)) = self.reaching {
                self.learn_slope(higher - quality, higher_score - score);
            }
            self.reaching = Some((quality, score));
            self.best = output;
        } else {
            if let Some((lower, lower_score)) = self.below {
                self.learn_slope(quality - lower, score - lower_score);
            }
            self.below = Some((quality, score));
            if self.reaching.is_none() {
                self.best = output;
            }
        }
        self.attempts_left = self.attempts_left.checked_sub(1)?;
        Some(with_quality(encoding, self.next_quality()?))
    }

    /// Computes the points per step of the quality from the scores of two outputs.
    fn learn_slope(&mut self, steps: u8, points: f64) {
        self.points_per_step =
            (points / f64::from(steps)).clamp(POINTS_PER_STEP / 4.0, POINTS_PER_STEP * 4.0);
    }

    /// Returns the quality to try next, if any. While no output reaches the score of the goal, the
    /// next quality is a higher one. While every output exceeds a requested score, it is a lower
    /// one. Otherwise, if an output exceeds the goal by far, the next quality lies between the
    /// lowest quality that reached the goal and the highest that did not.
    fn next_quality(&self) -> Option<u8> {
        let goal = self.floor.score_min();
        let surplus = match self.floor.goal {
            Goal::Floor => SURPLUS_POINTS,
            Goal::Score(_) => SURPLUS_POINTS_FOR_SCORE,
        };
        let Some((low, low_score)) = self.below else {
            let (high, high_score) = self.reaching?;
            let is_lowered = matches!(self.floor.goal, Goal::Score(_))
                && goal + surplus < high_score
                && QUALITY_MIN < high;
            let steps = ((high_score - goal) / self.points_per_step).floor();
            let next = high.saturating_sub(steps.clamp(1.0, 20.0) as u8);
            return is_lowered.then(|| next.max(QUALITY_MIN));
        };
        match self.reaching {
            None => {
                let steps = ((goal - low_score) / self.points_per_step).ceil();
                let next = low + steps.clamp(3.0, 20.0) as u8;
                (low < QUALITY_MAX).then_some(next.min(QUALITY_MAX))
            }
            Some((high, high_score)) => {
                let share = (goal + INTERPOLATED_POINTS - low_score) / (high_score - low_score);
                let next = low + (share * f64::from(high - low)).round() as u8;
                (goal + surplus < high_score && 2 < high - low)
                    .then(|| next.clamp(low + 1, high - 1))
            }
        }
    }

    /// Returns whether outputs were measured, and no output reached the floor.
    pub(crate) fn has_failed(&self) -> bool {
        self.below.is_some() && self.reaching.is_none()
    }

    /// Returns the smallest output that reaches the floor, or the output with the best score if no
    /// output reaches it.
    pub(crate) fn into_best(self) -> Vec<u8> {
        self.best
    }
}

/// Returns whether at least [`FLAT_PCT`] per cent of the pixels equal their left neighbour.
fn is_flat(picture: &Packed) -> bool {
    let channels = picture.layout.channels();
    let left = picture.data.chunks_exact(channels);
    let same = left
        .clone()
        .zip(left.skip(1))
        .filter(|(left, right)| left == right);
    picture.size.pixels() * FLAT_PCT <= 100 * same.count() as u64
}

/// Returns the quality setting of a lossy encoding, or `None` if the encoding is lossless.
pub(crate) const fn quality(encoding: Encoding) -> Option<u8> {
    match encoding {
        Encoding::Jpeg { quality }
        | Encoding::Webp {
            quality,
            lossless: false,
            ..
        }
        | Encoding::Avif {
            quality,
            lossless: false,
            ..
        } => Some(quality),
        Encoding::Png | Encoding::Webp { .. } | Encoding::Avif { .. } => None,
    }
}

/// Returns the lower of the default qualities of `target` at quick and at high effort.
fn default_quality(target: Target) -> u8 {
    let native = |stage| native(DEFAULT_QUALITY_PCT, target, stage);
    native(Stage::Quick).min(native(Stage::Better))
}

/// Returns the maximum number of sampled tiles along each side of the picture, for outputs of
/// `encoding`.
const fn tiles_for(encoding: Encoding) -> u32 {
    match encoding {
        Encoding::Avif { speed: ..9, .. } | Encoding::Webp { method: 3.., .. } => TILES_BETTER,
        _ => TILES,
    }
}

pub(crate) fn with_quality(mut encoding: Encoding, raised: u8) -> Encoding {
    match &mut encoding {
        Encoding::Jpeg { quality }
        | Encoding::Webp { quality, .. }
        | Encoding::Avif { quality, .. } => *quality = raised,
        Encoding::Png => {}
    }
    encoding
}

/// Returns up to `tiles` times `tiles` evenly spread tiles of `raster` as one picture, or all of
/// `raster` if the tiles would cover most of `raster`.
fn sample(raster: &Raster, tiles: u32) -> Packed {
    let Some(tiles) = Tiles::of(raster.size(), tiles) else {
        return to_packed(raster.clone());
    };
    match raster {
        Raster::Packed(packed) => {
            let channels = packed.layout.channels();
            let row_bytes = packed.size.width_px as usize * channels;
            Packed {
                size: tiles.size(),
                layout: packed.layout,
                data: tiles.copy(&packed.data, row_bytes, channels, (1, 1)),
            }
        }
        Raster::Yuv(yuv) => {
            let plane = |plane: &Plane, divisors: (u32, u32)| {
                let size = tiles.size();
                let size = Size::new(size.width_px / divisors.0, size.height_px / divisors.1);
                Plane {
                    size,
                    stride: size.width_px as usize,
                    data: tiles.copy(&plane.data, plane.stride, 1, divisors),
                }
            };
            let chroma = yuv.chroma.as_ref();
            let divisors = yuv.subsampling.divisors();
            to_packed(Raster::Yuv(Yuv {
                size: tiles.size(),
                luma: plane(&yuv.luma, (1, 1)),
                chroma: chroma.map(|pair| pair.each_ref().map(|chroma| plane(chroma, divisors))),
                alpha: yuv.alpha.as_ref().map(|alpha| plane(alpha, (1, 1))),
                ..*yuv
            }))
        }
    }
}

/// Positions of a sample's tiles in a picture.
struct Tiles {
    of: Size,
    columns: u32,
    rows: u32,
}

impl Tiles {
    /// Returns up to `tiles_max` × `tiles_max` tiles of a picture of the given size. Returns `None`
    /// if they would cover 80 % of the picture or more, or if the picture is smaller than a tile.
    fn of(of: Size, tiles_max: u32) -> Option<Tiles> {
        let tiles = Tiles {
            of,
            columns: tiles_max.min(of.width_px / TILE_PX),
            rows: tiles_max.min(of.height_px / TILE_PX),
        };
        let sampled = tiles.size().pixels();
        (sampled != 0 && sampled * 5 < of.pixels() * 4).then_some(tiles)
    }

    fn size(&self) -> Size {
        Size::new(self.columns * TILE_PX, self.rows * TILE_PX)
    }

    /// Returns the start of tile `number` along a side of `length_px`, in pixels. The side is
    /// divided into `count` equal parts, and each tile is centred in its part. The start is rounded
    /// down to a multiple of an eighth of a tile.
    fn start(number: u32, count: u32, length_px: u32) -> usize {
        let middle = u64::from(length_px) * u64::from(2 * number + 1) / u64::from(2 * count);
        let start = middle as u32 - TILE_PX / 2;
        (start & !(TILE_PX / 8 - 1)) as usize
    }

    /// Copies the tiles out of `data`, which is a picture or one of its planes. `data` has `stride`
    /// bytes per row and `pixel_bytes` bytes per pixel. Its width and height are those of the
    /// picture divided by `divisors`.
    fn copy(
        &self,
        data: &[u8],
        stride: usize,
        pixel_bytes: usize,
        divisors: (u32, u32),
    ) -> Vec<u8> {
        let (across, down) = (divisors.0 as usize, divisors.1 as usize);
        let tile_bytes = TILE_PX as usize / across * pixel_bytes;
        let mut copied = Vec::new();
        for row in 0..self.rows {
            let top = Tiles::start(row, self.rows, self.of.height_px) / down;
            for y in top..top + TILE_PX as usize / down {
                for column in 0..self.columns {
                    let left = Tiles::start(column, self.columns, self.of.width_px) / across;
                    let start = y * stride + left * pixel_bytes;
                    copied.extend_from_slice(&data[start..start + tile_bytes]);
                }
            }
        }
        copied
    }
}
