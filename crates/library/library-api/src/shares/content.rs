//! Content of a share: the tracks or photographs that a visitor may play or see at present.

use std::ops::Range;

use crate::derived::Derived;
use crate::ids::Id;
use crate::index::{self, Index};
use crate::store::{Share, SharedItem, State};

/// Returns the rows of the share's tracks, in order. A share of photographs has none.
pub(crate) fn tracks(index: &Index, state: &State, share: &Share) -> Vec<u32> {
    let stored = |ids: &[Id]| index::track_rows(index, ids);
    match &share.item {
        None => stored(&share.tracks),
        Some(SharedItem::Object(Id::Album(id))) => {
            let album = index.album_row(*id).and_then(|row| index.album(row));
            album.iter().flat_map(index::tracks).collect()
        }
        Some(SharedItem::Object(Id::Listing(id))) => {
            let playlist = index.playlist_row(*id);
            let playlist = playlist.and_then(|row| index.playlist(row));
            playlist.map_or_else(Vec::new, |playlist| playlist.tracks)
        }
        Some(SharedItem::Object(Id::Playlist(id))) => {
            // Another user's playlist may have become private since it was shared.
            let playlist = state.playlists.get(id);
            let playlist = playlist.filter(|it| it.is_visible_to(&share.owner));
            playlist.map_or_else(Vec::new, |playlist| stored(&playlist.tracks))
        }
        Some(_) => Vec::new(),
    }
}

/// Photographs of a share.
pub(crate) enum Photos {
    /// Row of the only photograph.
    One(u32),
    /// Rows of all files in a folder and below it.
    Folder(Range<u32>),
}

impl Photos {
    /// Returns the photographs of a share, if its item is a folder, or a photograph that the
    /// library contains.
    pub(crate) fn of(index: &Index, share: &Share) -> Option<Photos> {
        match share.item.as_ref()? {
            SharedItem::Object(Id::Photo(id)) => index.photo_row(*id).map(Photos::One),
            SharedItem::Object(_) => None,
            // A folder that has only videos is not in the index.
            SharedItem::Folder(path) => {
                let folder = index.folder(path.as_bytes());
                Some(Photos::Folder(folder.map_or(0..0, |folder| folder.files)))
            }
        }
    }

    /// Returns the rows of the share's photographs, in the order of capture.
    pub(crate) fn rows(&self, derived: &Derived) -> Vec<u32> {
        let among = match self {
            Photos::One(row) => return vec![*row],
            Photos::Folder(files) => derived.timeline().among(files),
        };
        let mut rows: Vec<u32> = among.iter().map(|(_, row)| *row).collect();
        rows.sort_unstable();
        rows
    }

    /// Returns the number of the share's photographs.
    pub(crate) fn count(&self, derived: &Derived) -> usize {
        match self {
            Photos::One(_) => 1,
            Photos::Folder(files) => derived.timeline().among(files).len(),
        }
    }

    /// Returns whether the photograph in this row belongs to the share.
    pub(crate) fn has(&self, index: &Index, derived: &Derived, row: u32) -> bool {
        match self {
            Photos::One(only) => *only == row,
            Photos::Folder(files) => {
                let file = index.photo(row).map(|photo| photo.file);
                file.is_some_and(|file| files.contains(&file)) && derived.timeline().has(row)
            }
        }
    }
}

/// Returns the name of the shared item, if the item still exists.
pub(crate) fn name(index: &Index, state: &State, share: &Share) -> Option<String> {
    let last = |path: &[u8]| {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        String::from_utf8_lossy(name).into_owned()
    };
    match share.item.as_ref()? {
        SharedItem::Folder(path) => Some(last(path.as_bytes())),
        SharedItem::Object(Id::Photo(id)) => {
            let photo = index.photo(index.photo_row(*id)?)?;
            Some(last(&index.file(photo.file)?.0))
        }
        SharedItem::Object(Id::Album(id)) => {
            let album = index.album(index.album_row(*id)?)?;
            Some(album.title.to_owned())
        }
        SharedItem::Object(Id::Listing(id)) => {
            let playlist = index.playlist(index.playlist_row(*id)?)?;
            Some(playlist.name.to_owned())
        }
        SharedItem::Object(Id::Playlist(id)) => {
            let playlist = state.playlists.get(id)?;
            let is_visible = playlist.is_visible_to(&share.owner);
            is_visible.then(|| playlist.name.clone())
        }
        SharedItem::Object(Id::Artist(_) | Id::Track(_)) => None,
    }
}
