//! Choice of a representation. The choice depends on the version of the original, the formats that
//! the response may have, and the variants that exist. If there is no variant, one is converted.
//!
//! ```text
//! path ─► identity ─► facts ─► candidates ─► any known? ─yes─► smallest known one, or the original
//!                                              └─ no ─► conversion, whose variant is then known
//! ```
//!
//! A picture is first encoded at low effort, and again at higher effort when cores are idle. A
//! response is *provisional* until all candidate formats have been encoded at the higher effort. A
//! provisional response is fresh for seconds only, and queues the missing conversions.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use image_plan::{Accepts, Candidates, Facts, Plan, Recipe, Stage, Target};
use reactor::blocking;
use wall_clock::unix_ms;

use conversion::convert::{Outcome, Pace, Task};
use conversion::flight::{Refused, WaitError};
use conversion::growing::{Growing, POLL_INTERVAL};
use conversion::single_flight::Abandoned;
use conversion::transcode;
use tokio::time::{Instant, timeout};
use variants::cache::{Key, Kind, Variant, Verdict};
use variants::library::{Identity, LibraryPath};
use variants::sealed::Sealed;

use crate::choice::{Body, Choice, SoundChoice};
use crate::known::Known;
use crate::problem::Problem;
use crate::service::Service;

/// Minimum bytes of a transcoded track that must exist before the track is sent while transcoding
/// continues. Shorter tracks are sent whole.
const STREAM_START_BYTES: u64 = 16 << 10;
/// Maximum number of attempts to choose a representation. An attempt fails if the original or its
/// variant changes during the attempt.
const ATTEMPTS_MAX: usize = 3;

/// Format that the response may have, and the state of its two variants: `quick`, encoded at low
/// effort, and `better`, encoded at higher effort.
struct Candidate {
    quick: (Key, Plan),
    better: (Key, Plan),
    /// Best index entry of this format: the variant at higher effort (`better`), or else the
    /// variant at low effort (`quick`). If neither variant exists, the record of a failed
    /// conversion, if any.
    known: Option<Arc<Variant>>,
    /// Bytes of `known`, if the variant was converted for this request.
    sealed: Option<Arc<Sealed>>,
    /// True if no later conversion can lead to a better entry than `known`.
    settled: bool,
    /// True if a conversion at higher effort may be queued now.
    improvable: bool,
}

/// Result of converting the original to a candidate format. Several requests may share the
/// conversion.
enum FlightResult {
    /// The index now has this entry. If the entry is a variant, its bytes follow.
    Cached(Arc<Variant>, Option<Arc<Sealed>>),
    /// The variant exists in memory only; the index has no entry.
    Uncached(Arc<Sealed>, Target),
    /// The original has changed, so the choice must start again.
    Changed,
    /// The conversion needs more memory than all conversions together may use.
    TooLarge,
}

/// Parsed request for a picture.
struct ImageRequest<'a> {
    path: &'a LibraryPath,
    identity: Identity,
    facts: Facts,
    recipe: Recipe,
    candidates: Candidates,
    /// Formats that the client accepts, whether the settings enable them or not.
    accepts: Accepts,
    /// True if a different `Accept` field could lead to a different representation.
    negotiated: bool,
    originals: Originals,
    /// Address whose quota a conversion uses, if any.
    charged: Option<IpAddr>,
}

/// Use of the unchanged original as a response to a request for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Originals {
    /// The original is sent if it is smaller than all variants, or if it cannot be converted.
    Sent,
    /// The original is never sent.
    Withheld,
}

impl Service {
    /// Chooses the representation for `path`, converting the original if necessary. The conversion
    /// uses the quota of the address `charged`, if any.
    ///
    /// # Errors
    /// The [`Problem`] to respond with.
    pub async fn choose(
        &self,
        path: &LibraryPath,
        recipe: Recipe,
        accepts: Accepts,
        charged: Option<IpAddr>,
    ) -> Result<Choice, Problem> {
        let choice = self.choose_by(path, recipe, accepts, (Originals::Sent, charged));
        choice.await
    }

    /// Chooses a variant for `path`. Converts the original if necessary. Never chooses the original
    /// itself, whose metadata may be private.
    ///
    /// # Errors
    /// [`Problem::OriginalWithheld`] if the original cannot be converted, or another [`Problem`] to
    /// respond with.
    pub(crate) async fn choose_variant(
        &self,
        path: &LibraryPath,
        recipe: Recipe,
        accepts: Accepts,
    ) -> Result<Choice, Problem> {
        let choice = self.choose_by(path, recipe, accepts, (Originals::Withheld, None));
        match choice.await {
            Ok(choice) => {
                let is_original = matches!(choice.body, Body::Original(_));
                assert!(!is_original, "the original must not be sent");
                Ok(choice)
            }
            Err(problem) if problem.is_caused_by_original() => Err(Problem::OriginalWithheld),
            Err(problem) => Err(problem),
        }
    }

    async fn choose_by(
        &self,
        path: &LibraryPath,
        recipe: Recipe,
        accepts: Accepts,
        (originals, charged): (Originals, Option<IpAddr>),
    ) -> Result<Choice, Problem> {
        for _ in 0..ATTEMPTS_MAX {
            let identity = self.identify(path).await?;
            let facts = match self.facts_for(path, &identity, &recipe).await? {
                Known::Picture(facts) => facts,
                _ if originals == Originals::Withheld => return Err(Problem::OriginalWithheld),
                other @ Known::Untouched(_) => return Ok(Choice::original(identity, other)),
                other @ Known::WithoutPreview(format, _) => {
                    // A client that names the format can show the original, unless it asks for
                    // another format.
                    return match recipe.format.is_none() && accepts.reads(format) {
                        true => Ok(Choice {
                            negotiated: true,
                            is_only: false,
                            ..Choice::original(identity, other)
                        }),
                        false => Err(Problem::NoPreview),
                    };
                }
                other if recipe.is_identity() => return Ok(Choice::original(identity, other)),
                Known::Damaged => return Err(Problem::Undecodable),
                _ => return Err(Problem::Unsupported),
            };
            let allowed = self.allowed(accepts);
            let candidates = match originals {
                Originals::Sent => image_plan::candidates(&facts, &recipe, allowed),
                Originals::Withheld => {
                    image_plan::candidates_without_original(&facts, &recipe, allowed)
                        .ok_or(Problem::OriginalWithheld)?
                }
            };
            // A drawing that the request does not change has no targets: every client gets the
            // original.
            let is_drawing = facts.format.is_drawing() && candidates.targets().next().is_none();
            let is_convertible = facts.is_convertible() && !is_drawing;
            let negotiated = recipe.format.is_none() && is_convertible;
            let request = ImageRequest {
                path,
                identity,
                facts,
                recipe: self.planned(recipe),
                candidates,
                accepts,
                negotiated,
                originals,
                charged,
            };
            if let Some(choice) = self.choose_once(&request).await? {
                return Ok(choice);
            }
        }
        tracing::warn!(
            path = %path.as_path().display(),
            "the original keeps changing while it is read"
        );
        Err(Problem::Host)
    }

    /// Chooses the unchanged original for `path`.
    ///
    /// # Errors
    /// The [`Problem`] to respond with.
    pub(crate) async fn choose_original(&self, path: &LibraryPath) -> Result<Choice, Problem> {
        let identity = self.identify(path).await?;
        let known = self.facts(path, &identity).await?;
        Ok(Choice::original(identity, known))
    }

    /// Makes one attempt to choose. Looks up the candidate formats, then converts the original to
    /// one format after another until a response can be chosen. Returns `None` if the attempt must
    /// be repeated: the original changed, or a conversion shared with another request kept no
    /// variant.
    async fn choose_once(&self, request: &ImageRequest<'_>) -> Result<Option<Choice>, Problem> {
        let mut candidates = self.look_up_candidates(request).await?;
        let (mut made, mut is_too_large) = (false, false);
        for at in 0..candidates.len() {
            if candidates.iter().any(Candidate::is_final) {
                break;
            }
            let next = &mut candidates[at];
            if next.known.is_some() {
                continue;
            }
            if !made {
                self.charge(request)?;
            }
            match self.await_conversion(request, next).await? {
                // The conversion was shared with a request that may also be answered with the
                // original. The result was not smaller than the original, so it was not kept, and
                // this request must convert again.
                FlightResult::Cached(variant, _)
                    if !request.candidates.original_competes && variant.kind == Kind::LARGER =>
                {
                    return Ok(None);
                }
                FlightResult::Cached(variant, sealed) => {
                    next.take(variant, sealed);
                    made = true;
                }
                FlightResult::Changed => return Ok(None),
                FlightResult::TooLarge => is_too_large = true,
                FlightResult::Uncached(sealed, target) => {
                    let body = Body::Uncached(sealed, next.quick.0, target.media_type());
                    return Ok(Some(request.choice(body, !next.settled, true)));
                }
            }
        }
        match self.decide(request, &candidates, made) {
            Err(Problem::Host) if is_too_large => Err(Problem::TooLarge),
            choice => choice.map(Some),
        }
    }

    /// Looks up the index entries of each candidate format.
    async fn look_up_candidates(
        &self,
        request: &ImageRequest<'_>,
    ) -> Result<Vec<Candidate>, Problem> {
        let limits = &self.settings.picture;
        let mut found = Vec::with_capacity(2);
        if self.settings.limits.original_bytes_max < request.identity.size_bytes {
            return if request.candidates.original_competes {
                Ok(found)
            } else {
                Err(Problem::TooLarge)
            };
        }
        let mut refusal = None;
        for target in request.candidates.targets() {
            let plan =
                |stage| image_plan::plan(&request.facts, &request.recipe, target, stage, limits);
            match (plan(Stage::Quick), plan(Stage::Better)) {
                (Ok(quick), Ok(better)) => found.push(self.candidate(request, quick, better).await),
                (Err(why), _) | (_, Err(why)) => refusal = Some(why),
            }
        }
        match refusal {
            Some(why) if found.is_empty() && !request.candidates.original_competes => {
                Err(Problem::from(why))
            }
            _ => Ok(found),
        }
    }

    async fn candidate(&self, request: &ImageRequest<'_>, quick: Plan, better: Plan) -> Candidate {
        let quick = (Key::new(&request.identity, &quick), quick);
        let better = (Key::new(&request.identity, &better), better);
        let improve = self.settings.improve;
        let is_permanent = |found: &Arc<Variant>| found.expires_ms().is_none();
        let (known, settled, improvable) = match self.find_for(request, better.0).await {
            Some(found) if found.is_useful() => (Some(found), true, false),
            // The conversion at higher effort gave no smaller variant, so the variant at low effort
            // is the best one. If it was evicted, it is converted again.
            Some(found) if found.kind == Kind::Verdict(Verdict::Unimproved) => {
                (self.find_for(request, quick.0).await, true, false)
            }
            // The conversion at higher effort failed, so the variant at low effort, if any, is the
            // best one.
            Some(found) => {
                let settled = is_permanent(&found);
                let quick = self.find_for(request, quick.0).await;
                (quick.or(Some(found)), settled, false)
            }
            None => match self.find_for(request, quick.0).await {
                Some(found) if found.is_useful() => (Some(found), !improve, improve),
                // The conversion at low effort failed. Its failure does not depend on the effort,
                // so a conversion at higher effort is pointless.
                Some(found) => {
                    let settled = is_permanent(&found);
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
            sealed: None,
            settled,
            improvable,
        }
    }

    /// Returns the index entry for `key`. If this request cannot be answered with the original,
    /// ignores the verdict that the variant is not smaller than the original.
    async fn find_for(&self, request: &ImageRequest<'_>, key: Key) -> Option<Arc<Variant>> {
        let competes = request.candidates.original_competes;
        let found = self.find(key).await;
        found.filter(|found| competes || found.kind != Kind::LARGER)
    }

    pub(crate) async fn find(&self, key: Key) -> Option<Arc<Variant>> {
        match self.variants().find(&key, unix_ms()) {
            Ok(found) => found,
            Err(_) => {
                let variants = Arc::clone(self.variants());
                blocking(move || variants.find_on_disk(&key, unix_ms())).await
            }
        }
    }

    /// Takes a conversion from the quota of the client, if there is one.
    fn charge(&self, request: &ImageRequest<'_>) -> Result<(), Problem> {
        let Some(address) = request.charged else {
            return Ok(());
        };
        let tokens_max = self.settings.permissions.address_conversions_max;
        let taken = self.quotas.take(address, tokens_max, unix_ms() * 1000);
        taken.map_err(|retry_after_s| Problem::TooManyConversions { retry_after_s })
    }

    /// Waits for the conversion of `candidate` at low effort, which other requests may share.
    async fn await_conversion(
        &self,
        request: &ImageRequest<'_>,
        candidate: &Candidate,
    ) -> Result<FlightResult, Problem> {
        let task = request.task(candidate.quick, None);
        let waiter = match self.flights.join(task) {
            Ok(waiter) => waiter,
            Err(Refused::TooLarge) => return Ok(FlightResult::TooLarge),
            Err(Refused::Overloaded { retry_after_s }) => {
                return Err(self.overloaded(retry_after_s));
            }
        };
        match waiter.wait().await {
            Ok(Outcome::Cached(variant, sealed)) => Ok(FlightResult::Cached(variant, sealed)),
            Ok(Outcome::Uncached(target, sealed)) => Ok(FlightResult::Uncached(sealed, target)),
            Ok(Outcome::Changed) => Ok(FlightResult::Changed),
            Err(WaitError::Late) => Err(self.overloaded(self.flights.retry_after_s())),
            // `Refused` means that the host failed. `Cancelled` cannot occur here: only background
            // conversions are cancelled, but a request waits for this conversion.
            Ok(Outcome::Refused | Outcome::Cancelled) | Err(WaitError::Stopped) => {
                Err(Problem::Host)
            }
        }
    }

    fn overloaded(&self, retry_after_s: u64) -> Problem {
        self.conversions().refused.fetch_add(1, Ordering::Relaxed);
        Problem::Overloaded { retry_after_s }
    }

    /// Returns the smallest known variant, or the original if it is smaller and may be sent. Also
    /// returns the original if the worker failed.
    fn decide(
        &self,
        request: &ImageRequest<'_>,
        candidates: &[Candidate],
        made: bool,
    ) -> Result<Choice, Problem> {
        let provisional = candidates.iter().any(|candidate| !candidate.settled);
        for candidate in candidates.iter().filter(|candidate| candidate.improvable) {
            self.flights
                .improve(request.task(candidate.better, Some(candidate.quick.0)));
        }
        let pictures = candidates
            .iter()
            .filter_map(|candidate| candidate.picture());
        let smallest = pictures.min_by_key(|(variant, ..)| variant.bytes);
        let competes = request.candidates.original_competes;
        match smallest {
            Some((variant, sealed, target))
                if !competes || variant.bytes < request.identity.size_bytes =>
            {
                variant.touch(unix_ms());
                let body = Body::Variant(variant, sealed, target.media_type());
                Ok(request.choice(body, provisional, made))
            }
            _ if competes => {
                let body = Body::Original(Known::Picture(request.facts));
                Ok(request.choice(body, provisional, made))
            }
            _ if request.falls_back(candidates) => {
                let body = Body::Original(Known::Picture(request.facts));
                Ok(request.choice(body, true, made))
            }
            _ => Err(candidates
                .iter()
                .find_map(Candidate::problem)
                .unwrap_or(Problem::Host)),
        }
    }
}

impl Service {
    /// Chooses the response for a music player that requests the track at `path`, transcoded
    /// according to `plan`. Transcodes the track if necessary. With `allow_streaming` the returned
    /// track may be one that is still being transcoded.
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
                variant.touch(unix_ms());
                let body = Body::Variant(variant, None, audio_plan::MEDIA_TYPE);
                Ok(SoundChoice::Whole(choice(body, made)))
            }
            // The cache stores no pictures under the key of a track.
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
        let waiter = self.transcoder.join(task).map_err(|busy| self.busy(busy))?;
        let outcome = match self.await_track(waiter, allow_streaming).await? {
            Awaited::Outcome(outcome) => outcome,
            Awaited::Growing(growing) => return Ok(SoundChoice::Growing(key, growing)),
        };
        match outcome {
            transcode::Outcome::Cached(variant) => of(variant, true),
            transcode::Outcome::Uncached(sealed) => {
                let body = Body::Uncached(sealed, key, audio_plan::MEDIA_TYPE);
                Ok(SoundChoice::Whole(choice(body, true)))
            }
            transcode::Outcome::Changed => Ok(SoundChoice::Changed),
            transcode::Outcome::Refused => Err(Problem::Host),
        }
    }

    /// Waits for a bounded time until the transcode of a track starts. Then waits until the track
    /// is complete. With `allow_streaming`, waits only until the beginning of the track exists.
    async fn await_track(
        &self,
        mut waiter: transcode::TrackWaiter,
        allow_streaming: bool,
    ) -> Result<Awaited, Problem> {
        let start_deadline = Instant::now() + self.transcoder.waiting_max();
        loop {
            let had_started = waiter.has_started();
            match timeout(POLL_INTERVAL, waiter.wait()).await {
                Ok(Ok(outcome)) => return Ok(Awaited::Outcome(outcome)),
                // After the start, a track is abandoned only when the server stops.
                Ok(Err(Abandoned)) if waiter.has_started() => return Err(Problem::Host),
                // The track was removed from the queue in favour of another user's track.
                Ok(Err(Abandoned)) => return Err(self.busy(self.transcoder.busy())),
                Err(_) if !had_started && start_deadline <= Instant::now() => {
                    return Err(self.busy(self.transcoder.busy()));
                }
                // Output exists, so decoding works: undecodable files would have failed before any
                // output.
                Err(_) if allow_streaming => {
                    if let Some(growing) = waiter.progress().get()
                        && STREAM_START_BYTES <= growing.check_progress()
                    {
                        return Ok(Awaited::Growing(Arc::clone(growing)));
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Counts a refused track, and returns the problem to respond with.
    fn busy(&self, busy: transcode::Busy) -> Problem {
        let refused = &self.conversions().transcodes_refused;
        refused.fetch_add(1, Ordering::Relaxed);
        Problem::Busy {
            retry_after_s: busy.retry_after_s,
        }
    }
}

/// Result of waiting for a track.
enum Awaited {
    Outcome(transcode::Outcome),
    /// The track is still being transcoded.
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

    /// Returns whether the original should be sent instead of an error. This requires that the
    /// worker is at fault and that the client can decode the original. The original may have
    /// another size or format than the request asks for.
    fn falls_back(&self, candidates: &[Candidate]) -> bool {
        let is_reason = |verdict: Verdict| {
            verdict == Verdict::Quarantined
                || (verdict.is_of_worker() && self.recipe.format.is_none())
        };
        let mut verdicts = candidates.iter().filter_map(Candidate::verdict);
        self.originals == Originals::Sent
            && self.accepts.reads(self.facts.format)
            && verdicts.any(is_reason)
    }

    fn choice(&self, body: Body, provisional: bool, made: bool) -> Choice {
        let is_original = matches!(body, Body::Original(_));
        Choice {
            body,
            identity: self.identity,
            negotiated: self.negotiated,
            provisional,
            made,
            // If neither `Accept` nor the recipe selects a format, the original is the only
            // representation.
            is_only: is_original && !self.negotiated && self.recipe.format.is_none(),
        }
    }
}

impl Candidate {
    /// Stores the entry that a conversion at low effort produced.
    fn take(&mut self, variant: Arc<Variant>, sealed: Option<Arc<Sealed>>) {
        if !variant.is_useful() {
            // The conversion at higher effort would fail as well, so none is queued. If the record
            // of the failure expires, a later request tries again.
            self.settled = variant.expires_ms().is_none();
            self.improvable = false;
        }
        self.known = Some(variant);
        self.sealed = sealed;
    }

    fn picture(&self) -> Option<(Arc<Variant>, Option<Arc<Sealed>>, Target)> {
        let known = self.known.as_ref()?;
        match known.kind {
            Kind::Picture(target) => Some((Arc::clone(known), self.sealed.clone(), target)),
            Kind::Sound | Kind::Verdict(_) => None,
        }
    }

    fn verdict(&self) -> Option<Verdict> {
        match self.known.as_ref()?.kind {
            Kind::Picture(_) | Kind::Sound => None,
            Kind::Verdict(verdict) => Some(verdict),
        }
    }

    /// Returns whether no other format needs to be tried. This holds if a variant in this format is
    /// known, or if the conversion failed for a reason that holds for all formats.
    fn is_final(&self) -> bool {
        match self.verdict() {
            Some(verdict) => !verdict.is_of_format(),
            None => self.known.is_some(),
        }
    }

    fn problem(&self) -> Option<Problem> {
        Problem::of_verdict(self.verdict()?)
    }
}
