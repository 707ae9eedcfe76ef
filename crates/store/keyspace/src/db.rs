//! One database: its keys, their deadlines, and what they cost.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;

use crate::dict::{Dict, Item, Seed};
use crate::tags::Tags;
use crate::text::Key;
use crate::value::Value;

/// The deadline of a key that has none.
pub(crate) const NEVER: i64 = i64::MAX;
/// The bit of an entry's `access` that says that it has tags.
const TAGGED: u32 = 1 << 30;
/// The bit of an entry's `access` that says that a snapshot has begun its value and is not through with it.
pub(crate) const IN_LINE: u32 = 1 << 31;
/// Bytes of a slot in a B-tree that is as full as such trees are on average.
const BLOB_SLOT_BYTES: usize = 8;
/// Bytes of a deadline in a B-tree that is as full as such trees are on average.
const DUE_BYTES: usize = 34;

/// A key and its value, in 64 bytes and what they point to: one line of the processor's caches.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) value: Value,
    /// Unix time in milliseconds, or [`NEVER`].
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

    /// Bytes for the key alone, its slot and bucket included: MEMORY USAGE.
    pub(crate) fn bytes(&self) -> usize {
        let due = if self.deadline_ms == NEVER {
            0
        } else {
            DUE_BYTES
        };
        size_of::<Self>() + size_of::<u32>() + self.heap_bytes() + due
    }
}

/// A database.
#[derive(Debug)]
pub(crate) struct Db {
    pub(crate) dict: Dict<Entry>,
    /// Deadlines and the slots of the keys that have them.
    pub(crate) due: BTreeSet<(i64, u32)>,
    /// The slots of the keys that hold a blob, and the bytes of all those.
    pub(crate) blobs: BTreeSet<u32>,
    blob_bytes: usize,
    pub(crate) tags: Tags,
    /// Until when a key that is not there is being made by somebody.
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

    /// Bytes of the values that are blobs.
    pub(crate) fn blob_bytes(&self) -> usize {
        self.blob_bytes
    }

    /// Takes note that a value had so many bytes of a blob, and now has so many.
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

    /// Adds a key that is not there, with its hash.
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

    /// Removes a key; from which slot.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<(u32, Entry)> {
        self.remove_hashed(self.dict.hash(key), key)
    }

    /// The same, where the hash is known.
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

    /// Takes note that the key of one slot is in another one now.
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

    /// Gives a key other tags than it had, or none.
    pub(crate) fn set_tags(&mut self, slot: u32, names: &[Bytes]) {
        let entry = self.dict.at_mut(slot);
        if entry.access & TAGGED != 0 {
            self.tags.take(slot);
        }
        if names.is_empty() {
            entry.access &= !TAGGED;
        } else {
            entry.access |= TAGGED;
            self.tags.give(slot, names.iter().map(AsRef::as_ref));
        }
    }

    /// Whether a key is there no more, though it was not removed: its deadline has passed, or a tag of it was dropped.
    #[inline]
    pub(crate) fn is_gone(&self, slot: u32, now: i64) -> bool {
        let entry = self.dict.at(slot);
        entry.deadline_ms <= now && entry.deadline_ms != NEVER
            || entry.access & TAGGED != 0 && self.tags.is_stale(slot)
    }

    /// Gives a key a deadline, or takes it away; the one it had is returned.
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

    /// Changes a value, and takes note of what that costs.
    pub(crate) fn change<R>(&mut self, slot: u32, change: impl FnOnce(&mut Value) -> R) -> R {
        let value = &mut self.dict.at_mut(slot).value;
        let (before, blob_before) = (value.heap_bytes(), value.blob_bytes());
        let result = change(value);
        let (after, blob_after) = (value.heap_bytes(), value.blob_bytes());
        self.dict.resized(before, after);
        self.recount_blob(slot, blob_before, blob_after);
        result
    }
}
