use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::state::{Bookmark, ENTRY_BYTES, Playlist, Plays, Queue, Role, Share, Station};
use crate::ids::Id;

/// One change, as a record of the journal has it. Names and meanings stay: there are journals of last year.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum Change {
    /// A user is new, or has another password.
    User {
        name: String,
        /// As [`super::Secret`] seals it.
        password: String,
        admin: bool,
        at_ms: i64,
    },
    UserGone {
        name: String,
    },
    /// 0 takes the limit away.
    MaxBitRate {
        user: String,
        kbps: u32,
    },
    /// All rights that an admin took from a user.
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
    /// Without a time, it is no longer starred.
    Star {
        user: String,
        id: Id,
        at_ms: Option<i64>,
    },
    /// 1 to 5; 0 takes it away.
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
    /// What all plays so far came to.
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
}

impl Change {
    /// The user whose own things it changes, if any.
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
            | Change::Share { .. } => None,
        }
    }

    /// Estimates the memory that it adds to what its user keeps.
    pub(super) fn kept_bytes(&self) -> usize {
        match self {
            Change::Star { at_ms: Some(_), .. }
            | Change::Rating { rating: 1.., .. }
            | Change::Play { .. }
            | Change::Plays { .. } => ENTRY_BYTES,
            Change::Playlist { playlist, .. } => playlist.as_ref().map_or(0, Playlist::kept_bytes),
            Change::Share { share, .. } => share.as_ref().map_or(0, Share::kept_bytes),
            Change::Queue { queue, .. } => queue.as_ref().map_or(0, Queue::kept_bytes),
            Change::Bookmark { bookmark, .. } => bookmark.as_ref().map_or(0, Bookmark::kept_bytes),
            _ => 0,
        }
    }
}
