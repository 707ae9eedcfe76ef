//! What one core knows of the service: the answers it keeps ready, so that a hit touches nothing shared.
//!
//! An answer is trusted for `core_trust_ms`. After that the original is asked for its version again and the choice made
//! anew, which is two system calls and no read; an unchanged answer is kept.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conversion::growing::Growing;
use http1::{Request, Target};
use image_plan::{Accepts, Ask, Grammar};
use lru::LruCache;
use variants::cache::Key;
use variants::library::LibraryPath;

use crate::choose::SoundChoice;
use crate::coding::Coding;
use crate::gate::Verified;
use crate::live::Live;
use crate::mount::{Came, Upload, Uploads};
use crate::problem::Problem;
use crate::representation::{Moment, Representation};
use crate::request_id::RequestId;
use crate::scheme::Scheme;
use crate::service::{Service, blocking};
use crate::tls::Handshakes;

/// How often a representation may vanish between choice and opening before we give up.
const ATTEMPTS_MAX: usize = 3;

/// One core's share of the service. Never leaves its thread.
#[derive(Debug)]
pub struct Core {
    pub(crate) service: Arc<Service>,
    pub(crate) reactor: reactor::Core,
    pub(crate) handshakes: Rc<Handshakes>,
    pub(crate) verified: Verified,
    ready: RefCell<Ready>,
    requests: Cell<u64>,
    /// Bodies whose requests are not answered.
    pub(crate) uploads: Rc<Uploads>,
    live: Arc<Live>,
    generation: u64,
}

/// The answers kept ready, least recently used first to go.
#[derive(Debug)]
struct Ready {
    answers: LruCache<Box<[u8]>, Entry>,
    memory_bytes: u64,
    /// Where keys are put together.
    key: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    representation: Rc<Representation>,
    /// The same in content codings, as far as clients asked for them; itself where one gains nothing.
    coded: [Option<Rc<Representation>>; Coding::COUNT],
    trusted_until_ms: u64,
    /// The target is one that clients cannot name.
    is_internal: bool,
}

/// Side from which a target comes, which decides where it may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// From a client.
    Public,
    /// From a part of the server that may name internal directories.
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
    /// Drops answers until they fit `bytes_max`.
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
    /// The share of the reactor's core `reactor`.
    pub(crate) fn new(live: &Arc<Live>, reactor: reactor::Core) -> Core {
        // In this order, so that a service that comes in between is noticed.
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

    /// The same core's share of the service that holds now. Handshakes and bodies under way still count.
    pub(crate) fn renewed(&self) -> Core {
        Core {
            handshakes: Rc::clone(&self.handshakes),
            uploads: Rc::clone(&self.uploads),
            ..Core::new(&self.live, self.reactor.clone())
        }
    }

    /// What is spoken with the connections of `listener`.
    pub(crate) fn scheme(&self, listener: usize) -> &Scheme {
        &self.schemes()[listener]
    }

    /// What is spoken with the connections of each listener.
    pub(crate) fn schemes(&self) -> &[Scheme] {
        self.live.schemes()
    }

    /// The answer to `request`, if it is ready.
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

    /// The answer to `request`, made where need be, in a content coding that its client reads.
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

    /// `plain`, which answers requests for `target`, in `coding`.
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

    /// What `look` makes of the entry that keeps `plain` ready, if one does.
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

    /// The answer to a request for `target`, made where need be.
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
                    // The answer to whoever waited tells how long; those after it are hits, prepared on their own.
                    if !made {
                        self.keep(target, accepts, &representation, is_internal);
                    }
                    return Ok(representation);
                }
                Err(err) => {
                    tracing::debug!(path = target.path, %err, "chosen representation is gone")
                }
            }
        }
        Err(Problem::Host)
    }

    /// What `plan` makes of the track at `path`, made where need be; while it is made, where that will do.
    pub(crate) async fn transcoded(
        &self,
        path: &str,
        plan: &audio_plan::Plan,
        user: &Arc<str>,
        pieces_do: bool,
    ) -> Result<Heard, Problem> {
        let path = LibraryPath::from_target(path).ok_or(Problem::NotFound)?;
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_MAX {
            let choice = self.service.choose_sound(&path, plan, user, pieces_do);
            let choice = match choice.await? {
                SoundChoice::Whole(choice) => choice,
                SoundChoice::Growing(key, growing) => return Ok(Heard::Growing(key, growing)),
                SoundChoice::Changed => continue,
            };
            let (service, path) = (Arc::clone(&self.service), path.clone());
            let moment = self.moment(begun);
            match blocking(move || service.prepare(&choice, &path, moment)).await {
                Ok(representation) => return Ok(Heard::Whole(Rc::new(representation))),
                Err(err) => {
                    tracing::debug!(%err, "a transcoded track is gone");
                }
            }
        }
        Err(Problem::Host)
    }

    /// Trusts a kept answer anew if it is still right.
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

    /// Whether another configuration holds by now, so that an answer should be its connection's last.
    pub(crate) fn is_superseded(&self) -> bool {
        self.live.generation() != self.generation
    }

    /// What comes with a request besides its head; its body is still to be added.
    pub(crate) fn came(&self, listener: usize, peer: IpAddr) -> Came {
        Came {
            body: Upload::new(&self.uploads),
            takes_pieces: false,
            peer,
            listener,
            secure: matches!(self.scheme(listener), Scheme::Https(_)),
        }
    }

    /// The next request's name.
    pub(crate) fn next_request_id(&self) -> RequestId {
        let number = self.requests.get() + 1;
        self.requests.set(number);
        RequestId {
            start_unix_ms: self.service.started_unix_ms,
            core: self.reactor.index() as u16,
            number,
        }
    }

    /// Reads the query of a target.
    pub(crate) fn ask(&self, target: &Target<'_>) -> Result<Ask, Problem> {
        let ask = self.grammar().parse(target.query.unwrap_or(""));
        ask.map_err(|err| Problem::BadParameter(err.to_string()))
    }

    fn grammar(&self) -> Grammar {
        self.service.settings.grammar
    }

    /// Now, for a client that has waited since `begun`.
    fn moment(&self, begun: Instant) -> Moment {
        Moment {
            took: begun.elapsed(),
            now_unix_s: self.now_unix_s(),
        }
    }

    /// The time that Date tells.
    pub(crate) fn now_unix_s(&self) -> i64 {
        self.reactor.clock().unix_secs() as i64
    }

    pub(crate) fn trusted_until_ms(&self) -> u64 {
        self.reactor.clock().now_ms() + self.service.settings.limits.core_trust_ms
    }
}

/// What a player gets.
#[derive(Debug)]
pub(crate) enum Heard {
    /// All there is.
    Whole(Rc<Representation>),
    /// What will be under this key.
    Growing(Key, Arc<Growing>),
}

/// Writes what an answer is kept under. What the grammar does not heed is left out: the address makes no answer of its own.
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
    for pair in pairs.filter(|pair| grammar.heeds(pair)) {
        key.push(between);
        key.extend_from_slice(pair.as_bytes());
        between = b'&';
    }
}

/// Time since `begun` in microseconds, as the metrics count it.
pub(crate) fn elapsed_us(begun: Instant) -> u64 {
    let elapsed: Duration = begun.elapsed();
    elapsed.as_micros() as u64
}
