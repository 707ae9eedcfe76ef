use std::net::IpAddr;
use std::sync::Arc;

use tags::Splits;

use crate::api::{self, ApiRequest};
use crate::context::Context;
use crate::library_access::LibraryAccess;
use crate::limits::Limits;
use crate::login::{self, LoggedIn, LoginError};
use crate::page;
use crate::params::Params;
use crate::response::Response;
use crate::sessions::{NewSession, SessionInfo, SessionLogin};
use crate::shares::{self, ShareRequest};
use crate::store::{Damage, Store, StoreError};
use crate::subsonic::{self, Request};

/// Server of the Subsonic API, of the plain JSON API, and of pages for browsers.
pub struct Server {
    context: Context,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a server for the library that `library` gives access to. `splits` says how tags with
    /// several names are split; it must equal the value that scans use.
    #[must_use]
    pub fn new(
        library: Arc<dyn LibraryAccess>,
        store: Arc<Store>,
        splits: Splits,
        limits: Limits,
    ) -> Server {
        Server {
            context: Context::new(library, store, splits, limits),
        }
    }

    /// Returns the number and size of the damaged parts of the users' journal that were skipped
    /// since the store was opened.
    #[must_use]
    pub fn damage(&self) -> Damage {
        self.context.store.damage()
    }

    /// Returns the user whom the value of an Authorization field authenticates. May wait for the
    /// disk.
    ///
    /// # Errors
    /// [`LoginError`]
    pub fn log_in(
        &self,
        authorization: &str,
        peer: IpAddr,
        now_ms: i64,
    ) -> Result<LoggedIn, LoginError> {
        login::log_in(&self.context, authorization, peer, now_ms)
    }

    /// Returns whether any user exists.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn has_users(&self) -> Result<bool, StoreError> {
        self.context.has_users()
    }

    /// Begins a session of the user with this name and password. Ends expired sessions of the user.
    /// If the user has too many sessions, also ends the sessions that have been unused for the
    /// longest time. May wait for the disk.
    ///
    /// # Errors
    /// [`LoginError`]
    pub fn begin_session(
        &self,
        login: &SessionLogin<'_>,
        now_ms: i64,
    ) -> Result<NewSession, LoginError> {
        self.context.begin_session(login, now_ms)
    }

    /// Returns the user of the session with this token, and records the use. May wait for the disk.
    ///
    /// # Errors
    /// [`LoginError`]: `Unknown` if there is no such session.
    pub fn session_user(&self, token: &str, now_ms: i64) -> Result<LoggedIn, LoginError> {
        self.context.session_user(token, now_ms)
    }

    /// Replaces the token of a session if the token is due for renewal, and returns the new token.
    /// May wait for the disk.
    ///
    /// # Errors
    /// [`LoginError`]: `Unknown` if there is no such session.
    pub fn renew_session(&self, token: &str, now_ms: i64) -> Result<Option<String>, LoginError> {
        self.context.renew_session(token, now_ms)
    }

    /// Ends the session with this token, if there is one.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn end_session(&self, token: &str, now_ms: i64) -> Result<(), StoreError> {
        self.context.end_session(token, now_ms)
    }

    /// Returns the sessions of a user, the most recently used first. `present` is the session token
    /// of the request, if it has one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn sessions(
        &self,
        user: &str,
        present: Option<&str>,
        now_ms: i64,
    ) -> Result<Vec<SessionInfo>, StoreError> {
        self.context.sessions(user, present, now_ms)
    }

    /// Ends the session of `user` with this id, and returns whether there was one.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn end_session_of(&self, user: &str, id: &str) -> Result<bool, StoreError> {
        self.context.end_session_of(user, id)
    }

    /// Returns the response to a request of the Subsonic API. May wait for the disk.
    #[must_use]
    pub fn respond(&self, request: &Request<'_>) -> Response {
        subsonic::respond(&self.context, request)
    }

    /// Returns the response, with status 429, to a request of the Subsonic API that would exceed
    /// the limit on concurrent transcodes.
    #[must_use]
    pub fn busy(&self, params: &Params<'_>) -> Response {
        subsonic::busy(params)
    }

    /// Returns the response to a request of the JSON API. May wait for the disk.
    #[must_use]
    pub fn api(&self, request: &ApiRequest<'_>) -> Response {
        api::respond(&self.context, request)
    }

    /// Returns the page at `path` below the mount `base`: the list of albums, or the page of the
    /// album that the path names.
    #[must_use]
    pub fn page(&self, base: &str, path: &str, params: &Params<'_>, now_ms: i64) -> Response {
        page::respond(&self.context, base, path, params, now_ms)
    }

    /// Returns the page of a share, or one of its songs or photographs. May wait for the disk.
    #[must_use]
    pub fn share(&self, request: &ShareRequest<'_>) -> Response {
        shares::respond(&self.context, request)
    }
}
