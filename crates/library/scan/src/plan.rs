//! Selection of the files that a scan opens.

use std::collections::HashMap;

use catalog::Stat;

use crate::Index;
use crate::file::FoundFile;

/// Files of a walk, by the action that the scan takes. A walk's file is given by its index in
/// `Walked::seen`.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Unchanged files: index in the walk, row in the last index.
    pub(crate) kept: Vec<(usize, u32)>,
    /// Files that were moved and otherwise unchanged: index in the walk, row in the last index.
    pub(crate) moved: Vec<(usize, u32)>,
    /// Files to open: indices in the walk.
    pub(crate) to_read: Vec<usize>,
    /// Number of files of the last index that no longer exist.
    pub(crate) gone: u64,
}

impl Plan {
    /// Returns whether the last index is still up to date.
    pub(crate) fn is_empty(&self) -> bool {
        self.moved.is_empty() && self.to_read.is_empty() && self.gone == 0
    }
}

/// Compares a walk with the last index; both are sorted by path.
pub(crate) fn plan(seen: &[FoundFile], last: Option<&Index>) -> Plan {
    let mut plan = Plan::default();
    let files = last.map_or(0, |last| last.counts().files);
    let mut known = (0..files)
        .filter_map(|row| Some((row, last?.file(row)?)))
        .peekable();
    let mut gone: HashMap<Stat, u32> = HashMap::new();
    let mut changed: HashMap<Stat, u32> = HashMap::new();
    let mut new = Vec::new();
    for (number, file) in seen.iter().enumerate() {
        while let Some((row, (_, stat))) = known.next_if(|(_, (path, _))| *path < file.path) {
            gone.insert(stat, row);
        }
        match known.next_if(|(_, (path, _))| *path == file.path) {
            Some((row, (_, stat))) if stat == file.stat => plan.kept.push((number, row)),
            // The old content may be at another path now: two files may have been swapped.
            Some((row, (_, stat))) => {
                changed.insert(stat, row);
                new.push(number);
            }
            None => new.push(number),
        }
    }
    for (row, (_, stat)) in known {
        gone.insert(stat, row);
    }
    for number in new {
        let stat = &seen[number].stat;
        match gone.remove(stat).or_else(|| changed.remove(stat)) {
            Some(row) => plan.moved.push((number, row)),
            None => plan.to_read.push(number),
        }
    }
    plan.gone = gone.len() as u64;
    plan
}
