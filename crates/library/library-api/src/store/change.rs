use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::session::Session;
use super::state::{Bookmark, ENTRY_BYTES, Playlist, Plays, Queue, Role, Share, Station};
use crate::ids::Id;

/// Change of the state, as a record of the journal stores it. Names and meanings of variants and
/// fields must not change: existing journals contain them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum Change {
    /// Creates a user, or changes the password or the admin role of an existing user.
    User {
        name: String,
        /// Password, encrypted by [`super::Secret`].
        password: String,
        admin: bool,
        at_ms: i64,
    },
    UserGone {
        name: String,
    },
    /// Sets the bit rate limit of a user; 0 removes the limit.
    MaxBitRate {
        user: String,
        kbps: u32,
    },
    /// Sets the roles that an admin denies to a user, replacing the previous roles.
    Denied {
        user: String,
        roles: BTreeSet<Role>,
    },
    Key {
        user: String,
        label: String,
        hash: String,
        at_ms: i64,
    },
    KeyGone {
        user: String,
        label: String,
    },
    /// Stars an object at the time `at_ms`, or removes the star if `at_ms` is `None`.
    Star {
        user: String,
        id: Id,
        at_ms: Option<i64>,
    },
    /// Sets a rating from 1 to 5; 0 removes the rating.
    Rating {
        user: String,
        id: Id,
        rating: u8,
    },
    Play {
        user: String,
        id: Id,
        at_ms: i64,
    },
    /// Sets the totals of a user's plays of an object. A rewritten journal contains this record
    /// instead of one record per play.
    Plays {
        user: String,
        id: Id,
        plays: Plays,
    },
    Playlist {
        id: u64,
        playlist: Option<Playlist>,
    },
    Queue {
        user: String,
        queue: Option<Queue>,
    },
    Bookmark {
        user: String,
        id: Id,
        bookmark: Option<Bookmark>,
    },
    Station {
        id: u64,
        station: Option<Station>,
    },
    Share {
        token: String,
        share: Option<Share>,
    },
    Session {
        id: u64,
        session: Option<Session>,
    },
}

impl Change {
    /// Returns the user whose own data, such as stars or API keys, is changed. Returns `None` for
    /// changes that create, change or remove accounts, and for changes of playlists, stations,
    /// shares and sessions.
    pub(crate) fn user(&self) -> Option<&str> {
        match self {
            Change::MaxBitRate { user, .. }
            | Change::Denied { user, .. }
            | Change::Key { user, .. }
            | Change::KeyGone { user, .. }
            | Change::Star { user, .. }
            | Change::Rating { user, .. }
            | Change::Play { user, .. }
            | Change::Plays { user, .. }
            | Change::Queue { user, .. }
            | Change::Bookmark { user, .. } => Some(user),
            Change::User { .. }
            | Change::UserGone { .. }
            | Change::Playlist { .. }
            | Change::Station { .. }
            | Change::Share { .. }
            | Change::Session { .. } => None,
        }
    }

    /// Returns the owner of the data that the change stores. Returns `None` for changes of
    /// accounts, stations and sessions, and for removed playlists and shares.
    pub(super) fn owner(&self) -> Option<&str> {
        match self {
            Change::Playlist { playlist, .. } => playlist.as_ref().map(|it| &*it.owner),
            Change::Share { share, .. } => share.as_ref().map(|it| &*it.owner),
            other => other.user(),
        }
    }

    /// Estimates the memory that the change adds to its owner's data.
    pub(super) fn stored_bytes(&self) -> usize {
        match self {
            Change::Star { at_ms: Some(_), .. }
            | Change::Rating { rating: 1.., .. }
            | Change::Play { .. }
            | Change::Plays { .. } => ENTRY_BYTES,
            Change::Playlist { playlist, .. } => {
                playlist.as_ref().map_or(0, Playlist::stored_bytes)
            }
            Change::Share { share, .. } => share.as_ref().map_or(0, Share::stored_bytes),
            Change::Queue { queue, .. } => queue.as_ref().map_or(0, Queue::stored_bytes),
            Change::Bookmark { bookmark, .. } => {
                bookmark.as_ref().map_or(0, Bookmark::stored_bytes)
            }
            _ => 0,
        }
    }
}
