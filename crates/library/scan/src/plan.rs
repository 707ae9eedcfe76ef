//! Comparison of the files of a library with the last index, which selects the files to open.

use std::collections::HashMap;

use catalog::Stat;

use crate::Index;
use crate::file::FoundFile;

/// Files that a walk has found, grouped by what the scan must do with them. Each file is identified
/// by its position in `Walked::seen`.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Unchanged files: position in `Walked::seen`, and row in the last index.
    pub(crate) kept: Vec<(usize, u32)>,
    /// Files that were moved but not changed: position in `Walked::seen`, and row in the last
    /// index.
    pub(crate) moved: Vec<(usize, u32)>,
    /// Files that must be opened: positions in `Walked::seen`.
    pub(crate) to_read: Vec<usize>,
    /// Number of files in the last index that do not exist any more.
    pub(crate) gone: u64,
}

impl Plan {
    /// Returns whether nothing has changed since the last index.
    pub(crate) fn is_empty(&self) -> bool {
        self.moved.is_empty() && self.to_read.is_empty() && self.gone == 0
    }
}

/// Compares the files that a walk has found with the last index. Both are sorted by path.
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
            // The file that was at this path may now be at another path, for example if two files
            // were swapped.
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
