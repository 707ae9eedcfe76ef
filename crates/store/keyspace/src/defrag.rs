//! Active defragmentation. After many removals, the remaining data is scattered over many pages of
//! memory. Defragmentation moves the data into fewer pages, a few elements per turn of the event
//! loop.
//!
//! Each database is processed in two steps: first the hash table is compacted, then the heap blocks
//! of keys and values are moved. Both steps aim at empty pages, because an allocator returns only
//! empty pages to the system:
//!
//! ```text
//! table:   a · · b · c   ─►  a c b          the last keys fill vacant slots; the end is freed
//! blocks:  [k · · ·] [· · v ·]  ─►  [k v]   each block moves into a page that is in use anyway
//! ```
//!
//! Defragmentation changes neither data nor byte counts. The caller makes sure that the allocator
//! places new blocks into partly used pages. Defragmentation pauses during a snapshot, because a
//! snapshot identifies keys by their slots.

use crate::db::Db;

/// Progress of a defragmentation: the position of the current pass over the data, if one is in
/// progress.
#[derive(Debug, Default)]
pub(crate) struct Defrag(Option<Position>);

/// Position of the next element to move.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    db: usize,
    /// True once the database's table is compact.
    is_compact: bool,
    slot: u32,
    /// Index of the next element within the slot's value.
    element: usize,
}

impl Defrag {
    /// Starts a pass over all data; restarts a pass in progress.
    pub(crate) fn start(&mut self) {
        self.0 = Some(Position::default());
    }

    /// Returns whether a pass is in progress.
    pub(crate) fn is_running(&self) -> bool {
        self.0.is_some()
    }

    /// Moves up to `elements_max` elements. Returns whether the pass continues.
    pub(crate) fn advance(&mut self, dbs: &mut [Db], elements_max: usize) -> bool {
        let Some(at) = &mut self.0 else {
            return false;
        };
        let mut left = elements_max;
        while 0 < left && at.db < dbs.len() {
            at.move_one(dbs, &mut left);
        }
        let goes_on = at.db < dbs.len();
        if !goes_on {
            self.0 = None;
        }
        goes_on
    }
}

impl Position {
    /// Moves the element at this position, and advances the position.
    fn move_one(&mut self, dbs: &mut [Db], left: &mut usize) {
        let db = &mut dbs[self.db];
        if !self.is_compact {
            self.is_compact = db.compact(left);
        } else if db.dict.slots() <= self.slot {
            *self = Self {
                db: self.db + 1,
                ..Self::default()
            };
            *left -= 1;
        } else {
            let entry = db.dict.peek_mut(self.slot);
            let next = entry.and_then(|entry| entry.reallocate(self.element, left));
            self.slot += u32::from(next.is_none());
            self.element = next.unwrap_or(0);
            *left = left.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests;
