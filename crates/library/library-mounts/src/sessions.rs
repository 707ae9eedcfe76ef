//! Sessions of browsers: login and logout at `/-/api/session`, and a user's sessions at
//! `/-/api/sessions`.
//!
//! ```text
//! /-/api/session:  POST name, password ─► session ─► Set-Cookie
//!                  GET ─► user, perhaps a new token ─► Set-Cookie
//!                  DELETE ─► end of the session
//! /-/api/sessions: GET ─► list · DELETE ─► end of a listed session
//! ```

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use config::{Config, Networks};
use library_api::{LoggedIn, LoginError, Server, SessionInfo, SessionLogin, StoreError};
use reactor::blocking;
use serde_json::{Value, json};
use server::gate::{Part, RequireLogin};
use server::mount::{Mount, MountRequest, Reply};
use server::session_cookie;
use wall_clock::unix_ms;

use crate::files::PageFiles;

/// Challenge in responses with status 401. For a challenge of type `Basic`, browsers would show
/// their own login form instead of the page's form.
const CHALLENGE: (&str, &str) = ("www-authenticate", "Bearer realm=\"Pelton\"");

/// Mount of `/-/api/session` and of `/-/api/sessions`, optionally followed by the id of a session.
pub(crate) struct Sessions {
    server: Arc<Server>,
    /// Proxies whose X-Forwarded-Proto field is trusted.
    proxies: Networks,
    /// Lifetime of the cookie, in seconds.
    max_age_s: u32,
}

/// Request, copied so that another thread can handle it.
struct OwnedRequest {
    method: String,
    /// Path below `/-/api`.
    path: String,
    body: bytes::Bytes,
    is_json: bool,
    authorization: Option<String>,
    /// Token of the session cookie. `None` if there is no cookie, or if the Authorization field
    /// takes precedence over the cookie.
    token: Option<String>,
    agent: String,
    peer: IpAddr,
    /// Path of the web page in the browser's URL.
    page: String,
    /// True if the browser's connection is encrypted.
    is_secure: bool,
    require_login: RequireLogin,
    now_ms: i64,
}

/// Reason why a request is refused.
enum Refusal {
    Login(LoginError),
    /// No user exists, so a login is not possible.
    NoUsers,
    /// The body is not a JSON object with a name and a password.
    BadBody,
    NotFound,
    /// The method is not allowed; the field lists the allowed methods.
    Method(&'static str),
    Host,
}

impl From<LoginError> for Refusal {
    fn from(err: LoginError) -> Refusal {
        Refusal::Login(err)
    }
}

impl From<StoreError> for Refusal {
    fn from(err: StoreError) -> Refusal {
        tracing::error!(%err, cause = %err.source, "cannot read or store sessions");
        Refusal::Host
    }
}

/// JSON of a response, and the value of Set-Cookie, if any.
type JsonReply = (Value, Option<String>);

impl Sessions {
    /// Returns the mounts with their path prefixes.
    pub(crate) fn mounts(server: &Arc<Server>, config: &Config) -> [(String, Arc<dyn Mount>); 2] {
        let sessions: Arc<dyn Mount> = Arc::new(Sessions {
            server: Arc::clone(server),
            proxies: config.proxies.clone(),
            max_age_s: library_api::Limits::default().session_idle_s,
        });
        [Sessions::ONE, Sessions::ALL].map(|prefix| (prefix.to_owned(), Arc::clone(&sessions)))
    }

    const ONE: &str = "/-/api/session";
    const ALL: &str = "/-/api/sessions";

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        let request = OwnedRequest::new(&request, &self.proxies);
        let (server, max_age_s) = (Arc::clone(&self.server), self.max_age_s);
        blocking(move || {
            let handled = Handler {
                server: &server,
                request: &request,
                max_age_s,
            };
            match handled.result() {
                Ok((json, cookie)) => {
                    let cookie = cookie.as_ref().map(|cookie| ("set-cookie", &**cookie));
                    json_reply(200, &json, cookie)
                }
                Err(refusal) => refusal.reply(),
            }
        })
        .await
    }
}

impl Mount for Sessions {
    fn part(&self) -> Part {
        Part::Sessions
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }
}

impl OwnedRequest {
    fn new(request: &MountRequest<'_>, proxies: &Networks) -> OwnedRequest {
        let field = |name| field(request, name);
        let peer = request.peer.to_canonical();
        let is_from_proxy = proxies.0.iter().any(|proxy| proxy.contains(peer));
        let forwarded = field("x-forwarded-proto").filter(|_| is_from_proxy);
        // If there are several values, the first value is from the proxy to which the browser
        // connects.
        let forwarded = forwarded.and_then(|value| value.split(',').next());
        let is_forwarded_https =
            forwarded.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"));
        let token = session_cookie::token(request.path, &request.fields, request.secure);
        let is_json = |value: &str| {
            let media_type = value.split(';').next().unwrap_or_default();
            media_type.trim().eq_ignore_ascii_case("application/json")
        };
        OwnedRequest {
            method: request.method.to_owned(),
            path: request.path["/-/api".len()..].to_owned(),
            body: request.body.clone(),
            is_json: field("content-type").is_some_and(is_json),
            authorization: field("authorization").map(str::to_owned),
            token: token.map(str::to_owned),
            agent: field("user-agent").unwrap_or_default().to_owned(),
            peer: request.peer,
            page: session_cookie::page_path(&request.fields).to_owned(),
            is_secure: request.secure || is_forwarded_https,
            require_login: request.require_login,
            now_ms: unix_ms() as i64,
        }
    }
}

/// Handler of one request. May wait for the disk.
struct Handler<'a> {
    server: &'a Server,
    request: &'a OwnedRequest,
    max_age_s: u32,
}

impl Handler<'_> {
    fn result(&self) -> Result<JsonReply, Refusal> {
        let parts = self.request.path.split('/').filter(|part| !part.is_empty());
        let parts: Vec<_> = parts.collect();
        match (&parts[..], &*self.request.method) {
            (["session"], "GET" | "HEAD") => self.present(),
            (["session"], "POST") => self.begin(),
            (["session"], "DELETE") => self.end(),
            (["session"], _) => Err(Refusal::Method("GET, HEAD, POST, DELETE")),
            (["sessions"], "GET" | "HEAD") => self.list(),
            (["sessions"], _) => Err(Refusal::Method("GET, HEAD")),
            (["sessions", id], "DELETE") => self.end_other(id),
            (["sessions", _], _) => Err(Refusal::Method("DELETE")),
            _ => Err(Refusal::NotFound),
        }
    }

    /// Returns a description of the user who sent the request, or of a guest. Also returns a cookie
    /// with a new token if the present token is due for renewal.
    fn present(&self) -> Result<JsonReply, Refusal> {
        let user = match self.user() {
            // The response does not delete the cookie of a session that has ended: the browser may
            // have received the cookie of another session since it sent this request.
            Err(LoginError::Unknown) if self.request.authorization.is_none() => None,
            user => Some(user?),
        };
        let token = self.request.token.as_deref().filter(|_| user.is_some());
        let renewed = token.map(|token| self.server.renew_session(token, self.request.now_ms));
        let renewed = match renewed {
            // The request has no session, or the session has ended in the meantime.
            None | Some(Err(LoginError::Unknown)) => None,
            Some(renewed) => renewed?,
        };
        let cookie = renewed.map(|token| self.cookie(&token));
        Ok((self.described(user.as_ref())?, cookie))
    }

    fn begin(&self) -> Result<JsonReply, Refusal> {
        if !self.server.has_users()? {
            return Err(Refusal::NoUsers);
        }
        // Refuses media types other than JSON: a form on another site can send some media types,
        // but not JSON.
        let body: Value = match serde_json::from_slice(&self.request.body) {
            Ok(body) if self.request.is_json => body,
            _ => return Err(Refusal::BadBody),
        };
        let text = |name: &str| body[name].as_str().ok_or(Refusal::BadBody);
        let login = SessionLogin {
            name: text("name")?,
            password: text("password")?,
            agent: &self.request.agent,
            replaces: self.request.token.as_deref(),
            peer: self.request.peer,
        };
        let begun = self.server.begin_session(&login, self.request.now_ms)?;
        let cookie = self.cookie(&begun.token);
        Ok((self.described(Some(&begun.user))?, Some(cookie)))
    }

    fn end(&self) -> Result<JsonReply, Refusal> {
        if let Some(token) = &self.request.token {
            self.server.end_session(token, self.request.now_ms)?;
        }
        let removed = session_cookie::remove(&self.request.page, self.request.is_secure);
        Ok((self.described(None)?, Some(removed)))
    }

    fn list(&self) -> Result<JsonReply, Refusal> {
        let user = self.user()?;
        let token = self.request.token.as_deref();
        let sessions = self
            .server
            .sessions(&user.name, token, self.request.now_ms)?;
        let item = |session: &SessionInfo| {
            json!({
                "id": session.id,
                "created": session.created,
                "used": session.used,
                "agent": session.agent,
                "present": session.is_present,
            })
        };
        let items: Vec<_> = sessions.iter().map(item).collect();
        Ok((json!({ "items": items }), None))
    }

    fn end_other(&self, id: &str) -> Result<JsonReply, Refusal> {
        let user = self.user()?;
        match self.server.end_session_of(&user.name, id)? {
            true => Ok((json!({}), None)),
            false => Err(Refusal::NotFound),
        }
    }

    /// Returns the user whom the request authenticates, by its Authorization field or its session.
    fn user(&self) -> Result<LoggedIn, LoginError> {
        let OwnedRequest { peer, now_ms, .. } = *self.request;
        match (&self.request.authorization, &self.request.token) {
            (Some(field), _) => self.server.log_in(field, peer, now_ms),
            (None, Some(token)) => self.server.session_user(token, now_ms),
            (None, None) => Err(LoginError::Unknown),
        }
    }

    fn described(&self, user: Option<&LoggedIn>) -> Result<Value, Refusal> {
        let needs_login = self.request.require_login != RequireLogin::Off;
        Ok(json!({
            "name": user.map(|user| &user.name),
            "isAdmin": user.is_some_and(|user| user.is_admin),
            "hasUsers": self.server.has_users()?,
            "files": if needs_login && user.is_some() { PageFiles::PREFIX } else { "" },
        }))
    }

    fn cookie(&self, token: &str) -> String {
        let OwnedRequest {
            page, is_secure, ..
        } = self.request;
        session_cookie::issue(token, page, self.max_age_s, *is_secure)
    }
}

impl Refusal {
    fn reply(&self) -> Reply {
        let wait;
        let (status, title, field) = match self {
            Refusal::Login(LoginError::Unknown) => (
                401,
                "wrong user name or password, or no valid session",
                Some(CHALLENGE),
            ),
            Refusal::Login(LoginError::Guessing { wait_s }) => {
                wait = wait_s.to_string();
                let field = Some(("retry-after", &*wait));
                (429, "too many logins have failed", field)
            }
            Refusal::NoUsers => (
                409,
                "there are no users yet: on the server, run `pelton user add NAME`",
                None,
            ),
            Refusal::BadBody => (
                400,
                "the body must be a JSON object with name and password, sent as application/json",
                None,
            ),
            Refusal::NotFound => (404, "no such session", None),
            Refusal::Method(allowed) => {
                let field = Some(("allow", *allowed));
                (405, "this method is not supported here", field)
            }
            Refusal::Login(LoginError::Host) | Refusal::Host => (
                503,
                "the server cannot read or store user data at the moment",
                None,
            ),
        };
        json_reply(status, &json!({ "title": title, "status": status }), field)
    }
}

fn json_reply(status: u16, json: &Value, field: Option<(&'static str, &str)>) -> Reply {
    let media_type = match status {
        400.. => "application/problem+json",
        _ => "application/json",
    };
    let fields = [
        ("content-type", media_type),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ];
    let fields = fields.into_iter().chain(field);
    Reply::Whole {
        status,
        fields: fields
            .map(|(name, value)| (name.into(), value.to_owned().into()))
            .collect(),
        body: json.to_string().into(),
    }
}

/// Returns the value of the first field called `name`, if it is UTF-8.
fn field<'a>(request: &MountRequest<'a>, name: &str) -> Option<&'a str> {
    let mut fields = request.fields.clone();
    let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    str::from_utf8(value).ok()
}

#[cfg(test)]
mod tests;
