//! Generator of music libraries of a given size. Equal seeds give equal libraries.
//!
//! Principal function: [`prepared`]. `cargo xtask media` calls it, and so do the suites and
//! benchmarks that read a library.
//!
//! ```text
//! flac, lame, … ─► payloads, in the cache ─┐
//! seed ─► albums, songs, layouts (plan) ───┼─ write ─► files and folder art ─► manifest.jsonl
//!                     odd files (odd) ─────┘
//! ```
//!
//! No encoder runs per track. There are a few dozen payloads, which are encoded sounds. Each track
//! gets a part of one payload, in a container with tags and a cover that this crate writes. The
//! manifest has one line per file, with the properties that a tag reader must find or the error
//! that the reader must report.

#![forbid(unsafe_code)]

mod art;
mod library;
mod manifest;
mod names;
mod odd;
mod payload;
mod plan;
mod random;
mod wav;
mod write;

pub use art::{Art, Cover};
pub use library::{LibraryParameters, generate, generated, prepared};
pub use manifest::{Expected, Line, MANIFEST};
pub use payload::Payloads;
pub use plan::Kind;
