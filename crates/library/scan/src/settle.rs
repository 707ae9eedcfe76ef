//! Which folders changed and have been quiet since, so that an album that is being copied is looked at when it is whole.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::walk::is_below;

#[cfg(test)]
mod tests;

/// Changes that no scan has looked at, by the folder around them.
#[derive(Debug)]
pub(crate) struct Changes {
    /// When something last changed; the empty path stands for everything.
    last: BTreeMap<Vec<u8>, Instant>,
    /// Folders that are told apart.
    folders_max: usize,
}

impl Changes {
    pub(crate) fn new(folders_max: usize) -> Changes {
        Changes {
            last: BTreeMap::new(),
            folders_max,
        }
    }

    /// Something in `folder` is another than it was.
    pub(crate) fn note(&mut self, folder: &[u8], now: Instant) {
        self.last.insert(around(folder).to_vec(), now);
        if self.folders_max < self.last.len() {
            self.last = BTreeMap::from([(Vec::new(), now)]);
        }
    }

    /// Something is, and nobody knows what.
    pub(crate) fn note_all(&mut self, now: Instant) {
        self.note(b"", now);
    }

    pub(crate) fn len(&self) -> usize {
        self.last.len()
    }

    /// Takes the folders that have been quiet for `settle`, with all around and in them.
    pub(crate) fn take_quiet(&mut self, now: Instant, settle: Duration) -> Vec<Vec<u8>> {
        let folders = self.last.keys();
        let quiet = folders.filter(|folder| self.quiet_at(folder, settle) <= now);
        let quiet: Vec<Vec<u8>> = quiet.cloned().collect();
        let is_all = quiet.iter().any(Vec::is_empty);
        self.last
            .retain(|folder, _| !is_all && !quiet.contains(folder));
        quiet
    }

    /// When there will be something to take, if nothing more changes.
    pub(crate) fn next_quiet(&self, settle: Duration) -> Option<Instant> {
        let folders = self.last.keys();
        folders.map(|folder| self.quiet_at(folder, settle)).min()
    }

    /// What is in a folder or around it holds it back: a second disc is copied after the first. Only everything waits for
    /// everything.
    fn quiet_at(&self, folder: &[u8], settle: Duration) -> Instant {
        let related = self.last.iter().filter(|(other, _)| {
            is_below(other, folder) || !other.is_empty() && is_below(folder, other)
        });
        let last = related.map(|(_, last)| *last).max();
        last.expect("a folder is related to itself") + settle
    }
}

/// The folder that discs lie in, if this is one; what lies at the top is a whole of its own.
fn around(folder: &[u8]) -> &[u8] {
    match folder.iter().rposition(|&byte| byte == b'/') {
        Some(end) => &folder[..end],
        None => folder,
    }
}
