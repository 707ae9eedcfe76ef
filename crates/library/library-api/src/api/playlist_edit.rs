//! Edits of users' playlists. Positions count the tracks that are in the library; the other tracks
//! of a playlist keep their places.

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

/// Position of a track, and the track that the request expects there, if it names one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) index: usize,
    pub(super) expected: Option<Id>,
}

impl Edit {
    /// Applies the edit to a playlist, which may have at most `tracks_max` tracks. `is_shown` tells
    /// which tracks are in the library.
    ///
    /// # Errors
    /// If a position in the edit does not exist in the playlist or holds another track than the
    /// expected one, or if the playlist would get too many tracks. The caller must then discard
    /// `playlist`, which may be partly changed.
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
    /// Returns the index in `tracks` of the track at this position, if there is such a position.
    /// `shown` are the indices of the tracks that are in the library.
    ///
    /// # Errors
    /// If the track is not the expected one. The time `changed` of a playlist does not suffice to
    /// detect this, since a scan can change the positions of the tracks but not this time.
    fn find(self, tracks: &[Id], shown: &[usize]) -> Result<Option<usize>, Refusal> {
        let place = shown.get(self.index).copied();
        let track = place.map(|place| tracks[place]);
        match self.expected.is_none() || self.expected == track {
            true => Ok(place),
            false => Err(Refusal::Changed),
        }
    }
}

/// Returns the index at which a track must be inserted to get the position `at`, if there is such
/// a position.
fn insertion_index(playlist: &Playlist, is_shown: impl Fn(Id) -> bool, at: usize) -> Option<usize> {
    let mut places = playlist.shown_indices(is_shown);
    places.push(playlist.tracks.len());
    places.get(at).copied()
}

#[cfg(test)]
mod tests;
