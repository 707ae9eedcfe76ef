//! Transfer of stars and ratings from former ids of albums and artists to their present ids.

use std::collections::{HashMap, HashSet};

use catalog::{AlbumId, ArtistId};

use crate::ids::Id;
use crate::index::Index;
use crate::store::{Change, State};

/// Returns the changes that transfer stars and ratings from former ids of albums and artists to
/// their present ids. An id counts as former if the index does not contain it. Former ids ignored
/// accents and punctuation in names, so several albums or artists could share a former id. The star
/// or rating is transferred to all of them.
pub(crate) fn handed_on(index: &Index, state: &State) -> Vec<Change> {
    let users = state.users.values();
    let marked = users.flat_map(|user| user.stars.keys().chain(user.ratings.keys()));
    let is_lost = |id: &Id| match *id {
        Id::Artist(id) => index.artist_row(id).is_none(),
        Id::Album(id) => index.album_row(id).is_none(),
        Id::Track(_) | Id::Playlist(_) | Id::Listing(_) | Id::Photo(_) => false,
    };
    let lost: HashSet<Id> = marked.copied().filter(is_lost).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let heirs = heirs(index, &lost);
    let mut changes = Vec::new();
    for (name, user) in &state.users {
        let star = |id, at_ms| Change::Star {
            user: name.clone(),
            id,
            at_ms,
        };
        let rate = |id, rating| Change::Rating {
            user: name.clone(),
            id,
            rating,
        };
        for (old, heirs) in &heirs {
            if let Some(&at_ms) = user.stars.get(old) {
                let new = heirs.iter().filter(|id| !user.stars.contains_key(id));
                changes.extend(new.map(|&id| star(id, Some(at_ms))));
                changes.push(star(*old, None));
            }
            if let Some(&rating) = user.ratings.get(old) {
                let new = heirs.iter().filter(|id| !user.ratings.contains_key(id));
                changes.extend(new.map(|&id| rate(id, rating)));
                changes.push(rate(*old, 0));
            }
        }
    }
    changes
}

/// For each former id in `lost`, returns the present ids of the albums or artists that had this id.
fn heirs(index: &Index, lost: &HashSet<Id>) -> HashMap<Id, Vec<Id>> {
    let counts = index.counts();
    let artists = (0..counts.artists).filter_map(|row| {
        let artist = index.artist(row)?;
        let old = Id::Artist(ArtistId::folded(artist.name));
        Some((old, Id::Artist(artist.id)))
    });
    let albums = (0..counts.albums).filter_map(|row| {
        let album = index.album(row)?;
        let old = Id::Album(AlbumId::folded(album.artist, album.title));
        Some((old, Id::Album(album.id)))
    });
    let mut heirs: HashMap<Id, Vec<Id>> = HashMap::new();
    for (old, new) in artists.chain(albums) {
        if lost.contains(&old) {
            heirs.entry(old).or_default().push(new);
        }
    }
    heirs
}
