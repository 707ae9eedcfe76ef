use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

use super::Change;
use super::session::{Session, TokenMatch};
use crate::ids::Id;

/// Data of all users.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) playlists: BTreeMap<u64, Playlist>,
    pub(crate) stations: BTreeMap<u64, Station>,
    /// Shares by token. Tokens are secrets.
    pub(crate) shares: BTreeMap<String, Share>,
    /// Sessions of browsers by id.
    pub(crate) sessions: BTreeMap<u64, Session>,
}

/// User account, with the data that belongs to this user alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct User {
    /// Password, encrypted by [`super::Secret`].
    pub(crate) password: String,
    pub(crate) admin: bool,
    /// Roles that an admin denied to the user.
    pub(crate) denied: BTreeSet<Role>,
    /// Highest bit rate of streams for the user; 0 for no limit.
    pub(crate) max_bit_rate_kbps: u32,
    pub(crate) created_ms: i64,
    /// API keys by label.
    pub(crate) keys: BTreeMap<String, Key>,
    pub(crate) stars: BTreeMap<Id, i64>,
    pub(crate) ratings: BTreeMap<Id, u8>,
    pub(crate) plays: BTreeMap<Id, Plays>,
    pub(crate) queue: Option<Queue>,
    pub(crate) bookmarks: BTreeMap<Id, Bookmark>,
}

/// Permission that every user has unless an admin denies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    Download,
    Playlist,
    /// Permission to change the user's own password.
    Settings,
    Share,
    Stream,
}

impl User {
    pub(crate) fn may(&self, role: Role) -> bool {
        self.admin || !self.denied.contains(&role)
    }
}

/// API key of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) hash: String,
    pub(crate) created_ms: i64,
}

/// Plays of an object by one user: the number of plays, and two scores that decay with time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plays {
    pub(crate) count: u32,
    pub(crate) last_ms: i64,
    /// Sum over all plays, as of `last_ms`. A play counts 1 at first; its weight halves every
    /// [`RECENT_HALF_LIFE_MS`].
    pub(crate) recent: f64,
    /// Sum over all plays, as of `last_ms`. A play counts 1 at first; its weight halves every
    /// [`LONG_HALF_LIFE_MS`].
    pub(crate) long: f64,
}

const DAY_MS: f64 = 86_400_000.0;
/// Half-life of the score for tracks that are played a lot for some weeks.
const RECENT_HALF_LIFE_MS: f64 = 20.0 * DAY_MS;
/// Half-life of the score for tracks that are liked for years.
const LONG_HALF_LIFE_MS: f64 = 400.0 * DAY_MS;

/// Playlist of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Playlist {
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) comment: String,
    pub(crate) public: bool,
    pub(crate) created_ms: i64,
    pub(crate) changed_ms: i64,
    pub(crate) tracks: Vec<Id>,
}

impl Playlist {
    /// Returns whether the user of this name may see the playlist.
    pub(crate) fn is_visible_to(&self, user: &str) -> bool {
        self.public || self.owner == user
    }

    /// Returns the time to store for a change of the playlist at `now_ms`. Stored times strictly
    /// increase, even if the clock was set back, so each of them identifies one state of the
    /// playlist.
    pub(crate) fn next_changed_ms(&self, now_ms: i64) -> i64 {
        now_ms.max(self.changed_ms + 1)
    }

    /// Returns the indices of the tracks that clients see: the tracks in the library, for which
    /// `is_shown` returns true. Positions in requests count only these tracks.
    pub(crate) fn shown_indices(&self, is_shown: impl Fn(Id) -> bool) -> Vec<usize> {
        let tracks = self.tracks.iter().enumerate();
        let shown = tracks.filter(|&(_, &id)| is_shown(id));
        shown.map(|(index, _)| index).collect()
    }

    /// Removes the tracks at these indices. The other tracks keep their order.
    pub(crate) fn remove_tracks(&mut self, indices: &BTreeSet<usize>) {
        let tracks = self.tracks.iter().enumerate();
        let kept = tracks.filter(|(index, _)| !indices.contains(index));
        self.tracks = kept.map(|(_, &track)| track).collect();
    }
}

/// Play queue that a player stored on the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) tracks: Vec<Id>,
    /// Index of the current track in `tracks`.
    pub(crate) current: Option<u32>,
    pub(crate) position_ms: i64,
    pub(crate) changed_ms: i64,
    pub(crate) client: String,
}

/// Bookmarked position in a track.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bookmark {
    pub(crate) position_ms: i64,
    pub(crate) comment: String,
    pub(crate) created_ms: i64,
    pub(crate) changed_ms: i64,
}

/// Estimated bytes of memory of a map entry with a small value, including its share of the map's
/// nodes.
pub(super) const ENTRY_BYTES: usize = 64;

impl Playlist {
    pub(super) fn stored_bytes(&self) -> usize {
        let texts = self.owner.len() + self.name.len() + self.comment.len();
        size_of::<Playlist>() + texts + self.tracks.len() * size_of::<Id>()
    }
}

impl Queue {
    pub(super) fn stored_bytes(&self) -> usize {
        size_of::<Queue>() + self.client.len() + self.tracks.len() * size_of::<Id>()
    }
}

impl Bookmark {
    pub(super) fn stored_bytes(&self) -> usize {
        ENTRY_BYTES + size_of::<Bookmark>() + self.comment.len()
    }
}

/// Part of the library that everyone with the link may see and play.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    pub(crate) owner: String,
    pub(crate) description: String,
    pub(crate) created_ms: i64,
    pub(crate) expires_ms: Option<i64>,
    /// Shared tracks, unless the share has an item.
    pub(crate) tracks: Vec<Id>,
    /// Shared item. Each visit shows the item's current content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<SharedItem>,
    /// True if visitors may download the originals of photographs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) allows_originals: bool,
}

/// Item that a share shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SharedItem {
    /// Photograph, album, playlist of a user, or playlist in a file.
    Object(Id),
    /// Photographs in the folder with this path, and in the folders below it.
    Folder(String),
}

impl Share {
    pub(super) fn stored_bytes(&self) -> usize {
        let folder = match &self.item {
            Some(SharedItem::Folder(path)) => path.len(),
            _ => 0,
        };
        let texts = self.owner.len() + self.description.len() + folder;
        size_of::<Share>() + texts + self.tracks.len() * size_of::<Id>()
    }
}

/// Internet radio station, visible to all users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Station {
    pub(crate) name: String,
    pub(crate) stream: String,
    pub(crate) home: Option<String>,
}

impl Plays {
    fn add(&mut self, at_ms: i64) {
        let (recent, long) = self.scores(at_ms.max(self.last_ms));
        self.count = self.count.saturating_add(1);
        self.last_ms = self.last_ms.max(at_ms);
        (self.recent, self.long) = (recent + 1.0, long + 1.0);
    }

    /// Returns the scores `recent` and `long`, decayed to `now_ms`.
    pub(crate) fn scores(&self, now_ms: i64) -> (f64, f64) {
        let age_ms = now_ms.saturating_sub(self.last_ms).max(0) as f64;
        let left = |half_life_ms: f64| (-age_ms / half_life_ms).exp2();
        (
            self.recent * left(RECENT_HALF_LIFE_MS),
            self.long * left(LONG_HALF_LIFE_MS),
        )
    }
}

impl State {
    /// Applies a change. Changes to the data of a user who does not exist are ignored.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::User {
                name,
                password,
                admin,
                at_ms,
            } => {
                let user = self.users.entry(name.clone()).or_insert_with(|| User {
                    created_ms: at_ms,
                    ..User::default()
                });
                // A new password ends all sessions, because the old password may have been stolen.
                if user.password != password {
                    self.sessions.retain(|_, session| session.user != name);
                }
                (user.password, user.admin) = (password, admin);
            }
            Change::UserGone { name } => {
                self.users.remove(&name);
                self.playlists.retain(|_, playlist| playlist.owner != name);
                self.shares.retain(|_, share| share.owner != name);
                self.sessions.retain(|_, session| session.user != name);
            }
            Change::Playlist { id, playlist } => set(&mut self.playlists, id, playlist),
            Change::Station { id, station } => set(&mut self.stations, id, station),
            Change::Share { token, share } => set(&mut self.shares, token, share),
            Change::Session { id, session } => set(&mut self.sessions, id, session),
            of_user => self.apply_to_user(of_user),
        }
    }

    /// Returns the user of this name, and the stored spelling of the name. An exact match takes
    /// precedence. Otherwise, returns the user whose name differs only in case, if there is exactly
    /// one.
    pub(crate) fn user_named(&self, name: &str) -> Option<(&str, &User)> {
        let found = self.users.get_key_value(name).or_else(|| {
            let folded = name.to_lowercase();
            let users = self.users.iter();
            let mut alike = users.filter(|(known, _)| known.to_lowercase() == folded);
            alike.next().filter(|_| alike.next().is_none())
        });
        found.map(|(name, user)| (&**name, user))
    }

    /// Returns the session with this id, and which of its two tokens is meant: the token whose
    /// secret has this hash. Returns `None` if there is no such session or token, if the session
    /// has expired, or if the user of the session cannot log in.
    pub(crate) fn session(
        &self,
        (id, hash): (u64, &str),
        idle_ms: i64,
        now_ms: i64,
    ) -> Option<(&Session, TokenMatch)> {
        let session = self.sessions.get(&id)?;
        let matched = session.match_token(hash, now_ms)?;
        // A user has no password if the user was restored from a damaged journal. That journal may
        // have lost the record that ended the user's sessions, so none of them is valid.
        let user = self.users.get(&session.user);
        let can_log_in = user.is_some_and(|user| !user.password.is_empty());
        (can_log_in && !session.is_expired(idle_ms, now_ms)).then_some((session, matched))
    }

    /// Returns whether there is a user of this name, ignoring case.
    pub(crate) fn has_alike(&self, name: &str) -> bool {
        let folded = name.to_lowercase();
        self.users
            .keys()
            .any(|known| known.to_lowercase() == folded)
    }

    /// Creates the user to whom a change belongs, if that user does not exist. This happens if the
    /// record that created the user was damaged. The new user has no password, so only an operator
    /// can enable the login again.
    pub(crate) fn adopt(&mut self, change: &Change) {
        if let Some(user) = change.user() {
            self.users.entry(user.to_owned()).or_default();
        }
    }

    fn apply_to_user(&mut self, change: Change) {
        let user = change
            .user()
            .expect("changes without a user were applied before");
        let Some(user) = self.users.get_mut(user) else {
            return;
        };
        match change {
            Change::MaxBitRate { kbps, .. } => user.max_bit_rate_kbps = kbps,
            Change::Denied { roles, .. } => user.denied = roles,
            Change::Key {
                label, hash, at_ms, ..
            } => {
                let created_ms = at_ms;
                user.keys.insert(label, Key { hash, created_ms });
            }
            Change::KeyGone { label, .. } => set(&mut user.keys, label, None),
            Change::Star { id, at_ms, .. } => set(&mut user.stars, id, at_ms),
            Change::Rating { id, rating, .. } => {
                set(&mut user.ratings, id, (rating != 0).then_some(rating));
            }
            Change::Play { id, at_ms, .. } => user.plays.entry(id).or_default().add(at_ms),
            Change::Plays { id, plays, .. } => set(&mut user.plays, id, Some(plays)),
            Change::Queue { queue, .. } => user.queue = queue,
            Change::Bookmark { id, bookmark, .. } => set(&mut user.bookmarks, id, bookmark),
            _ => unreachable!("changes without a user were applied before"),
        }
    }

    /// Returns whether the estimated memory of each affected user's data is at most `bytes_max`
    /// bytes after these changes. A user is affected if a change stores data of the user. Changes
    /// that do not make the data of their owner larger are always allowed.
    pub(crate) fn has_room(&self, changes: &[Change], bytes_max: usize) -> bool {
        let owners: BTreeSet<&str> = changes.iter().filter_map(Change::owner).collect();
        owners.into_iter().all(|owner| {
            let own = changes.iter().filter(|it| it.owner() == Some(owner));
            let added: usize = own.map(Change::stored_bytes).sum();
            let replaced = changes.iter().map(|it| self.replaced_bytes(owner, it));
            match added.checked_sub(replaced.sum()) {
                None | Some(0) => true,
                Some(more) => self.stored_bytes(owner).saturating_add(more) <= bytes_max,
            }
        })
    }

    /// Estimates the memory of the playlist or share of `user` that `change` replaces.
    fn replaced_bytes(&self, user: &str, change: &Change) -> usize {
        let replaced = match change {
            Change::Playlist { id, .. } => {
                let playlist = self.playlists.get(id).filter(|it| it.owner == user);
                playlist.map(Playlist::stored_bytes)
            }
            Change::Share { token, .. } => {
                let share = self.shares.get(token).filter(|it| it.owner == user);
                share.map(Share::stored_bytes)
            }
            _ => None,
        };
        replaced.unwrap_or(0)
    }

    /// Estimates the bytes of memory that the data of the user `name` takes.
    fn stored_bytes(&self, name: &str) -> usize {
        let playlists = self.playlists.values().filter(|it| it.owner == name);
        let shares = self.shares.values().filter(|it| it.owner == name);
        let lists = playlists.map(Playlist::stored_bytes).sum::<usize>()
            + shares.map(Share::stored_bytes).sum::<usize>();
        let Some(user) = self.users.get(name) else {
            return lists;
        };
        let marks = user.stars.len() + user.ratings.len() + user.plays.len();
        let bookmarks = user.bookmarks.values().map(Bookmark::stored_bytes);
        let queue = user.queue.as_ref().map_or(0, Queue::stored_bytes);
        lists + marks * ENTRY_BYTES + bookmarks.sum::<usize>() + queue
    }

    /// Returns the changes that recreate this state from an empty state.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (name, user) in &self.users {
            user.changes(name, &mut changes);
        }
        let playlists = self.playlists.iter();
        changes.extend(playlists.map(|(&id, playlist)| Change::Playlist {
            id,
            playlist: Some(playlist.clone()),
        }));
        let stations = self.stations.iter();
        changes.extend(stations.map(|(&id, station)| Change::Station {
            id,
            station: Some(station.clone()),
        }));
        let shares = self.shares.iter();
        changes.extend(shares.map(|(token, share)| Change::Share {
            token: token.clone(),
            share: Some(share.clone()),
        }));
        let sessions = self.sessions.iter();
        changes.extend(sessions.map(|(&id, session)| Change::Session {
            id,
            session: Some(session.clone()),
        }));
        changes
    }
}

impl User {
    fn changes(&self, name: &str, changes: &mut Vec<Change>) {
        let user = || name.to_owned();
        changes.push(Change::User {
            name: user(),
            password: self.password.clone(),
            admin: self.admin,
            at_ms: self.created_ms,
        });
        if self.max_bit_rate_kbps != 0 {
            changes.push(Change::MaxBitRate {
                user: user(),
                kbps: self.max_bit_rate_kbps,
            });
        }
        if !self.denied.is_empty() {
            changes.push(Change::Denied {
                user: user(),
                roles: self.denied.clone(),
            });
        }
        changes.extend(self.keys.iter().map(|(label, key)| Change::Key {
            user: user(),
            label: label.clone(),
            hash: key.hash.clone(),
            at_ms: key.created_ms,
        }));
        changes.extend(self.stars.iter().map(|(&id, &at_ms)| Change::Star {
            user: user(),
            id,
            at_ms: Some(at_ms),
        }));
        changes.extend(self.ratings.iter().map(|(&id, &rating)| Change::Rating {
            user: user(),
            id,
            rating,
        }));
        changes.extend(self.plays.iter().map(|(&id, &plays)| Change::Plays {
            user: user(),
            id,
            plays,
        }));
        changes.extend(self.queue.iter().map(|queue| Change::Queue {
            user: user(),
            queue: Some(queue.clone()),
        }));
        let bookmarks = self.bookmarks.iter();
        changes.extend(bookmarks.map(|(&id, bookmark)| Change::Bookmark {
            user: user(),
            id,
            bookmark: Some(bookmark.clone()),
        }));
    }
}

fn set<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}
