use serde::{Deserialize, Serialize};

use super::state::{Bookmark, Playlist, Plays, Queue, Station};
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
}
