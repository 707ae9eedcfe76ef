//! From a request to the representation that answers it: the original's version, what may be made of it, what of that is
//! there, and a conversion where nothing is.
//!
//! ```text
//! path ─► identity ─► facts ─► candidates ─► known? ──yes──► smallest of what is known, and of the original
//!                                              └─ no ─► flight for the first candidate, then look again
//! ```
//!
//! An answer is *provisional* while a candidate has not been made as well as it can be: it is then fresh for seconds,
//! and the better ones are asked for in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use picture::{Accepts, Candidates, Facts, Plan, Recipe, Stage, Target};

use tokio::time::timeout;

use crate::clock;
use crate::convert::{Outcome, Pace, Sealed, Task};
use crate::flight::Refused;
use crate::growing::{Growing, LOOK_TIME};
use crate::library::{Identity, LibraryPath};
use crate::problem::Problem;
use crate::service::{Known, Service, blocking};
use crate::transcode;
use crate::variants::{Key, Kind, Variant, Verdict};

/// So much of a track is to be there before it is sent while it is made; shorter ones are sent whole.
const HEARD_BYTES: u64 = 16 << 10;
/// How often we start over because the original, or what was made of it, changed under us.
const ATTEMPTS_MAX: usize = 3;

/// The representation that answers a request.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Where its bytes are.
    pub body: Body,
    /// The original it is made of, or is.
    pub identity: Identity,
    /// Another `Accept` might have got something else.
    pub negotiated: bool,
    /// A better one is on its way.
    pub provisional: bool,
    /// It was made for this request.
    pub made: bool,
}

/// What answers a player.
#[derive(Clone, Debug)]
pub enum SoundChoice {
    /// This.
    Whole(Choice),
    /// What will be under this key, as it grows.
    Growing(Key, Arc<Growing>),
    /// The original is another one by now: choose again.
    Changed,
}

/// As Content-Type has it.
pub type MediaType = &'static str;

/// Where a representation's bytes are.
#[derive(Clone, Debug)]
pub enum Body {
    /// On disk, under its key.
    Variant(Arc<Variant>, MediaType),
    /// In memory only, since the disk did not take it.
    Uncached(Arc<Sealed>, Key, MediaType),
    /// The original itself.
    Original(Known),
}

/// One format that could answer, and what is known of it.
struct Candidate {
    quick: (Key, Plan),
    better: (Key, Plan),
    /// What the index holds for `better`, or else for `quick`.
    known: Option<Arc<Variant>>,
    /// Nothing more useful than `known` can be made.
    settled: bool,
}

/// What a flight for a candidate left us with.
enum Flown {
    /// Look into the index again.
    Landed,
    /// The bytes are here, and only here.
    Uncached(Arc<Sealed>, Target),
    /// Start over with the original's new version.
    Changed,
}

/// A request for a picture, read.
struct Wanted<'a> {
    path: &'a LibraryPath,
    identity: Identity,
    facts: Facts,
    recipe: Recipe,
    candidates: Candidates,
    /// Another `Accept` might get something else.
    negotiated: bool,
}

impl Service {
    /// Chooses what answers a request for `path`, making it where need be.
    ///
    /// # Errors
    /// The [`Problem`] to answer with.
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
                other if recipe.is_identity() => return Ok(Choice::original(identity, other)),
                Known::Damaged => return Err(Problem::Undecodable),
                _ => return Err(Problem::Unsupported),
            };
            let candidates = picture::candidates(&facts, &recipe, self.allowed(accepts));
            let negotiated =
                recipe.format.is_none() && !facts.animated && facts.unsupported.is_none();
            let wanted = Wanted {
                path,
                identity,
                facts,
                recipe: self.planned(recipe),
                candidates,
                negotiated,
            };
            if let Some(choice) = self.choose_of(&wanted).await? {
                return Ok(choice);
            }
        }
        tracing::warn!(path = %path.as_path().display(), "original keeps changing");
        Err(Problem::Host)
    }

    /// `None` when the original changed meanwhile.
    async fn choose_of(&self, wanted: &Wanted<'_>) -> Result<Option<Choice>, Problem> {
        let mut flights = 0;
        loop {
            let candidates = self.look_up(wanted).await?;
            // What was made may have left for the budget's sake before anybody looked.
            if flights == ATTEMPTS_MAX
                || candidates.iter().any(|candidate| candidate.known.is_some())
                || candidates.is_empty()
            {
                return self.decide(wanted, &candidates, flights != 0).map(Some);
            }
            let first = &candidates[0];
            match self.fly(wanted, first).await? {
                Flown::Landed => flights += 1,
                Flown::Changed => return Ok(None),
                Flown::Uncached(sealed, target) => {
                    let body = Body::Uncached(sealed, first.quick.0, target.media_type());
                    return Ok(Some(wanted.choice(body, !first.settled, true)));
                }
            }
        }
    }

    /// What is known of each format that could answer.
    async fn look_up(&self, wanted: &Wanted<'_>) -> Result<Vec<Candidate>, Problem> {
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
            let plan = |stage| picture::plan(&wanted.facts, &wanted.recipe, target, stage, limits);
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
        let (known, settled) = match self.find(better.0).await {
            Some(found) if found.is_useful() => (Some(found), true),
            // It could not be made better: whatever was quick to make is the best there is.
            Some(found) => (self.find(quick.0).await.or(Some(found)), true),
            None => match self.find(quick.0).await {
                Some(found) if found.is_useful() => (Some(found), !self.settings.improve),
                // Failed for a reason that more effort does not mend.
                Some(found) => (Some(found), true),
                None => (None, quick.0 == better.0 || !self.settings.improve),
            },
        };
        Candidate {
            quick,
            better,
            known,
            settled,
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

    /// Waits for the flight that makes `candidate` quickly.
    async fn fly(&self, wanted: &Wanted<'_>, candidate: &Candidate) -> Result<Flown, Problem> {
        let task = wanted.task(candidate.quick, None);
        let landing = match self.flights.join(task) {
            Ok(landing) => landing,
            Err(Refused::TooLarge) => return Err(Problem::TooLarge),
            Err(Refused::Overloaded { retry_after_s }) => {
                self.metrics.refused.fetch_add(1, Ordering::Relaxed);
                return Err(Problem::Overloaded { retry_after_s });
            }
        };
        match landing.await {
            Ok(Outcome::Kept(_)) => Ok(Flown::Landed),
            Ok(Outcome::Uncached(target, sealed)) => Ok(Flown::Uncached(sealed, target)),
            Ok(Outcome::Changed) => Ok(Flown::Changed),
            // The sender is dropped unsent only while the server stops.
            Ok(Outcome::Refused) | Err(_) => Err(Problem::Host),
        }
    }

    /// The smallest of what is known, the original among it where that answers too.
    fn decide(
        &self,
        wanted: &Wanted<'_>,
        candidates: &[Candidate],
        made: bool,
    ) -> Result<Choice, Problem> {
        let provisional = candidates.iter().any(|candidate| !candidate.settled);
        for candidate in candidates.iter().filter(|candidate| !candidate.settled) {
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
            _ => Err(candidates
                .iter()
                .find_map(Candidate::problem)
                .unwrap_or(Problem::Host)),
        }
    }
}

impl Service {
    /// Chooses what answers a player that gets what `plan` makes of the track at `path`, making it where need be. With
    /// `pieces_do` it need not be whole.
    ///
    /// # Errors
    /// The [`Problem`] to answer with.
    pub async fn choose_sound(
        &self,
        path: &LibraryPath,
        plan: &sound::Plan,
        pieces_do: bool,
    ) -> Result<SoundChoice, Problem> {
        let identity = self.identify(path).await?;
        let key = Key::of_sound(&identity, plan);
        let choice = |body, made| Choice {
            body,
            identity,
            negotiated: false,
            provisional: false,
            made,
        };
        let of = |variant: Arc<Variant>, made| match variant.kind {
            Kind::Sound => {
                variant.touch(clock::unix_ms());
                let body = Body::Variant(variant, sound::MEDIA_TYPE);
                Ok(SoundChoice::Whole(choice(body, made)))
            }
            // Nothing else is kept under such a key.
            Kind::Picture(_) => Err(Problem::Host),
            Kind::Verdict(verdict) => Err(verdict.problem().unwrap_or(Problem::Host)),
        };
        if let Some(known) = self.find(key).await {
            return of(known, false);
        }
        let task = transcode::Task {
            key,
            plan: plan.clone(),
            path: path.clone(),
            identity,
        };
        let mut landing = self.transcoder.join(task).map_err(|busy| {
            let refused = &self.metrics.transcodings_refused;
            refused.fetch_add(1, Ordering::Relaxed);
            Problem::Busy {
                retry_after_s: busy.retry_after_s,
            }
        })?;
        let outcome = loop {
            match timeout(LOOK_TIME, &mut landing.outcome).await {
                Ok(outcome) => break outcome,
                // Once there is something to hear, it is being made: what cannot be decoded has come to that by then.
                Err(_) if pieces_do => {
                    if let Some(growing) = landing.growing.get()
                        && HEARD_BYTES <= growing.look()
                    {
                        return Ok(SoundChoice::Growing(key, Arc::clone(growing)));
                    }
                }
                Err(_) => {}
            }
        };
        match outcome {
            Ok(transcode::Outcome::Kept(variant)) => of(variant, true),
            Ok(transcode::Outcome::Uncached(sealed)) => {
                let body = Body::Uncached(sealed, key, sound::MEDIA_TYPE);
                Ok(SoundChoice::Whole(choice(body, true)))
            }
            Ok(transcode::Outcome::Changed) => Ok(SoundChoice::Changed),
            // The sender is dropped unsent only while the server stops.
            Ok(transcode::Outcome::Refused) | Err(_) => Err(Problem::Host),
        }
    }
}

impl Wanted<'_> {
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

    fn choice(&self, body: Body, provisional: bool, made: bool) -> Choice {
        Choice {
            body,
            identity: self.identity,
            negotiated: self.negotiated,
            provisional,
            made,
        }
    }
}

impl Choice {
    /// The original, of which there is only one representation.
    fn original(identity: Identity, known: Known) -> Choice {
        Choice {
            body: Body::Original(known),
            identity,
            negotiated: false,
            provisional: false,
            made: false,
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

    fn problem(&self) -> Option<Problem> {
        match self.known.as_ref()?.kind {
            Kind::Picture(_) | Kind::Sound => None,
            Kind::Verdict(verdict) => verdict.problem(),
        }
    }
}

impl Verdict {
    /// What a client is told, where there is nothing else for it.
    pub(crate) fn problem(self) -> Option<Problem> {
        match self {
            Verdict::Larger => None,
            Verdict::Undecodable => Some(Problem::Undecodable),
            Verdict::Unsupported => Some(Problem::Unsupported),
            Verdict::TooCostly => Some(Problem::TooLarge),
            Verdict::Faulty => Some(Problem::Worker),
        }
    }
}
