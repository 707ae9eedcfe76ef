//! Layout of the index file.
//!
//! ```text
//! STRINGS    length (7 bits per byte, lowest first) · UTF-8 or bytes
//!            a reference is an offset, 0 the empty string
//! FOLDERS    0 parent · 4 name                                                row 0 is the root
//! DEVICES    u64 each
//! FILES      0 folder · 4 name · 8 inode u64 · 16 size u64 · 24 mtime ns i64 · 32 record
//!            36 device u16 · 38 content u8 · 39 issues u8: 1 if there are any
//!            40 born ns i64
//! RECORDS    see record.rs
//! TRACKS     0 id u64 · 8 file · 12 title · 16 artist · 20 album · 24 artists · 28 genres
//!            32 duration ms · 36 date · 40 disc u8 · 41 codec u8 · 42 number u16
//!            44 kbit/s u24 · 47 flags u8
//! TRACK_IDS  0 id u64 · 8 track                                               sorted
//! ALBUMS     0 id u64 · 8 title · 12 sort · 16 artist · 20 artists · 24 first track · 28 tracks
//!            32 date · 36 original date · 40 genres · 44 cover: file + 1 · 48 flags
//!            52 duration s
//! ALBUM_IDS  as TRACK_IDS
//! ARTISTS    0 id u64 · 8 name · 12 sort · 16 albums · 20 tracks
//!            24 roles: one bit per role, by its number
//! ARTIST_IDS as TRACK_IDS
//! GENRES     0 name · 4 tracks · 8 albums
//! LISTS      count · rows; a reference is an index of u32
//! PHOTOS     0 taken s i64 · 8 file · 12 unused                               sorted by time
//! PLAYLISTS  0 id u64 · 8 file · 12 name · 16 tracks
//!            20 indices of the entries that match no track                    sorted by id
//! WORDS      0 word · 4 first posting                         sorted by word, one more at the end
//! POSTINGS   kind 2 bits · row 30 bits                        sorted within a word
//! FACTS      u16 each, one per posting: see fact.rs
//! SPLITS     u64, a hash of the separators of names
//! SUMS       u64 each, XXH3 of a stretch of 1 MiB, from the end of the table to this section
//! ```
//! Before the sections stand a head (0 `PELTCAT1` · 8 version · 12 number of sections · 16 length
//! u64 · 24 hash, 16 bytes) and a table (offset u64 · length u64 per section). The hash is BLAKE3
//! of the head before it, of the table and of SUMS.
//!
//! Fields without a width are u32. Names and titles are references to STRINGS, fields with a plural
//! name (artists, genres, albums, tracks) references to LISTS, unless they are counts.

use std::ops::Range;

use tags::Splits;

use crate::name::{folded_name, identity};

pub(crate) const MAGIC: &[u8; 8] = b"PELTCAT1";
/// Version of the layout. It must be increased whenever the meaning of any byte changes.
pub(crate) const VERSION: u32 = 9;
/// Length of the head in bytes; the table of sections follows it.
pub(crate) const HEAD_BYTES: usize = 40;
pub(crate) const HASH: Range<usize> = 24..40;
/// End of the table of sections, and start of the body, whose stretches have checksums.
pub(crate) const BODY_START: usize = HEAD_BYTES + 16 * SECTIONS;

/// Sections, in their order in the file.
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
    Playlists,
    Words,
    Postings,
    Facts,
    Splits,
    Sums,
}

pub(crate) const SECTIONS: usize = 20;

pub(crate) const FOLDER_BYTES: usize = 8;
pub(crate) const DEVICE_BYTES: usize = 8;
pub(crate) const FILE_BYTES: usize = 48;
pub(crate) const TRACK_BYTES: usize = 48;
pub(crate) const ID_BYTES: usize = 12;
pub(crate) const ALBUM_BYTES: usize = 56;
pub(crate) const ARTIST_BYTES: usize = 28;
pub(crate) const GENRE_BYTES: usize = 12;
pub(crate) const PHOTO_BYTES: usize = 16;
pub(crate) const PLAYLIST_BYTES: usize = 24;
pub(crate) const WORD_BYTES: usize = 8;
pub(crate) const POSTING_BYTES: usize = 4;
pub(crate) const FACT_BYTES: usize = 2;

/// Bits of the flags of a track or album.
pub(crate) const COMPILATION: u8 = 1;
pub(crate) const EXPLICIT: u8 = 2;
/// Maximum bit rate of a track, in kbit/s. It is stored in 24 bits, since DSD with several channels
/// needs more than 16.
pub(crate) const KBPS_MAX: u32 = 0xff_ffff;

/// Kinds of content of a file.
pub(crate) const MUSIC: u8 = 0;
pub(crate) const PHOTO: u8 = 1;
pub(crate) const UNREADABLE: u8 = 2;
pub(crate) const LISTING: u8 = 3;

/// Kinds of object that a posting refers to.
pub(crate) const ARTIST_KIND: u32 = 0;
pub(crate) const ALBUM_KIND: u32 = 1;
pub(crate) const TRACK_KIND: u32 = 2;

/// Id of a track, which is stable as long as its audio does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrackId(pub u64);

/// Id of an album.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AlbumId(pub u64);

/// Id of an artist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtistId(pub u64);

impl ArtistId {
    /// Returns the id of an artist of whom only the name is known. Names that differ in case alone
    /// have the same id.
    #[must_use]
    pub fn named(name: &str) -> ArtistId {
        ArtistId(hash(&[b"artist", identity(name).as_bytes()]))
    }

    /// Returns the id of an artist with this MusicBrainz id.
    #[must_use]
    pub fn of_musicbrainz(id: &str) -> ArtistId {
        ArtistId(hash(&[b"musicbrainz artist", id.as_bytes()]))
    }
}

impl ArtistId {
    /// Returns the id that earlier versions gave to an artist; they ignored accents and
    /// punctuation. Stars and ratings of users may still refer to it.
    #[must_use]
    pub fn folded(name: &str) -> ArtistId {
        ArtistId(hash(&[b"artist", folded_name(name).as_bytes()]))
    }
}

impl AlbumId {
    /// Returns the id that earlier versions gave to an album; they ignored accents and punctuation
    /// in names. Stars and ratings of users may still refer to it.
    #[must_use]
    pub fn folded(artist: &str, title: &str) -> AlbumId {
        let [artist, title] = [artist, title].map(folded_name);
        AlbumId(hash(&[b"album", artist.as_bytes(), title.as_bytes()]))
    }
}

/// Id of a playlist file, which is stable as long as its path does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaylistId(pub u64);

/// Packs a date into 32 bits that sort in the order of dates; 0 stands for no date.
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

/// Appends a number with 7 bits per byte, lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while 0x80 <= number {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Removes a number from the front of `bytes` and returns it; the number has 7 bits per byte.
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

/// Returns a hash that identifies a set of separators.
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

/// Returns 64 bits of a hash of several byte strings. Each is hashed with its length, so that `ab`,
/// `c` differs from `a`, `bc`.
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
