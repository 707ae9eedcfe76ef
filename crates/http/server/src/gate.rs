//! Access control: the host names that a request may use, and the parts of the server that need a
//! login.
//!
//! ```text
//! request ─► known host? ─► may this page change it? ─► part of the server ─► login, if needed
//! ```
//!
//! The page of any web site can make its own host name resolve to this machine, and is then of the
//! same origin as the responses it reads here (DNS rebinding). Browsers send that host name with
//! each request. Pages that list the library or describe or change the server therefore accept only
//! hosts that an attacker cannot own: IP addresses, names that public DNS never contains, names of
//! the certificates, and names of the settings.

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
use crate::mount::{Field, RequestContext};
use crate::problem::Problem;
use crate::representation::Representation;
use crate::scheme::{Scheme, without_port};
use crate::service::blocking;

/// Logins that a core caches, for as long as it trusts cached facts of files.
const VERIFIED_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// Endings of names that public DNS never contains: RFC 6761, 6762 and 8375, and ICANN's
/// reservation of 2024.
const PRIVATE_ENDINGS: [&str; 4] = [".localhost", ".local", ".home.arpa", ".internal"];

/// Rules that the operator configured.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// Parts that need a login.
    pub login: RequireLogin,
    /// Names of this server, in lower case: `example.org`, `*.example.org`, or `*` for any. If
    /// empty, files are served under every name, all else under names that an attacker cannot own.
    pub hosts: Vec<String>,
    /// Origins whose pages may use the API.
    pub origins: Vec<String>,
    /// Token for the administration and the API, if any.
    pub token: Option<Token>,
    /// True if the administration has a listener of its own.
    pub has_admin_listener: bool,
}

/// Secret of a program, stored as its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(blake3::Hash);

impl Token {
    /// Creates the token from the secret as programs send it.
    #[must_use]
    pub fn new(secret: &str) -> Token {
        Token(blake3::hash(secret.as_bytes()))
    }
}

/// Parts that need a login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequireLogin {
    /// Only players log in.
    #[default]
    Off,
    /// Music, covers, music pages and the API need a login.
    Music,
    /// Everything except health checks needs a login.
    All,
}

/// Part of the server, for access control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Health checks, which need no login.
    Open,
    /// Players' endpoints, whose requests carry their own credentials.
    Players,
    /// Metrics and the state of cells.
    Admin,
    /// The library as JSON.
    Api,
    /// Music for browsers, and covers.
    Music,
    /// Pages that list folders.
    Pages,
    /// Files, and programs of the operator.
    Files,
}

/// Verification of logins.
pub trait Users: Send + Sync {
    /// Returns the user that the value of an Authorization field identifies. May sleep.
    ///
    /// # Errors
    /// [`LoginFailure`]
    fn log_in(&self, authorization: &str, peer: IpAddr) -> Result<Login, LoginFailure>;
}

/// Verified user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login {
    /// True if the user may administer the server.
    pub is_admin: bool,
}

/// Reason of a failed login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginFailure {
    /// Unknown user, wrong password or unknown key.
    Unknown,
    /// Too many failed logins.
    Guessing {
        /// Seconds until the next try is allowed.
        retry_after_s: u64,
    },
    /// Users cannot be read now.
    Host,
}

/// Way in which a request passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The request needed no credentials.
    Open,
    /// The request passed by a login or a token, so its response is private.
    Known,
}

/// Verified logins of a core, by a hash of the credentials, each with the time until which it is
/// trusted.
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
    /// Returns whether `authority` is a name that an attacker cannot own, or that the settings
    /// list.
    fn is_known_host(&self, authority: &str) -> bool {
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

    /// Returns whether pages of `origin` may use the API.
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

    /// Paths that need no login on the administration's own listener.
    pub const ADMIN_PARTS: [&str; 3] = ["/-/api", "/-/metrics", "/-/status"];

    /// Returns the parts that need no credentials, for a warning.
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
    /// Decides whether a ready file may be sent for `request`. Returns `None` if the decision needs
    /// more time, or is a refusal.
    pub(crate) fn passes_ready(
        &self,
        listener: usize,
        request: &Request<'_>,
        representation: &Representation,
    ) -> Option<Admission> {
        let gate = &self.service.settings.gate;
        if gate.login == RequireLogin::Off && gate.hosts.is_empty() {
            return Some(Admission::Open);
        }
        if !gate.hosts.is_empty() && !self.is_our_host(listener, request) {
            return None;
        }
        if gate.is_open(Part::Files) && !self.is_for_users(representation) {
            return Some(Admission::Open);
        }
        let authorization = authorization(request)?;
        self.remembered(authorization).map(|_| Admission::Known)
    }

    /// Decides whether `request` may be answered, except for what only the file itself determines.
    pub(crate) async fn passes(
        &self,
        request: &Request<'_>,
        came: &RequestContext,
    ) -> Result<Admission, Problem> {
        let gate = &self.service.settings.gate;
        let part = self.service.part_of(request.target.path);
        if part == Part::Open {
            return Ok(Admission::Open);
        }
        let is_listing = matches!(part, Part::Admin | Part::Api | Part::Music | Part::Pages);
        if (is_listing || !gate.hosts.is_empty()) && !self.is_our_host(came.listener, request) {
            return Err(Problem::UnknownHost);
        }
        let is_open = gate.is_open(part);
        // Any page can make a browser send credentials that the browser stores.
        let brings_credentials = part == Part::Players;
        if (is_listing || !is_open) && !brings_credentials && is_foreign_change(gate, request) {
            return Err(Problem::ForeignOrigin);
        }
        if part == Part::Players {
            return Ok(Admission::Known);
        }
        let is_asked_before = part == Part::Api && request.method == Method::Options;
        if is_open || is_asked_before {
            return Ok(Admission::Open);
        }
        let is_admins = matches!(part, Part::Admin | Part::Api);
        if is_admins && matches!(self.scheme(came.listener), Scheme::Admin) {
            return Ok(Admission::Open);
        }
        if is_admins && self.has_token(request) {
            return Ok(Admission::Known);
        }
        match self.log_in(request, came.peer).await? {
            login if part == Part::Admin && !login.is_admin => Err(Problem::NotAllowed),
            _ => Ok(Admission::Known),
        }
    }

    /// Decides whether a file that was found may be sent to a client that passed so far.
    pub(crate) async fn passes_with(
        &self,
        passed: Admission,
        representation: &Representation,
        request: &Request<'_>,
        came: &RequestContext,
    ) -> Result<Admission, Problem> {
        if passed == Admission::Known || !self.is_for_users(representation) {
            return Ok(passed);
        }
        self.log_in(request, came.peer)
            .await
            .map(|_| Admission::Known)
    }

    fn is_for_users(&self, representation: &Representation) -> bool {
        self.service.settings.gate.login == RequireLogin::Music && representation.is_sound()
    }

    /// Returns whether a request names this server. Over TLS the certificate has shown that;
    /// browsers always send a name.
    fn is_our_host(&self, listener: usize, request: &Request<'_>) -> bool {
        let is_certified = |scheme: &Scheme, host: &str| match scheme {
            Scheme::Https(tls) => tls.covers(without_port(host)),
            Scheme::Http | Scheme::Redirect(_) | Scheme::Admin => false,
        };
        request.host.is_none_or(|host| {
            self.service.settings.gate.is_known_host(host)
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
            Err(LoginFailure::Unknown) => Err(Problem::Unauthorized),
            Err(LoginFailure::Guessing { retry_after_s }) => {
                Err(Problem::Guessing { retry_after_s })
            }
            Err(LoginFailure::Host) => Err(Problem::Host),
        }
    }

    /// Returns the cached login for these credentials, if any.
    fn remembered(&self, authorization: &str) -> Option<Login> {
        let mut verified = self.verified.0.borrow_mut();
        let (login, until_ms) = *verified.get(&blake3::hash(authorization.as_bytes()))?;
        (self.reactor.clock().now_ms() < until_ms).then_some(login)
    }

    /// Lets pages of trusted origins read the responses of `part`.
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

    /// Responds to a CORS preflight request for the API.
    pub(crate) fn preflight_response(&self, request: &Request<'_>) -> Option<Answer> {
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
    /// Adds a field to the response.
    fn add_field(&mut self, name: &'static str, value: String) {
        match &mut self.fields {
            Fields::Listed(fields) if self.added.is_empty() => {
                fields.push((name.into(), value.into()));
            }
            _ => self.added.push((name.into(), value.into())),
        }
    }

    /// Keeps shared caches from storing the response (RFC 9111 §5.2.2.7).
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

/// Returns whether a page of an untrusted origin makes a browser change something.
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

/// Returns the first field of this name; empty if its value is not text.
fn field<'a>(request: &Request<'a>, name: &str) -> Option<&'a str> {
    let mut fields = request.fields();
    let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    Some(str::from_utf8(value).unwrap_or(""))
}

#[cfg(test)]
mod tests;
