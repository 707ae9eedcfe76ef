//! Layout of the index file. A [`Head`] comes first, then a table with one [`SectionSpan`] per
//! section, then the sections:
//!
//! ```text
//! STRINGS    length (7 bits per byte, lowest first) · UTF-8 or bytes
//!            a reference is an offset, 0 the empty string
//! FOLDERS    FolderRow                                                    row 0 is the root
//! DEVICES    u64 each
//! FILES      FileRow
//! RECORDS    see record.rs
//! TRACKS     TrackRow
//! TRACK_IDS  IdRow                                                        sorted
//! ALBUMS     AlbumRow
//! ALBUM_IDS  IdRow                                                        sorted
//! ARTISTS    ArtistRow
//! ARTIST_IDS IdRow                                                        sorted
//! GENRES     GenreRow
//! LISTS      count · rows; a reference is an index of u32
//! PHOTOS     PhotoRow                                                         sorted by time
//! PHOTO_IDS  IdRow                                                        sorted
//! PHOTO_WORDS     0 word · 4 first posting               sorted by word, one more at the end
//! PHOTO_POSTINGS  rows of PHOTOS                                          sorted within a word
//! PLAYLISTS  0 id u64 · 8 file · 12 name · 16 tracks
//!            20 indices of the entries that match no track                    sorted by id
//! WORDS      0 word · 4 first posting                         sorted by word, one more at the end
//! POSTINGS   kind 2 bits · row 30 bits                        sorted within a word
//! FACTS      u16 each, one per posting: see fact.rs
//! SPLITS     u64, a hash of the separators of names
//! SUMS       u64 each: the XXH3 checksum of a block of 1 MiB. The blocks cover the bytes from the
//!            end of the table of sections to this section
//! ```
//!
//! Rows have no padding and no alignment. Numbers are little-endian. Names and titles are
//! references to STRINGS. Fields with a plural name (artists, genres, albums, tracks) are counts or
//! references to LISTS.

use std::mem::offset_of;
use std::ops::Range;

use tags::Splits;
use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::name::{folded_name, identity};

pub(crate) const MAGIC: &[u8; 8] = b"PELTCAT1";
/// Version of the layout. It must be increased whenever the meaning of any byte changes.
pub(crate) const VERSION: u32 = 11;
/// Length of the head in bytes. The table of sections follows the head.
pub(crate) const HEAD_BYTES: usize = size_of::<Head>();
pub(crate) const HASH: Range<usize> = offset_of!(Head, hash)..HEAD_BYTES;
/// Offset of the body of the file. The body is all sections except the last one, SUMS, which
/// contains the checksums of the body.
pub(crate) const BODY_START: usize = HEAD_BYTES + size_of::<SectionSpan>() * SECTIONS;

/// Sections of the file, in order.
#[derive(Clone, Copy)]
pub(crate) enum Section {
    Strings,
    Folders,
    Devices,
    Files,
    Records,
    Tracks,
    TrackIds,
    Albums,
    AlbumIds,
    Artists,
    ArtistIds,
    Genres,
    Lists,
    Photos,
    PhotoIds,
    PhotoWords,
    PhotoPostings,
    Playlists,
    Words,
    Postings,
    Facts,
    Splits,
    Sums,
}

pub(crate) const SECTIONS: usize = 23;

/// Declares the types of rows, which are converted from and to bytes of the file without copying.
macro_rules! rows {
    ($($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)+ })+) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned)]
        #[repr(C)]
        pub(crate) struct $name { $($(#[$field_about])* pub(crate) $field: $type,)+ }
    )+ };
}

rows! {
    /// First bytes of the file.
    Head {
        /// Magic number: [`MAGIC`].
        magic: [u8; 8],
        version: U32,
        sections: U32,
        /// Length of the whole file in bytes.
        bytes: U64,
        /// BLAKE3 hash of the bytes before this field, the table of sections, and the section SUMS,
        /// which holds the hashes of all other sections.
        hash: [u8; 16],
    }
    /// Position of a section in the file: offset and length in bytes.
    SectionSpan {
        offset: U64,
        bytes: U64,
    }
    /// Folder of the library.
    FolderRow {
        parent: U32,
        name: U32,
    }
    /// Device (file system) that contains files of the library.
    DeviceRow {
        device: U64,
    }
    /// File of the library.
    FileRow {
        folder: U32,
        name: U32,
        inode: U64,
        size: U64,
        mtime_ns: I64,
        /// Offset of the file's content in RECORDS.
        record: U32,
        /// Row of the file's device in DEVICES.
        device: U16,
        /// Type of the content: [`MUSIC`], [`PHOTO`], [`UNREADABLE`] or [`LISTING`].
        content: u8,
        /// 1 if some tags cannot be read, otherwise 0.
        issues: u8,
        born_ns: I64,
    }
    /// Track of the library.
    TrackRow {
        id: U64,
        file: U32,
        title: U32,
        artist: U32,
        album: U32,
        artists: U32,
        genres: U32,
        duration_ms: U32,
        date: U32,
        disc: u8,
        codec: u8,
        number: U16,
        /// Bit rate in kbit/s in the lower 24 bits, and flags in the upper 8 bits.
        kbps_and_flags: U32,
    }
    /// Id of an object, and the row of the object in its table.
    IdRow {
        id: U64,
        row: U32,
    }
    /// Album of the library.
    AlbumRow {
        id: U64,
        title: U32,
        sort: U32,
        artist: U32,
        artists: U32,
        first_track: U32,
        /// Number of tracks.
        tracks: U32,
        date: U32,
        original_date: U32,
        genres: U32,
        /// Row of the file that contains the cover, plus 1; 0 if the album has no cover.
        cover: U32,
        flags: U32,
        duration_s: U32,
    }
    /// Artist of the library.
    ArtistRow {
        id: U64,
        name: U32,
        sort: U32,
        albums: U32,
        /// Number of tracks.
        tracks: U32,
        /// Set of the artist's roles, with one bit per role: bit `role as u8`.
        roles: U32,
    }
    /// Genre, with the number of its tracks and the number of its albums.
    GenreRow {
        name: U32,
        tracks: U32,
        albums: U32,
    }
    /// Photograph of the library.
    PhotoRow {
        id: U64,
        taken_s: I64,
        file: U32,
        /// Aspect ratio: width divided by height, in thousandths; 0 if unknown.
        ratio: U16,
        /// [`BESIDE_MUSIC`] if the folder also contains tracks, otherwise 0.
        flags: U16,
    }
    /// Playlist of the library.
    PlaylistRow {
        id: U64,
        file: U32,
        name: U32,
        tracks: U32,
        /// Reference to a list of indices: the entries for which the library has no track.
        missing: U32,
    }
    /// Word of names, and the first of its occurrences in the table of postings.
    WordRow {
        word: U32,
        first_posting: U32,
    }
}

/// Row of a table that can be searched by id.
pub(crate) trait HasId {
    fn id(&self) -> u64;
}

impl HasId for IdRow {
    fn id(&self) -> u64 {
        self.id.get()
    }
}

impl HasId for PlaylistRow {
    fn id(&self) -> u64 {
        self.id.get()
    }
}

/// Row of any table of the index.
pub(crate) trait Row: FromBytes + Immutable + KnownLayout + Unaligned {}

impl<T: FromBytes + Immutable + KnownLayout + Unaligned> Row for T {}

pub(crate) const POSTING_BYTES: usize = 4;
pub(crate) const FACT_BYTES: usize = 2;

/// Bits in the flags of a track or album.
pub(crate) const COMPILATION: u8 = 1;
pub(crate) const EXPLICIT: u8 = 2;
/// Flag of a photograph whose folder also contains tracks.
pub(crate) const BESIDE_MUSIC: u16 = 1;
/// Maximum bit rate of a track that can be stored, in kbit/s. 16 bits would not suffice for
/// multichannel DSD.
pub(crate) const KBPS_MAX: u32 = 0xff_ffff;

/// Types of the content of a file.
pub(crate) const MUSIC: u8 = 0;
pub(crate) const PHOTO: u8 = 1;
pub(crate) const UNREADABLE: u8 = 2;
pub(crate) const LISTING: u8 = 3;

/// Kinds of objects in whose names words can occur.
pub(crate) const ARTIST_KIND: u32 = 0;
pub(crate) const ALBUM_KIND: u32 = 1;
pub(crate) const TRACK_KIND: u32 = 2;

/// Id of a track. It stays the same as long as the audio of the track does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrackId(pub u64);

/// Id of an album. It is derived from the MusicBrainz id of the release if known, else from the
/// names of artist and album, else from the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AlbumId(pub u64);

/// Id of an artist. It is derived from the MusicBrainz id of the artist if known, and otherwise
/// from the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtistId(pub u64);

impl ArtistId {
    /// Returns the id of an artist whose MusicBrainz id is unknown. Names that differ only in case
    /// give the same id.
    #[must_use]
    pub fn named(name: &str) -> ArtistId {
        ArtistId(hash(&[b"artist", identity(name).as_bytes()]))
    }

    /// Returns the id of the artist with this MusicBrainz id.
    #[must_use]
    pub fn of_musicbrainz(id: &str) -> ArtistId {
        ArtistId(hash(&[b"musicbrainz artist", id.as_bytes()]))
    }
}

impl ArtistId {
    /// Returns the id that earlier versions of the program assigned to an artist. Names that differ
    /// only in case, accents and punctuation shared this id. Stars and ratings of users may still
    /// refer to it.
    #[must_use]
    pub fn folded(name: &str) -> ArtistId {
        ArtistId(hash(&[b"artist", folded_name(name).as_bytes()]))
    }
}

impl AlbumId {
    /// Returns the id that earlier versions of the program assigned to an album. Albums whose names
    /// differ only in case, accents and punctuation shared this id. Stars and ratings of users may
    /// still refer to it.
    #[must_use]
    pub fn folded(artist: &str, title: &str) -> AlbumId {
        let [artist, title] = [artist, title].map(folded_name);
        AlbumId(hash(&[b"album", artist.as_bytes(), title.as_bytes()]))
    }
}

/// Id of a playlist file. It stays the same as long as the path does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaylistId(pub u64);

/// Id of a photograph. It stays the same when the file is moved or renamed, and may change when the
/// content changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhotoId(pub u64);

/// Packs a date into 32 bits, so that the numbers sort like the dates. 0 stands for no date.
pub(crate) fn pack_date(date: Option<tags::Date>) -> u32 {
    date.map_or(0, |date| {
        u32::from(date.year) << 16 | u32::from(date.month) << 8 | u32::from(date.day)
    })
}

pub(crate) fn unpack_date(packed: u32) -> Option<tags::Date> {
    (packed != 0).then_some(tags::Date {
        year: (packed >> 16) as u16,
        month: (packed >> 8) as u8,
        day: packed as u8,
    })
}

/// Appends a number in LEB128: seven bits per byte, lowest bits first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while 0x80 <= number {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Removes a number from the front of `bytes` and returns it. The number is in LEB128: seven bits
/// per byte, lowest bits first.
pub(crate) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Returns a hash of the separators at which tags are split into several names.
pub(crate) fn hash_of(splits: &Splits) -> u64 {
    let Splits {
        artists,
        genres,
        exceptions,
    } = splits;
    let lists = [artists, genres, exceptions].map(|list| {
        let texts: Vec<&[u8]> = list.iter().map(|text| text.as_bytes()).collect();
        hash(&texts).to_le_bytes()
    });
    hash(&lists.each_ref().map(|list| &list[..]))
}

/// Returns a 64-bit hash of several byte strings. The lengths are included, so that `ab`, `c` and
/// `a`, `bc` give different hashes.
pub(crate) fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let hash = hasher.finalize();
    let word = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
    u64::from_le_bytes(*word)
}
