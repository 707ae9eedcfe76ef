use std::time::Duration;

use catalog::Counts;

use crate::ReadOrder;
use crate::walk::is_below;

/// Result of a scan, in numbers and faults.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Files of music, pictures and playlists below the root.
    pub files: u64,
    /// Files unchanged since the last index, which were not opened.
    pub kept: u64,
    /// Files at another path than in the last index but otherwise unchanged, which were not opened.
    pub moved: u64,
    /// Files that were opened.
    pub opened: u64,
    /// Files of the last index that no longer exist.
    pub gone: u64,
    /// Symbolic links, which are not followed.
    pub links: u64,
    /// Positioned reads in opened files.
    pub reads: u64,
    /// Bytes asked for in opened files.
    pub bytes: u64,
    /// Opened music files whose tags are broken in part, with the reasons, by path.
    pub broken_tags: Vec<Fault>,
    /// Files and folders that could not be read, by path.
    pub faults: Vec<Fault>,
    /// Entries of playlists that match no track of the library: path of the playlist, text of the
    /// entry.
    pub missing: Vec<(Vec<u8>, String)>,
    /// Order in which files were opened.
    pub sweep: ReadOrder,
    /// True if a rotating disk was read.
    pub rotating: bool,
    /// Number of threads that read.
    pub readers: usize,
    /// True if the index differs from the last one and was written.
    pub written: bool,
    /// Length of the index, in bytes.
    pub index_bytes: u64,
    /// Numbers of tracks, albums and so on in the index.
    pub counts: Option<Counts>,
    /// Time until all files below the root were listed.
    pub walk: Duration,
    /// Time from the end of the walk until all files were read.
    pub read: Duration,
    /// Time from the end of the reading until the index was written.
    pub build: Duration,
}

impl Report {
    /// Adds the faults of an earlier scan that lie outside the folders of this one, if this scan
    /// was of `only` some folders.
    pub(crate) fn keep_faults(&mut self, earlier: &[Fault], only: &[Vec<u8>]) {
        if only.is_empty() {
            return;
        }
        let outside = earlier.iter().filter(|fault| {
            let mut scanned = only.iter();
            !scanned.any(|folder| is_below(&fault.path, folder))
        });
        self.faults.extend(outside.cloned());
        // The index also names files that cannot be read, so a fault may be here twice.
        self.faults.sort_by(|a, b| a.path.cmp(&b.path));
        self.faults.dedup_by(|a, b| a.path == b.path);
    }
}

/// File or folder that could not be read, or only in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path below the root.
    pub path: Vec<u8>,
    /// Reason; several reasons are separated by semicolons.
    pub reason: String,
}
