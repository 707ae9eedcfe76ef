use std::time::Duration;

use catalog::Counts;

use crate::Sweep;

/// What a scan did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Files of music and pictures, and playlists, below the root.
    pub files: u64,
    /// Of those, as the last index says, and not opened.
    pub kept: u64,
    /// Of those, at another path than in the last index, and not opened.
    pub moved: u64,
    /// Of those, opened.
    pub opened: u64,
    /// Files of the last index that are gone.
    pub gone: u64,
    /// Symbolic links, which are not followed.
    pub links: u64,
    /// Positioned reads in opened files.
    pub reads: u64,
    /// Bytes asked for in opened files.
    pub bytes: u64,
    /// Of opened files, music with tags that are broken in part.
    pub with_issues: u64,
    /// What could not be read, by path.
    pub faults: Vec<Fault>,
    /// Entries of playlists that are no track of the library: of which playlist, and what stands there.
    pub missing: Vec<(Vec<u8>, String)>,
    /// In which order files were opened.
    pub sweep: Sweep,
    /// Whether a disk with moving parts was read.
    pub rotating: bool,
    /// Threads that read.
    pub readers: usize,
    /// Whether another index was written.
    pub written: bool,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// What is in it.
    pub counts: Option<Counts>,
    /// Until everything below the root was known.
    pub walk: Duration,
    /// From then until everything was read.
    pub read: Duration,
    /// From then until the index was written.
    pub build: Duration,
}

/// A file or folder that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Below the root.
    pub path: Vec<u8>,
    /// Why not.
    pub reason: String,
}
