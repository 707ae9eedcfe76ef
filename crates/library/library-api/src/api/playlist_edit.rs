//! Edits of users' playlists. A position counts only tracks that are in the library. Tracks that
//! the library lacks keep their places in a playlist.

use std::collections::BTreeSet;

use super::Refusal;
use crate::ids::Id;
use crate::store::Playlist;

/// Change to a playlist that a request asks for.
#[derive(Debug)]
pub(super) enum Edit {
    Rename(String),
    Replace(Vec<Id>),
    /// Inserts tracks so that the first of them gets the position `at`, or appends them.
    Insert {
        tracks: Vec<Id>,
        at: Option<usize>,
    },
    Remove(Vec<Position>),
    Move {
        from: Position,
        to: usize,
    },
}

/// Position of a track in a playlist, and the track that the request expects at this position.
/// `expected` is `None` if the request does not name a track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) index: usize,
    pub(super) expected: Option<Id>,
}

impl Edit {
    /// Applies the edit to a playlist, which may have at most `tracks_max` tracks. `is_shown`
    /// returns whether a track is in the library.
    ///
    /// # Errors
    /// If a position of the edit does not exist in the playlist, if the track at a position is not
    /// the expected one, or if the playlist would get too many tracks. After an error, `playlist`
    /// may be partly changed, and the caller must discard it.
    pub(super) fn apply(
        self,
        playlist: &mut Playlist,
        tracks_max: usize,
        is_shown: impl Fn(Id) -> bool,
    ) -> Result<(), Refusal> {
        match self {
            Edit::Rename(name) => playlist.name = name,
            Edit::Replace(tracks) => playlist.tracks = tracks,
            Edit::Insert { tracks, at } => {
                if tracks_max < playlist.tracks.len() + tracks.len() {
                    return Err(Refusal::Full);
                }
                let end = playlist.tracks.len();
                let place = at.map_or(Some(end), |at| insertion_index(playlist, is_shown, at));
                let place = place.ok_or(Refusal::Bad("at"))?;
                playlist.tracks.splice(place..place, tracks);
            }
            Edit::Remove(positions) => {
                let shown = playlist.shown_indices(is_shown);
                let mut removed = BTreeSet::new();
                for position in positions {
                    let place = position.find(&playlist.tracks, &shown)?;
                    removed.insert(place.ok_or(Refusal::Bad("index"))?);
                }
                playlist.remove_tracks(&removed);
            }
            Edit::Move { from, to } => {
                let shown = playlist.shown_indices(&is_shown);
                let from = from.find(&playlist.tracks, &shown)?;
                let from = from.ok_or(Refusal::NotFound)?;
                if shown.len() <= to {
                    return Err(Refusal::Bad("to"));
                }
                let track = playlist.tracks.remove(from);
                let to = insertion_index(playlist, is_shown, to);
                let to = to.expect("the playlist has one track less than positions to insert at");
                playlist.tracks.insert(to, track);
            }
        }
        Ok(())
    }
}

impl Position {
    /// Converts this position to an index in `tracks`. Returns `None` if the position does not
    /// exist. `shown` contains the indices of the tracks that are in the library.
    ///
    /// # Errors
    /// If the track at this position is not the expected one. The time `changed` of the playlist
    /// would not reveal this, because a scan can change positions without a change of this time.
    fn find(self, tracks: &[Id], shown: &[usize]) -> Result<Option<usize>, Refusal> {
        let place = shown.get(self.index).copied();
        let track = place.map(|place| tracks[place]);
        match self.expected.is_none() || self.expected == track {
            true => Ok(place),
            false => Err(Refusal::Changed),
        }
    }
}

/// Converts the position `at` to an index in `playlist.tracks`. A track that is inserted at this
/// index gets the position `at`. Returns `None` if `at` is beyond the end of the playlist.
fn insertion_index(playlist: &Playlist, is_shown: impl Fn(Id) -> bool, at: usize) -> Option<usize> {
    let mut places = playlist.shown_indices(is_shown);
    places.push(playlist.tracks.len());
    places.get(at).copied()
}

#[cfg(test)]
mod tests;
