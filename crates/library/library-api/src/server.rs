//! From a request to its answer: form, user, endpoint, envelope.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use catalog::{Catalog, TrackId};
use tags::Splits;

use crate::derived::Derived;
use crate::endpoints::{self, Does, Endpoint};
use crate::fault::{Code, Fault};
use crate::guard::{Guard, Try};
use crate::house::House;
use crate::limits::Limits;
use crate::params::Params;
use crate::renamed::handed_on;
use crate::shares::Visits;
use crate::store::{Change, Damage, Role, State, Store, User};
use crate::write::{Form, Writer};
use crate::{auth, system};

/// An index, whatever holds its bytes.
pub type Index = Catalog<Bytes>;

/// Answers players.
pub struct Server {
    pub(crate) house: Arc<dyn House>,
    pub(crate) store: Arc<Store>,
    pub(crate) limits: Limits,
    pub(crate) splits: Splits,
    pub(crate) guard: Guard,
    playing: Mutex<Players>,
    derived: Mutex<Option<Arc<Derived>>>,
    visits: Mutex<Visits>,
}

/// Tracks that players play at present, by user and player.
pub(crate) type Players = HashMap<(String, String), Playing>;

/// What a player said it plays.
#[derive(Clone, Debug)]
pub(crate) struct Playing {
    pub(crate) track: TrackId,
    pub(crate) since_ms: i64,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What is asked for, as in `ping` or `ping.view`.
    pub name: &'a str,
    /// Of the query, and of a form.
    pub params: Params<'a>,
    /// What came with it, where that is no form; empty otherwise.
    pub body: &'a str,
    /// Where it came from.
    pub peer: IpAddr,
    /// Scheme and host that it was sent to, such as `https://music.example`, for links.
    pub base: String,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// What it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A document.
    Document {
        /// Of HTTP, which is 200 for most errors.
        status: u16,
        /// Its media type.
        media_type: &'static str,
        /// The document.
        body: String,
    },
    /// What the library serves at this target.
    File {
        /// Path and query, escaped.
        target: String,
        /// Content-Disposition, where it is to be kept.
        disposition: Option<String>,
    },
    /// Files of the library as one ZIP.
    Archive {
        /// Path of each in the library, escaped, and its name in the archive.
        files: Vec<(String, String)>,
        /// Content-Disposition.
        disposition: String,
    },
    /// What a plan makes of the track that the library serves at this target.
    Transcoded {
        /// As of a file.
        target: String,
        /// The user who asks.
        user: Arc<str>,
        /// The plan.
        plan: Box<audio_plan::Plan>,
        /// Whether it may be sent while it is made, without its length.
        allow_streaming: bool,
        /// Whether the file will do where nothing can be made of it.
        fallback_to_original: bool,
    },
}

/// One request whose user is known.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) index: Arc<Index>,
    pub(crate) derived: Arc<Derived>,
    pub(crate) params: &'a Params<'a>,
    pub(crate) body: &'a str,
    /// Empty where nobody needs to be known.
    pub(crate) user: String,
    pub(crate) now_ms: i64,
    /// For whatever the request makes.
    pub(crate) fresh: u64,
    /// For a share that it makes.
    pub(crate) token: OnceCell<String>,
    pub(crate) base: &'a str,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Server {
    /// A server of what `house` has; names are cut by `splits`, as its scans cut them.
    #[must_use]
    pub fn new(house: Arc<dyn House>, store: Arc<Store>, splits: Splits, limits: Limits) -> Server {
        Server {
            house,
            store,
            guard: Guard::new(&limits),
            limits,
            splits,
            playing: Mutex::default(),
            derived: Mutex::default(),
            visits: Mutex::default(),
        }
    }

    /// Returns what of the users' journal was skipped so far.
    #[must_use]
    pub fn damage(&self) -> Damage {
        self.store.damage()
    }

    /// Answers one request. May wait for the disk.
    #[must_use]
    pub fn answer(&self, request: &Request<'_>) -> Answer {
        let params = &request.params;
        let (form, given) = match form(params) {
            Ok(form) => (form, self.give(request)),
            Err(fault) => (Form::Xml, Err(fault)),
        };
        match given {
            Ok(Given::Answer(answer)) => answer,
            Ok(Given::Written(written)) => document(form, 200, written),
            Err(fault) => {
                let refused = refused(&fault, form == Form::Xml);
                document(form, fault.status, refused)
            }
        }
    }

    /// What a player is told, with 429, whose track cannot be made at the moment.
    #[must_use]
    pub fn busy(&self, params: &Params<'_>) -> Answer {
        let form = form(params).unwrap_or(Form::Xml);
        let fault = Fault::busy();
        let refused = refused(&fault, form == Form::Xml);
        document(form, fault.status, refused)
    }

    fn give(&self, request: &Request<'_>) -> Result<Given, Fault> {
        let params = &request.params;
        let name = request.name.strip_suffix(".view").unwrap_or(request.name);
        let endpoint = endpoints::find(name)
            .ok_or_else(|| Fault::new(Code::NotFound, "this server has no such endpoint"))?;
        let (index, derived) = self.index(request.now_ms);
        let mut call = Call {
            server: self,
            index,
            derived,
            params,
            body: request.body,
            user: String::new(),
            now_ms: request.now_ms,
            fresh: fastrand::u64(..),
            token: OnceCell::new(),
            base: &request.base,
        };
        if !endpoint.is_open {
            call.user = self.let_in(request)?;
        }
        call.run(endpoint, is_xml(params))
    }

    /// The user who asks, unless too many tries failed before.
    fn let_in(&self, request: &Request<'_>) -> Result<String, Fault> {
        let params = &request.params;
        let (peer, now_ms) = (request.peer, request.now_ms);
        // Nobody guesses a key, and who has one brings no name.
        let name = params
            .first("u")
            .filter(|_| params.first("apiKey").is_none());
        let secret = self.store.secret().map_err(|err| told(&err))?;
        let judged = self.store.read(|state| {
            let this = name.map(|name| {
                let known = state.user_named(name);
                Try {
                    address: peer,
                    name: known.map_or(name, |(name, _)| name),
                    is_user: known.is_some(),
                }
            });
            let waits = this.and_then(|this| self.guard.wait_s(&this, now_ms));
            if let Some(wait_s) = waits {
                return Err(Fault::guessing(wait_s));
            }
            if secret.is_none() && !state.users.is_empty() {
                tracing::error!("the key of the users' passwords is missing: restore users/key, or give each user a new password");
            }
            let user = auth::user(params, state, secret).map(str::to_owned);
            let is_in = match &user {
                Ok(_) => Some(true),
                Err(fault) => (fault.code == Code::Login).then_some(false),
            };
            if let (Some(this), Some(is_in)) = (this, is_in) {
                self.guard.note(&this, is_in, now_ms);
            }
            user
        });
        judged.map_err(|err| told(&err))?
    }

    /// The index as it is now, and what follows from it.
    pub(crate) fn index(&self, now_ms: i64) -> (Arc<Index>, Arc<Derived>) {
        let index = self.house.index();
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        let known = derived
            .take()
            .filter(|known| Arc::ptr_eq(&known.index, &index));
        let is_new = known.is_none();
        let known = known.unwrap_or_else(|| Arc::new(Derived::new(&index, now_ms)));
        *derived = Some(Arc::clone(&known));
        drop(derived);
        if is_new {
            self.hand_on_marks(&index);
        }
        (index, known)
    }

    /// Looks at the visits of shares.
    pub(crate) fn visits<T>(&self, look: impl FnOnce(&mut Visits) -> T) -> T {
        look(&mut self.visits.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives stars and ratings to what has another id than before.
    fn hand_on_marks(&self, index: &Index) {
        let is_due = self.store.read(|state| !handed_on(index, state).is_empty());
        let handed = is_due.and_then(|is_due| {
            if is_due {
                let hand_on = |state: &State| Ok::<_, Infallible>(handed_on(index, state));
                let Ok(()) = self.store.change(hand_on)?;
            }
            Ok(())
        });
        if let Err(err) = handed {
            // They stay where they are until there is another index.
            tracing::error!(%err, cause = %err.source, "stars and ratings are not handed on to new ids");
        }
    }

    /// What players said, and by whom with which player.
    pub(crate) fn playing<T>(&self, look: impl FnOnce(&mut Players) -> T) -> T {
        look(&mut self.playing.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What an endpoint gave.
enum Given {
    Written(String),
    Answer(Answer),
}

impl Call<'_> {
    fn run(&self, endpoint: &Endpoint, is_xml: bool) -> Result<Given, Fault> {
        let store = &self.server.store;
        let read = |write: endpoints::Read| {
            let written =
                store.read(|state| envelope(is_xml, "ok", |out| write(self, &self.of(state), out)));
            Ok(Given::Written(written.map_err(|err| told(&err))??))
        };
        let change = |decide: endpoints::Decide| {
            let bytes_max = self.server.limits.user_bytes_max;
            let changed = store.change(|state| {
                let changes = decide(self, &self.of(state))?;
                match state.has_room(&self.user, &changes, bytes_max) {
                    true => Ok(changes),
                    false => Err(Fault::full()),
                }
            });
            changed.map_err(|err| told(&err))?
        };
        match endpoint.does {
            Does::Read(write) => read(write),
            Does::Lack(lack) => Err(Fault::lacking(lack)),
            Does::Change(decide) => {
                change(decide)?;
                read(|_, _, _| Ok(()))
            }
            Does::ChangeAndRead(decide, write) => {
                change(decide)?;
                read(write)
            }
            Does::Give(give) => {
                let given = store.read(|state| give(self, &self.of(state)));
                Ok(Given::Answer(given.map_err(|err| told(&err))??))
            }
        }
    }

    fn of<'s>(&self, state: &'s State) -> Seen<'s> {
        Seen {
            state,
            user: state.users.get(&self.user),
        }
    }

    /// The parameter of this name.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Fault> {
        let found = self.params.first(name);
        found.ok_or_else(|| Fault::missing(name))
    }

    /// Reads a number, if it is there. Of a whole number, decimals are left out: players send `320.0`.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Fault> {
        let found = self.params.first(name).filter(|text| !text.is_empty());
        let parse = |text: &str| {
            text.parse()
                .ok()
                .or_else(|| without_decimals(text)?.parse().ok())
        };
        found
            .map(|text| parse(text).ok_or_else(|| Fault::bad(name)))
            .transpose()
    }

    /// `true` or `false`, in whatever case a client's language has them.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        let text = self.params.first(name).map(str::to_ascii_lowercase);
        match text.as_deref() {
            None | Some("") => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(Fault::bad(name)),
        }
    }

    /// Where a page begins and how long it is at most, by the parameters of these names.
    pub(crate) fn page(
        &self,
        (size, offset): (&str, &str),
        usual: usize,
        max: usize,
    ) -> Result<(usize, usize), Fault> {
        let size = self.number(size)?.unwrap_or(usual).min(max);
        Ok((self.number(offset)?.unwrap_or(0), size))
    }
}

/// What users left, as one of them sees it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'s> {
    pub(crate) state: &'s State,
    /// None where nobody needs to be known.
    pub(crate) user: Option<&'s User>,
}

impl Seen<'_> {
    /// Passes users whom no admin has taken this role from.
    pub(crate) fn may(&self, role: Role) -> Result<(), Fault> {
        let may = self.user.is_some_and(|user| user.may(role));
        may.then_some(()).ok_or_else(Fault::not_allowed)
    }
}

/// What an endpoint wants changed.
pub(crate) type Changes = Result<Vec<Change>, Fault>;

/// A host that fails us is told to the client without its words; the log has them.
pub(crate) fn told(err: &crate::StoreError) -> Fault {
    tracing::error!(%err, cause = %err.source, "what users leave cannot be kept or read");
    Fault::host()
}

/// Returns the whole part of a number with decimals.
fn without_decimals(number: &str) -> Option<&str> {
    let (whole, decimals) = number.split_once('.')?;
    decimals
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then_some(whole)
}

fn is_xml(params: &Params<'_>) -> bool {
    !matches!(params.first("f"), Some("json" | "jsonp"))
}

fn form(params: &Params<'_>) -> Result<Form, Fault> {
    /// More than any library names its functions with.
    const CALLBACK_BYTES_MAX: usize = 128;
    match params.first("f") {
        None | Some("xml" | "") => Ok(Form::Xml),
        Some("json") => Ok(Form::Json),
        Some("jsonp") => {
            let callback = params.first("callback");
            let callback = callback.ok_or_else(|| Fault::missing("callback"))?;
            // Whoever could write more than a name here could write a program.
            let is_name = !callback.is_empty()
                && callback.len() <= CALLBACK_BYTES_MAX
                && callback
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte));
            match is_name {
                true => Ok(Form::Jsonp(callback.to_owned())),
                false => Err(Fault::bad("callback")),
            }
        }
        Some(_) => Err(Fault::bad("f")),
    }
}

fn envelope(
    is_xml: bool,
    status: &str,
    inside: impl FnOnce(&mut Writer) -> Result<(), Fault>,
) -> Result<String, Fault> {
    let mut out = Writer::new(is_xml);
    let mut written = Ok(());
    let response = |out: &mut Writer| {
        out.object("subsonic-response", |out| {
            if out.is_xml() {
                out.text("xmlns", "http://subsonic.org/restapi");
            }
            out.text("status", status);
            out.text("version", system::VERSION);
            out.text("type", "pelton");
            out.text("serverVersion", env!("CARGO_PKG_VERSION"));
            out.flag("openSubsonic", true);
            written = inside(out);
        });
    };
    if is_xml {
        response(&mut out);
    } else {
        out.braced(response);
    }
    written.map(|()| out.finish())
}

fn refused(fault: &Fault, is_xml: bool) -> String {
    let error = |out: &mut Writer| {
        out.object("error", |out| {
            out.number("code", fault.code as u8);
            out.text("message", &fault.message);
        });
        Ok(())
    };
    envelope(is_xml, "failed", error).expect("an error has no error")
}

fn document(form: Form, status: u16, written: String) -> Answer {
    let (media_type, body) = match form {
        Form::Xml => (
            "text/xml; charset=utf-8",
            format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{written}"),
        ),
        Form::Json => ("application/json", written),
        Form::Jsonp(callback) => (
            "application/javascript; charset=utf-8",
            format!("/**/{callback}({written});"),
        ),
    };
    Answer::Document {
        status,
        media_type,
        body,
    }
}
