use std::time::Duration;

use catalog::Counts;

use crate::Sweep;
use crate::walk::is_below;

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
    /// Of opened files, music with tags that are broken in part, and what is wrong with them, by path.
    pub broken_tags: Vec<Fault>,
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

impl Report {
    /// Keeps what an earlier scan found wrong outside of the folders that this one was of.
    pub(crate) fn keep_faults(&mut self, earlier: &[Fault], only: &[Vec<u8>]) {
        if only.is_empty() {
            return;
        }
        let outside = earlier.iter().filter(|fault| {
            let mut scanned = only.iter();
            !scanned.any(|folder| is_below(&fault.path, folder))
        });
        self.faults.extend(outside.cloned());
        // Files that cannot be read are in the index as well.
        self.faults.sort_by(|a, b| a.path.cmp(&b.path));
        self.faults.dedup_by(|a, b| a.path == b.path);
    }
}

/// A file or folder that could not be read, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Below the root.
    pub path: Vec<u8>,
    /// Why not; several reasons are parted by semicolons.
    pub reason: String,
}
