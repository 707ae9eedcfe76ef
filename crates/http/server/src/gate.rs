//! Which client gets what: the names that it may ask for, and what it must log in for.
//!
//! ```text
//! request ─► is the host one of ours? ─► may this page change something? ─► which part of the server? ─► login, if needed
//! ```
//!
//! A page of any web site may have its own host name resolve to this machine, and is then of one origin with what it
//! reads here (DNS rebinding). Browsers name that host in each request, so what lists the library, tells of the server or
//! changes it answers only to hosts that no stranger can have: literals of addresses, names that public DNS does not
//! hold, names in the certificates, and names of the settings.

use std::cell::RefCell;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::sync::Arc;

use http1::{Method, Request};
use lru::LruCache;

use crate::answer::{Answer, Fields, Payload};
use crate::core::Core;
use crate::metrics::Served;
use crate::mount::{Came, Field};
use crate::problem::Problem;
use crate::representation::Representation;
use crate::scheme::{Scheme, without_port};
use crate::service::blocking;

/// Logins that a core remembers for as long as it trusts what it knows of files.
const VERIFIED_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// Endings of names that public DNS never holds: RFC 6761, 6762 and 8375, and ICANN's of 2024.
const PRIVATE_ENDINGS: [&str; 4] = [".localhost", ".local", ".home.arpa", ".internal"];

/// What the operator chose.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// What clients must log in for.
    pub login: RequireLogin,
    /// Names of this server, in lower case: `example.org`, `*.example.org`, or `*` for any. Where there are none, files
    /// answer to every name, and the rest to names that no stranger can have.
    pub hosts: Vec<String>,
    /// Origins whose pages may read the API, and change what it changes.
    pub origins: Vec<String>,
    /// Lets in to the administration and the API.
    pub token: Option<Token>,
    /// Whether a listener of its own stands for the administration.
    pub has_admin_listener: bool,
}

/// A secret that a program sends, kept as its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(blake3::Hash);

impl Token {
    /// Takes the secret as programs send it.
    #[must_use]
    pub fn new(secret: &str) -> Token {
        Token(blake3::hash(secret.as_bytes()))
    }
}

/// What clients must log in for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequireLogin {
    /// Nothing but players.
    #[default]
    Off,
    /// Music, its covers, its pages, and the API.
    Music,
    /// Everything but probes.
    All,
}

/// A part of the server, as far as it matters who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Probes, which need no login.
    Open,
    /// Brings its own credentials in each request.
    Players,
    /// Metrics, and what stands around cells.
    Admin,
    /// The library as JSON.
    Api,
    /// Music for browsers, and covers.
    Music,
    /// Pages that list folders.
    Pages,
    /// Files, and programs of the operator's.
    Files,
}

/// Verifies logins.
pub trait Users: Send + Sync {
    /// Returns who the value of an Authorization field lets in. May sleep.
    ///
    /// # Errors
    /// [`Denied`]
    fn log_in(&self, authorization: &str, peer: IpAddr) -> Result<Login, Denied>;
}

/// A user who is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login {
    /// Whether the user may see to the server.
    pub is_admin: bool,
}

/// Why a login failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// No such user, password or key.
    Unknown,
    /// Too many tries failed before.
    Guessing {
        /// When the next one is open.
        retry_after_s: u64,
    },
    /// Users cannot be read at the moment.
    Host,
}

/// How a request got through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Without credentials.
    Open,
    /// By a login or a token, so that the answer is private.
    Known,
}

/// Logins that a core has verified, by a hash of what was sent, and until when each is trusted.
pub(crate) struct Verified(RefCell<LruCache<blake3::Hash, (Login, u64)>>);

impl Default for Verified {
    fn default() -> Verified {
        Verified(RefCell::new(LruCache::new(VERIFIED_MAX)))
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").finish_non_exhaustive()
    }
}

impl Gate {
    /// Returns whether `authority` names this server by a name that no stranger can have, or that the settings list.
    fn knows(&self, authority: &str) -> bool {
        let name = without_port(authority).trim_end_matches('.');
        let name = name.to_ascii_lowercase();
        let is_listed = |host: &String| match host.strip_prefix('*') {
            Some(ending) => name.ends_with(ending),
            None => *host == name,
        };
        name.starts_with('[')
            || name.parse::<Ipv4Addr>().is_ok()
            || !name.contains('.')
            || PRIVATE_ENDINGS.iter().any(|ending| name.ends_with(ending))
            || self.hosts.iter().any(is_listed)
    }

    /// Returns whether a page of `origin` may read and change what the API does.
    fn trusts(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }

    /// Returns whether `part` needs no credentials.
    fn is_open(&self, part: Part) -> bool {
        let is_restricted = self.has_admin_listener || self.token.is_some();
        match part {
            Part::Open | Part::Players => true,
            Part::Admin | Part::Api => self.login == RequireLogin::Off && !is_restricted,
            Part::Music => self.login == RequireLogin::Off,
            Part::Pages | Part::Files => self.login != RequireLogin::All,
        }
    }

    /// What the administration's own listener answers without a login.
    pub const ADMIN_PARTS: [&str; 3] = ["/-/api", "/-/metrics", "/-/status"];

    /// Lists the parts that need no credentials, for a warning.
    #[must_use]
    pub fn open_parts(&self) -> Vec<&'static str> {
        let parts = [
            (Part::Files, "files"),
            (Part::Pages, "/-/"),
            (Part::Music, "/-/music"),
            (Part::Api, "/-/api"),
            (Part::Admin, "/-/metrics"),
            (Part::Admin, "/-/status"),
        ];
        let open = parts.into_iter().filter(|(part, _)| self.is_open(*part));
        open.map(|(_, name)| name).collect()
    }
}

impl Core {
    /// Decides at once whether a ready file may be sent for `request`; `None` where that takes longer, or is refused.
    pub(crate) fn passes_ready(
        &self,
        listener: usize,
        request: &Request<'_>,
        representation: &Representation,
    ) -> Option<Passed> {
        let gate = &self.service.settings.gate;
        if gate.login == RequireLogin::Off && gate.hosts.is_empty() {
            return Some(Passed::Open);
        }
        if !gate.hosts.is_empty() && !self.is_our_host(listener, request) {
            return None;
        }
        if gate.is_open(Part::Files) && !self.is_for_users(representation) {
            return Some(Passed::Open);
        }
        let authorization = authorization(request)?;
        self.remembered(authorization).map(|_| Passed::Known)
    }

    /// Decides whether `request` may be answered, but for what only the file itself tells.
    pub(crate) async fn passes(
        &self,
        request: &Request<'_>,
        came: &Came,
    ) -> Result<Passed, Problem> {
        let gate = &self.service.settings.gate;
        let part = self.service.part_of(request.target.path);
        if part == Part::Open {
            return Ok(Passed::Open);
        }
        let is_listing = matches!(part, Part::Admin | Part::Api | Part::Music | Part::Pages);
        if (is_listing || !gate.hosts.is_empty()) && !self.is_our_host(came.listener, request) {
            return Err(Problem::UnknownHost);
        }
        let is_open = gate.is_open(part);
        // What a browser brings by itself, a page of any site can have it bring.
        let brings_credentials = part == Part::Players;
        if (is_listing || !is_open) && !brings_credentials && is_foreign_change(gate, request) {
            return Err(Problem::ForeignOrigin);
        }
        if part == Part::Players {
            return Ok(Passed::Known);
        }
        let is_asked_before = part == Part::Api && request.method == Method::Options;
        if is_open || is_asked_before {
            return Ok(Passed::Open);
        }
        let is_admins = matches!(part, Part::Admin | Part::Api);
        if is_admins && matches!(self.scheme(came.listener), Scheme::Admin) {
            return Ok(Passed::Open);
        }
        if is_admins && self.has_token(request) {
            return Ok(Passed::Known);
        }
        match self.log_in(request, came.peer).await? {
            login if part == Part::Admin && !login.is_admin => Err(Problem::NotAllowed),
            _ => Ok(Passed::Known),
        }
    }

    /// Decides whether a file that was found may be sent to a client that passed so far.
    pub(crate) async fn passes_with(
        &self,
        passed: Passed,
        representation: &Representation,
        request: &Request<'_>,
        came: &Came,
    ) -> Result<Passed, Problem> {
        if passed == Passed::Known || !self.is_for_users(representation) {
            return Ok(passed);
        }
        self.log_in(request, came.peer).await.map(|_| Passed::Known)
    }

    fn is_for_users(&self, representation: &Representation) -> bool {
        self.service.settings.gate.login == RequireLogin::Music && representation.is_sound()
    }

    /// Returns whether a request asks for a name of ours. Over TLS a certificate has shown that; browsers always
    /// name one.
    fn is_our_host(&self, listener: usize, request: &Request<'_>) -> bool {
        let is_certified = |scheme: &Scheme, host: &str| match scheme {
            Scheme::Https(tls) => tls.covers(without_port(host)),
            Scheme::Http | Scheme::Redirect(_) | Scheme::Admin => false,
        };
        request.host.is_none_or(|host| {
            self.service.settings.gate.knows(host)
                || matches!(self.scheme(listener), Scheme::Https(_))
                || self.schemes().iter().any(|it| is_certified(it, host))
        })
    }

    fn has_token(&self, request: &Request<'_>) -> bool {
        let token = self.service.settings.gate.token;
        let sent = authorization(request).and_then(|it| it.strip_prefix("Bearer "));
        // Hashes compare in constant time.
        token.is_some_and(|token| sent.is_some_and(|it| Token::new(it.trim()) == token))
    }

    async fn log_in(&self, request: &Request<'_>, peer: IpAddr) -> Result<Login, Problem> {
        let Some(sent) = authorization(request) else {
            return Err(Problem::Unauthorized);
        };
        if let Some(login) = self.remembered(sent) {
            return Ok(login);
        }
        let Some(users) = self.service.mounts.users().map(Arc::clone) else {
            return Err(Problem::Unauthorized);
        };
        let (hash, sent) = (blake3::hash(sent.as_bytes()), sent.to_owned());
        match blocking(move || users.log_in(&sent, peer)).await {
            Ok(login) => {
                let entry = (login, self.trusted_until_ms());
                self.verified.0.borrow_mut().put(hash, entry);
                Ok(login)
            }
            Err(Denied::Unknown) => Err(Problem::Unauthorized),
            Err(Denied::Guessing { retry_after_s }) => Err(Problem::Guessing { retry_after_s }),
            Err(Denied::Host) => Err(Problem::Host),
        }
    }

    /// Returns the login that these credentials had a moment ago.
    fn remembered(&self, authorization: &str) -> Option<Login> {
        let mut verified = self.verified.0.borrow_mut();
        let (login, until_ms) = *verified.get(&blake3::hash(authorization.as_bytes()))?;
        (self.reactor.clock().now_ms() < until_ms).then_some(login)
    }

    /// Lets pages of trusted origins read what `part` answers.
    pub(crate) fn admit_origin(&self, request: &Request<'_>, answer: &mut Answer) {
        let gate = &self.service.settings.gate;
        if gate.origins.is_empty() || self.service.part_of(request.target.path) != Part::Api {
            return;
        }
        answer.add_field("vary", "Origin".to_owned());
        if let Some(origin) = origin(request).filter(|origin| gate.trusts(origin)) {
            answer.add_field("access-control-allow-origin", origin.to_owned());
        }
    }

    /// Answers a browser that asks whether a page of another origin may ask the API.
    pub(crate) fn answer_preflight(&self, request: &Request<'_>) -> Option<Answer> {
        let is_api = || self.service.part_of(request.target.path) == Part::Api;
        (request.method == Method::Options && is_api()).then(|| {
            let fields: [(&'static str, &'static str); 4] = [
                ("allow", "GET, HEAD, POST, PUT, DELETE, OPTIONS"),
                (
                    "access-control-allow-methods",
                    "GET, HEAD, POST, PUT, DELETE",
                ),
                ("access-control-allow-headers", "authorization"),
                ("access-control-max-age", "600"),
            ];
            let fields = fields.into_iter();
            Answer {
                status: 204,
                served: Served::Mount,
                fields: Fields::Listed(
                    fields
                        .map(|(name, value)| (name.into(), value.into()))
                        .collect(),
                ),
                added: Vec::new(),
                payload: Payload::None,
                request_id: None,
            }
        })
    }
}

impl Answer {
    /// Adds a field beside those that were decided.
    fn add_field(&mut self, name: &'static str, value: String) {
        match &mut self.fields {
            Fields::Listed(fields) if self.added.is_empty() => {
                fields.push((name.into(), value.into()));
            }
            _ => self.added.push((name.into(), value.into())),
        }
    }

    /// Keeps caches that many clients share from keeping this answer (RFC 9111 §5.2.2.7).
    pub(crate) fn make_private(&mut self) {
        const NAME: &str = "cache-control";
        let private = |value: &str| value.replace("public", "private");
        if let Fields::Whole(kept) | Fields::Part(kept, ..) | Fields::NotModified(kept) =
            &self.fields
            && !self.added.iter().any(|(name, _)| name == NAME)
        {
            let value = private(kept.cache_control());
            self.added.push((NAME.into(), value.into()));
        }
        let listed: &mut [Field] = match &mut self.fields {
            Fields::Listed(fields) => fields,
            _ => &mut [],
        };
        for (name, value) in listed.iter_mut().chain(&mut self.added) {
            if name == NAME {
                *value = private(value).into();
            }
        }
    }
}

/// Returns whether a page of another origin, which the settings do not list, has a browser change something.
fn is_foreign_change(gate: &Gate, request: &Request<'_>) -> bool {
    if matches!(request.method, Method::Get | Method::Head | Method::Options) {
        return false;
    }
    origin(request).is_some_and(|origin| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        let is_same = authority
            .zip(request.host)
            .is_some_and(|(theirs, ours)| theirs.eq_ignore_ascii_case(ours));
        !is_same && !gate.trusts(origin)
    })
}

fn origin<'a>(request: &Request<'a>) -> Option<&'a str> {
    field(request, "origin")
}

fn authorization<'a>(request: &Request<'a>) -> Option<&'a str> {
    field(request, "authorization")
}

/// Returns the first field of this name, empty where its value is not text.
fn field<'a>(request: &Request<'a>, name: &str) -> Option<&'a str> {
    let mut fields = request.fields();
    let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    Some(str::from_utf8(value).unwrap_or(""))
}

#[cfg(test)]
mod tests;
