//! One database: its keys, their deadlines, and their memory.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;

use crate::dict::{Compaction, Dict, Item, Seed};
use crate::tags::Tags;
use crate::text::Key;
use crate::value::{AT_ONCE_MAX, Value};

/// Value of `deadline_ms` for a key without a deadline.
pub(crate) const NEVER: i64 = i64::MAX;
/// Bit of `Entry::access`: the key has cache tags.
const TAGGED: u32 = 1 << 30;
/// Bit of `Entry::access`: a snapshot has started to write the value and has not finished it.
pub(crate) const IN_VALUE_QUEUE: u32 = 1 << 31;
/// Heap bytes per slot number in `Db::blobs`, a B-tree, assuming average fill.
const BLOB_SLOT_BYTES: usize = 8;
/// Heap bytes per deadline in `Db::due`, a B-tree, assuming average fill.
const DUE_BYTES: usize = 34;

/// Divisor of the number of slots. A table is compacted if at least one slot in this many is
/// vacant.
const VACANT_DIVISOR: usize = 8;

/// A key and its value. An entry uses 64 bytes, one cache line of the processor, plus the heap
/// memory of the key and the value. The key and value are not wrapped in a
/// [`Node`](crate::dict::Node), because the entry would then be larger.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) value: Value,
    /// Deadline of the key in Unix milliseconds, or [`NEVER`].
    pub(crate) deadline_ms: i64,
    pub(crate) access: u32,
    link: u32,
}

impl Item for Entry {
    fn key(&self) -> &[u8] {
        self.key.bytes()
    }

    fn link(&self) -> u32 {
        self.link
    }

    fn set_link(&mut self, link: u32) {
        self.link = link;
    }

    fn heap_bytes(&self) -> usize {
        self.key.heap_bytes() + self.value.heap_bytes()
    }
}

impl Entry {
    pub(crate) fn deadline(&self) -> Option<i64> {
        (self.deadline_ms != NEVER).then_some(self.deadline_ms)
    }

    /// Returns the memory that the key, its value, its slot and its bucket use, in bytes, as MEMORY
    /// USAGE reports it.
    pub(crate) fn bytes(&self) -> usize {
        let due = if self.deadline_ms == NEVER {
            0
        } else {
            DUE_BYTES
        };
        size_of::<Self>() + size_of::<u32>() + self.heap_bytes() + due
    }

    /// Reallocates the heap memory of the key and its value, like [`Value::reallocate`].
    pub(crate) fn reallocate(&mut self, from: usize, left: &mut usize) -> Option<usize> {
        if from == 0 {
            self.key.reallocate();
        }
        self.value.reallocate(from, left)
    }
}

/// Time of a write, and deadline of the written value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Current Unix time in milliseconds.
    pub now_ms: u64,
    /// Deadline in Unix milliseconds; `None` means no deadline.
    pub deadline_ms: Option<u64>,
}

/// Returns whether the deadline has passed.
pub(crate) fn is_due(deadline_ms: i64, now: i64) -> bool {
    deadline_ms <= now && deadline_ms != NEVER
}

/// Deadline of a new key, and the current time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteTime {
    pub(crate) deadline_ms: i64,
    pub(crate) now: i64,
}

/// One numbered database.
#[derive(Debug)]
pub(crate) struct Db {
    pub(crate) dict: Dict<Entry>,
    /// Deadlines of keys in ascending order, each with the slot of its key.
    pub(crate) due: BTreeSet<(i64, u32)>,
    /// Slots of the keys whose value is a blob: a string of at least 16 KiB.
    pub(crate) blobs: BTreeSet<u32>,
    blob_bytes: usize,
    pub(crate) tags: Tags,
    /// Build locks (GETORLOCK): keys that do not exist and whose values clients are computing, each
    /// with the time at which its lock expires, in Unix milliseconds.
    pub(crate) locks: HashMap<Key, i64>,
}

impl Db {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            dict: Dict::new(seed),
            due: BTreeSet::new(),
            blobs: BTreeSet::new(),
            blob_bytes: 0,
            tags: Tags::new(seed),
            locks: HashMap::new(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.dict.heap_bytes()
            + self.due.len() * DUE_BYTES
            + self.blobs.len() * BLOB_SLOT_BYTES
            + self.tags.heap_bytes()
    }

    pub(crate) fn blob_bytes(&self) -> usize {
        self.blob_bytes
    }

    /// Updates `blobs` and `blob_bytes` after the number of blob bytes in a slot changed from
    /// `before` to `after`.
    fn recount_blob(&mut self, slot: u32, before: usize, after: usize) {
        if before == after {
            return;
        }
        self.blob_bytes = self.blob_bytes + after - before;
        if after == 0 {
            self.blobs.remove(&slot);
        } else {
            self.blobs.insert(slot);
        }
    }

    /// Adds a key that does not exist yet and whose hash is known.
    pub(crate) fn insert(
        &mut self,
        (hash, key): (u64, &[u8]),
        value: Value,
        deadline_ms: i64,
        access: u32,
    ) -> u32 {
        let entry = Entry {
            key: Key::new(key),
            value,
            deadline_ms,
            access,
            link: 0,
        };
        let blob_bytes = entry.value.blob_bytes();
        let slot = self.dict.insert_hashed(hash, entry);
        self.recount_blob(slot, 0, blob_bytes);
        if deadline_ms != NEVER {
            self.due.insert((deadline_ms, slot));
        }
        slot
    }

    /// Removes a key. Returns its slot and entry.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<(u32, Entry)> {
        self.remove_hashed(self.dict.hash(key), key)
    }

    /// Removes a key whose hash is known. Returns its slot and entry.
    pub(crate) fn remove_hashed(&mut self, hash: u64, key: &[u8]) -> Option<(u32, Entry)> {
        let (slot, entry) = self.dict.remove_hashed(hash, key)?;
        self.recount_blob(slot, entry.value.blob_bytes(), 0);
        if entry.deadline_ms != NEVER {
            self.due.remove(&(entry.deadline_ms, slot));
        }
        if entry.access & TAGGED != 0 {
            self.tags.take(slot);
        }
        Some((slot, entry))
    }

    /// Updates the lists of deadlines, blobs and tags after a key moved to another slot.
    pub(crate) fn moved(&mut self, from: u32, to: u32) {
        let entry = self.dict.at(to);
        if entry.deadline_ms != NEVER {
            self.due.remove(&(entry.deadline_ms, from));
            self.due.insert((entry.deadline_ms, to));
        }
        if self.blobs.remove(&from) {
            self.blobs.insert(to);
        }
        if entry.access & TAGGED != 0 {
            self.tags.moved(from, to);
        }
    }

    /// Replaces the cache tags of a key; an empty list removes them.
    pub(crate) fn set_tags(&mut self, slot: u32, names: &[Bytes]) {
        let entry = self.dict.at_mut(slot);
        if entry.access & TAGGED != 0 {
            self.tags.take(slot);
        }
        if names.is_empty() {
            entry.access &= !TAGGED;
        } else {
            entry.access |= TAGGED;
            self.tags.assign(slot, names.iter().map(AsRef::as_ref));
        }
    }

    /// Returns whether a key is no longer valid but not removed yet: its deadline has passed, or
    /// one of its cache tags was dropped.
    #[inline]
    pub(crate) fn is_gone(&self, slot: u32, now: i64) -> bool {
        let entry = self.dict.at(slot);
        entry.deadline_ms <= now && entry.deadline_ms != NEVER
            || entry.access & TAGGED != 0 && self.tags.is_stale(slot)
    }

    /// Sets or removes the deadline of a key. Returns the previous deadline.
    pub(crate) fn set_deadline(&mut self, slot: u32, deadline_ms: i64) -> i64 {
        let entry = self.dict.at_mut(slot);
        let old = std::mem::replace(&mut entry.deadline_ms, deadline_ms);
        if old != deadline_ms {
            if old != NEVER {
                self.due.remove(&(old, slot));
            }
            if deadline_ms != NEVER {
                self.due.insert((deadline_ms, slot));
            }
        }
        old
    }

    /// Changes a value and updates the memory accounting.
    pub(crate) fn change<R>(&mut self, slot: u32, change: impl FnOnce(&mut Value) -> R) -> R {
        let value = &mut self.dict.at_mut(slot).value;
        let (before, blob_before) = (value.heap_bytes(), value.blob_bytes());
        let result = change(value);
        let (after, blob_after) = (value.heap_bytes(), value.blob_bytes());
        self.dict.resized(before, after);
        self.recount_blob(slot, blob_before, blob_after);
        result
    }

    /// Frees up to `left` keys of a removed database, but stops at the first key with a large
    /// value. Returns this value; the caller must free it element by element.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> Option<Value> {
        while 0 < *left {
            *left -= 1;
            match self.dict.pop_slot() {
                Some(Some(entry)) if AT_ONCE_MAX < entry.value.elements() => {
                    return Some(entry.value);
                }
                Some(entry) => drop(entry),
                None if self.due.pop_first().is_some() || self.tags.free_some() => {}
                None => break,
            }
        }
        None
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.dict.is_empty() && self.tags.is_freed()
    }

    /// Returns whether [`Db::free_some`] has freed everything.
    pub(crate) fn is_freed(&self) -> bool {
        self.dict.slots() == 0 && self.due.is_empty() && self.tags.is_freed()
    }

    /// Moves keys from the table's end into vacant slots, in at most `left` steps. Returns whether
    /// the table is compact.
    pub(crate) fn compact(&mut self, left: &mut usize) -> bool {
        let slots = self.dict.slots() as usize;
        let vacant = slots - self.dict.len();
        if !self.dict.is_compacting() {
            if vacant < slots.div_ceil(VACANT_DIVISOR) {
                return true;
            }
            self.dict.start_compaction();
        }
        while 0 < *left {
            *left -= 1;
            match self.dict.compact() {
                Compaction::Moved { from, to } => self.moved(from, to),
                Compaction::Searching => {}
                Compaction::Done => return true,
            }
        }
        false
    }
}
