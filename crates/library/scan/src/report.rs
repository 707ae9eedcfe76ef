use std::time::Duration;

use catalog::{Content, Counts};

use crate::path::is_below;
use crate::{Index, ReadOrder};

/// Report of a scan: counts, durations, and files that could not be read.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of music files, pictures and playlists in the library.
    pub files: u64,
    /// Number of files that have not changed since the last index and were not opened.
    pub kept: u64,
    /// Number of files that were moved since the last index but not changed, and were not opened.
    pub moved: u64,
    /// Number of files that were opened.
    pub opened: u64,
    /// Number of files in the last index that do not exist any more.
    pub gone: u64,
    /// Number of symbolic links, which are not followed.
    pub links: u64,
    /// Number of read calls on opened files.
    pub reads: u64,
    /// Number of bytes that were requested by read calls.
    pub bytes: u64,
    /// Music files that could be opened, but whose tags cannot be read completely, with the
    /// reasons, sorted by path.
    pub broken_tags: Vec<Fault>,
    /// Files and folders that could not be read, with the reasons, sorted by path.
    pub faults: Vec<Fault>,
    /// Playlist entries for which the library has no track: the path of the playlist, and the text
    /// of the entry.
    pub missing: Vec<(Vec<u8>, String)>,
    /// Order in which the files were read.
    pub read_order: ReadOrder,
    /// True if an opened file is on a rotating disk.
    pub rotating: bool,
    /// Number of threads that read files.
    pub readers: usize,
    /// True if a new index was written, because it differs from the last one.
    pub written: bool,
    /// Length of the index in bytes.
    pub index_bytes: u64,
    /// Number of objects of each kind in the index.
    pub counts: Option<Counts>,
    /// Time taken to list all files of the library.
    pub walk: Duration,
    /// Time taken to read files, after they were listed.
    pub read: Duration,
    /// Time taken to build and write the index, after the files were read.
    pub build: Duration,
}

impl Report {
    /// Adds the faults that an earlier scan recorded outside the scanned folders `only`. Does
    /// nothing if `only` is empty, since the whole library was scanned in that case.
    pub(crate) fn keep_faults(&mut self, earlier: &[Fault], only: &[Vec<u8>]) {
        if only.is_empty() {
            return;
        }
        let outside = earlier.iter().filter(|fault| {
            let mut scanned = only.iter();
            !scanned.any(|folder| is_below(&fault.path, folder))
        });
        self.faults.extend(outside.cloned());
        // A file may be recorded twice: by this scan and by the earlier scan.
        self.faults.sort_by(|a, b| a.path.cmp(&b.path));
        self.faults.dedup_by(|a, b| a.path == b.path);
    }

    /// Adds the music file at `path` to the report if its tags cannot be read completely.
    pub(crate) fn note_tags(&mut self, path: &[u8], content: &Result<Content, String>) {
        if let Ok(Content::Music(media)) = content
            && !media.issues.is_empty()
        {
            let (path, reason) = (path.to_vec(), media.issues.join("; "));
            self.broken_tags.push(Fault { path, reason });
        }
    }

    /// Adds data of the index to the report: its length, counts, playlist entries without a track,
    /// and unreadable files.
    pub(crate) fn remember(&mut self, catalog: &Index) {
        self.index_bytes = catalog.bytes().len() as u64;
        self.counts = Some(catalog.counts());
        self.missing = catalog.missing().collect();
        let faults = catalog.unreadable();
        self.faults
            .extend(faults.map(|(path, reason)| Fault { path, reason }));
        self.faults.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        // The files were not read in the order of their paths, so the list must be sorted.
        let broken_tags = &mut self.broken_tags;
        broken_tags.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }
}

/// File or folder that could not be read completely, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path relative to the root of the library.
    pub path: Vec<u8>,
    /// Reason why the file could not be read. Several reasons are separated by semicolons.
    pub reason: String,
}
