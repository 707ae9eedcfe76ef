//! Years and composers, by which the album list can be restricted.

use std::collections::BTreeMap;

use catalog::{Album, Content, fold};
use tags::{Role, Splits};

use crate::index::Index;

/// Composer whom the tags of tracks name.
#[derive(Debug)]
pub(crate) struct Composer {
    /// Name as the first track gives it.
    pub(crate) name: String,
    /// Number of tracks by this composer.
    pub(crate) tracks: u32,
    /// Rows of the albums that contain tracks by this composer, in ascending order.
    pub(crate) albums: Vec<u32>,
}

/// Returns all composers by name; names that differ only in case and accents are one composer.
/// Reads the tags of all tracks in the index.
pub(crate) fn composers(index: &Index, splits: &Splits) -> BTreeMap<String, Composer> {
    let mut found: BTreeMap<String, Composer> = BTreeMap::new();
    for row in 0..index.counts().tracks {
        let Some(track) = index.track(row) else {
            continue;
        };
        let Some(entry) = index.entry(track.file) else {
            continue;
        };
        let Content::Music(media) = &entry.content else {
            continue;
        };
        let people = tags::Track::new(media, &entry.path, splits).people;
        let composers = people.iter().filter(|it| it.role == Role::Composer);
        let mut names: Vec<(String, &str)> =
            composers.map(|it| (fold(&it.name), &*it.name)).collect();
        names.sort_unstable();
        names.dedup_by(|(a, _), (b, _)| a == b);
        for (key, name) in names {
            let composer = found.entry(key).or_insert_with(|| Composer {
                name: name.to_owned(),
                tracks: 0,
                albums: Vec::new(),
            });
            composer.tracks += 1;
            composer.albums.push(track.album);
        }
    }
    for composer in found.values_mut() {
        composer.albums.sort_unstable();
        composer.albums.dedup();
    }
    found
}

/// Returns the year in which an album first appeared, if known.
pub(crate) fn year_of(album: &Album<'_>) -> Option<u16> {
    album.original_date.or(album.date).map(|date| date.year)
}

/// Returns the numbers of albums and tracks of each year.
pub(crate) fn years(index: &Index) -> BTreeMap<u16, (u32, u32)> {
    let mut found: BTreeMap<u16, (u32, u32)> = BTreeMap::new();
    for album in (0..index.counts().albums).filter_map(|row| index.album(row)) {
        if let Some(year) = year_of(&album) {
            let (albums, tracks) = found.entry(year).or_default();
            *albums += 1;
            *tracks += album.tracks;
        }
    }
    found
}
