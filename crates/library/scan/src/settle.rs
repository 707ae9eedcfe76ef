//! Folders that changed, and the moments from which they count as quiet. An album is scanned only
//! after its folder is quiet, that is, after it has been copied completely.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::path::is_below;

#[cfg(test)]
mod tests;

/// Changes since the last scan, by folder.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Time of the last change per folder; the empty path stands for the whole library.
    last: BTreeMap<Vec<u8>, Instant>,
    /// Maximum number of folders tracked; if more change, the whole library is recorded instead.
    folders_max: usize,
}

impl Changes {
    pub(crate) fn new(folders_max: usize) -> Changes {
        Changes {
            last: BTreeMap::new(),
            folders_max,
        }
    }

    /// Records a change in `folder`, under its parent folder (see [`around`]).
    pub(crate) fn note(&mut self, folder: &[u8], now: Instant) {
        self.last.insert(around(folder).to_vec(), now);
        if self.folders_max < self.last.len() {
            self.last = BTreeMap::from([(Vec::new(), now)]);
        }
    }

    /// Records a change whose folder is unknown.
    pub(crate) fn note_all(&mut self, now: Instant) {
        self.note(b"", now);
    }

    pub(crate) fn len(&self) -> usize {
        self.last.len()
    }

    /// Removes and returns the folders that have been quiet for `settle`, as defined by
    /// [`Changes::quiet_at`].
    pub(crate) fn take_quiet(&mut self, now: Instant, settle: Duration) -> Vec<Vec<u8>> {
        let folders = self.last.keys();
        let quiet = folders.filter(|folder| self.quiet_at(folder, settle) <= now);
        let quiet: Vec<Vec<u8>> = quiet.cloned().collect();
        let is_all = quiet.iter().any(Vec::is_empty);
        self.last
            .retain(|folder, _| !is_all && !quiet.contains(folder));
        quiet
    }

    /// Returns the moment at which the next folder becomes quiet if nothing more changes.
    pub(crate) fn next_quiet(&self, settle: Duration) -> Option<Instant> {
        let folders = self.last.keys();
        folders.map(|folder| self.quiet_at(folder, settle)).min()
    }

    /// Returns the moment from which `folder` counts as quiet: `settle` after the last change in
    /// it, in a folder below it or in a folder above it, since the second disc of an album is
    /// copied after the first. The whole library, whose path is empty, counts as quiet only when
    /// all folders do; a change recorded for it delays no other folder.
    fn quiet_at(&self, folder: &[u8], settle: Duration) -> Instant {
        let related = self.last.iter().filter(|(other, _)| {
            is_below(other, folder) || !other.is_empty() && is_below(folder, other)
        });
        let last = related.map(|(_, last)| *last).max();
        last.expect("a folder is related to itself") + settle
    }
}

/// Returns the parent of `folder`: the album, if `folder` is one of its discs. Returns `folder`
/// itself if it lies directly below the root.
fn around(folder: &[u8]) -> &[u8] {
    match folder.iter().rposition(|&byte| byte == b'/') {
        Some(end) => &folder[..end],
        None => folder,
    }
}
