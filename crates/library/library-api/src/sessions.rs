//! Sessions of browsers: a browser logs in with a name and a password, and then sends a token in a
//! cookie.
//!
//! ```text
//! token: id, 16 hexadecimal digits · "." · secret, 64 hexadecimal digits (32 random bytes)
//! ```
//!
//! Only the hash of the secret is stored. A session ends in each of these cases: its user logs out,
//! gets another password or is removed; the session is not used for
//! [`Limits::session_idle_s`](crate::Limits::session_idle_s); or the user has too many sessions
//! that were used more recently.
//!
//! A browser gets a new token at each login, and at most once a day when it loads a page. The
//! response with a new token can be lost, so the old token remains valid until a minute after the
//! browser has sent the new one.

use std::net::IpAddr;

use crate::auth;
use crate::context::Context;
use crate::login::{LoggedIn, LoginError, check_password};
use crate::store::{Change, Session, State, StoreError, TokenMatch, key_hash, random};
use crate::time::iso;

/// Login that begins a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionLogin<'a> {
    /// Name of the user, in any case.
    pub name: &'a str,
    /// Password of the user.
    pub password: &'a str,
    /// User-Agent of the browser.
    pub agent: &'a str,
    /// Token of the browser's present session, if it has one. The new session replaces this
    /// session.
    pub replaces: Option<&'a str>,
    /// Address of the client.
    pub peer: IpAddr,
}

/// Session that a login began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Token that the browser must send. It cannot be read again, since only its hash is stored.
    pub token: String,
    /// User of the session.
    pub user: LoggedIn,
}

/// Session as listed for its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Id of the session, which is not secret.
    pub id: String,
    /// Time of the login, in ISO 8601.
    pub created: String,
    /// Time of the last recorded use, in ISO 8601. Uses are recorded at most once an hour, so the
    /// session may have been used again within an hour after this time.
    pub used: String,
    /// User-Agent of the browser at the login.
    pub agent: String,
    /// True for the session in which the list was requested.
    pub is_present: bool,
}

impl Context {
    /// Returns whether any user exists.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn has_users(&self) -> Result<bool, StoreError> {
        self.store.read(|state| !state.users.is_empty())
    }

    /// Begins a session of the user with this name and password. Ends expired sessions of the user.
    /// If the user has too many sessions, also ends the sessions that have been unused for the
    /// longest time. May wait for the disk.
    ///
    /// # Errors
    /// [`LoginError`]
    pub(crate) fn begin_session(
        &self,
        login: &SessionLogin<'_>,
        now_ms: i64,
    ) -> Result<NewSession, LoginError> {
        let user = check_password(self, (login.name, login.password), login.peer, now_ms)?;
        let (id, secret) = (u64::from_ne_bytes(random()), new_secret());
        let session = Session {
            user: user.name.clone(),
            hash: key_hash(&secret),
            replaced: None,
            created_ms: now_ms,
            used_ms: now_ms,
            issued_ms: now_ms,
            agent: clipped(login.agent, self.limits.agent_bytes_max).to_owned(),
        };
        let secret_of_passwords = self.store.secret()?;
        self.store.change(|state| {
            // The password is checked again, since it may have been changed after the first check.
            // The change ended all sessions of the user, so no new session may begin with the old
            // password.
            let found = auth::of_password(&user.name, login.password, state, secret_of_passwords);
            found.ok_or(LoginError::Unknown)?;
            let ended = self.superseded(state, &user.name, login.replaces, now_ms);
            let gone = |id| Change::Session { id, session: None };
            let mut changes: Vec<_> = ended.into_iter().map(gone).collect();
            let session = Some(session);
            changes.push(Change::Session { id, session });
            Ok::<_, LoginError>(changes)
        })??;
        let token = token(id, &secret);
        Ok(NewSession { token, user })
    }

    /// Returns the ids of the sessions that end when `user` logs in.
    fn superseded(
        &self,
        state: &State,
        user: &str,
        replaces: Option<&str>,
        now_ms: i64,
    ) -> Vec<u64> {
        let own = state.sessions.iter();
        let own = own.filter(|(_, session)| session.user == user);
        let mut own: Vec<(u64, &Session)> = own.map(|(&id, session)| (id, session)).collect();
        own.sort_by_key(|(_, session)| std::cmp::Reverse(session.used_ms));
        // The new session counts towards the limit, too.
        let kept_max = self.limits.sessions_max.saturating_sub(1);
        let replaced = replaces.and_then(|token| self.find(state, token, now_ms));
        let surplus = own.iter().skip(kept_max);
        let expired = own.iter().take(kept_max);
        let expired = expired.filter(|(_, it)| it.is_expired(self.idle_ms(), now_ms));
        let ended = surplus.chain(expired).map(|(id, _)| *id);
        ended.chain(replaced.map(|(id, ..)| id)).collect()
    }

    /// Returns the user of the session with this token, and records the use. May wait for the disk.
    ///
    /// # Errors
    /// [`LoginError`]: `Unknown` if there is no such session.
    pub(crate) fn session_user(&self, token: &str, now_ms: i64) -> Result<LoggedIn, LoginError> {
        let found = self.store.read(|state| {
            let (id, session, matched) = self.find(state, token, now_ms)?;
            let is_due = session.used(matched, now_ms).is_some();
            Some((id, logged_in(state, session)?, is_due))
        })?;
        let (id, user, is_due) = found.ok_or(LoginError::Unknown)?;
        if is_due {
            self.store.change(|state| {
                // Another request may have recorded the use, or ended the session, in the meantime.
                let found = self.find(state, token, now_ms);
                let used = found.and_then(|(_, session, matched)| session.used(matched, now_ms));
                let changes = used.into_iter().map(|session| Change::Session {
                    id,
                    session: Some(session),
                });
                Ok::<_, LoginError>(changes.collect())
            })??;
        }
        Ok(user)
    }

    /// Replaces the token of a session if the token is due for renewal, and returns the new token.
    /// May wait for the disk.
    ///
    /// # Errors
    /// [`LoginError`]: `Unknown` if there is no such session.
    pub(crate) fn renew_session(
        &self,
        token: &str,
        now_ms: i64,
    ) -> Result<Option<String>, LoginError> {
        let is_due = |state: &State| {
            let (_, session, matched) =
                self.find(state, token, now_ms).ok_or(LoginError::Unknown)?;
            Ok::<_, LoginError>(session.is_renewal_due(matched, now_ms))
        };
        if !self.store.read(is_due)?? {
            return Ok(None);
        }
        let (secret, mut renewed) = (new_secret(), None);
        self.store.change(|state| {
            let (id, session, matched) =
                self.find(state, token, now_ms).ok_or(LoginError::Unknown)?;
            // Another tab of the browser may have got a new token in the meantime.
            if !session.is_renewal_due(matched, now_ms) {
                return Ok(Vec::new());
            }
            renewed = Some(self::token(id, &secret));
            let session = Some(session.renewed(matched, key_hash(&secret), now_ms));
            Ok::<_, LoginError>(vec![Change::Session { id, session }])
        })??;
        Ok(renewed)
    }

    /// Ends the session with this token, if there is one.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(crate) fn end_session(&self, token: &str, now_ms: i64) -> Result<(), StoreError> {
        let changed = self.store.change(|state| {
            let found = self.find(state, token, now_ms);
            let ended = found.map(|(id, ..)| Change::Session { id, session: None });
            Ok::<_, std::convert::Infallible>(ended.into_iter().collect())
        })?;
        let Ok(()) = changed;
        Ok(())
    }

    /// Returns the sessions of a user, the most recently used first. `present` is the session token
    /// of the request, if it has one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn sessions(
        &self,
        user: &str,
        present: Option<&str>,
        now_ms: i64,
    ) -> Result<Vec<SessionInfo>, StoreError> {
        self.store.read(|state| {
            let present = present.and_then(|token| self.find(state, token, now_ms));
            let present = present.map(|(id, ..)| id);
            let own = state.sessions.iter().filter(|(_, session)| {
                session.user == user && !session.is_expired(self.idle_ms(), now_ms)
            });
            let mut own: Vec<_> = own.collect();
            own.sort_by_key(|(_, session)| std::cmp::Reverse(session.used_ms));
            let info = |(&id, session): (&u64, &Session)| SessionInfo {
                id: id_text(id),
                created: iso(session.created_ms),
                used: iso(session.used_ms),
                agent: session.agent.clone(),
                is_present: present == Some(id),
            };
            own.into_iter().map(info).collect()
        })
    }

    /// Ends the session of `user` with this id, and returns whether there was one.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(crate) fn end_session_of(&self, user: &str, id: &str) -> Result<bool, StoreError> {
        let Some(id) = parse_id(id) else {
            return Ok(false);
        };
        let ended = self.store.change(|state| {
            let session = state.sessions.get(&id);
            match session.is_some_and(|session| session.user == user) {
                true => Ok(vec![Change::Session { id, session: None }]),
                false => Err(()),
            }
        })?;
        Ok(ended.is_ok())
    }

    /// Returns the name of the user of the session with this token, if any.
    pub(crate) fn session_owner<'s>(
        &self,
        state: &'s State,
        token: &str,
        now_ms: i64,
    ) -> Option<&'s str> {
        let (_, session, _) = self.find(state, token, now_ms)?;
        Some(&session.user)
    }

    fn find<'s>(
        &self,
        state: &'s State,
        token: &str,
        now_ms: i64,
    ) -> Option<(u64, &'s Session, TokenMatch)> {
        let (id, secret) = token.split_once('.')?;
        let id = parse_id(id)?;
        let (session, matched) = state.session((id, &key_hash(secret)), self.idle_ms(), now_ms)?;
        Some((id, session, matched))
    }

    fn idle_ms(&self) -> i64 {
        i64::from(self.limits.session_idle_s) * 1000
    }
}

fn logged_in(state: &State, session: &Session) -> Option<LoggedIn> {
    let user = state.users.get(&session.user)?;
    Some(LoggedIn {
        name: session.user.clone(),
        is_admin: user.admin,
    })
}

fn new_secret() -> String {
    hex::encode(random::<32>())
}

fn token(id: u64, secret: &str) -> String {
    format!("{}.{secret}", id_text(id))
}

fn id_text(id: u64) -> String {
    format!("{id:016x}")
}

fn parse_id(text: &str) -> Option<u64> {
    let is_id = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| u64::from_str_radix(text, 16).ok())?
}

/// Returns the longest prefix of `text` of at most `bytes_max` bytes.
fn clipped(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
