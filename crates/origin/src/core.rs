//! What one core knows of the service: the answers it keeps ready, so that a hit touches nothing shared.
//!
//! An answer is trusted for `core_trust_ms`. After that the original is asked for its version again and the choice made
//! anew, which is two system calls and no read; an unchanged answer is kept.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http1::Target;
use lru::LruCache;
use picture::{Accepts, Ask};

use crate::choose::SoundChoice;
use crate::growing::Growing;
use crate::library::LibraryPath;
use crate::live::Live;
use crate::mount::{Came, Upload};
use crate::problem::Problem;
use crate::representation::Representation;
use crate::request_id::RequestId;
use crate::scheme::Scheme;
use crate::service::{Service, blocking};
use crate::tls::Handshakes;
use crate::variants::Key;

/// How often a representation may vanish between choice and opening before we give up.
const ATTEMPTS_MAX: usize = 3;

/// One core's share of the service. Never leaves its thread.
#[derive(Debug)]
pub struct Core {
    pub(crate) service: Arc<Service>,
    pub(crate) reactor: reactor::Core,
    pub(crate) handshakes: Rc<Handshakes>,
    ready: RefCell<Ready>,
    requests: Cell<u64>,
    /// Bytes of bodies whose requests are not answered.
    pub(crate) upload_bytes: Rc<Cell<usize>>,
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
    trusted_until_ms: u64,
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
            ready,
            requests: Cell::new(0),
            upload_bytes: Rc::default(),
            live: Arc::clone(live),
            generation,
        }
    }

    /// The same core's share of the service that holds now. Handshakes and bodies under way still count.
    pub(crate) fn renewed(&self) -> Core {
        Core {
            handshakes: Rc::clone(&self.handshakes),
            upload_bytes: Rc::clone(&self.upload_bytes),
            ..Core::new(&self.live, self.reactor.clone())
        }
    }

    /// What is spoken with the connections of `listener`.
    pub(crate) fn scheme(&self, listener: usize) -> &Scheme {
        &self.live.schemes()[listener]
    }

    /// The answer to a request for `target`, if it is ready.
    pub(crate) fn ready(
        &self,
        target: &Target<'_>,
        accepts: Accepts,
    ) -> Option<Rc<Representation>> {
        let ready = &mut *self.ready.borrow_mut();
        write_key(&mut ready.key, target, accepts);
        let entry = ready.answers.get(&ready.key[..])?;
        if entry.trusted_until_ms <= self.reactor.clock().now_ms() {
            return None;
        }
        if let Some(variant) = &entry.representation.variant {
            variant.touch(self.reactor.clock().unix_secs() * 1000);
        }
        Some(Rc::clone(&entry.representation))
    }

    /// The answer to a request for `target`, made where need be.
    pub(crate) async fn make(
        &self,
        target: &Target<'_>,
        accepts: Accepts,
    ) -> Result<Rc<Representation>, Problem> {
        let path = LibraryPath::from_target(target.path).ok_or(Problem::NotFound)?;
        let ask = ask(target)?;
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_MAX {
            let choice = self.service.choose(&path, ask.recipe, accepts).await?;
            if let Some(same) = self.renew(target, accepts, |old| old.is(&choice)) {
                return Ok(same);
            }
            let (service, path, took) = (Arc::clone(&self.service), path.clone(), begun.elapsed());
            let made = choice.made;
            match blocking(move || service.prepare(&choice, &path, took)).await {
                Ok(representation) => {
                    let representation = Rc::new(representation);
                    // The answer to whoever waited tells how long; those after it are hits, prepared on their own.
                    if !made {
                        self.keep(target, accepts, &representation);
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
        plan: &sound::Plan,
        pieces_do: bool,
    ) -> Result<Heard, Problem> {
        let path = LibraryPath::from_target(path).ok_or(Problem::NotFound)?;
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_MAX {
            let choice = match self.service.choose_sound(&path, plan, pieces_do).await? {
                SoundChoice::Whole(choice) => choice,
                SoundChoice::Growing(key, growing) => return Ok(Heard::Growing(key, growing)),
                SoundChoice::Changed => continue,
            };
            let (service, path, took) = (Arc::clone(&self.service), path.clone(), begun.elapsed());
            let prepared = blocking(move || service.prepare(&choice, &path, took)).await;
            match prepared {
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
        write_key(&mut ready.key, target, accepts);
        let entry = ready.answers.get_mut(&ready.key[..])?;
        if !still_right(&entry.representation) {
            return None;
        }
        entry.trusted_until_ms = self.trusted_until_ms();
        Some(Rc::clone(&entry.representation))
    }

    fn keep(&self, target: &Target<'_>, accepts: Accepts, representation: &Rc<Representation>) {
        let bytes_max = self.service.settings.limits.core_body_bytes_max;
        let ready = &mut *self.ready.borrow_mut();
        write_key(&mut ready.key, target, accepts);
        let entry = Entry {
            representation: Rc::clone(representation),
            trusted_until_ms: self.trusted_until_ms(),
        };
        ready.memory_bytes += representation.memory_bytes();
        let left = ready.answers.push(ready.key.as_slice().into(), entry);
        ready.memory_bytes -= left.map_or(0, |(_, entry)| entry.representation.memory_bytes());
        while bytes_max < ready.memory_bytes {
            let Some((_, entry)) = ready.answers.pop_lru() else {
                return;
            };
            ready.memory_bytes -= entry.representation.memory_bytes();
        }
    }

    /// Whether another configuration holds by now, so that an answer should be its connection's last.
    pub(crate) fn is_superseded(&self) -> bool {
        self.live.generation() != self.generation
    }

    /// What comes with a request besides its head; its body is still to be added.
    pub(crate) fn came(&self, listener: usize, peer: IpAddr) -> Came {
        Came {
            body: Upload::new(&self.upload_bytes),
            takes_pieces: false,
            peer,
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

    fn trusted_until_ms(&self) -> u64 {
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

/// Reads the query of a target.
pub(crate) fn ask(target: &Target<'_>) -> Result<Ask, Problem> {
    picture::parse_query(target.query.unwrap_or(""))
        .map_err(|err| Problem::BadParameter(err.to_string()))
}

fn write_key(key: &mut Vec<u8>, target: &Target<'_>, accepts: Accepts) {
    key.clear();
    key.push(u8::from(accepts.avif) << 1 | u8::from(accepts.webp));
    key.extend_from_slice(target.path.as_bytes());
    if let Some(query) = target.query {
        key.push(b'?');
        key.extend_from_slice(query.as_bytes());
    }
}

/// Time since `begun` in microseconds, as the metrics count it.
pub(crate) fn elapsed_us(begun: Instant) -> u64 {
    let elapsed: Duration = begun.elapsed();
    elapsed.as_micros() as u64
}
