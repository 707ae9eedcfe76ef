//! Handling of a request: response format, login, endpoint, envelope.

use std::cell::OnceCell;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tags::Splits;

use crate::answer::Answer;
use crate::derived::Derived;
use crate::endpoints::{self, Does, Endpoint};
use crate::fault::{Code, Fault};
use crate::guard::{Guard, Try};
use crate::index::Index;
use crate::library_access::LibraryAccess;
use crate::limits::Limits;
use crate::params::Params;
use crate::playing::Players;
use crate::renamed::handed_on;
use crate::store::{Change, Damage, Role, State, Store, User};
use crate::visits::Visits;
use crate::write::{Form, Writer};
use crate::{auth, system};

/// Server of the Subsonic API and of the plain JSON API.
pub struct Server {
    pub(crate) library: Arc<dyn LibraryAccess>,
    pub(crate) store: Arc<Store>,
    pub(crate) limits: Limits,
    pub(crate) splits: Splits,
    pub(crate) guard: Guard,
    playing: Mutex<Players>,
    derived: Mutex<Option<Arc<Derived>>>,
    visits: Mutex<Visits>,
}

/// Request of the Subsonic API.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Name of the endpoint, with or without the suffix `.view`: `ping` or `ping.view`.
    pub name: &'a str,
    /// Parameters of the query, and of the body if it is a form.
    pub params: Params<'a>,
    /// Body, if it is not a form; empty otherwise.
    pub body: &'a str,
    /// Address of the client.
    pub peer: IpAddr,
    /// Scheme and host of the request, such as `https://music.example`. Links begin with it.
    pub base: String,
    /// Present time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// Subsonic request after login, with the index that it reads.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) index: Arc<Index>,
    pub(crate) derived: Arc<Derived>,
    pub(crate) params: &'a Params<'a>,
    pub(crate) body: &'a str,
    /// Name of the user; empty for endpoints that need no login.
    pub(crate) user: String,
    pub(crate) now_ms: i64,
    /// Random number: the id of an object that this request creates, or the seed of a random order.
    pub(crate) fresh: u64,
    /// Token of the share that this request creates, if it creates one.
    pub(crate) token: OnceCell<String>,
    pub(crate) base: &'a str,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Server {
    /// Returns a server of the library that `library` gives access to. `splits` says how tags with
    /// several names are split; it must equal the value that scans use.
    #[must_use]
    pub fn new(
        library: Arc<dyn LibraryAccess>,
        store: Arc<Store>,
        splits: Splits,
        limits: Limits,
    ) -> Server {
        Server {
            library,
            store,
            guard: Guard::new(&limits),
            limits,
            splits,
            playing: Mutex::default(),
            derived: Mutex::default(),
            visits: Mutex::default(),
        }
    }

    /// Returns the damage in the journal of users that was skipped so far.
    #[must_use]
    pub fn damage(&self) -> Damage {
        self.store.damage()
    }

    /// Returns the response to a request. May wait for the disk.
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

    /// Returns the response, with status 429, to a request that would exceed the limit on
    /// concurrent transcodes.
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

    /// Returns the user whom the request authenticates, unless too many logins failed before.
    fn let_in(&self, request: &Request<'_>) -> Result<String, Fault> {
        let params = &request.params;
        let (peer, now_ms) = (request.peer, request.now_ms);
        // Failures are counted by user name only: an API key cannot be guessed, and a request with
        // a key needs no name.
        let name = params
            .first("u")
            .filter(|_| params.first("apiKey").is_none());
        let secret = self.store.secret()?;
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
                tracing::error!("the key of the users' passwords is missing, so no password can be checked: restore users/key, or set a new password for each user");
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
        judged?
    }

    /// Returns the current index and the data derived from it, which is kept until the index
    /// changes.
    pub(crate) fn index(&self, now_ms: i64) -> (Arc<Index>, Arc<Derived>) {
        let index = self.library.index();
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

    /// Calls `look` with the counters of visits to shares, under their lock.
    pub(crate) fn visits<T>(&self, look: impl FnOnce(&mut Visits) -> T) -> T {
        look(&mut self.visits.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Transfers stars and ratings from former ids of albums and artists to their present ids.
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
            // The stars and ratings stay with the former ids; the next index triggers another
            // attempt.
            tracing::error!(%err, cause = %err.source, "cannot transfer stars and ratings to new ids; the next index triggers another attempt");
        }
    }

    /// Calls `look` with the tracks that players play at present, under their lock.
    pub(crate) fn playing<T>(&self, look: impl FnOnce(&mut Players) -> T) -> T {
        look(&mut self.playing.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Result of an endpoint: a document in the requested format, or a complete response.
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
            Ok(Given::Written(written??))
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
            changed?
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
                Ok(Given::Answer(given??))
            }
        }
    }

    fn of<'s>(&self, state: &'s State) -> Seen<'s> {
        Seen {
            state,
            user: state.users.get(&self.user),
        }
    }

    /// Returns the parameter of this name, or an error if it is missing.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Fault> {
        let found = self.params.first(name);
        found.ok_or_else(|| Fault::missing(name))
    }

    /// Parses the number in a parameter, if there is one. For integer types the decimals are
    /// dropped, because players send `320.0`.
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

    /// Parses `true` or `false` in a parameter, if there is one. Upper case is accepted, because
    /// some clients' languages write `True`.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        let text = self.params.first(name).map(str::to_ascii_lowercase);
        match text.as_deref() {
            None | Some("") => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(Fault::bad(name)),
        }
    }

    /// Returns offset and size of a page from the parameters of these names. The size is `usual` by
    /// default and at most `max`.
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

/// Stored state of all users, as the user of a request sees it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'s> {
    pub(crate) state: &'s State,
    /// User of the request; `None` for endpoints that need no login.
    pub(crate) user: Option<&'s User>,
}

impl Seen<'_> {
    /// Returns an error unless the user has this role.
    pub(crate) fn may(&self, role: Role) -> Result<(), Fault> {
        let may = self.user.is_some_and(|user| user.may(role));
        may.then_some(()).ok_or_else(Fault::not_allowed)
    }
}

/// Changes of the stored state that an endpoint decides on, or the error for the client.
pub(crate) type Changes = Result<Vec<Change>, Fault>;

/// Returns the digits before the decimal point, if the text after it has only digits.
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
    /// Maximum bytes of a JSONP callback name, far above the names that JavaScript libraries
    /// generate.
    const CALLBACK_BYTES_MAX: usize = 128;
    match params.first("f") {
        None | Some("xml" | "") => Ok(Form::Xml),
        Some("json") => Ok(Form::Json),
        Some("jsonp") => {
            let callback = params.first("callback");
            let callback = callback.ok_or_else(|| Fault::missing("callback"))?;
            // Other characters would let a link run code of its author's choice in the page that
            // loads the script.
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
    envelope(is_xml, "failed", error).expect("writing an error document cannot fail")
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
