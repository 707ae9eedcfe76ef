//! Index of the library, and functions that find rows of the index by artist, album or genre.

use bytes::Bytes;
use catalog::{Album, Artist, Catalog};

use crate::ids::Id;

/// Index of the library, whose bytes may be in memory or in a mapped file.
pub type Index = Catalog<Bytes>;

/// Returns the rows of the albums whose album artists include this artist. If there are none,
/// returns the rows of the albums with tracks by the artist.
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

/// Returns the row of the track with this id, if the library has the track.
pub(crate) fn track_row(index: &Index, id: Id) -> Option<u32> {
    match id {
        Id::Track(id) => index.track_row(id),
        _ => None,
    }
}

/// Returns the rows of those tracks in `ids` that the library has.
pub(crate) fn track_rows(index: &Index, ids: &[Id]) -> Vec<u32> {
    let rows = ids.iter().filter_map(|&id| track_row(index, id));
    rows.collect()
}

/// Reason why a request names no valid list of tracks.
#[derive(Debug)]
pub(crate) enum TracksError {
    UnknownTrack,
    UnknownAlbum,
    TooMany,
}

/// Parses the ids of at most `tracks_max` tracks; the id of an album stands for its tracks.
pub(crate) fn parse_tracks<'t>(
    index: &Index,
    texts: impl Iterator<Item = &'t str>,
    tracks_max: usize,
) -> Result<Vec<Id>, TracksError> {
    let mut found = Vec::new();
    for text in texts {
        let id = Id::parse(text).ok_or(TracksError::UnknownTrack)?;
        if let Id::Album(id) = id {
            let album = index.album_row(id).and_then(|row| index.album(row));
            let rows = tracks(&album.ok_or(TracksError::UnknownAlbum)?);
            let ids = rows.filter_map(|row| Some(Id::Track(index.track(row)?.id)));
            // Collects at most one track above the limit, which suffices to refuse the request.
            // Otherwise a request that repeats the id of a long album could use much memory.
            found.extend(ids.take(tracks_max + 1 - found.len()));
        } else {
            track_row(index, id).ok_or(TracksError::UnknownTrack)?;
            found.push(id);
        }
        if tracks_max < found.len() {
            return Err(TracksError::TooMany);
        }
    }
    Ok(found)
}

/// Returns the row of the genre with this name. If there is none, returns the rows of the genres
/// whose names differ only in details that searches ignore, such as accents.
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
