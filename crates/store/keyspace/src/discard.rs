//! Lazy free: removed values that are too large to be freed at once are freed over several turns.

use bytes::{Bytes, BytesMut};

use crate::db::Db;
use crate::dict::{Dict, Item};
use crate::keyspace::Keyspace;
use crate::string::Str;
use crate::value::Value;

/// Elements of a collection that is freed immediately, at most.
const AT_ONCE_MAX: usize = 512;
/// Values in the queue, at most. Beyond this, values are freed immediately, which bounds the memory
/// of the queue.
const WAITING_MAX: usize = 1024;

/// Minimum size of a blob that is freed through `Keyspace::keep`; smaller ones are freed
/// immediately.
const RELEASED_BYTES_MIN: usize = 1 << 20;

/// Values and databases that wait to be freed. They no longer count as data.
#[derive(Debug, Default)]
pub(crate) struct LazyFreeQueue {
    values: Vec<Value>,
    dbs: Vec<Db>,
}

impl Keyspace {
    /// Frees a value, or queues it for later turns.
    #[inline]
    pub(crate) fn discard(&mut self, value: Value) {
        if let Value::Str(Str::Blob(blob)) = value {
            release(*blob, self.keep);
        } else if AT_ONCE_MAX < value.elements() && self.discarded.values.len() < WAITING_MAX {
            self.discarded.values.push(value);
        }
    }

    /// Queues a whole database for later turns.
    pub(crate) fn free_db_lazily(&mut self, db: Db) {
        if !db.is_empty() {
            self.discarded.dbs.push(db);
        }
    }

    /// Returns the number of collections and databases that wait to be freed.
    #[must_use]
    pub fn discarded(&self) -> usize {
        self.discarded.values.len() + self.discarded.dbs.len()
    }

    /// Frees at most `elements_max` elements. Returns whether the queue is empty.
    pub(crate) fn free(&mut self, elements_max: usize) -> bool {
        let mut left = elements_max;
        while 0 < left {
            if let Some(value) = self.discarded.values.last_mut() {
                if value.free_some(&mut left) {
                    self.discarded.values.pop();
                }
            } else if let Some(db) = self.discarded.dbs.last_mut() {
                // A large value joins the queue of values, and is freed before the next key.
                match db.free_some(&mut left) {
                    Some(value) => self.discard(value),
                    None => _ = self.discarded.dbs.pop_if(|db| db.is_freed()),
                }
            } else {
                return true;
            }
        }
        self.discarded() == 0
    }
}

/// Frees a blob. A large blob that a command built and that is not shared goes to `keep` first,
/// whose result can free very large buffers outside this thread; any other blob went through `keep`
/// when it was received.
pub(crate) fn release(blob: Bytes, keep: fn(BytesMut) -> Bytes) {
    if RELEASED_BYTES_MIN <= blob.len()
        && let Ok(alone) = blob.try_into_mut()
    {
        drop(keep(alone));
    }
}

impl Value {
    /// Returns the approximate number of allocations of a value.
    #[inline]
    fn elements(&self) -> usize {
        match self {
            Self::Str(_) => 1,
            Self::List(list) => list.len(),
            Self::Hash(hash) => hash.len(),
            Self::Set(set) => set.len(),
            Self::Zset(zset) => zset.len(),
        }
    }

    /// Frees up to `left` elements of a removed value. Returns whether the rest may be dropped at
    /// once.
    fn free_some(&mut self, left: &mut usize) -> bool {
        match self {
            Self::Str(_) => true,
            Self::List(list) => list.free_some(left),
            Self::Hash(hash) => hash.free_some(left),
            Self::Set(set) => set.free_some(left),
            Self::Zset(zset) => zset.free_some(left),
        }
    }
}

impl<T: Item> Dict<T> {
    /// Frees up to `left` items of a removed table. Returns whether none are left.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        while 0 < *left {
            match self.pop_slot() {
                None => return true,
                Some(item) => drop(item),
            }
            *left -= 1;
        }
        false
    }
}

impl Db {
    /// Frees up to `left` keys of a removed database. Returns the first large value, which is freed
    /// element by element.
    fn free_some(&mut self, left: &mut usize) -> Option<Value> {
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

    fn is_empty(&self) -> bool {
        self.dict.is_empty() && self.tags.is_freed()
    }

    /// Returns whether [`Db::free_some`] has freed everything.
    fn is_freed(&self) -> bool {
        self.dict.slots() == 0 && self.due.is_empty() && self.tags.is_freed()
    }
}
