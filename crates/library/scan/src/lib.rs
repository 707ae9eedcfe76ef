//! Turns a folder into an index, and keeps it one: walks it, reads what changed, writes the index beside its name and renames
//! it; watches what changes next. It serves nothing.
//!
//! Principal function: [`scan`]; what it found out is its [`Report`], how far it is its [`Progress`]. [`Keeper`] calls it
//! for a server: at the start, when asked, on schedule, and for folders that changed and have been quiet since.
//!
//! ```text
//! root ─ walk, one statx a file ─► what is there ─┬─ as the last index says ──────────► entry from the index ─┐
//!                                                 ├─ moved: same file, other path ───► entry, new path ───────┼─► build ─► index
//!                                                 └─ new or changed ─ order ─ open, exact reads ─► entry ─────┘
//! ```
//!
//! A file that did not change is not opened, and if none changed nothing is written. Files are read in the order of device
//! and inode by many threads, or, where the disk rotates, in the order of their first extents by few: asking for extents
//! takes a sweep of its own over the inodes, which costs less than the seeks it saves.
//!
//! [`Covers`] takes pictures out of music, once for each content, so that they go where all pictures go.
//!
//! Units and limits: bytes and durations; [`Limits`] bounds depth, files and threads, [`tags::Limits`] each file. Errors:
//! [`ScanError`] when there can be no index; one file that cannot be read is a line of the report and never more. What is
//! wrong with its content is remembered in the index, what is wrong with the host (permissions, a failing disk) is tried
//! again. Threads: the caller's, some that live as long as the reading, and the keeper's own, which hands out each index behind
//! a pointer. A killed scan leaves the last whole index.

#![forbid(unsafe_code)]

mod report;

mod scan;

mod keeper;

mod covers;

mod limits;
mod progress;

mod error;
mod ignore;
mod index;
mod plan;
mod read;
mod settle;
mod sweep;
mod walk;
mod watch;

#[cfg(test)]
mod tests;

pub use covers::{CoverLimits, Covers, TakeError};
pub use error::ScanError;
pub use index::{Index, load};
pub use keeper::{Keeper, Means, Setup, Status, Watching};
pub use limits::Limits;
pub use progress::{Phase, Progress, Standing};
pub use report::{Fault, Report};
pub use scan::{Order, scan};
pub use sweep::Sweep;
pub use watch::Watch;
