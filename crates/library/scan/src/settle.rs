//! Folders that have changed and wait to be scanned. A folder is scanned only after it has not
//! changed for some time, so that an album is complete when it appears in the library.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::path::is_below;

#[cfg(test)]
mod tests;

/// Folders that have changed and wait to be scanned.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Time of the last change of each folder. The empty path stands for the whole library.
    last: BTreeMap<Vec<u8>, Instant>,
    /// Maximum number of folders in `last`. If there are more, the whole library is recorded
    /// instead.
    folders_max: usize,
}

impl Changes {
    pub(crate) fn new(folders_max: usize) -> Changes {
        Changes {
            last: BTreeMap::new(),
            folders_max,
        }
    }

    /// Records a change in `folder`, as a change of its parent folder (see [`around`]).
    pub(crate) fn note(&mut self, folder: &[u8], now: Instant) {
        self.last.insert(around(folder).to_vec(), now);
        if self.folders_max < self.last.len() {
            self.last = BTreeMap::from([(Vec::new(), now)]);
        }
    }

    /// Records a change of an unknown folder, so that the whole library is scanned.
    pub(crate) fn note_all(&mut self, now: Instant) {
        self.note(b"", now);
    }

    pub(crate) fn len(&self) -> usize {
        self.last.len()
    }

    /// Removes and returns the folders that have not changed for the time `settle`, as defined by
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

    /// Returns the time at which the next folder can be scanned, unless something changes before.
    pub(crate) fn next_quiet(&self, settle: Duration) -> Option<Instant> {
        let folders = self.last.keys();
        folders.map(|folder| self.quiet_at(folder, settle)).min()
    }

    /// Returns the time from which `folder` can be scanned: `settle` after the last change in the
    /// folder, in a subfolder or in a parent folder. Changes in a parent count because albums are
    /// copied disc by disc. While the second disc is copied, changes are recorded for the album's
    /// folder, but not for the folder of the first disc, which must wait, too.
    ///
    /// The whole library (the empty path) can be scanned only when all folders can be scanned.
    /// Conversely, a change that is recorded for the whole library delays no other folder.
    fn quiet_at(&self, folder: &[u8], settle: Duration) -> Instant {
        let related = self.last.iter().filter(|(other, _)| {
            is_below(other, folder) || !other.is_empty() && is_below(folder, other)
        });
        let last = related.map(|(_, last)| *last).max();
        last.expect("`folder` has changed, so it is in the list") + settle
    }
}

/// Returns the parent of `folder`, which is the album if `folder` contains one of its discs.
/// Returns `folder` itself if its parent is the root.
fn around(folder: &[u8]) -> &[u8] {
    match folder.iter().rposition(|&byte| byte == b'/') {
        Some(end) => &folder[..end],
        None => folder,
    }
}
