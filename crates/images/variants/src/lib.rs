//! The variant cache: originals on disk, the index of their variants, and the placeholders of
//! originals. It converts nothing and is independent of protocols.
//!
//! Principal type: [`cache::Variants`], the index over the directory of variants.
//!
//! ```text
//! library   path -> original, with the identity of its version
//! cache     key -> variant or verdict, on disk and in memory
//! placeholders  identity -> colour, BlurHash, ThumbHash
//! shared_index  the cache's changes, written to a Redis-compatible store
//! ```
//!
//! Units and limits: bytes and milliseconds since 1970; the caller sets the budget in bytes.
//! Errors: [`library::Missing`] for paths; a variant that cannot be written to disk is not cached,
//! which is counted. Threads: any; each module documents what its lock guards.

#![forbid(unsafe_code)]

pub mod cache;
pub mod clock;
pub mod library;
pub mod placeholders;
pub mod sealed;
pub mod shared_index;
pub mod source;
