//! The library's index: artists, albums, tracks, genres, photographs, playlists and search, in one immutable piece of
//! memory. No files and no clock: [`build`] returns bytes, and [`Catalog`] reads them wherever they are.
//!
//! ```text
//! [Entry { path, stat, content }] ─ build ─► bytes ─ Catalog::open ─► tracks, albums, artists, genres, photos, search
//!        ▲                                                 │
//!        └──────────── entries: what an unchanged file said ◄┘
//! ```
//!
//! Whoever has several threads makes a [`Draft`] of each entry in any of them, [`Gathered`] of all, and its two parts at once.
//!
//! [`build`] is a function of its entries alone, whatever their order, and what it read of each file comes back out by
//! [`Catalog::entry`]; so a scan that opens ten changed files gives the bytes of one that opens all.
//!
//! Ids are made of what a file is, not of where it lies, but for those of playlists. A track's is the hash of its audio
//! ([`tags::AudioHash`]), so it survives moves, copies and new tags. Of files with the same audio the one that was made first
//! has it; another has one by when it was made, so that it survives new tags and moves too, where they leave the file the
//! same. An album's and an artist's is MusicBrainz's, else a hash of names, of which composition and case do not matter.
//!
//! Units and limits: times in milliseconds, dates as days of the calendar; counts and offsets below 2³² each, which
//! [`build`] asserts. [`Limits`] bounds a search. Errors: [`OpenError`], the file's fault, and cured by a scan. After
//! `open` nothing fails: what a broken index would point to beyond its end is empty. Threads: plain data, read by any.
//!
//! The bytes of the file are described in `layout.rs`.

#![forbid(unsafe_code)]

mod entry;

mod build;

mod read;

mod cover;

mod fact;
mod search;

mod fold;
mod gather;
mod layout;
mod name;
mod playlists;
mod record;
mod strings;
mod sums;

#[cfg(test)]
mod tests;

pub use build::{Gathered, Rows, Words, build};
pub use cover::{Cover, CoverRules, Covered, Source};
pub use entry::{Content, Draft, Entry, Photo, Stat};
pub use fold::{fold, searched};
pub use layout::{AlbumId, ArtistId, PlaylistId, TrackId};
pub use name::identity;
pub use read::{Album, Artist, Catalog, Counts, Genre, OpenError, Playlist, Shown, Track};
pub use search::{Found, Limits};
