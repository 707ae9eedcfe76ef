//! Scans a folder into an index and keeps the index up to date: walks the folder, reads changed
//! files, replaces the index by a rename, and watches for further changes. Serves no requests.
//!
//! Principal function: [`scan`], which returns a [`Report`] and publishes its progress in a
//! [`Progress`]. [`LibraryIndexer`] runs scans for a server: at the start, on request, on schedule,
//! and for folders that changed and have been quiet since.
//!
//! ```text
//! root ─ walk, one statx per file ─► files found
//!     ├─ as in the last index ───────────────────► entry of the index ────┐
//!     ├─ moved: same file, other path ───────────► entry with new path ───┼─► build ─► index
//!     └─ new or changed ─ sort ─ open, read ─────► new entry ─────────────┘
//! ```
//!
//! Unchanged files are not opened, and the index is not written if no file changed. On
//! non-rotational disks, many threads read files in the order of device and inode. On rotating
//! disks, few threads read files in the order of their first extents. Finding the extents takes one
//! more pass over the inodes, which costs less than the seeks it saves.
//!
//! [`Covers`] extracts embedded pictures from music files, each distinct picture once, so that they
//! are files like any other picture.
//!
//! Units and limits: bytes and durations; [`Limits`] bounds depth, files and threads,
//! [`tags::Limits`] the reads per file. Errors: [`ScanError`] if no index can be made; a file that
//! cannot be read is one line of the report. Faults of a file's content are stored in the index;
//! after faults of the host (permissions, a failing disk) the next scan reads the file again.
//! Threads: the caller's; reader threads that finish with the scan; and the indexer's own thread,
//! which publishes each index behind a pointer. If a scan is killed, the last complete index
//! remains.

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
