use std::borrow::Cow;

use tags::{Codec, Date, Role, Splits};
use thiserror::Error;
use zerocopy::FromBytes as _;
use zerocopy::little_endian::U32;

use crate::layout::{
    self, AlbumId, AlbumRow, ArtistId, ArtistRow, BODY_START, DeviceRow, FileRow, FolderRow,
    GenreRow, HasId, Head, IdRow, MAGIC, PhotoId, PhotoRow, PlaylistId, PlaylistRow, Row, SECTIONS,
    Section, SectionSpan, TrackId, TrackRow, VERSION, unpack_date,
};
use crate::{Content, Entry, Stat, playlists, record, sums};

/// Reason why bytes cannot be used as an index. The next scan writes a new index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The bytes are not an index.
    #[error("not a library index")]
    NotAnIndex,
    /// The index has another version of the layout.
    #[error("index has another version")]
    OtherVersion,
    /// The index is truncated, or was changed after it was written.
    #[error("index is damaged")]
    Damaged,
}

/// Index of a library, read from bytes in memory or in a mapped file.
#[derive(Clone, Debug)]
pub struct Catalog<B> {
    bytes: B,
    /// Offset and length of each section in bytes, in the order of `Section`.
    sections: [(usize, usize); SECTIONS],
}

/// Number of objects of each kind in an index.
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

/// Track of the library. It refers to its file, album, artists and genres by their rows.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "most names say it")]
pub struct Track<'a> {
    pub id: TrackId,
    pub title: &'a str,
    /// Names of the artists as clients show them.
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

/// Album of the library. Its tracks have `tracks` consecutive rows, beginning with row
/// `first_track`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "most names say it")]
pub struct Album<'a> {
    pub id: AlbumId,
    pub title: &'a str,
    pub sort: &'a str,
    /// Names of the artists as clients show them.
    pub artist: &'a str,
    pub artists: Vec<u32>,
    pub first_track: u32,
    pub tracks: u32,
    pub date: Option<Date>,
    pub original_date: Option<Date>,
    pub genres: Vec<u32>,
    /// Row of the file that contains the cover: a picture, or a music file with an embedded
    /// picture.
    pub cover: Option<u32>,
    pub compilation: bool,
    pub duration_s: u32,
}

/// Artist of the library.
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
    /// Returns whether the artist has this role in an album or a track.
    #[must_use]
    pub fn has_role(&self, role: Role) -> bool {
        self.roles & 1 << role as u8 != 0
    }
}

/// Genre, with the number of its tracks and the number of its albums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Genre<'a> {
    pub name: &'a str,
    pub tracks: u32,
    pub albums: u32,
}

/// Photograph of the library. Photographs are sorted by capture time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedPhoto {
    /// Id of the photograph.
    pub id: PhotoId,
    /// Capture time by the clock of the camera or, if unknown, modification time of the file, in
    /// seconds since 1970.
    pub taken_s: i64,
    /// Row of the photograph's file.
    pub file: u32,
    /// Aspect ratio after the orientation is applied: width divided by height, in thousandths; 0 if
    /// unknown.
    pub ratio: u16,
    /// True if the folder of the photograph also contains tracks, so that the photograph is
    /// probably a cover.
    pub is_beside_music: bool,
}

/// Playlist file of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playlist<'a> {
    /// Id of the playlist. It stays the same as long as the path does not change.
    pub id: PlaylistId,
    /// Name that the playlist file contains, or else its file name without the extension.
    pub name: &'a str,
    /// Row of the playlist file.
    pub file: u32,
    /// Rows of the tracks in order. A track may occur more than once.
    pub tracks: Vec<u32>,
    /// Number of entries for which the library has no track.
    pub missing: u32,
}

impl<B: AsRef<[u8]>> Catalog<B> {
    /// Opens an index after verifying all its checksums.
    ///
    /// # Errors
    /// [`OpenError`] if the bytes cannot be used.
    pub fn open(bytes: B) -> Result<Catalog<B>, OpenError> {
        Catalog::open_by(bytes, |count, is_whole| (0..count).all(is_whole))
    }

    /// Opens an index like [`Catalog::open`], but lets `all` verify the checksums, possibly on
    /// several threads. `all` gets the number of blocks, and a function that verifies the block
    /// with a given number. `all` returns whether all blocks are valid.
    ///
    /// # Errors
    /// [`OpenError`] if the bytes cannot be used.
    pub fn open_by(
        bytes: B,
        all: impl FnOnce(usize, &(dyn Fn(usize) -> bool + Sync)) -> bool,
    ) -> Result<Catalog<B>, OpenError> {
        let whole = bytes.as_ref();
        if !whole.starts_with(MAGIC) {
            return Err(OpenError::NotAnIndex);
        }
        let (head, table) = Head::ref_from_prefix(whole).map_err(|_| OpenError::Damaged)?;
        if head.version != VERSION || head.sections.get() as usize != SECTIONS {
            return Err(OpenError::OtherVersion);
        }
        if head.bytes != whole.len() as u64 {
            return Err(OpenError::Damaged);
        }
        let table = <[SectionSpan; SECTIONS]>::ref_from_prefix(table);
        let (table, _) = table.map_err(|_| OpenError::Damaged)?;
        let mut sections = [(0, 0); SECTIONS];
        for (place, section) in table.iter().zip(&mut sections) {
            let (offset, length) = (place.offset.get(), place.bytes.get());
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
            || sums::hash(whole, sums) != head.hash
            || !all(count, &|number| sums::is_whole(body, sums, number))
        {
            return Err(OpenError::Damaged);
        }
        Ok(Catalog { bytes, sections })
    }

    /// Returns the number of objects of each kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            files: self.rows::<FileRow>(Section::Files),
            tracks: self.rows::<TrackRow>(Section::Tracks),
            albums: self.rows::<AlbumRow>(Section::Albums),
            artists: self.rows::<ArtistRow>(Section::Artists),
            genres: self.rows::<GenreRow>(Section::Genres),
            photos: self.rows::<PhotoRow>(Section::Photos),
            playlists: self.rows::<PlaylistRow>(Section::Playlists),
        }
    }

    /// Returns the track in `row`, if it exists. Tracks are sorted by album, disc and track number.
    #[must_use]
    pub fn track(&self, row: u32) -> Option<Track<'_>> {
        let found = self.row::<TrackRow>(Section::Tracks, row)?;
        let rate_and_flags = found.kbps_and_flags.get();
        Some(Track {
            id: TrackId(found.id.get()),
            file: found.file.get(),
            title: self.text(found.title.get()),
            artist: self.text(found.artist.get()),
            album: found.album.get(),
            artists: self.list(found.artists.get()),
            genres: self.list(found.genres.get()),
            duration_ms: found.duration_ms.get(),
            date: unpack_date(found.date.get()),
            disc: found.disc,
            codec: Codec::ALL
                .get(usize::from(found.codec))
                .copied()
                .unwrap_or(Codec::Other),
            number: found.number.get(),
            bitrate_kbps: rate_and_flags & layout::KBPS_MAX,
            explicit: (rate_and_flags >> 24) as u8 & layout::EXPLICIT != 0,
        })
    }

    /// Returns the album in `row`, if it exists. Albums are sorted by title.
    #[must_use]
    pub fn album(&self, row: u32) -> Option<Album<'_>> {
        let found = self.row::<AlbumRow>(Section::Albums, row)?;
        Some(Album {
            id: AlbumId(found.id.get()),
            title: self.text(found.title.get()),
            sort: self.text(found.sort.get()),
            artist: self.text(found.artist.get()),
            artists: self.list(found.artists.get()),
            first_track: found.first_track.get(),
            tracks: found.tracks.get(),
            date: unpack_date(found.date.get()),
            original_date: unpack_date(found.original_date.get()),
            genres: self.list(found.genres.get()),
            cover: found.cover.get().checked_sub(1),
            compilation: found.flags.get() as u8 & layout::COMPILATION != 0,
            duration_s: found.duration_s.get(),
        })
    }

    /// Returns the artist in `row`, if it exists. Artists are sorted by name.
    #[must_use]
    pub fn artist(&self, row: u32) -> Option<Artist<'_>> {
        let found = self.row::<ArtistRow>(Section::Artists, row)?;
        Some(Artist {
            id: ArtistId(found.id.get()),
            name: self.text(found.name.get()),
            sort: self.text(found.sort.get()),
            albums: self.list(found.albums.get()),
            tracks: found.tracks.get(),
            roles: found.roles.get(),
        })
    }

    /// Returns the genre in `row`, if it exists. Genres are sorted by name.
    #[must_use]
    pub fn genre(&self, row: u32) -> Option<Genre<'_>> {
        let found = self.row::<GenreRow>(Section::Genres, row)?;
        Some(Genre {
            name: self.text(found.name.get()),
            tracks: found.tracks.get(),
            albums: found.albums.get(),
        })
    }

    /// Returns the photograph in `row`, if it exists. Photographs are sorted by capture time.
    #[must_use]
    pub fn photo(&self, row: u32) -> Option<DatedPhoto> {
        let found = self.row::<PhotoRow>(Section::Photos, row)?;
        Some(DatedPhoto {
            id: PhotoId(found.id.get()),
            taken_s: found.taken_s.get(),
            file: found.file.get(),
            ratio: found.ratio.get(),
            is_beside_music: found.flags.get() & layout::BESIDE_MUSIC != 0,
        })
    }

    /// Returns the photographs with their paths relative to the root of the library, newest first.
    pub fn newest_photos(&self) -> impl Iterator<Item = (DatedPhoto, Vec<u8>)> {
        let rows = (0..self.counts().photos).rev();
        rows.filter_map(|row| {
            let photo = self.photo(row)?;
            let (path, _) = self.file(photo.file)?;
            Some((photo, path))
        })
    }

    /// Returns the playlist in `row`, if it exists. Playlists are sorted by id.
    #[must_use]
    pub fn playlist(&self, row: u32) -> Option<Playlist<'_>> {
        let found = self.row::<PlaylistRow>(Section::Playlists, row)?;
        let tracks = self.list(found.tracks.get()).into_iter();
        let rows = self.rows::<TrackRow>(Section::Tracks);
        Some(Playlist {
            id: PlaylistId(found.id.get()),
            file: found.file.get(),
            name: self.text(found.name.get()),
            tracks: tracks.filter(|track| *track < rows).collect(),
            missing: self.list(found.missing.get()).len() as u32,
        })
    }

    /// Returns the row of the playlist with this id, if it exists.
    #[must_use]
    pub fn playlist_row(&self, id: PlaylistId) -> Option<u32> {
        self.search_rows::<PlaylistRow>(Section::Playlists, id.0)
    }

    /// Returns all entries of playlists for which the library has no track. Each item is the path
    /// of the playlist and the text of the entry.
    pub fn missing(&self) -> impl Iterator<Item = (Vec<u8>, String)> + '_ {
        let rows = (0..self.counts().playlists).filter_map(|row| {
            let found = self.row::<PlaylistRow>(Section::Playlists, row)?;
            let (path, _) = self.file(found.file.get())?;
            let listed = self.missing_of(row).into_iter();
            Some(listed.map(move |target| (path.clone(), target)))
        });
        rows.flatten()
    }

    /// Returns those entries of playlist `row` for which the library has no track.
    #[must_use]
    pub fn missing_of(&self, row: u32) -> Vec<String> {
        let Some(found) = self.row::<PlaylistRow>(Section::Playlists, row) else {
            return Vec::new();
        };
        let missing = self.list(found.missing.get());
        if missing.is_empty() {
            return Vec::new();
        }
        let entry = self.entry(found.file.get());
        let Some(Content::Listing(listing)) = entry.map(|entry| entry.content) else {
            return Vec::new();
        };
        let listed = missing.into_iter().filter_map(|number| {
            let target = &listing.entries.get(number as usize)?.target;
            Some(playlists::shown(target).into_owned())
        });
        listed.collect()
    }

    /// Returns the row of the track with this id, if it exists.
    #[must_use]
    pub fn track_row(&self, id: TrackId) -> Option<u32> {
        self.row_of(Section::TrackIds, id.0)
    }

    /// Returns the row of the album with this id, if it exists.
    #[must_use]
    pub fn album_row(&self, id: AlbumId) -> Option<u32> {
        self.row_of(Section::AlbumIds, id.0)
    }

    /// Returns the row of the artist with this id, if it exists.
    #[must_use]
    pub fn artist_row(&self, id: ArtistId) -> Option<u32> {
        self.row_of(Section::ArtistIds, id.0)
    }

    /// Returns the row of the photograph with this id, if it exists.
    #[must_use]
    pub fn photo_row(&self, id: PhotoId) -> Option<u32> {
        self.row_of(Section::PhotoIds, id.0)
    }

    /// Returns a number by which clients recognize this index. Indexes with different content have
    /// different numbers.
    #[must_use]
    pub fn generation(&self) -> u64 {
        let hash = self.bytes().get(layout::HASH).unwrap_or_default();
        hash.first_chunk()
            .map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// Returns the path of a file relative to the root of the library, and the metadata of the file
    /// at the time when it was read.
    #[must_use]
    pub fn file(&self, row: u32) -> Option<(Vec<u8>, Stat)> {
        let found = self.row::<FileRow>(Section::Files, row)?;
        let device = self.row::<DeviceRow>(Section::Devices, found.device.get().into())?;
        let mut parts = vec![self.string(found.name.get())];
        let mut folder = found.folder.get();
        while folder != 0 {
            let parent = self.row::<FolderRow>(Section::Folders, folder)?;
            parts.push(self.string(parent.name.get()));
            // In a valid index, a parent folder has a lower row than its subfolders. Any other
            // parent is rejected, since the folders of a damaged index may form a cycle.
            folder = Some(parent.parent.get()).filter(|next| *next < folder)?;
        }
        parts.reverse();
        let stat = Stat {
            device: device.device.get(),
            inode: found.inode.get(),
            size: found.size.get(),
            mtime_ns: found.mtime_ns.get(),
            born_ns: found.born_ns.get(),
        };
        Some((parts.join(&b'/'), stat))
    }

    /// Returns the entry that was passed to [`crate::build`] for a file, without the tag fields
    /// that the index does not store.
    #[must_use]
    pub fn entry(&self, row: u32) -> Option<Entry> {
        let (path, stat) = self.file(row)?;
        let found = self.row::<FileRow>(Section::Files, row)?;
        let mut bytes = self
            .section(Section::Records)
            .get(found.record.get() as usize..)?;
        let lookup = |reference| String::from_utf8_lossy(self.string(reference));
        let content = match found.content {
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

    /// Returns the paths of files that cannot be read, with the reasons.
    pub fn unreadable(&self) -> impl Iterator<Item = (Vec<u8>, String)> + '_ {
        let rows = (0..self.counts().files).filter(|&row| {
            let found = self.row::<FileRow>(Section::Files, row);
            found.is_some_and(|found| found.content == layout::UNREADABLE)
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

    /// Returns the paths of music files with tags that cannot be read completely, with the reasons.
    pub fn broken_tags(&self) -> impl Iterator<Item = (Vec<u8>, String)> + '_ {
        let rows = (0..self.counts().files).filter(|&row| {
            let found = self.row::<FileRow>(Section::Files, row);
            found.is_some_and(|found| found.issues != 0)
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

    /// Returns whether the index was built with these rules for splitting names. If not, a new
    /// index must be built, even if no file has changed.
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

    /// Returns the complete rows of a section. Ignores bytes after the last complete row, since a
    /// damaged index may give wrong results but no panic.
    pub(crate) fn table<R: Row>(&self, section: Section) -> &[R] {
        let bytes = self.section(section);
        let whole = bytes.len() - bytes.len() % size_of::<R>();
        <[R]>::ref_from_bytes(&bytes[..whole]).expect("whole rows, which need no alignment")
    }

    pub(crate) fn rows<R: Row>(&self, section: Section) -> u32 {
        u32::try_from(self.table::<R>(section).len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn row<R: Row>(&self, section: Section, row: u32) -> Option<&R> {
        self.table(section).get(row as usize)
    }

    /// Returns the bytes of a string. Returns an empty string if the reference is invalid.
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
        let list = self.table::<U32>(Section::Lists).get(reference as usize..);
        let Some((count, rows)) = list.and_then(<[U32]>::split_first) else {
            return Vec::new();
        };
        let rows = rows.iter().take(count.get() as usize);
        rows.map(|row| row.get()).collect()
    }

    fn row_of(&self, section: Section, id: u64) -> Option<u32> {
        let at = self.search_rows::<IdRow>(section, id)?;
        Some(self.row::<IdRow>(section, at)?.row.get())
    }

    /// Returns the row with this id, in a section whose rows are sorted by id.
    fn search_rows<R: Row + HasId>(&self, section: Section, id: u64) -> Option<u32> {
        let rows = self.table::<R>(section);
        let at = rows.binary_search_by(|row| row.id().cmp(&id)).ok()?;
        u32::try_from(at).ok()
    }
}
