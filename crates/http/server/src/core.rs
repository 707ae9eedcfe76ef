//! State of the service on one core: the responses that are ready, so that a hit touches nothing
//! shared.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conversion::growing::Growing;
use http1::{Request, Target};
use image_plan::{Accepts, Grammar, ImageQuery};
use lru::LruCache;
use variants::cache::Key;
use variants::library::LibraryPath;

use crate::choose::SoundChoice;
use crate::coding::Coding;
use crate::gate::Verified;
use crate::live::Live;
use crate::mount::{RequestContext, Upload, Uploads};
use crate::problem::Problem;
use crate::representation::{Moment, Representation};
use crate::request_id::RequestId;
use crate::scheme::Scheme;
use crate::service::{Service, blocking};
use crate::tls::Handshakes;

/// Number of times that a representation may disappear between lookup and opening.
const ATTEMPTS_MAX: usize = 3;

/// State of the service on one core. It never leaves its thread.
#[derive(Debug)]
pub struct Core {
    pub(crate) service: Arc<Service>,
    pub(crate) reactor: reactor::Core,
    pub(crate) handshakes: Rc<Handshakes>,
    pub(crate) verified: Verified,
    ready: RefCell<Ready>,
    requests: Cell<u64>,
    /// Bytes of request bodies whose responses are pending.
    pub(crate) uploads: Rc<Uploads>,
    live: Arc<Live>,
    generation: u64,
}

/// Ready responses, evicted in the order of their last use.
#[derive(Debug)]
struct Ready {
    answers: LruCache<Box<[u8]>, Entry>,
    memory_bytes: u64,
    /// Buffer in which keys are composed.
    key: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    representation: Rc<Representation>,
    /// The same response in the content codings that clients requested. An entry refers to the
    /// plain response if a coding saves nothing.
    coded: [Option<Rc<Representation>>; Coding::COUNT],
    trusted_until_ms: u64,
    /// True if clients cannot name the target.
    is_internal: bool,
}

/// Origin of a target, which decides which folders it may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The target comes from a client.
    Public,
    /// The target comes from a part of the server, which may name internal folders.
    Internal,
}

impl Entry {
    fn memory_bytes(&self) -> u64 {
        let coded = self.coded.iter().flatten();
        let coded = coded.filter(|coded| !Rc::ptr_eq(coded, &self.representation));
        let coded: u64 = coded.map(|coded| coded.memory_bytes()).sum();
        self.representation.memory_bytes() + coded
    }
}

impl Ready {
    /// Evicts responses until the rest fits into `bytes_max`.
    fn trim(&mut self, bytes_max: u64) {
        while bytes_max < self.memory_bytes {
            let Some((_, entry)) = self.answers.pop_lru() else {
                return;
            };
            self.memory_bytes -= entry.memory_bytes();
        }
    }
}

impl Core {
    /// Returns the state for the reactor's core `reactor`.
    pub(crate) fn new(live: &Arc<Live>, reactor: reactor::Core) -> Core {
        // This order ensures that a reload in between is noticed.
        let generation = live.generation();
        let service = live.current();
        let answers = LruCache::new(service.settings.limits.core_answers_max);
        let ready = RefCell::new(Ready {
            answers,
            memory_bytes: 0,
            key: Vec::new(),
        });
        let handshakes = Rc::new(Handshakes::new(service.settings.limits.handshakes_max));
        Core {
            service,
            reactor,
            handshakes,
            verified: Verified::default(),
            ready,
            requests: Cell::new(0),
            uploads: Rc::default(),
            live: Arc::clone(live),
            generation,
        }
    }

    /// Returns the state of the same core for the current configuration. Open handshakes and bodies
    /// stay counted.
    pub(crate) fn renewed(&self) -> Core {
        Core {
            handshakes: Rc::clone(&self.handshakes),
            uploads: Rc::clone(&self.uploads),
            ..Core::new(&self.live, self.reactor.clone())
        }
    }

    /// Returns the scheme of `listener`.
    pub(crate) fn scheme(&self, listener: usize) -> &Scheme {
        &self.schemes()[listener]
    }

    /// Returns the schemes of all listeners.
    pub(crate) fn schemes(&self) -> &[Scheme] {
        self.live.schemes()
    }

    /// Returns the response to `request` if it is ready.
    pub(crate) fn ready(
        &self,
        request: &Request<'_>,
        accepts: Accepts,
        reach: Reach,
    ) -> Option<Rc<Representation>> {
        let ready = &mut *self.ready.borrow_mut();
        write_key(&mut ready.key, &request.target, accepts, self.grammar());
        let entry = ready.answers.get(&ready.key[..])?;
        if entry.trusted_until_ms <= self.reactor.clock().now_ms()
            || entry.is_internal && reach == Reach::Public
        {
            return None;
        }
        if let Some(variant) = &entry.representation.variant {
            variant.touch(self.reactor.clock().unix_secs() * 1000);
        }
        if entry.representation.is_codable
            && let Some(coding) = Coding::wanted(request)
        {
            return entry.coded[coding as usize].clone();
        }
        Some(Rc::clone(&entry.representation))
    }

    /// Returns the response to `request`, converted if necessary, in a content coding that the
    /// client accepts.
    pub(crate) async fn make(
        &self,
        request: &Request<'_>,
        accepts: Accepts,
        reach: Reach,
    ) -> Result<Rc<Representation>, Problem> {
        let plain = self.make_plain(&request.target, accepts, reach).await?;
        match Coding::wanted(request).filter(|_| plain.is_codable) {
            Some(coding) => {
                self.make_coded(&request.target, accepts, plain, coding)
                    .await
            }
            None => Ok(plain),
        }
    }

    /// Returns `plain`, the response for `target`, in `coding`.
    async fn make_coded(
        &self,
        target: &Target<'_>,
        accepts: Accepts,
        plain: Rc<Representation>,
        coding: Coding,
    ) -> Result<Rc<Representation>, Problem> {
        let known = |entry: &mut Entry| entry.coded[coding as usize].clone();
        if let Some(Some(coded)) = self.entry_of(target, accepts, &plain, known) {
            return Ok(coded);
        }
        let (bytes, length) = (plain.bytes.clone(), plain.length);
        let encoded = blocking(move || bytes.read(length).map(|bytes| coding.encode(&bytes)));
        let coded = match encoded.await {
            Ok(Some(coded)) => Rc::new(plain.coded(coding, coded.into())),
            Ok(None) => Rc::clone(&plain),
            Err(err) => {
                tracing::warn!(path = target.path, %err, "file cannot be read");
                return Err(Problem::Host);
            }
        };
        let grown_bytes = self.entry_of(target, accepts, &plain, |entry| {
            let before = entry.memory_bytes();
            entry.coded[coding as usize] = Some(Rc::clone(&coded));
            entry.memory_bytes() - before
        });
        let ready = &mut *self.ready.borrow_mut();
        ready.memory_bytes += grown_bytes.unwrap_or(0);
        ready.trim(self.service.settings.limits.core_body_bytes_max);
        Ok(coded)
    }

    /// Applies `look` to the entry of `plain`, if `plain` is ready.
    fn entry_of<T>(
        &self,
        target: &Target<'_>,
        accepts: Accepts,
        plain: &Rc<Representation>,
        look: impl FnOnce(&mut Entry) -> T,
    ) -> Option<T> {
        let ready = &mut *self.ready.borrow_mut();
        write_key(&mut ready.key, target, accepts, self.grammar());
        let entry = ready.answers.get_mut(&ready.key[..])?;
        Rc::ptr_eq(&entry.representation, plain).then(|| look(entry))
    }

    /// Returns the response for `target` without a content coding, converted if necessary.
    async fn make_plain(
        &self,
        target: &Target<'_>,
        accepts: Accepts,
        reach: Reach,
    ) -> Result<Rc<Representation>, Problem> {
        let library = self.service.library();
        let path = match reach {
            Reach::Public => library.path_for_clients(target.path),
            Reach::Internal => LibraryPath::from_target(target.path),
        };
        let path = path.ok_or(Problem::NotFound)?;
        let is_internal = library.is_internal(&path);
        let ask = self.ask(target)?;
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_MAX {
            let choice = self.service.choose(&path, ask.recipe, accepts).await?;
            if let Some(same) = self.renew(target, accepts, |old| old.is(&choice)) {
                return Ok(same);
            }
            let (service, path) = (Arc::clone(&self.service), path.clone());
            let (made, moment) = (choice.made, self.moment(begun));
            match blocking(move || service.prepare(&choice, &path, moment)).await {
                Ok(representation) => {
                    let representation = Rc::new(representation);
                    // The response to the client that waited reports how long the conversion took.
                    // Later responses are hits and are prepared separately.
                    if !made {
                        self.keep(target, accepts, &representation, is_internal);
                    }
                    return Ok(representation);
                }
                Err(err) => {
                    tracing::debug!(path = target.path, %err, "chosen representation cannot be read")
                }
            }
        }
        Err(Problem::Host)
    }

    /// Returns the track at `path` transcoded by `plan`. With the caller's consent the track may
    /// still be in production.
    pub(crate) async fn transcoded(
        &self,
        path: &str,
        plan: &audio_plan::Plan,
        user: &Arc<str>,
        allow_streaming: bool,
    ) -> Result<TranscodeBody, Problem> {
        let path = LibraryPath::from_target(path).ok_or(Problem::NotFound)?;
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_MAX {
            let choice = self
                .service
                .choose_sound(&path, plan, user, allow_streaming);
            let choice = match choice.await? {
                SoundChoice::Whole(choice) => choice,
                SoundChoice::Growing(key, growing) => {
                    return Ok(TranscodeBody::Growing(key, growing));
                }
                SoundChoice::Changed => continue,
            };
            let (service, path) = (Arc::clone(&self.service), path.clone());
            let moment = self.moment(begun);
            match blocking(move || service.prepare(&choice, &path, moment)).await {
                Ok(representation) => return Ok(TranscodeBody::Whole(Rc::new(representation))),
                Err(err) => {
                    tracing::debug!(%err, "transcoded track cannot be read");
                }
            }
        }
        Err(Problem::Host)
    }

    /// Extends the trust in a ready response if its original is unchanged.
    fn renew(
        &self,
        target: &Target<'_>,
        accepts: Accepts,
        still_right: impl Fn(&Representation) -> bool,
    ) -> Option<Rc<Representation>> {
        let ready = &mut *self.ready.borrow_mut();
        write_key(&mut ready.key, target, accepts, self.grammar());
        let entry = ready.answers.get_mut(&ready.key[..])?;
        if !still_right(&entry.representation) {
            return None;
        }
        entry.trusted_until_ms = self.trusted_until_ms();
        Some(Rc::clone(&entry.representation))
    }

    fn keep(
        &self,
        target: &Target<'_>,
        accepts: Accepts,
        representation: &Rc<Representation>,
        is_internal: bool,
    ) {
        let bytes_max = self.service.settings.limits.core_body_bytes_max;
        let ready = &mut *self.ready.borrow_mut();
        write_key(&mut ready.key, target, accepts, self.grammar());
        let entry = Entry {
            representation: Rc::clone(representation),
            coded: [const { None }; Coding::COUNT],
            trusted_until_ms: self.trusted_until_ms(),
            is_internal,
        };
        ready.memory_bytes += entry.memory_bytes();
        let left = ready.answers.push(ready.key.as_slice().into(), entry);
        ready.memory_bytes -= left.map_or(0, |(_, entry)| entry.memory_bytes());
        ready.trim(bytes_max);
    }

    /// Returns whether a reload replaced the configuration, so that a connection should close after
    /// its response.
    pub(crate) fn is_superseded(&self) -> bool {
        self.live.generation() != self.generation
    }

    /// Returns the context of a request without its body, which the caller adds.
    pub(crate) fn came(&self, listener: usize, peer: IpAddr) -> RequestContext {
        RequestContext {
            body: Upload::new(&self.uploads),
            supports_streaming: false,
            peer,
            listener,
            secure: matches!(self.scheme(listener), Scheme::Https(_)),
        }
    }

    /// Returns the id of the next request.
    pub(crate) fn next_request_id(&self) -> RequestId {
        let number = self.requests.get() + 1;
        self.requests.set(number);
        RequestId {
            start_unix_ms: self.service.started_unix_ms,
            core: self.reactor.index() as u16,
            number,
        }
    }

    /// Parses the query of a target.
    pub(crate) fn ask(&self, target: &Target<'_>) -> Result<ImageQuery, Problem> {
        let ask = self.grammar().parse(target.query.unwrap_or(""));
        ask.map_err(|err| Problem::BadParameter(err.to_string()))
    }

    fn grammar(&self) -> Grammar {
        self.service.settings.grammar
    }

    /// Returns the current time and the waiting time of a client that has waited since `begun`.
    fn moment(&self, begun: Instant) -> Moment {
        Moment {
            took: begun.elapsed(),
            now_unix_s: self.now_unix_s(),
        }
    }

    /// Returns the time for the field Date, in Unix seconds.
    pub(crate) fn now_unix_s(&self) -> i64 {
        self.reactor.clock().unix_secs() as i64
    }

    pub(crate) fn trusted_until_ms(&self) -> u64 {
        self.reactor.clock().now_ms() + self.service.settings.limits.core_trust_ms
    }
}

/// Body for a player.
#[derive(Debug)]
pub(crate) enum TranscodeBody {
    /// The whole track.
    Whole(Rc<Representation>),
    /// A track in production, which will be stored under this key.
    Growing(Key, Arc<Growing>),
}

/// Writes the key of a response. Parameters that the grammar ignores are left out, so that they
/// create no responses of their own.
fn write_key(key: &mut Vec<u8>, target: &Target<'_>, accepts: Accepts, grammar: Grammar) {
    key.clear();
    let Accepts { avif, webp, named } = accepts;
    key.push(u8::from(named) << 2 | u8::from(avif) << 1 | u8::from(webp));
    key.extend_from_slice(target.path.as_bytes());
    let Some(query) = target.query else {
        return;
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut between = b'?';
    for pair in pairs.filter(|pair| grammar.is_relevant(pair)) {
        key.push(between);
        key.extend_from_slice(pair.as_bytes());
        between = b'&';
    }
}

/// Returns the time since `begun` in microseconds, as the metrics count it.
pub(crate) fn elapsed_us(begun: Instant) -> u64 {
    let elapsed: Duration = begun.elapsed();
    elapsed.as_micros() as u64
}
