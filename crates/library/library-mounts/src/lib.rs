//! The library as mounts of the server: interfaces for players, pages, covers, and the metrics of
//! the indexer.
//!
//! Principal type: [`Music`], which starts the indexer and provides the mounts.
//!
//! ```text
//! /rest/ /-/api/ /-/plain/music /-/share/ ─► players ─► library_api ─┐
//! /-/api/session ─► sessions ─► library_api                          │
//! /-/cover/ID ───────────────────────► covers ◄──────────────────────┘
//! /-/file/… ───► files                   └─► a target of the library, which the server answers
//! ```
//!
//! `library-api` and `server` do not depend on each other; this crate passes requests to
//! `library-api` and its answers to `server`. Threads: responses are composed on blocking threads,
//! at most `limits.player_responses_max` at a time, and the server's cores wait for them
//! asynchronously.

#![forbid(unsafe_code)]

mod covers;
mod files;
mod music;
pub mod page;
mod players;
mod quarantine;
mod sessions;

pub use covers::Covers;
pub use music::{Music, scan_error};
pub use quarantine::Quarantine;
