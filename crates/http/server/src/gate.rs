//! Access control: the host names that a request may use, and the parts of the server that need a
//! login.
//!
//! ```text
//! request ─► known host? ─► change from a foreign page? ─► part of the server ─► login, if needed
//! ```
//!
//! An attacker can make the host name of a web site resolve to this machine (DNS rebinding). To a
//! browser, the site's pages and this server's responses then have the same origin, so these pages
//! could read the responses. But browsers send the host name with each request. Therefore, pages
//! that list the library, or describe or change the server, are served only under host names that
//! an attacker cannot own: IP addresses, names that public DNS never contains, names of the
//! certificates, and names in the settings.

use std::cell::RefCell;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;

use lru::LruCache;

use crate::paths::FOLDER_PAGES;
use crate::scheme::without_port;

/// Maximum number of verified logins that a core caches. Each is trusted for the time that the
/// setting `revalidate_after_ms` gives.
const VERIFIED_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// Endings of names that public DNS never contains: RFC 6761, 6762 and 8375, and ICANN's
/// reservation of 2024.
const PRIVATE_ENDINGS: [&str; 4] = [".localhost", ".local", ".home.arpa", ".internal"];

/// The operator's rules of access: logins, host names, origins and the token.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// Parts of the server that need a login.
    pub login: RequireLogin,
    /// Names of this server, in lower case: `example.org`, `*.example.org`, or `*` for any. If the
    /// list is empty, files are served under every name. Pages and the API are then served only
    /// under names that no attacker can own, such as IP addresses.
    pub hosts: Vec<String>,
    /// Origins (scheme, host and port) whose pages may use the API.
    pub origins: Vec<String>,
    /// Token that grants access to the administration and the API, if any.
    pub token: Option<Token>,
    /// True if the administration has a listener of its own.
    pub has_admin_listener: bool,
}

/// Secret that a client without a user account, such as a script, sends instead of a login. Only
/// its hash is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(blake3::Hash);

impl Token {
    /// Creates the token from the secret, in the form in which clients send it.
    #[must_use]
    pub fn new(secret: &str) -> Token {
        Token(blake3::hash(secret.as_bytes()))
    }
}

/// Parts of the server that need a login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequireLogin {
    /// Only music players need a login.
    #[default]
    Off,
    /// Music, covers, music pages and the API need a login.
    Music,
    /// Everything needs a login, except health checks and the files of the web page at `/-/`.
    All,
}

/// Part of the server that access control distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Health checks and the files of the web page at `/-/`. They need no login.
    Open,
    /// Endpoints for music players, whose requests carry their own credentials.
    Players,
    /// Endpoints of the administration, such as metrics and the status of the sandboxes.
    Admin,
    /// The operator's dashboard. Once there are users, only admins may see it, even if
    /// `require_login` is off.
    Dashboard,
    /// API that serves the library as JSON.
    Api,
    /// Endpoints that start, end and list sessions. They check credentials themselves.
    Sessions,
    /// Pages that play music in a browser, covers, and the paths at which users with a session get
    /// files.
    Music,
    /// Pages that list folders.
    Pages,
    /// Files of the library, and the operator's programs, which respond to requests for their
    /// paths.
    Files,
}

/// Condition on which only admins may send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdminRule {
    /// Any client that the part admits may send the request.
    Never,
    /// Only admins may send the request, unless there are no users yet.
    OnceThereAreUsers,
    /// Only admins may send the request. So while there are no users, it is always refused.
    Always,
}

/// Credentials of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials<'a> {
    /// Value of an Authorization field.
    Authorization(&'a str),
    /// Token of a session.
    Session(&'a str),
}

impl Credentials<'_> {
    /// Returns the key of these credentials in the cache of verified logins. The token of a session
    /// and an Authorization field with the same text have different keys.
    pub(crate) fn key(&self) -> blake3::Hash {
        match self {
            Credentials::Authorization(field) => blake3::hash(field.as_bytes()),
            Credentials::Session(token) => {
                let mut hasher = blake3::Hasher::new_derive_key("pelton token of a session");
                hasher.update(token.as_bytes()).finalize()
            }
        }
    }
}

/// Store of users, which verifies logins.
pub trait Users: Send + Sync {
    /// Returns the login of the user that the credentials identify. May block on the disk.
    ///
    /// # Errors
    /// [`LoginFailure`], the reason why the login failed.
    fn log_in(&self, credentials: Credentials<'_>, peer: IpAddr) -> Result<Login, LoginFailure>;

    /// Returns whether any user exists. May block on the disk.
    ///
    /// # Errors
    /// [`LoginFailure::Host`] if the list of users cannot be read.
    fn has_users(&self) -> Result<bool, LoginFailure>;
}

/// Verified user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login {
    /// True if the user may administer the server.
    pub is_admin: bool,
}

/// Reason why a login failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginFailure {
    /// The user is unknown, the password is wrong, or the API key is unknown.
    Unknown,
    /// Too many logins failed recently.
    Guessing {
        /// Seconds until the next try is allowed.
        retry_after_s: u64,
    },
    /// The host failed: the list of users cannot be read.
    Host,
}

/// Reason why access control admitted a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The request needed no credentials.
    Open,
    /// The request has a valid login or token, so its response is private.
    Known,
}

/// Logins that a core has verified. The key is a hash of the credentials; the value includes the
/// time until which the login is trusted.
pub(crate) struct Verified(pub(crate) RefCell<LruCache<blake3::Hash, (Login, u64)>>);

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
    /// Returns whether requests for the host `authority` are trusted. They are if the settings list
    /// the name, or if no attacker can register it in DNS (an IP address or `localhost`, for
    /// example).
    pub(crate) fn is_known_host(&self, authority: &str) -> bool {
        let name = without_port(authority).trim_end_matches('.');
        let name = name.to_ascii_lowercase();
        name.starts_with('[')
            || name.parse::<Ipv4Addr>().is_ok()
            || !name.contains('.')
            || PRIVATE_ENDINGS.iter().any(|ending| name.ends_with(ending))
            || self.hosts.iter().any(|host| is_listed_host(host, &name))
    }

    /// Returns whether pages of `origin` may use the API.
    pub(crate) fn trusts(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }

    /// Returns whether `part` needs no credentials.
    pub(crate) fn is_open(&self, part: Part) -> bool {
        let is_restricted = self.has_admin_listener || self.token.is_some();
        match part {
            Part::Open | Part::Players | Part::Sessions => true,
            Part::Admin | Part::Dashboard | Part::Api => {
                self.login == RequireLogin::Off && !is_restricted
            }
            Part::Music => self.login == RequireLogin::Off,
            Part::Pages | Part::Files => self.login != RequireLogin::All,
        }
    }

    /// Paths that need no login on the separate listener for administration.
    pub const ADMIN_PARTS: [&str; 4] = ["/-/api", "/-/metrics", "/-/profile", "/-/status"];

    /// Returns whether requests to `part` are restricted to admins. The restriction applies even if
    /// the part needs no login.
    pub(crate) fn admin_rule(part: Part, is_change: bool) -> AdminRule {
        match (part, is_change) {
            (Part::Dashboard, true) => AdminRule::Always,
            (Part::Dashboard, false) | (Part::Admin, true) => AdminRule::OnceThereAreUsers,
            _ => AdminRule::Never,
        }
    }

    /// Returns the parts that need no credentials, for a warning to the operator.
    #[must_use]
    pub fn open_parts(&self) -> Vec<&'static str> {
        let parts = [
            (Part::Files, "files"),
            (Part::Pages, FOLDER_PAGES),
            (Part::Music, "/-/plain/music"),
            (Part::Api, "/-/api"),
            (Part::Admin, "/-/metrics"),
            (Part::Dashboard, "/-/profile"),
            (Part::Admin, "/-/status"),
        ];
        let open = parts.into_iter().filter(|(part, _)| self.is_open(*part));
        open.map(|(_, name)| name).collect()
    }
}

/// Returns whether `name` matches `pattern`, a name of the settings: `example.org`,
/// `*.example.org`, or `*` for any. Both are in lower case.
pub(crate) fn is_listed_host(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(ending) => name.ends_with(ending),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests;
