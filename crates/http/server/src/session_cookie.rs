//! Cookie of a browser's session: its names and attributes, and the requests for which it is read.
//!
//! ```text
//! Set-Cookie: __Secure-pelton=TOKEN; Path=/-/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure
//! ```
//!
//! The cookie is read only for paths below `/-/`. So it never affects responses to music players,
//! or responses for the public addresses of files. Source: RFC 6265 and its successor
//! draft-ietf-httpbis-rfc6265bis.

use http1::Fields;

/// Path below which the session cookie is read.
pub const ROOT: &str = "/-/";
/// Name of the session cookie over HTTP.
const NAME: &str = "pelton";
/// Name of the session cookie over TLS. Browsers accept a cookie with the prefix `__Secure-` only
/// over TLS, so an attacker who can modify unencrypted traffic cannot set it.
const SECURE_NAME: &str = "__Secure-pelton";

/// Returns the token in the session cookie of a request. Returns `None` if the path is not below
/// [`ROOT`], or if there is an Authorization field, which takes precedence over the cookie.
#[must_use]
pub fn token<'a>(path: &str, fields: &Fields<'a>, is_secure: bool) -> Option<&'a str> {
    if !path.starts_with(ROOT) || field(fields, "authorization").is_some() {
        return None;
    }
    let named = |wanted| {
        let lines = fields.clone();
        let lines = lines.filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let mut pairs = lines.flat_map(|(_, value)| value.split(|&byte| byte == b';'));
        let found = pairs.find_map(|pair| {
            let (name, value) = str::from_utf8(pair).ok()?.trim().split_once('=')?;
            (name == wanted).then_some(value)
        });
        found.filter(|token| !token.is_empty())
    };
    // A proxy may have received the request over TLS, even if this server received it over HTTP. So
    // the cookie's name for TLS is always accepted.
    let plain = || named(NAME).filter(|_| !is_secure);
    named(SECURE_NAME).or_else(plain)
}

/// Returns the value of Set-Cookie that stores `token`, the token of a session, in the browser for
/// `max_age_s` seconds. `page` is the result of [`page_path`].
#[must_use]
pub fn issue(token: &str, page: &str, max_age_s: u32, is_secure: bool) -> String {
    let (name, secure) = match is_secure {
        true => (SECURE_NAME, "; Secure"),
        false => (NAME, ""),
    };
    format!("{name}={token}; Path={page}; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}")
}

/// Returns the value of Set-Cookie that removes the session cookie. `page` is the result of
/// [`page_path`].
#[must_use]
pub fn remove(page: &str, is_secure: bool) -> String {
    issue("", page, 0, is_secure)
}

/// Returns the path of this server's web page as seen by the browser that sent the request: `/-/`,
/// or a longer path if a proxy serves this server below another path.
#[must_use]
pub fn page_path<'a>(fields: &Fields<'a>) -> &'a str {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+=:@".contains(&byte);
    let page = referring_view(fields).map(|(page, _)| page);
    page.filter(|page| page.bytes().all(is_safe))
        .unwrap_or(ROOT)
}

/// Returns two paths from the Referer field of a request that this server's web page sent. The
/// first is the path of the page as the browser sees it. The second is the path of the view within
/// the page, as this server sees it. Returns `None` for other requests.
pub(crate) fn referring_view<'a>(fields: &Fields<'a>) -> Option<(&'a str, &'a str)> {
    let (_, rest) = field(fields, "referer")?.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find('/')?);
    let host = field(fields, "host")?;
    let path = path.split(['?', '#']).next()?;
    let begin = path.find(ROOT)?;
    let is_own = authority.eq_ignore_ascii_case(host);
    is_own.then(|| (&path[..begin + ROOT.len()], &path[begin..]))
}

/// Returns whether `origin`, the value of an Origin field, names `host`. If the request arrived
/// over TLS, the scheme of `origin` must be `https`.
pub(crate) fn is_own_origin(origin: &str, host: &str, is_secure: bool) -> bool {
    origin.split_once("://").is_some_and(|(scheme, authority)| {
        let is_scheme = scheme == "https" || scheme == "http" && !is_secure;
        is_scheme && authority.eq_ignore_ascii_case(host)
    })
}

/// Returns the value of the first field called `name`, if any; empty if the value is not UTF-8.
fn field<'a>(fields: &Fields<'a>, name: &str) -> Option<&'a str> {
    let mut fields = fields.clone();
    let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    Some(str::from_utf8(value).unwrap_or(""))
}

#[cfg(test)]
mod tests;
