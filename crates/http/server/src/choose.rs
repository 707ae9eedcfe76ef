//! Choice of a representation: the version of the original, the formats that may become the
//! response, the variants that exist, and a conversion if none exists.
//!
//! ```text
//! path ─► identity ─► facts ─► candidates ─► known? ─yes─► smallest known variant, or the original
//!                                              └─ no ─► flight for the first candidate, then again
//! ```
//!
//! A response is *provisional* until all candidates have been encoded at the higher effort: it is
//! fresh for seconds, and the improvements are queued.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use image_plan::{Accepts, Candidates, Facts, Plan, Recipe, Stage, Target};

use conversion::convert::{Outcome, Pace, Task};
use conversion::flight::{Refused, Unlanded};
use conversion::growing::{Growing, LOOK_TIME};
use conversion::transcode;
use tokio::time::{Instant, timeout};
use variants::cache::{Key, Kind, Variant, Verdict};
use variants::clock;
use variants::library::{Identity, LibraryPath};
use variants::sealed::Sealed;

use crate::problem::Problem;
use crate::service::{Known, Service, blocking};

/// Bytes of a track that must exist before it is sent while in production. Shorter tracks are sent
/// whole.
const STREAM_START_BYTES: u64 = 16 << 10;
/// Number of restarts because the original, or its variant, changed during a request.
const ATTEMPTS_MAX: usize = 3;

/// Representation that was chosen for a request.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Location of the bytes.
    pub body: Body,
    /// Original that the representation is made from, or is.
    pub identity: Identity,
    /// True if another `Accept` could have chosen another representation.
    pub negotiated: bool,
    /// True if an improvement will replace the representation.
    pub provisional: bool,
    /// True if the representation was converted for this request.
    pub made: bool,
    /// True if the target has one representation only, whatever is accepted or converted later.
    pub is_only: bool,
}

/// Choice for a player.
#[derive(Clone, Debug)]
pub enum SoundChoice {
    /// A finished track, or the file.
    Whole(Choice),
    /// A track in production, which will be stored under this key.
    Growing(Key, Arc<Growing>),
    /// The original has changed: choose again.
    Changed,
}

/// Returns the media type for the field Content-Type.
pub type MediaType = &'static str;

/// Location of a representation's bytes.
#[derive(Clone, Debug)]
pub enum Body {
    /// On disk, under its key.
    Variant(Arc<Variant>, MediaType),
    /// In memory only, because the disk did not accept it.
    Uncached(Arc<Sealed>, Key, MediaType),
    /// The original itself.
    Original(Known),
}

impl Body {
    /// Returns the media type.
    pub(crate) fn media_type(&self) -> MediaType {
        match self {
            Body::Variant(_, media_type) | Body::Uncached(_, _, media_type) => media_type,
            Body::Original(known) => known.media_type(),
        }
    }
}

/// Format that may become the response, and the state of its variants.
struct Candidate {
    quick: (Key, Plan),
    better: (Key, Plan),
    /// Entry of the index for `better`, or else for `quick`.
    known: Option<Arc<Variant>>,
    /// True if no better entry than `known` can be produced.
    settled: bool,
    /// True if an improvement may be queued now. After a failure that may be the server's fault,
    /// the improvement waits.
    improvable: bool,
}

/// Result of a flight for a candidate.
enum FlightResult {
    /// The index has the result.
    Indexed,
    /// The bytes are here only.
    Uncached(Arc<Sealed>, Target),
    /// The original has changed: start over.
    Changed,
    /// The conversion needs more memory than there is in total.
    TooLarge,
}

/// Parsed request for a picture.
struct ImageRequest<'a> {
    path: &'a LibraryPath,
    identity: Identity,
    facts: Facts,
    recipe: Recipe,
    candidates: Candidates,
    /// Formats that the client accepts, enabled or not.
    accepts: Accepts,
    /// True if another `Accept` could choose another representation.
    negotiated: bool,
}

impl Service {
    /// Chooses the representation for `path`, converting the original if necessary.
    ///
    /// # Errors
    /// The [`Problem`] to respond with.
    pub async fn choose(
        &self,
        path: &LibraryPath,
        recipe: Recipe,
        accepts: Accepts,
    ) -> Result<Choice, Problem> {
        for _ in 0..ATTEMPTS_MAX {
            let identity = self.identify(path).await?;
            let facts = match self.facts(path, &identity).await? {
                Known::Picture(facts) => facts,
                other @ Known::Untouched(_) => return Ok(Choice::original(identity, other)),
                other if recipe.is_identity() => return Ok(Choice::original(identity, other)),
                Known::Damaged => return Err(Problem::Undecodable),
                _ => return Err(Problem::Unsupported),
            };
            let candidates = image_plan::candidates(&facts, &recipe, self.allowed(accepts));
            let negotiated =
                recipe.format.is_none() && !facts.animated && facts.unsupported.is_none();
            let wanted = ImageRequest {
                path,
                identity,
                facts,
                recipe: self.planned(recipe),
                candidates,
                accepts,
                negotiated,
            };
            if let Some(choice) = self.choose_of(&wanted).await? {
                return Ok(choice);
            }
        }
        tracing::warn!(path = %path.as_path().display(), "original keeps changing");
        Err(Problem::Host)
    }

    /// Chooses once. Returns `None` if the original changed meanwhile.
    async fn choose_of(&self, wanted: &ImageRequest<'_>) -> Result<Option<Choice>, Problem> {
        let mut flights = 0;
        let mut too_large = Vec::new();
        loop {
            let candidates = self.look_up(wanted).await?;
            let unknown = |candidate: &&Candidate| {
                candidate.known.is_none() && !too_large.contains(&candidate.quick.0)
            };
            let next = candidates.iter().find(unknown);
            // A variant may be evicted before its waiters read it.
            let next = next
                .filter(|_| flights < ATTEMPTS_MAX && !candidates.iter().any(Candidate::answers));
            let Some(next) = next else {
                let choice = self.decide(wanted, &candidates, flights != 0);
                return match choice {
                    Err(Problem::Host) if !too_large.is_empty() => Err(Problem::TooLarge),
                    choice => choice.map(Some),
                };
            };
            match self.await_conversion(wanted, next).await? {
                FlightResult::Indexed => flights += 1,
                FlightResult::Changed => return Ok(None),
                FlightResult::TooLarge => too_large.push(next.quick.0),
                FlightResult::Uncached(sealed, target) => {
                    let body = Body::Uncached(sealed, next.quick.0, target.media_type());
                    return Ok(Some(wanted.choice(body, !next.settled, true)));
                }
            }
        }
    }

    /// Returns the known state of each candidate format.
    async fn look_up(&self, wanted: &ImageRequest<'_>) -> Result<Vec<Candidate>, Problem> {
        let limits = &self.settings.picture;
        let mut found = Vec::with_capacity(2);
        if self.settings.limits.original_bytes_max < wanted.identity.size_bytes {
            return if wanted.candidates.original_competes {
                Ok(found)
            } else {
                Err(Problem::TooLarge)
            };
        }
        let mut refusal = None;
        for target in wanted.candidates.targets() {
            let plan =
                |stage| image_plan::plan(&wanted.facts, &wanted.recipe, target, stage, limits);
            match (plan(Stage::Quick), plan(Stage::Better)) {
                (Ok(quick), Ok(better)) => {
                    found.push(self.candidate(&wanted.identity, quick, better).await)
                }
                (Err(why), _) | (_, Err(why)) => refusal = Some(why),
            }
        }
        match refusal {
            Some(why) if found.is_empty() && !wanted.candidates.original_competes => {
                Err(Problem::from(why))
            }
            _ => Ok(found),
        }
    }

    async fn candidate(&self, identity: &Identity, quick: Plan, better: Plan) -> Candidate {
        let quick = (Key::new(identity, &quick), quick);
        let better = (Key::new(identity, &better), better);
        let improve = self.settings.improve;
        let lasts = |found: &Arc<Variant>| found.expires_ms().is_none();
        let (known, settled, improvable) = match self.find(better.0).await {
            Some(found) if found.is_useful() => (Some(found), true, false),
            // The quick variant is the best one. If it was evicted, it is made again.
            Some(found) if found.kind == Kind::Verdict(Verdict::Unimproved) => {
                (self.find(quick.0).await, true, false)
            }
            // More effort failed, so the quick variant, if any, is the best one.
            Some(found) => {
                let settled = lasts(&found);
                let quick = self.find(quick.0).await;
                (quick.or(Some(found)), settled, false)
            }
            None => match self.find(quick.0).await {
                Some(found) if found.is_useful() => (Some(found), !improve, improve),
                // The failure does not depend on the effort.
                Some(found) => {
                    let settled = lasts(&found);
                    (Some(found), settled, false)
                }
                None => {
                    let improvable = improve && quick.0 != better.0;
                    (None, !improvable, improvable)
                }
            },
        };
        Candidate {
            quick,
            better,
            known,
            settled,
            improvable,
        }
    }

    pub(crate) async fn find(&self, key: Key) -> Option<Arc<Variant>> {
        match self.variants().find(&key, clock::unix_ms()) {
            Ok(found) => found,
            Err(_) => {
                let variants = Arc::clone(self.variants());
                blocking(move || variants.find_on_disk(&key, clock::unix_ms())).await
            }
        }
    }

    /// Waits for the flight that encodes `candidate` at low effort.
    async fn await_conversion(
        &self,
        wanted: &ImageRequest<'_>,
        candidate: &Candidate,
    ) -> Result<FlightResult, Problem> {
        let task = wanted.task(candidate.quick, None);
        let landing = match self.flights.join(task) {
            Ok(landing) => landing,
            Err(Refused::TooLarge) => return Ok(FlightResult::TooLarge),
            Err(Refused::Overloaded { retry_after_s }) => {
                return Err(self.overloaded(retry_after_s));
            }
        };
        match landing.wait().await {
            Ok(Outcome::Kept(_)) => Ok(FlightResult::Indexed),
            Ok(Outcome::Uncached(target, sealed)) => Ok(FlightResult::Uncached(sealed, target)),
            Ok(Outcome::Changed) => Ok(FlightResult::Changed),
            Err(Unlanded::Late) => Err(self.overloaded(self.flights.retry_after_s())),
            // Only improvements are cancelled.
            Ok(Outcome::Refused | Outcome::Cancelled) | Err(Unlanded::Stopped) => {
                Err(Problem::Host)
            }
        }
    }

    fn overloaded(&self, retry_after_s: u64) -> Problem {
        self.conversions().refused.fetch_add(1, Ordering::Relaxed);
        Problem::Overloaded { retry_after_s }
    }

    /// Returns the smallest known variant or, if it competes or the worker failed, the original.
    fn decide(
        &self,
        wanted: &ImageRequest<'_>,
        candidates: &[Candidate],
        made: bool,
    ) -> Result<Choice, Problem> {
        let provisional = candidates.iter().any(|candidate| !candidate.settled);
        for candidate in candidates.iter().filter(|candidate| candidate.improvable) {
            self.flights
                .improve(wanted.task(candidate.better, Some(candidate.quick.0)));
        }
        let pictures = candidates
            .iter()
            .filter_map(|candidate| candidate.picture());
        let smallest = pictures.min_by_key(|(variant, _)| variant.bytes);
        let competes = wanted.candidates.original_competes;
        match smallest {
            Some((variant, target)) if !competes || variant.bytes < wanted.identity.size_bytes => {
                variant.touch(clock::unix_ms());
                let body = Body::Variant(variant, target.media_type());
                Ok(wanted.choice(body, provisional, made))
            }
            _ if competes => {
                let body = Body::Original(Known::Picture(wanted.facts));
                Ok(wanted.choice(body, provisional, made))
            }
            _ if wanted.falls_back(candidates) => {
                let body = Body::Original(Known::Picture(wanted.facts));
                Ok(wanted.choice(body, true, made))
            }
            _ => Err(candidates
                .iter()
                .find_map(Candidate::problem)
                .unwrap_or(Problem::Host)),
        }
    }
}

impl Service {
    /// Chooses the response for a player that gets the track at `path` transcoded by `plan`,
    /// transcoding it if necessary. With `allow_streaming` the track may still be in production.
    ///
    /// # Errors
    /// The [`Problem`] to respond with.
    pub async fn choose_sound(
        &self,
        path: &LibraryPath,
        plan: &audio_plan::Plan,
        user: &Arc<str>,
        allow_streaming: bool,
    ) -> Result<SoundChoice, Problem> {
        let identity = self.identify(path).await?;
        let key = Key::of_sound(&identity, plan);
        let choice = |body, made| Choice {
            body,
            identity,
            negotiated: false,
            provisional: false,
            made,
            is_only: false,
        };
        let of = |variant: Arc<Variant>, made| match variant.kind {
            Kind::Sound => {
                variant.touch(clock::unix_ms());
                let body = Body::Variant(variant, audio_plan::MEDIA_TYPE);
                Ok(SoundChoice::Whole(choice(body, made)))
            }
            // No other kind is stored under the key of a track.
            Kind::Picture(_) => Err(Problem::Host),
            Kind::Verdict(verdict) => Err(Problem::of_verdict(verdict).unwrap_or(Problem::Host)),
        };
        if let Some(known) = self.find(key).await {
            return of(known, false);
        }
        let task = transcode::Task {
            key,
            plan: plan.clone(),
            path: path.clone(),
            identity,
            user: Arc::clone(user),
        };
        let landing = self.transcoder.join(task).map_err(|busy| self.busy(busy))?;
        let outcome = match self.await_track(landing, allow_streaming).await? {
            Awaited::Outcome(outcome) => outcome,
            Awaited::Growing(growing) => return Ok(SoundChoice::Growing(key, growing)),
        };
        match outcome {
            transcode::Outcome::Kept(variant) => of(variant, true),
            transcode::Outcome::Uncached(sealed) => {
                let body = Body::Uncached(sealed, key, audio_plan::MEDIA_TYPE);
                Ok(SoundChoice::Whole(choice(body, true)))
            }
            transcode::Outcome::Changed => Ok(SoundChoice::Changed),
            transcode::Outcome::Refused => Err(Problem::Host),
        }
    }

    /// Waits for a track's turn, for a bounded time, and then for the track; with
    /// `allow_streaming`, for its beginning.
    async fn await_track(
        &self,
        mut landing: transcode::Landing,
        allow_streaming: bool,
    ) -> Result<Awaited, Problem> {
        let turn_due = Instant::now() + self.transcoder.waiting_max();
        loop {
            let is_begun = landing.is_begun.load(Ordering::Relaxed);
            match timeout(LOOK_TIME, &mut landing.outcome).await {
                Ok(Ok(outcome)) => return Ok(Awaited::Outcome(outcome)),
                // After the start, the sender is dropped only when the server stops.
                Ok(Err(_)) if landing.is_begun.load(Ordering::Relaxed) => {
                    return Err(Problem::Host);
                }
                // The track was removed from the queue in favour of another user's.
                Ok(Err(_)) => return Err(self.busy(self.transcoder.busy())),
                Err(_) if !is_begun && turn_due <= Instant::now() => {
                    return Err(self.busy(self.transcoder.busy()));
                }
                // Output exists, so decoding works: undecodable files have failed by now.
                Err(_) if allow_streaming => {
                    if let Some(growing) = landing.growing.get()
                        && STREAM_START_BYTES <= growing.look()
                    {
                        return Ok(Awaited::Growing(Arc::clone(growing)));
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Counts a refused track.
    fn busy(&self, busy: transcode::Busy) -> Problem {
        let refused = &self.conversions().transcodings_refused;
        refused.fetch_add(1, Ordering::Relaxed);
        Problem::Busy {
            retry_after_s: busy.retry_after_s,
        }
    }
}

/// Result of waiting for a track.
enum Awaited {
    Outcome(transcode::Outcome),
    /// The track is in production.
    Growing(Arc<Growing>),
}

impl ImageRequest<'_> {
    fn task(&self, (key, plan): (Key, Plan), replaces: Option<Key>) -> Task {
        Task {
            key,
            plan,
            path: self.path.clone(),
            identity: self.identity,
            original_competes: self.candidates.original_competes,
            pace: if replaces.is_some() {
                Pace::Idle
            } else {
                Pace::Awaited
            },
            replaces,
        }
    }

    /// Returns whether the original, in another size or format than requested, is better than an
    /// error: the worker is at fault, and the client can decode the original.
    fn falls_back(&self, candidates: &[Candidate]) -> bool {
        let is_reason = |verdict: Verdict| {
            verdict == Verdict::Quarantined
                || (verdict.is_of_worker() && self.recipe.format.is_none())
        };
        let mut verdicts = candidates.iter().filter_map(Candidate::verdict);
        self.accepts.reads(self.facts.format) && verdicts.any(is_reason)
    }

    fn choice(&self, body: Body, provisional: bool, made: bool) -> Choice {
        let is_original = matches!(body, Body::Original(_));
        Choice {
            body,
            identity: self.identity,
            negotiated: self.negotiated,
            provisional,
            made,
            // A representation that is neither negotiated nor requested in a format cannot be
            // converted.
            is_only: is_original && !self.negotiated && self.recipe.format.is_none(),
        }
    }
}

impl Choice {
    /// Returns the original as its target's only representation.
    fn original(identity: Identity, known: Known) -> Choice {
        Choice {
            body: Body::Original(known),
            identity,
            negotiated: false,
            provisional: false,
            made: false,
            is_only: true,
        }
    }
}

impl Candidate {
    fn picture(&self) -> Option<(Arc<Variant>, Target)> {
        let known = self.known.as_ref()?;
        match known.kind {
            Kind::Picture(target) => Some((Arc::clone(known), target)),
            Kind::Sound | Kind::Verdict(_) => None,
        }
    }

    fn verdict(&self) -> Option<Verdict> {
        match self.known.as_ref()?.kind {
            Kind::Picture(_) | Kind::Sound => None,
            Kind::Verdict(verdict) => Some(verdict),
        }
    }

    /// Returns whether the known entry makes it unnecessary to try other formats for now.
    fn answers(&self) -> bool {
        match self.verdict() {
            Some(verdict) => !verdict.is_of_format(),
            None => self.known.is_some(),
        }
    }

    fn problem(&self) -> Option<Problem> {
        Problem::of_verdict(self.verdict()?)
    }
}
