use serde::{Deserialize, Serialize};

/// Minimum time between two journal records for uses of the same session.
const USE_STEP_MS: i64 = 3_600_000;
/// Minimum age of a token before it is replaced.
const RENEWAL_MS: i64 = 24 * 3_600_000;
/// Length of two periods. After the browser has first sent the new token, the old token remains
/// valid for this time, because requests with it may still be under way. And after the server has
/// issued a new token, it waits this time for the browser to send it. If the browser then still
/// sends the old token, the server issues another new one.
const OVERLAP_MS: i64 = 60_000;

/// Session of a browser in which a user logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Name of the user.
    pub(crate) user: String,
    /// Hash of the secret in the browser's token.
    pub(crate) hash: String,
    /// Token that was replaced last, if it may still be valid.
    pub(crate) replaced: Option<Replaced>,
    pub(crate) created_ms: i64,
    /// Time of the last recorded use. Uses are recorded at most once an hour, so the session may
    /// have been used again within an hour after this time.
    pub(crate) used_ms: i64,
    /// Time at which the present token was issued.
    pub(crate) issued_ms: i64,
    /// User-Agent of the browser at the login.
    pub(crate) agent: String,
}

/// Token that was replaced by a new token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replaced {
    pub(crate) hash: String,
    /// Time until which this token is valid. `None` if the browser has not sent the new token yet:
    /// the response with the new token may have been lost, so this token remains valid.
    pub(crate) until_ms: Option<i64>,
}

/// Token that a request contained: the present token of the session, or the token before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenMatch {
    Present,
    Replaced,
}

impl Session {
    /// Returns whether the session was unused for `idle_ms`.
    pub(crate) fn is_expired(&self, idle_ms: i64, now_ms: i64) -> bool {
        self.used_ms.saturating_add(idle_ms) <= now_ms
    }

    /// Returns which token of the session has a secret with this hash, if that token is valid.
    /// Comparing hashes does not reveal how much of a secret is correct.
    pub(super) fn match_token(&self, hash: &str, now_ms: i64) -> Option<TokenMatch> {
        if hash == self.hash {
            return Some(TokenMatch::Present);
        }
        let replaced = self.replaced.as_ref()?;
        let is_valid = replaced.until_ms.is_none_or(|until_ms| now_ms < until_ms);
        (hash == replaced.hash && is_valid).then_some(TokenMatch::Replaced)
    }

    /// Returns the session as it is after a use, or `None` if this use need not be recorded.
    pub(crate) fn used(&self, matched: TokenMatch, now_ms: i64) -> Option<Session> {
        let mut session = self.clone();
        if self.used_ms.saturating_add(USE_STEP_MS) <= now_ms {
            session.used_ms = now_ms;
        }
        match &mut session.replaced {
            Some(replaced) if matched == TokenMatch::Present && replaced.until_ms.is_none() => {
                replaced.until_ms = Some(now_ms.saturating_add(OVERLAP_MS));
            }
            _ => {}
        }
        (session != *self).then_some(session)
    }

    /// Returns whether the browser should get a new token: the present token is a day old, or the
    /// browser still sends the previous token a minute after the renewal.
    pub(crate) fn is_renewal_due(&self, matched: TokenMatch, now_ms: i64) -> bool {
        let age_ms = now_ms.saturating_sub(self.issued_ms);
        let is_unsent = || {
            let replaced = self.replaced.as_ref();
            replaced.is_some_and(|replaced| replaced.until_ms.is_none())
        };
        match matched {
            TokenMatch::Present => RENEWAL_MS <= age_ms,
            TokenMatch::Replaced => OVERLAP_MS <= age_ms && is_unsent(),
        }
    }

    /// Returns the session with a new token. The token that the browser sent remains valid until
    /// the browser sends the new token.
    pub(crate) fn renewed(&self, matched: TokenMatch, hash: String, now_ms: i64) -> Session {
        let replaced = match matched {
            TokenMatch::Present => Some(Replaced {
                hash: self.hash.clone(),
                until_ms: None,
            }),
            TokenMatch::Replaced => self.replaced.clone(),
        };
        Session {
            hash,
            replaced,
            used_ms: now_ms,
            issued_ms: now_ms,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests;
