//! Access control of requests by the rules of [`crate::gate`]: host names, origins and logins.

use std::net::IpAddr;
use std::sync::Arc;

use http1::{Method, Request};
use reactor::blocking;

use crate::core::Core;
use crate::gate::{
    AdminRule, Admission, Credentials, Gate, Login, LoginFailure, Part, RequireLogin, Token,
};
use crate::metrics::Served;
use crate::problem::Problem;
use crate::representation::Representation;
use crate::request_context::RequestContext;
use crate::response::{Fields, Payload, Response};
use crate::scheme::{Scheme, without_port};
use crate::session_cookie;

impl Core {
    /// Decides whether a file whose response is ready may be sent for `request`. Returns `None` if
    /// the request must be refused, or if the decision needs a slower check.
    pub(crate) fn check_ready_access(
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
        let credentials = Credentials::Authorization(authorization(request)?);
        self.cached_login(credentials).map(|_| Admission::Known)
    }

    /// Runs the access checks that do not depend on the requested file. The checks that do are in
    /// [`Core::check_file_access`].
    pub(crate) async fn check_access(
        &self,
        request: &Request<'_>,
        context: &RequestContext,
    ) -> Result<Admission, Problem> {
        let gate = &self.service.settings.gate;
        let part = self.service.part_of(request.target.path);
        if part == Part::Open {
            return Ok(Admission::Open);
        }
        let is_listing = !matches!(part, Part::Players | Part::Files);
        if (is_listing || !gate.hosts.is_empty()) && !self.is_our_host(context.listener, request) {
            return Err(Problem::UnknownHost);
        }
        let is_open = gate.is_open(part);
        // A browser adds its stored credentials to a request, whatever page sent the request. So
        // the origin of the page is checked. Music players send their own credentials with each
        // request, so their requests need no such check.
        let has_own_credentials = part == Part::Players;
        if (is_listing || !is_open) && !has_own_credentials && is_foreign_change(gate, request) {
            return Err(Problem::ForeignOrigin);
        }
        let session = is_listing
            .then(|| session_cookie::token(request.target.path, &request.fields(), context.secure))
            .flatten();
        if session.is_some() && is_change(request) && !is_of_own_page(request, context.secure) {
            return Err(Problem::ForeignSession);
        }
        if part == Part::Players {
            return Ok(Admission::Known);
        }
        let is_preflight = part == Part::Api && request.method == Method::Options;
        let needs_admin = match Gate::admin_rule(part, is_change(request)) {
            AdminRule::Never => false,
            AdminRule::OnceThereAreUsers => self.has_users().await?,
            AdminRule::Always => true,
        };
        if is_open && !needs_admin || is_preflight {
            return Ok(Admission::Open);
        }
        let is_administration = matches!(part, Part::Admin | Part::Dashboard | Part::Api);
        if is_administration && matches!(self.scheme(context.listener), Scheme::Admin) {
            return Ok(Admission::Open);
        }
        if is_administration && self.has_token(request) {
            return Ok(Admission::Known);
        }
        let by_session = session.map(Credentials::Session);
        let is_for_admins = matches!(part, Part::Admin | Part::Dashboard);
        match self.log_in(by_session, request, context.peer).await? {
            login if is_for_admins && !login.is_admin => Err(Problem::NotAllowed),
            _ => Ok(Admission::Known),
        }
    }

    /// Decides whether a file may be sent to a client whose request [`Core::check_access`] has
    /// admitted.
    pub(crate) async fn check_file_access(
        &self,
        admission: Admission,
        representation: &Representation,
        request: &Request<'_>,
        context: &RequestContext,
    ) -> Result<Admission, Problem> {
        if admission == Admission::Known || !self.is_for_users(representation) {
            return Ok(admission);
        }
        self.log_in(None, request, context.peer)
            .await
            .map(|_| Admission::Known)
    }

    /// Decides whether files of the library may be sent in a response of the API. The
    /// administration's listener and token grant access to the API, but not to files that need a
    /// login.
    pub(crate) async fn check_files_of_api(
        &self,
        admission: Admission,
        request: &Request<'_>,
        context: &RequestContext,
    ) -> Result<Admission, Problem> {
        if self.service.settings.gate.is_open(Part::Music) {
            return Ok(admission);
        }
        let token = session_cookie::token(request.target.path, &request.fields(), context.secure);
        let by_session = token.map(Credentials::Session);
        let login = self.log_in(by_session, request, context.peer).await;
        login.map(|_| Admission::Known)
    }

    /// Returns whether the page that refers to a picture may not show it.
    pub(crate) fn is_refused_to(
        &self,
        request: &Request<'_>,
        representation: &Representation,
    ) -> bool {
        let rules = &self.service.settings.permissions;
        rules.is_foreign(request) && representation.is_picture()
    }

    fn is_for_users(&self, representation: &Representation) -> bool {
        self.service.settings.gate.login == RequireLogin::Music && representation.is_sound()
    }

    /// Returns whether the host name of a request belongs to this server. On a TLS listener every
    /// name passes, since a browser has already compared the name with the certificate. A request
    /// without a host name passes, since browsers always send one.
    pub(crate) fn is_our_host(&self, listener: usize, request: &Request<'_>) -> bool {
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
        // The comparison of hashes takes constant time, so that its duration reveals nothing about
        // the token.
        token.is_some_and(|token| sent.is_some_and(|it| Token::new(it.trim()) == token))
    }

    /// Returns whether any user exists.
    async fn has_users(&self) -> Result<bool, Problem> {
        let Some(users) = self.service.mounts.users().map(Arc::clone) else {
            return Ok(false);
        };
        let has_users = blocking(move || users.has_users()).await;
        has_users.map_err(|_| Problem::Host)
    }

    /// Returns the login of a request. If `by_session` is given, it identifies the user; otherwise
    /// the Authorization field does.
    async fn log_in(
        &self,
        by_session: Option<Credentials<'_>>,
        request: &Request<'_>,
        peer: IpAddr,
    ) -> Result<Login, Problem> {
        let by_field = || authorization(request).map(Credentials::Authorization);
        let Some(credentials) = by_session.or_else(by_field) else {
            return Err(self.unauthorized(request));
        };
        if let Some(login) = self.cached_login(credentials) {
            return Ok(login);
        }
        let Some(users) = self.service.mounts.users().map(Arc::clone) else {
            return Err(self.unauthorized(request));
        };
        let (is_session, sent) = match credentials {
            Credentials::Session(token) => (true, token.to_owned()),
            Credentials::Authorization(field) => (false, field.to_owned()),
        };
        let verify = move || match is_session {
            true => users.log_in(Credentials::Session(&sent), peer),
            false => users.log_in(Credentials::Authorization(&sent), peer),
        };
        match blocking(verify).await {
            Ok(login) => {
                let entry = (login, self.revalidate_at_ms());
                let mut verified = self.verified.0.borrow_mut();
                verified.put(credentials.key(), entry);
                Ok(login)
            }
            Err(LoginFailure::Unknown) => Err(self.unauthorized(request)),
            Err(LoginFailure::Guessing { retry_after_s }) => {
                Err(Problem::Guessing { retry_after_s })
            }
            Err(LoginFailure::Host) => Err(Problem::Host),
        }
    }

    /// Returns the problem for a request without valid credentials. For a request of this server's
    /// web page, which has a login form, the problem is [`Problem::UnauthorizedPage`], so that the
    /// browser shows no login window of its own.
    fn unauthorized(&self, request: &Request<'_>) -> Problem {
        let is_fetch = field(request, "sec-fetch-dest") == Some("empty");
        let view = session_cookie::referring_view(&request.fields());
        let is_view = |(_, path): (&str, &str)| self.service.part_of(path) == Part::Open;
        let is_page = is_fetch || authorization(request).is_none() && view.is_some_and(is_view);
        match is_page {
            true => Problem::UnauthorizedPage,
            false => Problem::Unauthorized,
        }
    }

    /// Returns the cached login for these credentials, if any.
    fn cached_login(&self, credentials: Credentials<'_>) -> Option<Login> {
        let mut verified = self.verified.0.borrow_mut();
        let (login, until_ms) = *verified.get(&credentials.key())?;
        (self.reactor.clock().now_ms() < until_ms).then_some(login)
    }

    /// Adds the CORS fields that let pages of trusted origins read a response of the API.
    pub(crate) fn allow_origin(&self, request: &Request<'_>, response: &mut Response) {
        let gate = &self.service.settings.gate;
        if gate.origins.is_empty() || self.service.part_of(request.target.path) != Part::Api {
            return;
        }
        response.add_field("vary", "Origin".to_owned());
        if let Some(origin) = origin(request).filter(|origin| gate.trusts(origin)) {
            response.add_field("access-control-allow-origin", origin.to_owned());
        }
    }

    /// Responds to a CORS preflight request for the API. Returns `None` for any other request.
    pub(crate) fn preflight_response(&self, request: &Request<'_>) -> Option<Response> {
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
            Response {
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

/// Returns whether the request is a change that a page of an untrusted origin sent.
fn is_foreign_change(gate: &Gate, request: &Request<'_>) -> bool {
    if !is_change(request) {
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

fn is_change(request: &Request<'_>) -> bool {
    !matches!(request.method, Method::Get | Method::Head | Method::Options)
}

/// Returns whether the request was sent by a page of this server: its Origin field names the
/// requested host.
fn is_of_own_page(request: &Request<'_>, is_secure: bool) -> bool {
    let sent = origin(request).zip(request.host);
    sent.is_some_and(|(origin, host)| session_cookie::is_own_origin(origin, host, is_secure))
}

fn origin<'a>(request: &Request<'a>) -> Option<&'a str> {
    field(request, "origin")
}

fn authorization<'a>(request: &Request<'a>) -> Option<&'a str> {
    field(request, "authorization")
}

/// Returns the value of the first field called `name`, if any; empty if the value is not UTF-8.
fn field<'a>(request: &Request<'a>, name: &str) -> Option<&'a str> {
    let mut fields = request.fields();
    let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    Some(str::from_utf8(value).unwrap_or(""))
}
