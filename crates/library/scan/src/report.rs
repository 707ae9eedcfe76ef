use std::time::Duration;

use catalog::{Content, Counts};

use crate::path::is_below;
use crate::{Index, ReadOrder};

/// Result of a scan: counts, durations and faults.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of music files, pictures and playlists below the root.
    pub files: u64,
    /// Number of files unchanged since the last index, which were not opened.
    pub kept: u64,
    /// Number of files that were moved since the last index and otherwise unchanged, which were not
    /// opened.
    pub moved: u64,
    /// Number of files that were opened.
    pub opened: u64,
    /// Number of files of the last index that no longer exist.
    pub gone: u64,
    /// Number of symbolic links, which are not followed.
    pub links: u64,
    /// Number of read calls on opened files.
    pub reads: u64,
    /// Bytes requested by the read calls on opened files.
    pub bytes: u64,
    /// Opened music files with partly broken tags, sorted by path, with the reasons.
    pub broken_tags: Vec<Fault>,
    /// Files and folders that could not be read, sorted by path.
    pub faults: Vec<Fault>,
    /// Entries of playlists that match no track of the library: path of the playlist, text of the
    /// entry.
    pub missing: Vec<(Vec<u8>, String)>,
    /// Order in which files were opened.
    pub read_order: ReadOrder,
    /// True if an opened file lies on a rotating disk.
    pub rotating: bool,
    /// Number of reader threads.
    pub readers: usize,
    /// True if the index differs from the last one and was written.
    pub written: bool,
    /// Length of the index, in bytes.
    pub index_bytes: u64,
    /// Numbers of tracks, albums and other objects in the index.
    pub counts: Option<Counts>,
    /// Time taken to list all files below the root.
    pub walk: Duration,
    /// Time from the end of the walk until all files were read.
    pub read: Duration,
    /// Time from the end of the reading until the index was written.
    pub build: Duration,
}

impl Report {
    /// After a scan of some folders (`only`), adds the faults of an earlier scan that lie outside
    /// these folders. Does nothing if the list is empty, which means the whole library.
    pub(crate) fn keep_faults(&mut self, earlier: &[Fault], only: &[Vec<u8>]) {
        if only.is_empty() {
            return;
        }
        let outside = earlier.iter().filter(|fault| {
            let mut scanned = only.iter();
            !scanned.any(|folder| is_below(&fault.path, folder))
        });
        self.faults.extend(outside.cloned());
        // An unreadable file is listed both by the walk and in the index, so its fault may be in
        // `faults` twice.
        self.faults.sort_by(|a, b| a.path.cmp(&b.path));
        self.faults.dedup_by(|a, b| a.path == b.path);
    }

    /// Records the issues of a track's tags in the report, if any.
    pub(crate) fn note_tags(&mut self, path: &[u8], content: &Result<Content, String>) {
        if let Ok(Content::Music(media)) = content
            && !media.issues.is_empty()
        {
            let (path, reason) = (path.to_vec(), media.issues.join("; "));
            self.broken_tags.push(Fault { path, reason });
        }
    }

    /// Copies counts, unmatched playlist entries and unreadable files from the index into the
    /// report.
    pub(crate) fn remember(&mut self, catalog: &Index) {
        self.index_bytes = catalog.bytes().len() as u64;
        self.counts = Some(catalog.counts());
        self.missing = catalog.missing().collect();
        let faults = catalog.unreadable();
        self.faults
            .extend(faults.map(|(path, reason)| Fault { path, reason }));
        self.faults.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        // Files are read in another order than that of their paths.
        let broken_tags = &mut self.broken_tags;
        broken_tags.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }
}

/// File or folder that could not be read completely, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path below the root.
    pub path: Vec<u8>,
    /// Reason; several reasons are separated by semicolons.
    pub reason: String,
}
