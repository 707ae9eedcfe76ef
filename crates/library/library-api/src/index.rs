//! Index of the library, and functions that find rows of the index by artist, album or genre.

use bytes::Bytes;
use catalog::{Album, Artist, Catalog};

/// Index of the library, whose bytes may be in memory or in a mapped file.
pub type Index = Catalog<Bytes>;

/// Returns the rows of an artist's own albums, or if there are none, of the albums with tracks by
/// the artist.
pub(crate) fn albums_of(index: &Index, row: u32, artist: &Artist<'_>) -> Vec<u32> {
    let own = own_albums(index, row, artist);
    if own.is_empty() {
        artist.albums.clone()
    } else {
        own
    }
}

/// Returns the rows of the albums whose album artists include this artist.
pub(crate) fn own_albums(index: &Index, row: u32, artist: &Artist<'_>) -> Vec<u32> {
    let is_own = |album: &u32| {
        let album = index.album(*album);
        album.is_some_and(|album| album.artists.contains(&row))
    };
    artist.albums.iter().copied().filter(is_own).collect()
}

/// Returns the rows of an album's tracks.
pub(crate) fn tracks(album: &Album<'_>) -> std::ops::Range<u32> {
    album.first_track..album.first_track.saturating_add(album.tracks)
}

/// Returns the row of the genre with this name. If there is none, returns the rows of the genres
/// whose names differ only in details that searches ignore, such as case.
pub(crate) fn genres_named(index: &Index, name: &str) -> Vec<u32> {
    let rows_by = |key: fn(&str) -> String| -> Vec<u32> {
        let wanted = key(name);
        let rows = (0..index.counts().genres).filter(|&row| {
            let genre = index.genre(row);
            genre.is_some_and(|genre| key(genre.name) == wanted)
        });
        rows.collect()
    };
    let rows = rows_by(catalog::identity);
    if rows.is_empty() {
        rows_by(catalog::fold)
    } else {
        rows
    }
}
