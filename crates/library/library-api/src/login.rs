//! Logins by the Authorization field, for requests outside the Subsonic protocol: a name and a
//! password (Basic, RFC 7617), or an API key (Bearer, RFC 6750).

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::auth;
use crate::context::Context;
use crate::guard::Try;
use crate::store::StoreError;

/// Authenticated user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedIn {
    /// Name of the user.
    pub name: String,
    /// True if the user is an admin.
    pub is_admin: bool,
}

/// Reason why a login failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginError {
    /// The Authorization field names no user, or its password or key is wrong.
    Unknown,
    /// Too many logins from this address have failed for this name.
    Guessing {
        /// Seconds until the next attempt is allowed.
        wait_s: u64,
    },
    /// The stored data of users cannot be read.
    Host,
}

impl From<StoreError> for LoginError {
    fn from(err: StoreError) -> LoginError {
        tracing::error!(%err, cause = %err.source, "cannot read user data for a login");
        LoginError::Host
    }
}

/// Returns the user whom the value of an Authorization field authenticates.
pub(crate) fn log_in(
    context: &Context,
    authorization: &str,
    peer: IpAddr,
    now_ms: i64,
) -> Result<LoggedIn, LoginError> {
    let (scheme, sent) = authorization.split_once(' ').ok_or(LoginError::Unknown)?;
    let sent = sent.trim();
    let found = if scheme.eq_ignore_ascii_case("bearer") {
        context.store.read(|state| {
            let name = auth::of_key(sent, state)?;
            let is_admin = state.users.get(name)?.admin;
            let name = name.to_owned();
            Some(LoggedIn { name, is_admin })
        })?
    } else if scheme.eq_ignore_ascii_case("basic") {
        let sent = from_base64(sent).and_then(|bytes| String::from_utf8(bytes).ok());
        let sent = sent.ok_or(LoginError::Unknown)?;
        let (name, password) = sent.split_once(':').ok_or(LoginError::Unknown)?;
        Some(check_password(context, (name, password), peer, now_ms)?)
    } else {
        None
    };
    found.ok_or(LoginError::Unknown)
}

/// Returns the user with this name and password, unless too many earlier logins have failed. Counts
/// the attempt for the limit on failed logins.
pub(crate) fn check_password(
    context: &Context,
    (name, password): (&str, &str),
    peer: IpAddr,
    now_ms: i64,
) -> Result<LoggedIn, LoginError> {
    let secret = context.store.secret()?;
    context.store.read(|state| {
        // All spellings of a user's name share one failure counter.
        let known = state.user_named(name);
        let this = Try {
            address: peer,
            name: known.map_or(name, |(name, _)| name),
            is_user: known.is_some(),
        };
        if let Some(wait_s) = context.guard.wait_s(&this, now_ms) {
            return Err(LoginError::Guessing { wait_s });
        }
        let found = auth::of_password(name, password, state, secret);
        context.guard.note(&this, found.is_some(), now_ms);
        let found = found.and_then(|name| state.users.get_key_value(name));
        let (name, user) = found.ok_or(LoginError::Unknown)?;
        Ok(LoggedIn {
            name: name.clone(),
            is_admin: user.admin,
        })
    })?
}

/// Decodes base64 (RFC 4648 §4); the padding may be missing.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0_u32, 0);
    for &letter in text {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if 8 <= held {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    // A single left-over letter, and left-over bits that are not zero, make the text invalid.
    (held < 6 && bits & ((1 << held) - 1) == 0).then_some(out)
}
