//! Index of the library: artists, albums, tracks, genres, photographs, playlists and search, in one
//! immutable block of bytes. The crate accesses no files and no clock: [`build`] returns the bytes,
//! and [`Catalog`] reads them from memory or a mapped file.
//!
//! ```text
//! [Entry { path, stat, content }] ─ build ─► bytes ─ Catalog::open ─► tracks, albums, artists, …
//!        ▲                                              │
//!        └───────── entries of unchanged files ◄────────┘
//! ```
//!
//! [`build`] runs on one thread. A caller with several threads makes a [`Draft`] of each entry in
//! any thread, and one [`LibraryDraft`] of all drafts. Two threads then make the rows and the words
//! of the library.
//!
//! The result of [`build`] depends only on the set of entries, not on their order.
//! [`Catalog::entry`] returns the content that was read from each file. So a scan that opens only
//! ten changed files gives the same bytes as a scan that opens all files.
//!
//! Ids depend on the content of files, not on their paths, except the ids of playlists. The id of a
//! track is the hash of its audio ([`tags::AudioHash`]), so it survives moves, copies and new tags.
//! Of several files with the same audio, the one that was created first has this id. The ids of the
//! others are derived from the hash and the creation times of the files. These ids survive moves;
//! they also survive new tags if the tagger changes the file in place. The id of a photograph is a
//! hash of facts such as capture time and size, see `photos.rs`. The id of an album or artist is
//! derived from its MusicBrainz id if known, and otherwise from its names, regardless of case and
//! Unicode composition.
//!
//! Units and limits: the name of each time field states its unit, and dates are calendar days.
//! Counts and offsets are below 2³², which [`build`] asserts. [`Limits`] bounds a search. Errors:
//! [`OpenError`] if the file is at fault; the next scan replaces such a file. After `open`, no call
//! fails: invalid references of a damaged index are read as empty values. Threads: plain data,
//! readable by any thread.
//!
//! The bytes of the file are described in `layout.rs`.

#![forbid(unsafe_code)]

mod entry;

mod build;

mod read;

mod cover;

mod fact;
mod find_photos;
mod folders;
mod search;

mod fold;
mod gather;
mod layout;
mod month;
mod name;
mod photos;
mod playlists;
mod record;
mod strings;
mod sums;

#[cfg(test)]
mod tests;

pub use build::{LibraryDraft, Rows, Words, build};
pub use cover::{Cover, CoverOwner, CoverRules, Source};
pub use entry::{Content, Draft, Entry, Photo, Stat};
pub use fold::{fold, searched};
pub use folders::Folder;
pub use layout::{AlbumId, ArtistId, PhotoId, PlaylistId, TrackId};
pub use month::{Month, MonthError};
pub use name::identity;
pub use read::{Album, Artist, Catalog, Counts, DatedPhoto, Genre, OpenError, Playlist, Track};
pub use search::{Found, Limits};
