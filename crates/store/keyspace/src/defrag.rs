//! Active defragmentation: what many removals have left is moved together, a few elements a turn.
//!
//! Two steps for each database, since an allocator gives back only pages without a block:
//!
//! ```text
//! table:   a · · b · c   ─►  a c b          the last keys move into vacant slots, and the table's end is freed
//! blocks:  [k · · ·] [· · v ·]  ─►  [k v]   each block is allocated anew, among others that are in use
//! ```
//!
//! It changes no data and no count of bytes; the caller makes sure that the allocator has places to choose from. Steps of the
//! first kind wait for a snapshot to end, which knows keys by their slots.

use crate::db::Entry;
use crate::dict::{Compaction, Dict, Item};
use crate::keyspace::Keyspace;
use crate::list::List;
use crate::string::Str;
use crate::text::Key;
use crate::value::Value;

/// A table with fewer vacant slots than one of so many is left as it is.
const VACANT_PART_MIN: usize = 8;

/// How far the pass under way has come; none if there is none.
#[derive(Debug, Default)]
pub(crate) struct Defrag(Option<Position>);

/// The next thing to be moved.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    db: usize,
    /// Whether the database's table is compact.
    is_compact: bool,
    slot: u32,
    /// Where to go on within the value of that slot's key.
    element: usize,
}

impl Keyspace {
    /// Begins a pass over all data; one that is under way begins again.
    pub fn defrag_begin(&mut self) {
        self.defrag = Defrag(Some(Position::default()));
    }

    /// Whether a pass is under way.
    #[must_use]
    pub fn defrag_under_way(&self) -> bool {
        self.defrag.0.is_some()
    }

    /// Moves some more elements, or does nothing while a snapshot has to end first. Returns whether the pass goes on.
    pub fn defrag_next(&mut self, elements_max: usize) -> bool {
        let Some(mut at) = self.defrag.0.take() else {
            return false;
        };
        if !self.snapshot_under_way() {
            let mut left = elements_max;
            while 0 < left && at.db < self.dbs.len() {
                self.move_one(&mut at, &mut left);
            }
        }
        let goes_on = at.db < self.dbs.len();
        self.defrag = Defrag(goes_on.then_some(at));
        goes_on
    }

    /// Moves what is at a position, and goes on to the next.
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
    /// Moves keys from the table's end into vacant slots, as far as the work goes that is left. Returns whether the table is
    /// compact.
    fn compact(&mut self, left: &mut usize) -> bool {
        let slots = self.dict.slots() as usize;
        let vacant = slots - self.dict.len();
        if !self.dict.is_compacting() {
            if vacant < slots.div_ceil(VACANT_PART_MIN) {
                return true;
            }
            self.dict.begin_compaction();
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
    /// Allocates the blocks of a key and its value anew, those of a large collection from an element on. Returns where to go
    /// on, if not all are done.
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

/// Moves what a box holds into a new one. The placeholder takes its place for that moment, and must not allocate.
#[expect(
    clippy::replace_box,
    reason = "the new allocation is the purpose: it lies where fewer pages are in use"
)]
fn reallocate_box<T>(boxed: &mut Box<T>, placeholder: impl FnOnce() -> T) -> &mut T {
    let inner = std::mem::replace(&mut **boxed, placeholder());
    *boxed = Box::new(inner);
    boxed
}

/// Moves the elements of a vector into a new block with the same room.
pub(crate) fn reallocate_vec<T>(vec: &mut Vec<T>) {
    let mut moved = Vec::with_capacity(vec.capacity());
    moved.append(vec);
    *vec = moved;
}

impl Key {
    /// Allocates the key's bytes anew, if they stand on the heap.
    pub(crate) fn reallocate(&mut self) {
        if let Self::Heap(bytes) = self {
            *bytes = bytes.clone();
        }
    }
}

impl Str {
    /// Allocates the string's bytes anew, but those of a blob, which has pages of its own and may be in use elsewhere.
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
    /// Allocates the items' blocks anew, from a slot on. Returns where to go on, if not all are done.
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
