//! Folders that changed, and the moments at which they count as quiet, so that an album is scanned
//! after it was copied whole.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::walk::is_below;

#[cfg(test)]
mod tests;

/// Changes since the last scan, by folder.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Time of the last change per folder; the empty path stands for the whole library.
    last: BTreeMap<Vec<u8>, Instant>,
    /// Maximum number of folders; more are replaced by the whole library.
    folders_max: usize,
}

impl Changes {
    pub(crate) fn new(folders_max: usize) -> Changes {
        Changes {
            last: BTreeMap::new(),
            folders_max,
        }
    }

    /// Records a change in `folder`, under the folder around it.
    pub(crate) fn note(&mut self, folder: &[u8], now: Instant) {
        self.last.insert(around(folder).to_vec(), now);
        if self.folders_max < self.last.len() {
            self.last = BTreeMap::from([(Vec::new(), now)]);
        }
    }

    /// Records a change at an unknown place.
    pub(crate) fn note_all(&mut self, now: Instant) {
        self.note(b"", now);
    }

    pub(crate) fn len(&self) -> usize {
        self.last.len()
    }

    /// Takes the folders that have been quiet for `settle`, as [`Changes::quiet_at`] defines it.
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

    /// Returns the moment at which `folder` counts as quiet: `settle` after the last change in it,
    /// in a folder below it or in a folder around it, since a second disc is copied after the
    /// first. The entry for the whole library waits for all changes, but holds back no other
    /// folder.
    fn quiet_at(&self, folder: &[u8], settle: Duration) -> Instant {
        let related = self.last.iter().filter(|(other, _)| {
            is_below(other, folder) || !other.is_empty() && is_below(folder, other)
        });
        let last = related.map(|(_, last)| *last).max();
        last.expect("a folder is related to itself") + settle
    }
}

/// Returns the folder around `folder`: the album, if `folder` is one of its discs. A folder
/// directly below the root stands for itself.
fn around(folder: &[u8]) -> &[u8] {
    match folder.iter().rposition(|&byte| byte == b'/') {
        Some(end) => &folder[..end],
        None => folder,
    }
}
