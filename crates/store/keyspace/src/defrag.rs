//! Active defragmentation: data that many removals left scattered is moved together, a few elements
//! per turn.
//!
//! Each database takes two steps, because an allocator returns only pages without any block:
//!
//! ```text
//! table:   a · · b · c   ─►  a c b          the last keys fill vacant slots; the end is freed
//! blocks:  [k · · ·] [· · v ·]  ─►  [k v]   each block moves into a page that is in use anyway
//! ```
//!
//! Defragmentation changes neither data nor byte counts; the caller makes sure that the allocator
//! places new blocks into partly used pages. The pass pauses during a snapshot, which knows keys by
//! their slots.

use crate::db::Entry;
use crate::dict::{Compaction, Dict, Item};
use crate::keyspace::Keyspace;
use crate::list::List;
use crate::string::Str;
use crate::text::Key;
use crate::value::Value;

/// A table is compacted if at least one in this many slots is vacant.
const VACANT_PART_MIN: usize = 8;

/// Position of the current pass, if one is in progress.
#[derive(Debug, Default)]
pub(crate) struct Defrag(Option<Position>);

/// Next element to move.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    db: usize,
    /// True once the database's table is compact.
    is_compact: bool,
    slot: u32,
    /// Element of the slot's value to continue with.
    element: usize,
}

impl Keyspace {
    /// Starts a pass over all data; restarts a pass in progress.
    pub fn start_defrag(&mut self) {
        self.defrag = Defrag(Some(Position::default()));
    }

    /// Returns whether a pass is in progress.
    #[must_use]
    pub fn is_defragmenting(&self) -> bool {
        self.defrag.0.is_some()
    }

    /// Moves up to `elements_max` elements, or none while a snapshot is in progress. Returns
    /// whether the pass continues.
    pub fn continue_defrag(&mut self, elements_max: usize) -> bool {
        let Some(mut at) = self.defrag.0.take() else {
            return false;
        };
        if !self.has_snapshot() {
            let mut left = elements_max;
            while 0 < left && at.db < self.dbs.len() {
                self.move_one(&mut at, &mut left);
            }
        }
        let goes_on = at.db < self.dbs.len();
        self.defrag = Defrag(goes_on.then_some(at));
        goes_on
    }

    /// Moves the element at a position, and advances the position.
    fn move_one(&mut self, at: &mut Position, left: &mut usize) {
        let db = &mut self.dbs[at.db];
        if !at.is_compact {
            at.is_compact = db.compact(left);
        } else if db.dict.slots() <= at.slot {
            *at = Position {
                db: at.db + 1,
                ..Position::default()
            };
            *left -= 1;
        } else {
            let entry = db.dict.peek_mut(at.slot);
            let next = entry.and_then(|entry| entry.reallocate(at.element, left));
            at.slot += u32::from(next.is_none());
            at.element = next.unwrap_or(0);
            *left = left.saturating_sub(1);
        }
    }
}

impl crate::db::Db {
    /// Moves keys from the table's end into vacant slots, at most `left` steps. Returns whether the
    /// table is compact.
    fn compact(&mut self, left: &mut usize) -> bool {
        let slots = self.dict.slots() as usize;
        let vacant = slots - self.dict.len();
        if !self.dict.is_compacting() {
            if vacant < slots.div_ceil(VACANT_PART_MIN) {
                return true;
            }
            self.dict.start_compaction();
        }
        while 0 < *left {
            *left -= 1;
            match self.dict.compact() {
                Compaction::Moved { from, to } => self.moved(from, to),
                Compaction::Looked => {}
                Compaction::Done => return true,
            }
        }
        false
    }
}

impl Entry {
    /// Reallocates the blocks of a key and its value, for a large collection starting at element
    /// `from`. Returns the element to continue with, unless all are done.
    fn reallocate(&mut self, from: usize, left: &mut usize) -> Option<usize> {
        if from == 0 {
            self.key.reallocate();
        }
        match &mut self.value {
            Value::Str(string) => {
                string.reallocate();
                None
            }
            Value::List(list) => {
                let limit = list.limit();
                let placeholder = || List::new(limit);
                reallocate_box(list, placeholder).reallocate(from, left)
            }
            Value::Hash(hash) => {
                reallocate_box(hash, crate::hash::Hash::new).reallocate(from, left)
            }
            Value::Set(set) => reallocate_box(set, crate::set::Set::new).reallocate(from, left),
            Value::Zset(zset) => {
                reallocate_box(zset, crate::zset::Zset::new).reallocate(from, left)
            }
        }
    }
}

/// Moves the content of a box into a new box. The placeholder stands in for the content during the
/// move, and must not allocate.
#[expect(
    clippy::replace_box,
    reason = "the new allocation is the purpose: it lies where fewer pages are in use"
)]
fn reallocate_box<T>(boxed: &mut Box<T>, placeholder: impl FnOnce() -> T) -> &mut T {
    let inner = std::mem::replace(&mut **boxed, placeholder());
    *boxed = Box::new(inner);
    boxed
}

/// Moves the elements of a vector into a new allocation of the same capacity.
pub(crate) fn reallocate_vec<T>(vec: &mut Vec<T>) {
    let mut moved = Vec::with_capacity(vec.capacity());
    moved.append(vec);
    *vec = moved;
}

impl Key {
    /// Reallocates the key's bytes, if they are on the heap.
    pub(crate) fn reallocate(&mut self) {
        if let Self::Heap(bytes) = self {
            *bytes = bytes.clone();
        }
    }
}

impl Str {
    /// Reallocates the string's bytes, except those of a blob, which has its own pages and may be
    /// shared with replies.
    pub(crate) fn reallocate(&mut self) {
        match self {
            Self::Int(_) | Self::Tiny { .. } => {}
            Self::Short(bytes) => *bytes = bytes.clone(),
            Self::Raw(bytes) => reallocate_vec(reallocate_box(bytes, Vec::new)),
            Self::Blob(bytes) => _ = reallocate_box(bytes, bytes::Bytes::new),
        }
    }
}

impl<T: Item> Dict<T> {
    /// Reallocates the items' blocks, starting at slot `from`. Returns the slot to continue with,
    /// unless all are done.
    pub(crate) fn reallocate(
        &mut self,
        from: usize,
        left: &mut usize,
        each: impl Fn(&mut T),
    ) -> Option<usize> {
        if from == 0 {
            self.reallocate_first_chunks();
        }
        for slot in from..self.slots() as usize {
            if *left == 0 {
                return Some(slot);
            }
            *left -= 1;
            if let Some(item) = self.peek_mut(slot as u32) {
                each(item);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
