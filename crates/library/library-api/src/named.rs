//! Songs and artists by name, for players that send names instead of ids.
//!
//! A name that is equal except for case takes precedence. If there is none, a name is accepted that
//! differs only in details that searches ignore, such as accents. The reason is that each player
//! alters names in its own way.

use catalog::{Limits, identity, searched};

use crate::derived::Derived;
use crate::index::Index;

/// Returns the row of the artist with this name, if any.
pub(crate) fn artist(index: &Index, derived: &Derived, name: &str) -> Option<u32> {
    derived.artist(name).or_else(|| {
        let wanted = searched(name);
        let found = index.search(name, &Limits::default()).artists.into_iter();
        let mut alike = found.filter(|&row| {
            let artist = index.artist(row);
            artist.is_some_and(|artist| searched(artist.name) == wanted)
        });
        alike.next()
    })
}

/// Returns the row of the track with this title and artist, if any. If `artist` is empty, tracks of
/// every artist match.
pub(crate) fn song(index: &Index, title: &str, artist: &str) -> Option<u32> {
    let (wanted, by) = (searched(title), searched(artist));
    let is_written = |name: &str, given: &str| identity(name) == identity(given);
    let found = index.search(title, &Limits::default()).tracks;
    let rows = found.into_iter().filter_map(|row| {
        let track = index.track(row)?;
        let artists = track.artists.iter();
        let mut names = artists.filter_map(|&row| Some(index.artist(row)?.name));
        let is_by = is_written(track.artist, artist) || names.any(|name| is_written(name, artist));
        let is_alike = searched(track.title) == wanted
            && (by.is_empty() || is_by || searched(track.artist).contains(&by));
        is_alike.then(|| (row, (is_written(track.title, title), is_by)))
    });
    // Among equally good matches, the first is used.
    let best = rows.reduce(|best, next| if best.1 < next.1 { next } else { best });
    best.map(|(row, _)| row)
}
