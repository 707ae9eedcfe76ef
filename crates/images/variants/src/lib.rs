//! Originals on the disk, the cache of their variants, and their placeholders. The crate does not
//! convert pictures and is independent of network protocols.
//!
//! Principal type: [`cache::Variants`], the index of the directory of variants.
//!
//! ```text
//! library   path -> original, and the identity of its current version
//! cache     key -> variant, or the reason why there is none; on disk and in memory
//! placeholders  identity -> colour, BlurHash, ThumbHash
//! shared_index  the cache's changes, written to a Redis-compatible store
//! ```
//!
//! Units and limits: sizes in bytes, times in milliseconds since 1970; the caller sets the maximum
//! size of the cache. Errors: [`library::Missing`] if a path has no readable original. A variant
//! that cannot be written to the disk is counted, and is not cached. Threads: any; each module
//! documents its lock.

#![forbid(unsafe_code)]

pub mod cache;
pub mod library;
pub mod placeholders;
pub mod sealed;
pub mod shared_index;
pub mod source;
