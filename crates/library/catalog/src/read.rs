use std::borrow::Cow;
use std::{error, fmt};

use tags::{Codec, Date, Role, Splits};

use crate::layout::{
    self, AlbumId, ArtistId, BODY_START, HEAD_BYTES, MAGIC, PlaylistId, SECTIONS, Section, TrackId,
    VERSION, unpack_date,
};
use crate::{Content, Entry, Stat, playlists, record, sums};

/// Reason why bytes cannot be used as an index. The next scan replaces such an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// Bytes that are not an index.
    NotAnIndex,
    /// Index with another version of the layout.
    OtherVersion,
    /// Index that is truncated or was changed after it was written.
    Damaged,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OpenError::NotAnIndex => "not a library index",
            OpenError::OtherVersion => "index has another version",
            OpenError::Damaged => "index is damaged",
        })
    }
}

impl error::Error for OpenError {}

/// Index over bytes in memory or in a mapped file.
#[derive(Clone, Debug)]
pub struct Catalog<B> {
    bytes: B,
    /// Offset and length of each section, by the section's index.
    sections: [(usize, usize); SECTIONS],
}

/// Numbers of objects in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Counts {
    pub files: u32,
    pub tracks: u32,
    pub albums: u32,
    pub artists: u32,
    pub genres: u32,
    pub photos: u32,
    pub playlists: u32,
}

/// Track. Its file, album, artists and genres are given by their rows.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "most names say it")]
pub struct Track<'a> {
    pub id: TrackId,
    pub title: &'a str,
    /// Names of the artists, as displayed.
    pub artist: &'a str,
    pub file: u32,
    pub album: u32,
    pub artists: Vec<u32>,
    pub genres: Vec<u32>,
    pub duration_ms: u32,
    pub date: Option<Date>,
    pub disc: u8,
    pub number: u16,
    pub codec: Codec,
    pub bitrate_kbps: u32,
    pub explicit: bool,
}

/// Album. Its tracks are the rows from `first_track` on; `tracks` is their number.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "most names say it")]
pub struct Album<'a> {
    pub id: AlbumId,
    pub title: &'a str,
    pub sort: &'a str,
    /// Names of the artists, as displayed.
    pub artist: &'a str,
    pub artists: Vec<u32>,
    pub first_track: u32,
    pub tracks: u32,
    pub date: Option<Date>,
    pub original_date: Option<Date>,
    pub genres: Vec<u32>,
    /// Row of the file with the cover: a picture, or a music file with an embedded picture.
    pub cover: Option<u32>,
    pub compilation: bool,
    pub duration_s: u32,
}

/// Artist.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Artist<'a> {
    pub id: ArtistId,
    pub name: &'a str,
    pub sort: &'a str,
    pub albums: Vec<u32>,
    pub tracks: u32,
    roles: u32,
}

impl Artist<'_> {
    /// Returns whether an album or a track names the artist in this role.
    #[must_use]
    pub fn has_role(&self, role: Role) -> bool {
        self.roles & 1 << role as u8 != 0
    }
}

/// Genre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Genre<'a> {
    pub name: &'a str,
    pub tracks: u32,
    pub albums: u32,
}

/// Photograph, as listed in the order of capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedPhoto {
    /// Capture time by the camera's clock, else the file's modification time; seconds since 1970.
    pub taken_s: i64,
    /// Row of its file.
    pub file: u32,
}

/// Playlist file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playlist<'a> {
    /// Id, which is stable as long as the path does not change.
    pub id: PlaylistId,
    /// Name given in the playlist, else its file name without the extension.
    pub name: &'a str,
    /// Row of its file.
    pub file: u32,
    /// Rows of its tracks, in order; a track may occur twice.
    pub tracks: Vec<u32>,
    /// Number of entries that match no track of the library.
    pub missing: u32,
}

/// One row of a table. Reads beyond the end of the row return zero, so that a broken index gives
/// wrong results but never a panic.
#[derive(Clone, Copy)]
struct Row<'a>(&'a [u8]);

impl Row<'_> {
    fn u16(self, at: usize) -> u16 {
        let bytes = self.0.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    fn u32(self, at: usize) -> u32 {
        let bytes = self.0.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn u64(self, at: usize) -> u64 {
        let bytes = self.0.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

impl<B: AsRef<[u8]>> Catalog<B> {
    /// Opens an index after checking all its sums.
    ///
    /// # Errors
    /// [`OpenError`] if the bytes cannot be used.
    pub fn open(bytes: B) -> Result<Catalog<B>, OpenError> {
        Catalog::open_by(bytes, |count, is_whole| (0..count).all(is_whole))
    }

    /// Opens an index as [`Catalog::open`] does, but lets `all` verify the checksums, possibly in
    /// several threads. `all` receives the number of checksummed stretches and a function that
    /// verifies the stretch of an index; it returns whether all stretches are valid.
    ///
    /// # Errors
    /// [`OpenError`] if the bytes cannot be used.
    pub fn open_by(
        bytes: B,
        all: impl FnOnce(usize, &(dyn Fn(usize) -> bool + Sync)) -> bool,
    ) -> Result<Catalog<B>, OpenError> {
        let whole = bytes.as_ref();
        let head = Row(whole);
        if !whole.starts_with(MAGIC) {
            return Err(OpenError::NotAnIndex);
        }
        if head.u32(8) != VERSION || head.u32(12) as usize != SECTIONS {
            return Err(OpenError::OtherVersion);
        }
        if head.u64(16) != whole.len() as u64 || whole.len() < BODY_START {
            return Err(OpenError::Damaged);
        }
        let mut sections = [(0, 0); SECTIONS];
        for (index, section) in sections.iter_mut().enumerate() {
            let at = HEAD_BYTES + 16 * index;
            let (offset, length) = (head.u64(at), head.u64(at + 8));
            let end = offset
                .checked_add(length)
                .filter(|end| *end <= whole.len() as u64);
            end.ok_or(OpenError::Damaged)?;
            *section = (offset as usize, length as usize);
        }
        let (body_end, sums_bytes) = sections[Section::Sums as usize];
        let body = whole.get(BODY_START..body_end).ok_or(OpenError::Damaged)?;
        let sums = &whole[body_end..];
        let count = sums::count(body.len());
        if sums.len() != sums_bytes
            || sums.len() != sums::SUM_BYTES * count
            || sums::hash(whole, sums) != whole[layout::HASH]
            || !all(count, &|number| sums::is_whole(body, sums, number))
        {
            return Err(OpenError::Damaged);
        }
        Ok(Catalog { bytes, sections })
    }

    /// Returns the numbers of objects in the index.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            files: self.rows(Section::Files, layout::FILE_BYTES),
            tracks: self.rows(Section::Tracks, layout::TRACK_BYTES),
            albums: self.rows(Section::Albums, layout::ALBUM_BYTES),
            artists: self.rows(Section::Artists, layout::ARTIST_BYTES),
            genres: self.rows(Section::Genres, layout::GENRE_BYTES),
            photos: self.rows(Section::Photos, layout::PHOTO_BYTES),
            playlists: self.rows(Section::Playlists, layout::PLAYLIST_BYTES),
        }
    }

    /// Returns a track by its row. Tracks are sorted by album, disc and number.
    #[must_use]
    pub fn track(&self, row: u32) -> Option<Track<'_>> {
        let found = self.row(Section::Tracks, layout::TRACK_BYTES, row)?;
        let [disc, codec] = found.u16(40).to_le_bytes();
        Some(Track {
            id: TrackId(found.u64(0)),
            file: found.u32(8),
            title: self.text(found.u32(12)),
            artist: self.text(found.u32(16)),
            album: found.u32(20),
            artists: self.list(found.u32(24)),
            genres: self.list(found.u32(28)),
            duration_ms: found.u32(32),
            date: unpack_date(found.u32(36)),
            disc,
            codec: Codec::ALL
                .get(usize::from(codec))
                .copied()
                .unwrap_or(Codec::Other),
            number: found.u16(42),
            bitrate_kbps: found.u32(44) & layout::KBPS_MAX,
            explicit: (found.u32(44) >> 24) as u8 & layout::EXPLICIT != 0,
        })
    }

    /// Returns an album by its row. Albums are sorted by title.
    #[must_use]
    pub fn album(&self, row: u32) -> Option<Album<'_>> {
        let found = self.row(Section::Albums, layout::ALBUM_BYTES, row)?;
        Some(Album {
            id: AlbumId(found.u64(0)),
            title: self.text(found.u32(8)),
            sort: self.text(found.u32(12)),
            artist: self.text(found.u32(16)),
            artists: self.list(found.u32(20)),
            first_track: found.u32(24),
            tracks: found.u32(28),
            date: unpack_date(found.u32(32)),
            original_date: unpack_date(found.u32(36)),
            genres: self.list(found.u32(40)),
            cover: found.u32(44).checked_sub(1),
            compilation: found.u32(48) as u8 & layout::COMPILATION != 0,
            duration_s: found.u32(52),
        })
    }

    /// Returns an artist by its row. Artists are sorted by name.
    #[must_use]
    pub fn artist(&self, row: u32) -> Option<Artist<'_>> {
        let found = self.row(Section::Artists, layout::ARTIST_BYTES, row)?;
        Some(Artist {
            id: ArtistId(found.u64(0)),
            name: self.text(found.u32(8)),
            sort: self.text(found.u32(12)),
            albums: self.list(found.u32(16)),
            tracks: found.u32(20),
            roles: found.u32(24),
        })
    }

    /// Returns a genre by its row. Genres are sorted by name.
    #[must_use]
    pub fn genre(&self, row: u32) -> Option<Genre<'_>> {
        let found = self.row(Section::Genres, layout::GENRE_BYTES, row)?;
        Some(Genre {
            name: self.text(found.u32(0)),
            tracks: found.u32(4),
            albums: found.u32(8),
        })
    }

    /// Returns a photograph by its row. Photographs are sorted by time.
    #[must_use]
    pub fn photo(&self, row: u32) -> Option<DatedPhoto> {
        let found = self.row(Section::Photos, layout::PHOTO_BYTES, row)?;
        Some(DatedPhoto {
            taken_s: found.u64(0) as i64,
            file: found.u32(8),
        })
    }

    /// Returns a playlist by its row. Playlists are sorted by id.
    #[must_use]
    pub fn playlist(&self, row: u32) -> Option<Playlist<'_>> {
        let found = self.row(Section::Playlists, layout::PLAYLIST_BYTES, row)?;
        let tracks = self.list(found.u32(16)).into_iter();
        let rows = self.rows(Section::Tracks, layout::TRACK_BYTES);
        Some(Playlist {
            id: PlaylistId(found.u64(0)),
            file: found.u32(8),
            name: self.text(found.u32(12)),
            tracks: tracks.filter(|track| *track < rows).collect(),
            missing: self.list(found.u32(20)).len() as u32,
        })
    }

    /// Returns the row of a playlist, if it exists.
    #[must_use]
    pub fn playlist_row(&self, id: PlaylistId) -> Option<u32> {
        self.search_rows(Section::Playlists, layout::PLAYLIST_BYTES, id.0)
    }

    /// Returns, for all playlists, the entries that match no track of the library: path of the
    /// playlist, text of the entry.
    pub fn missing(&self) -> impl Iterator<Item = (Vec<u8>, String)> + '_ {
        let rows = (0..self.counts().playlists).filter_map(|row| {
            let found = self.row(Section::Playlists, layout::PLAYLIST_BYTES, row)?;
            let (path, _) = self.file(found.u32(8))?;
            let listed = self.missing_of(row).into_iter();
            Some(listed.map(move |target| (path.clone(), target)))
        });
        rows.flatten()
    }

    /// Returns the entries that match no track of the library, of the playlist in `row`.
    #[must_use]
    pub fn missing_of(&self, row: u32) -> Vec<String> {
        let Some(found) = self.row(Section::Playlists, layout::PLAYLIST_BYTES, row) else {
            return Vec::new();
        };
        let missing = self.list(found.u32(20));
        if missing.is_empty() {
            return Vec::new();
        }
        let entry = self.entry(found.u32(8));
        let Some(Content::Listing(listing)) = entry.map(|entry| entry.content) else {
            return Vec::new();
        };
        let listed = missing.into_iter().filter_map(|number| {
            let target = &listing.entries.get(number as usize)?.target;
            Some(playlists::shown(target).into_owned())
        });
        listed.collect()
    }

    /// Returns the row of a track, if it exists.
    #[must_use]
    pub fn track_row(&self, id: TrackId) -> Option<u32> {
        self.row_of(Section::TrackIds, id.0)
    }

    /// Returns the row of an album, if it exists.
    #[must_use]
    pub fn album_row(&self, id: AlbumId) -> Option<u32> {
        self.row_of(Section::AlbumIds, id.0)
    }

    /// Returns the row of an artist, if it exists.
    #[must_use]
    pub fn artist_row(&self, id: ArtistId) -> Option<u32> {
        self.row_of(Section::ArtistIds, id.0)
    }

    /// Returns the path of a file relative to the root, and the metadata that the file had when it
    /// was read.
    #[must_use]
    pub fn file(&self, row: u32) -> Option<(Vec<u8>, Stat)> {
        let found = self.row(Section::Files, layout::FILE_BYTES, row)?;
        let device = self.row(Section::Devices, layout::DEVICE_BYTES, found.u16(36).into())?;
        let mut parts = vec![self.string(found.u32(4))];
        let mut folder = found.u32(0);
        while folder != 0 {
            let parent = self.row(Section::Folders, layout::FOLDER_BYTES, folder)?;
            parts.push(self.string(parent.u32(4)));
            // The row of a folder follows that of its parent. A parent with a higher row could form
            // a cycle, so it is rejected.
            folder = Some(parent.u32(0)).filter(|next| *next < folder)?;
        }
        parts.reverse();
        let stat = Stat {
            device: device.u64(0),
            inode: found.u64(8),
            size: found.u64(16),
            mtime_ns: found.u64(24) as i64,
            born_ns: found.u64(40) as i64,
        };
        Some((parts.join(&b'/'), stat))
    }

    /// Returns the entry of a file as it was passed to [`crate::build`], without the tag fields
    /// that the index omits.
    #[must_use]
    pub fn entry(&self, row: u32) -> Option<Entry> {
        let (path, stat) = self.file(row)?;
        let found = self.row(Section::Files, layout::FILE_BYTES, row)?;
        let mut bytes = self
            .section(Section::Records)
            .get(found.u32(32) as usize..)?;
        let lookup = |reference| String::from_utf8_lossy(self.string(reference));
        let [kind, _] = found.u16(38).to_le_bytes();
        let content = match kind {
            layout::MUSIC => Content::Music(Box::new(record::take_media(&mut bytes, &lookup)?)),
            layout::PHOTO => Content::Photo(record::take_photo(&mut bytes, &lookup)?),
            layout::LISTING => {
                let listing = record::take_listing(&mut bytes, &|it| self.string(it))?;
                Content::Listing(Box::new(listing))
            }
            _ => {
                let reason = layout::take_number(&mut bytes)? as u32;
                Content::Unreadable(Cow::into_owned(lookup(reason)))
            }
        };
        Some(Entry {
            path,
            stat,
            content,
        })
    }

    /// Returns the files that cannot be read, with the reasons.
    pub fn unreadable(&self) -> impl Iterator<Item = (Vec<u8>, String)> + '_ {
        let rows = (0..self.counts().files).filter(|&row| {
            let found = self.row(Section::Files, layout::FILE_BYTES, row);
            found.is_some_and(|found| found.u16(38).to_le_bytes()[0] == layout::UNREADABLE)
        });
        rows.filter_map(|row| match self.entry(row)? {
            Entry {
                path,
                content: Content::Unreadable(reason),
                ..
            } => Some((path, reason)),
            _ => None,
        })
    }

    /// Returns the music files with partly broken tags, with the reasons.
    pub fn broken_tags(&self) -> impl Iterator<Item = (Vec<u8>, String)> + '_ {
        let rows = (0..self.counts().files).filter(|&row| {
            let found = self.row(Section::Files, layout::FILE_BYTES, row);
            found.is_some_and(|found| found.u16(38).to_le_bytes()[1] != 0)
        });
        rows.filter_map(|row| match self.entry(row)? {
            Entry {
                path,
                content: Content::Music(media),
                ..
            } => Some((path, media.issues.join("; "))),
            _ => None,
        })
    }

    /// Returns whether the index was built with these separators of names. If not, a new index is
    /// necessary, even if no file has changed.
    #[must_use]
    pub fn has_splits(&self, splits: &Splits) -> bool {
        *self.section(Section::Splits) == layout::hash_of(splits).to_le_bytes()
    }

    /// Returns the bytes of the whole index.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    pub(crate) fn section(&self, section: Section) -> &[u8] {
        let (at, length) = self.sections[section as usize];
        &self.bytes.as_ref()[at..at + length]
    }

    pub(crate) fn rows(&self, section: Section, row_bytes: usize) -> u32 {
        u32::try_from(self.section(section).len() / row_bytes).unwrap_or(u32::MAX)
    }

    fn row(&self, section: Section, row_bytes: usize, row: u32) -> Option<Row<'_>> {
        let start = (row as usize).checked_mul(row_bytes)?;
        self.section(section)
            .get(start..start.checked_add(row_bytes)?)
            .map(Row)
    }

    /// Returns a row that consists of `N` numbers of 32 bits.
    pub(crate) fn numbers<const N: usize>(&self, section: Section, row: u32) -> Option<[u32; N]> {
        let found = self.row(section, 4 * N, row)?;
        Some(std::array::from_fn(|index| found.u32(4 * index)))
    }

    /// Returns the bytes of a string; empty if the reference is broken.
    pub(crate) fn string(&self, reference: u32) -> &[u8] {
        let bytes = self.section(Section::Strings).get(reference as usize..);
        let mut bytes = bytes.unwrap_or_default();
        let length =
            layout::take_number(&mut bytes).and_then(|length| usize::try_from(length).ok());
        length
            .and_then(|length| bytes.get(..length))
            .unwrap_or_default()
    }

    pub(crate) fn text(&self, reference: u32) -> &str {
        str::from_utf8(self.string(reference)).unwrap_or("")
    }

    fn list(&self, reference: u32) -> Vec<u32> {
        let [count] = self.numbers(Section::Lists, reference).unwrap_or([0]);
        let rows = (0..count).map_while(|index| {
            let [row] = self.numbers(
                Section::Lists,
                reference.checked_add(1)?.checked_add(index)?,
            )?;
            Some(row)
        });
        rows.collect()
    }

    fn row_of(&self, section: Section, id: u64) -> Option<u32> {
        let at = self.search_rows(section, layout::ID_BYTES, id)?;
        Some(self.row(section, layout::ID_BYTES, at)?.u32(8))
    }

    /// Returns the row with an id, in a section whose rows begin with ids and are sorted by them.
    fn search_rows(&self, section: Section, row_bytes: usize, id: u64) -> Option<u32> {
        let (mut low, mut high) = (0, self.rows(section, row_bytes));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.row(section, row_bytes, middle)?.u64(0).cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}
