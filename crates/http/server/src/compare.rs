//! Comparison of an original with the variant that a client would get, as JSON: format, dimensions
//! and file size of both, the encoder's settings, and the SSIMULACRA2 score.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use conversion::score::{NoScore, ScoredVariant};
use image_plan::{
    Accepts, COMPARED_PIXELS_MAX, Encoding, Facts, Plan, ReadAt as _, Recipe, Size, Stage, Target,
};
use reactor::blocking;
use serde::Serialize;
use variants::cache::{Key, Kind, Variant, Verdict};
use variants::library::{Identity, LibraryPath};
use variants::sealed::Sealed;

use crate::choice::Body;
use crate::core::Core;
use crate::file_request::FileRequest;
use crate::known::Known;
use crate::problem::Problem;
use crate::response::{Response, Shape};
use crate::route::Document;
use crate::service::Service;

/// Maximum number of attempts to compare, since the original or the variant may change meanwhile.
const ATTEMPTS_MAX: usize = 3;
/// Seconds after which a client may retry a refused comparison: about as long as a comparison
/// takes.
const RETRY_AFTER_S: u64 = 2;

/// Picture that a client would get, the plan by which it was encoded, and its SSIMULACRA2 score
/// (similarity to the original).
struct SentPicture {
    target: Target,
    plan: Plan,
    stage: Stage,
    bytes: u64,
    /// True if a variant that is encoded later at higher effort will replace this one.
    provisional: bool,
    /// SSIMULACRA2 score; `None` if the variant is an animation or too large for the metric.
    score: Option<f64>,
}

impl Core {
    /// Responds with a comparison of a picture's original and the variant that this client would
    /// get.
    pub(crate) async fn comparison_response(
        &self,
        file: &FileRequest<'_>,
        shape: Shape,
    ) -> Response {
        let compared = match (file.path(), file.query()) {
            (Ok(path), Ok(query)) => {
                let service = &self.service;
                let compared = service.compare(path, query.recipe, file.accepts, file.charged);
                compared.await
            }
            (Err(problem), _) | (_, Err(problem)) => Err(problem),
        };
        match compared {
            Ok(text) => self.document_response(Document::new("application/json", text), shape),
            Err(problem) => self.file_problem_response(&problem, file, shape),
        }
    }
}

impl Service {
    /// Compares the picture that a client would get for `path` with the original, and returns the
    /// result as a JSON document. Converts the original if necessary.
    ///
    /// # Errors
    /// The [`Problem`] that a request for the picture would get, [`Problem::Overloaded`] if too
    /// many comparisons run, or [`Problem::BadParameter`] if `recipe` has a trim.
    async fn compare(
        self: &Arc<Self>,
        path: &LibraryPath,
        recipe: Recipe,
        accepts: Accepts,
        charged: Option<IpAddr>,
    ) -> Result<String, Problem> {
        if recipe.trim.is_some() {
            // The plan of a trimmed picture does not state the size, which the document contains.
            let detail = "trim: a trimmed picture cannot be compared with its original";
            return Err(Problem::BadParameter(detail.to_owned()));
        }
        for _ in 0..ATTEMPTS_MAX {
            let choice = self.choose(path, recipe, accepts, charged).await?;
            let identity = choice.identity;
            let facts = match self.facts_for(path, &identity, &recipe).await? {
                Known::Picture(facts) => facts,
                Known::Damaged => return Err(Problem::Undecodable),
                _ => return Err(Problem::Unsupported),
            };
            let (key, target, bytes) = match &choice.body {
                Body::Original(_) => return Ok(document(&facts, &identity, None)),
                Body::Variant(variant, ..) => match variant.kind {
                    Kind::Picture(target) => (variant.key, target, variant.bytes),
                    Kind::Sound | Kind::Verdict(_) => return Err(Problem::Host),
                },
                Body::Uncached(sealed, key, media_type) => {
                    let mut targets = Target::ALL.into_iter();
                    let target = targets.find(|target| target.media_type() == *media_type);
                    (*key, target.ok_or(Problem::Host)?, sealed.bytes)
                }
            };
            let planned = self.plan_of(key, &identity, &facts, &self.planned(recipe), target);
            // The chosen variant may have been encoded under earlier settings. Then no current plan
            // has its key, and the choice is repeated.
            let Some((plan, stage)) = planned else {
                continue;
            };
            let score = self.score(path, identity, plan, choice.body).await;
            let score = match score {
                Ok(score) => Some(score),
                Err(NoScore::Failed(Verdict::TooCostly)) => None,
                Err(NoScore::Changed) => continue,
                Err(NoScore::Late) => {
                    return Err(Problem::Overloaded {
                        retry_after_s: RETRY_AFTER_S,
                    });
                }
                Err(NoScore::Failed(verdict)) => {
                    return Err(Problem::of_verdict(verdict).unwrap_or(Problem::Host));
                }
                Err(NoScore::Host) => return Err(Problem::Host),
            };
            let sent = SentPicture {
                target,
                plan,
                stage,
                bytes,
                provisional: choice.provisional,
                score,
            };
            return Ok(document(&facts, &identity, Some(&sent)));
        }
        Err(Problem::Host)
    }

    /// Returns the plan by which the variant with this key was encoded, and the stage: quick or
    /// better.
    fn plan_of(
        &self,
        key: Key,
        identity: &Identity,
        facts: &Facts,
        recipe: &Recipe,
        target: Target,
    ) -> Option<(Plan, Stage)> {
        [Stage::Better, Stage::Quick].into_iter().find_map(|stage| {
            let plan = image_plan::plan(facts, recipe, target, stage, &self.settings.picture);
            let plan = plan.ok()?;
            (Key::new(identity, &plan) == key).then_some((plan, stage))
        })
    }

    /// Computes the score of the variant in `body`.
    async fn score(
        self: &Arc<Self>,
        path: &LibraryPath,
        identity: Identity,
        plan: Plan,
        body: Body,
    ) -> Result<f64, NoScore> {
        // An animation counts as too costly to compare.
        if COMPARED_PIXELS_MAX < plan.target.pixels() || plan.frames_max.is_some() {
            return Err(NoScore::Failed(Verdict::TooCostly));
        }
        let permit = Arc::clone(&self.comparisons).try_acquire_owned();
        let permit = permit.map_err(|_| NoScore::Late)?;
        let (service, path) = (Arc::clone(self), path.clone());
        blocking(move || {
            let variant = service.bytes_of(&body).map_err(|_| NoScore::Changed)?;
            let score = service.flights.score(&ScoredVariant {
                path: &path,
                identity,
                plan,
                variant: &variant,
            });
            // A client that disconnects does not end the job, so the job holds the permit.
            drop(permit);
            score
        })
        .await
    }

    /// Reads a variant. Fails if it was evicted.
    fn bytes_of(&self, body: &Body) -> io::Result<Arc<[u8]>> {
        let read = |variant: &Arc<Variant>, sealed: &Option<Arc<Sealed>>| match sealed {
            Some(sealed) => self.variants().read_sealed(variant, sealed),
            None => self.variants().read(variant),
        };
        match body {
            Body::Variant(variant, sealed, _) => read(variant, sealed),
            Body::Uncached(sealed, ..) => {
                let mut bytes = vec![0; sealed.bytes as usize];
                let count = sealed.read_at(0, &mut bytes)?;
                bytes.truncate(count);
                Ok(bytes.into())
            }
            Body::Original(_) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// JSON document that compares an original with the picture that a client would get.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparisonJson {
    original: PictureJson,
    sent: SentPictureJson,
    /// True if the client would get the original itself.
    is_original: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssimulacra2: Option<f64>,
}

/// Format, dimensions in pixels and file size of a picture.
#[derive(Serialize)]
struct PictureJson {
    format: &'static str,
    width: u32,
    height: u32,
    bytes: u64,
}

/// Picture that the client would get. `encoding` is `None` if this picture is the original.
#[derive(Serialize)]
struct SentPictureJson {
    #[serde(flatten)]
    picture: PictureJson,
    #[serde(flatten)]
    encoding: Option<EncodingJson>,
}

/// Encoder and settings of a variant.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EncodingJson {
    /// Name of the software library that encoded the picture.
    encoder: &'static str,
    /// Quality setting; `None` if the variant is lossless.
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<u8>,
    /// Effort of libwebp.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<u8>,
    /// Effort of libaom; a smaller number means a higher effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<u8>,
    is_quick: bool,
    is_provisional: bool,
}

impl PictureJson {
    fn new(format: &'static str, size: Size, bytes: u64) -> PictureJson {
        PictureJson {
            format,
            width: size.width_px,
            height: size.height_px,
            bytes,
        }
    }
}

impl From<&SentPicture> for EncodingJson {
    fn from(sent: &SentPicture) -> EncodingJson {
        let without_effort = |encoder, quality| EncodingJson {
            encoder,
            quality,
            method: None,
            speed: None,
            is_quick: sent.stage == Stage::Quick,
            is_provisional: sent.provisional,
        };
        match sent.plan.encoding {
            Encoding::Jpeg { quality } => without_effort("libjpeg-turbo", Some(quality)),
            Encoding::Png => without_effort("png", None),
            Encoding::Webp {
                quality,
                method,
                lossless,
            } => EncodingJson {
                method: Some(method),
                ..without_effort("libwebp", (!lossless).then_some(quality))
            },
            Encoding::Avif {
                quality,
                speed,
                lossless,
            } => EncodingJson {
                speed: Some(speed),
                ..without_effort("libaom", (!lossless).then_some(quality))
            },
        }
    }
}

/// Returns the comparison as a JSON document. `sent` is `None` if the client would get the
/// original.
fn document(facts: &Facts, identity: &Identity, sent: Option<&SentPicture>) -> String {
    let original = || {
        let format = facts.format.extension();
        PictureJson::new(format, facts.oriented(), identity.size_bytes)
    };
    let picture =
        |sent: &SentPicture| PictureJson::new(sent.target.name(), sent.plan.target, sent.bytes);
    let score = sent.and_then(|sent| sent.score);
    let document = ComparisonJson {
        original: original(),
        sent: SentPictureJson {
            picture: sent.map_or_else(original, picture),
            encoding: sent.map(EncodingJson::from),
        },
        is_original: sent.is_none(),
        // Two decimals, since the metric is not more accurate than that.
        ssimulacra2: score.map(|score| (score * 100.0).round() / 100.0),
    };
    let mut text = serde_json::to_string(&document).expect("the document has only string keys");
    text.push('\n');
    text
}
