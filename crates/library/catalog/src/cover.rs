//! Selection of the cover of a track, disc, album or artist by configurable rules. New rules do not
//! need a new scan of the library.

use std::ops::Range;

use tags::{Mime, Picture};

use crate::gather::folder;
use crate::{Album, Catalog, Content, Entry, Stat};

/// Maximum number of tracks per album that are searched for an embedded picture.
const TRACKS_MAX: u32 = 64;
/// Maximum number of files of one folder that are examined to find a picture.
const FILES_MAX: u32 = 4096;

/// Object whose cover is requested, identified by its row in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoverOwner {
    /// Track, by its row in the index.
    Track(u32),
    /// Disc: row of its album in the index, and number of the disc.
    Disc(u32, u8),
    /// Album, by its row in the index.
    Album(u32),
    /// Artist, by its row in the index.
    Artist(u32),
}

/// Source from which a cover may be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// File with this name in the folder of the music or, for an artist, in the folder that
    /// contains the albums. `*` stands for any characters. Case is ignored.
    File(String),
    /// Any picture in the folder of the music or, for an artist, in the folder that contains the
    /// albums.
    Any,
    /// Picture that is embedded in a music file.
    Embedded,
    /// Cover of the disc that contains the track.
    Disc,
    /// Cover of the album or, for an artist, of the artist's first album that has a cover.
    Album,
}

/// Sources from which covers are taken, in order of preference, for each kind of object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CoverRules {
    pub track: Vec<Source>,
    pub disc: Vec<Source>,
    pub album: Vec<Source>,
    pub artist: Vec<Source>,
}

impl Default for CoverRules {
    /// Returns the default rules. For an album, a separate picture file takes precedence over a
    /// picture that is embedded in one of its tracks. For a track, its own embedded picture takes
    /// precedence.
    fn default() -> CoverRules {
        let file = |name: &str| Source::File(name.to_owned());
        CoverRules {
            track: vec![Source::Embedded, Source::Disc],
            disc: vec![file("disc*.*"), file("cd*.*"), Source::Album],
            album: vec![
                file("cover.*"),
                file("folder.*"),
                file("front.*"),
                file("album.*"),
                Source::Embedded,
                Source::Any,
            ],
            artist: vec![file("artist.*"), Source::Album],
        }
    }
}

/// Cover that was found in the library.
#[derive(Clone, Debug, PartialEq)]
pub struct Cover {
    /// Path of the file relative to the root of the library.
    pub path: Vec<u8>,
    /// Metadata of the file, which change whenever the file changes.
    pub stat: Stat,
    /// Position of the picture in the file if that is a music file, or `None` if the file itself is
    /// the picture.
    pub inside: Option<Picture>,
}

impl<B: AsRef<[u8]>> Catalog<B> {
    /// Returns the cover of an object according to `rules`, or `None` if the rules find no cover.
    #[must_use]
    pub fn cover(&self, of: CoverOwner, rules: &CoverRules) -> Option<Cover> {
        let sources = match of {
            CoverOwner::Track(_) => &rules.track,
            CoverOwner::Disc(..) => &rules.disc,
            CoverOwner::Album(_) => &rules.album,
            CoverOwner::Artist(_) => &rules.artist,
        };
        sources.iter().find_map(|source| match (source, of) {
            (Source::Disc, CoverOwner::Track(row)) => {
                let track = self.track(row)?;
                self.cover(CoverOwner::Disc(track.album, track.disc), rules)
            }
            (Source::Album, CoverOwner::Disc(album, _)) => {
                self.cover(CoverOwner::Album(album), rules)
            }
            (Source::Album, CoverOwner::Track(row)) => {
                self.cover(CoverOwner::Album(self.track(row)?.album), rules)
            }
            (Source::Album, CoverOwner::Artist(row)) => {
                let albums = self.artist(row)?.albums;
                let mut covers = albums
                    .into_iter()
                    .map(|album| self.cover(CoverOwner::Album(album), rules));
                covers.find_map(|cover| cover)
            }
            // The other combinations have no cover. For example, an album cannot take its cover
            // from itself, and an artist has no single disc.
            (Source::Album | Source::Disc, _) => None,
            (Source::Embedded, of) => self.embedded(of),
            (Source::Any, of) => self.beside(of, "*"),
            (Source::File(name), of) => self.beside(of, name),
        })
    }

    /// Returns the first picture that is embedded in a track of the object.
    fn embedded(&self, of: CoverOwner) -> Option<Cover> {
        self.tracks_of(of).find_map(|row| {
            let entry = self.entry(self.track(row)?.file)?;
            let Content::Music(media) = &entry.content else {
                return None;
            };
            // A picture of the type `Link` is only a URL or path of a picture outside the file, so
            // it is not used.
            let inside = media.cover().filter(|picture| picture.mime != Mime::Link)?;
            Some(Cover {
                inside: Some(*inside),
                path: entry.path,
                stat: entry.stat,
            })
        })
    }

    /// Returns the first picture file whose name matches the pattern `name`, in the folders that
    /// belong to the object.
    fn beside(&self, of: CoverOwner, name: &str) -> Option<Cover> {
        let mut folders = Vec::new();
        for row in self.tracks_of(of) {
            let (path, _) = self.file(self.track(row)?.file)?;
            let folder = folder(&path).to_vec();
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        // If the tracks of the album are in several folders, such as one per disc, and all these
        // folders have the same parent, that parent is the folder of the album.
        let around = if 1 < folders.len() {
            common(&folders)
        } else {
            None
        };
        match of {
            // The folder of the artist is the parent of the album's folder.
            CoverOwner::Artist(_) => {
                let album = around.as_ref().or(folders.first())?;
                folders = vec![folder(album).to_vec()];
            }
            CoverOwner::Album(_) => folders.splice(..0, around).for_each(drop),
            CoverOwner::Track(_) | CoverOwner::Disc(..) => {}
        }
        let mut covers = folders.iter().map(|folder| self.picture_in(folder, name));
        covers.find_map(|cover| cover)
    }

    fn tracks_of(&self, of: CoverOwner) -> impl Iterator<Item = u32> + use<'_, B> {
        let album = |row| {
            self.album(row)
                .map_or(0..0, |album: Album<'_>| rows(&album))
        };
        let (rows, disc) = match of {
            CoverOwner::Track(row) => (row..row.saturating_add(1), None),
            CoverOwner::Album(row) => (album(row), None),
            CoverOwner::Disc(row, disc) => (album(row), Some(disc)),
            CoverOwner::Artist(row) => {
                let first = self
                    .artist(row)
                    .and_then(|artist| artist.albums.first().copied());
                (first.map_or(0..0, album), None)
            }
        };
        let rows = rows.filter(move |&row| {
            disc.is_none_or(|disc| self.track(row).is_some_and(|track| track.disc == disc))
        });
        rows.take(TRACKS_MAX as usize)
    }

    /// Returns the first picture directly in `folder` whose file name matches the pattern `name`.
    fn picture_in(&self, folder: &[u8], name: &str) -> Option<Cover> {
        let start = match folder {
            [] => Vec::new(),
            _ => [folder, b"/"].concat(),
        };
        let mut row = self.first_file_from(&start);
        for _ in 0..FILES_MAX {
            let (path, _) = self.file(row)?;
            let below = path.strip_prefix(&start[..])?;
            if let Some(end) = below.iter().position(|&byte| byte == b'/') {
                // Skips the files of a subfolder. The paths of all files in a subfolder `sub` begin
                // with `sub/`, so they sort before `sub0`: in ASCII, `0` follows the slash.
                row = self.first_file_from(&[&start, &below[..end], b"0"].concat());
                continue;
            }
            if fits(name.as_bytes(), below)
                && let Some(Entry {
                    path,
                    stat,
                    content: Content::Photo(photo),
                }) = self.entry(row)
                && photo.width_px != 0
            {
                return Some(Cover {
                    path,
                    stat,
                    inside: None,
                });
            }
            row += 1;
        }
        None
    }

    /// Returns the row of the first file whose path is `path` or sorts after it.
    fn first_file_from(&self, path: &[u8]) -> u32 {
        let (mut low, mut high) = (0, self.counts().files);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.file(middle) {
                Some((found, _)) if &found[..] < path => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

fn rows(album: &Album<'_>) -> Range<u32> {
    album.first_track..album.first_track.saturating_add(album.tracks)
}

/// Returns the parent folder that all of these folders share, unless it is the root.
fn common(folders: &[Vec<u8>]) -> Option<Vec<u8>> {
    let around = folder(folders.first()?);
    let is_same = folders.iter().all(|other| folder(other) == around);
    (is_same && !around.is_empty()).then(|| around.to_vec())
}

/// Returns whether a file name matches a pattern in which `*` stands for any characters.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // `star` contains the position in the pattern of the last star reached so far, and the end of
    // the bytes of the name that this star has matched. After a mismatch, this star matches one
    // more byte. Earlier stars need no change.
    let (mut at, mut from, mut star) = (0, 0, None);
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(byte) if byte.eq_ignore_ascii_case(&name[from]) => {
                at += 1;
                from += 1;
            }
            _ => match &mut star {
                Some((starred, taken)) => {
                    *taken += 1;
                    (at, from) = (*starred + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}
