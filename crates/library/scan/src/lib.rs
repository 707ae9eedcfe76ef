//! Scanner of a library: walks its folders, reads new and changed files, and replaces the index by
//! a rename. It then watches the folders for changes and keeps the index up to date. The crate does
//! not serve requests.
//!
//! Principal function: [`scan`], which returns a [`Report`] and publishes its progress in a
//! [`Progress`]. [`LibraryIndexer`] runs scans for a server: at the start, on request, at
//! intervals, and for folders that have changed, once they have stopped changing.
//!
//! ```text
//! root ─ walk, one statx per file ─► files found
//!     ├─ as in the last index ───────────────────► entry of the index ────┐
//!     ├─ moved: same file, other path ───────────► entry with new path ───┼─► build ─► index
//!     └─ new or changed ─ sort ─ open, read ─────► new entry ─────────────┘
//! ```
//!
//! Unchanged files are not opened, and the index is not written if no file has changed. On
//! non-rotational disks, many threads read files in the order of device and inode. On rotating
//! disks, few threads read files in the order of their first extents. Finding the extents takes one
//! more pass over the inodes, which costs less than the seeks that it saves.
//!
//! [`Covers`] extracts embedded pictures from music files. Each distinct picture is extracted once
//! and is then a file like any other picture.
//!
//! Units and limits: bytes and durations. [`Limits`] bounds depth, files and threads, and
//! [`tags::Limits`] the reads per file. Errors: [`ScanError`] if no index can be made. A file that
//! cannot be read is only an item of the report. If the file's content is at fault, the index
//! stores this fault, and the next scan does not open the file. If the host is at fault
//! (permissions, a failing disk), the next scan reads the file again. Threads: the thread of the
//! caller; reader threads, which end with the scan; and the thread of the indexer, which publishes
//! each new index. If a scan is killed, the previous index remains.

#![forbid(unsafe_code)]

mod report;

mod scan;

mod indexer;

mod covers;

mod limits;
mod progress;

mod error;
mod file;
mod ignore;
mod index;
mod path;
mod plan;
mod read;
mod read_order;
mod root;
mod settle;
mod threads;
mod walk;
mod watch;

#[cfg(test)]
mod tests;

pub use covers::{CoverLimits, Covers, ExtractError};
pub use error::ScanError;
pub use index::{Index, LoadedIndex, load};
pub use indexer::{LibraryIndexer, Setup, Status, WatchMode, Watching};
pub use limits::Limits;
pub use progress::{Phase, Progress, ProgressSnapshot};
pub use read_order::ReadOrder;
pub use report::{Fault, Report};
pub use scan::{ScanRequest, scan};
pub use watch::Watch;
