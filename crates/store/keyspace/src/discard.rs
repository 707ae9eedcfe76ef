//! What was removed and is too large to be freed at once: turns give it back, some elements each.

use bytes::{Bytes, BytesMut};

use crate::db::Db;
use crate::dict::{Dict, Item};
use crate::keyspace::Keyspace;
use crate::string::Str;
use crate::value::Value;

/// A collection of up to so many elements is freed where it is removed.
const AT_ONCE_MAX: usize = 512;
/// Values that wait; beyond it they are freed where they are removed, so that what waits is bounded.
const WAITING_MAX: usize = 1024;

/// A blob of less is freed where it is removed.
const RELEASED_BYTES_MIN: usize = 1 << 20;

/// What waits to be freed. It counts as data no more.
#[derive(Debug, Default)]
pub(crate) struct Discarded {
    values: Vec<Value>,
    dbs: Vec<Db>,
}

impl Keyspace {
    /// Frees a value, or leaves that to the next turns.
    #[inline]
    pub(crate) fn discard(&mut self, value: Value) {
        if let Value::Str(Str::Blob(blob)) = value {
            release(*blob, self.keep);
        } else if AT_ONCE_MAX < value.elements() && self.discarded.values.len() < WAITING_MAX {
            self.discarded.values.push(value);
        }
    }

    /// Leaves a whole database to the next turns.
    pub(crate) fn discard_db(&mut self, db: Db) {
        if !db.is_empty() {
            self.discarded.dbs.push(db);
        }
    }

    /// Collections and databases that wait to be freed.
    #[must_use]
    pub fn discarded(&self) -> usize {
        self.discarded.values.len() + self.discarded.dbs.len()
    }

    /// Frees so many elements at most; whether nothing is left.
    pub(crate) fn free(&mut self, elements_max: usize) -> bool {
        let mut left = elements_max;
        while 0 < left {
            if let Some(value) = self.discarded.values.last_mut() {
                if value.shed(&mut left) {
                    self.discarded.values.pop();
                }
            } else if let Some(db) = self.discarded.dbs.last_mut() {
                // A large value is moved to the others, and goes before the next key.
                match db.shed(&mut left) {
                    Some(value) => self.discard(value),
                    None => _ = self.discarded.dbs.pop_if(|db| db.is_bare()),
                }
            } else {
                return true;
            }
        }
        self.discarded() == 0
    }
}

/// Frees a blob. One that a command made, and nobody else has, is handed to `keep` before, which knows how to free what is
/// very large beside the caller; any other was handed to it when it came.
pub(crate) fn release(blob: Bytes, keep: fn(BytesMut) -> Bytes) {
    if RELEASED_BYTES_MIN <= blob.len()
        && let Ok(alone) = blob.try_into_mut()
    {
        drop(keep(alone));
    }
}

impl Value {
    /// How many pieces of memory it may take to free it.
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

    /// Frees elements of a value that nobody uses any more; whether none is left that is worth counting.
    fn shed(&mut self, left: &mut usize) -> bool {
        match self {
            Self::Str(_) => true,
            Self::List(list) => list.shed(left),
            Self::Hash(hash) => hash.shed(left),
            Self::Set(set) => set.shed(left),
            Self::Zset(zset) => zset.shed(left),
        }
    }
}

impl<T: Item> Dict<T> {
    /// Frees items of a table that nobody uses any more; whether none is left.
    pub(crate) fn shed(&mut self, left: &mut usize) -> bool {
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
    /// Frees keys of a database that nobody uses any more, up to one whose value is worth parts of its own.
    fn shed(&mut self, left: &mut usize) -> Option<Value> {
        while 0 < *left {
            *left -= 1;
            match self.dict.pop_slot() {
                Some(Some(entry)) if AT_ONCE_MAX < entry.value.elements() => {
                    return Some(entry.value);
                }
                Some(entry) => drop(entry),
                None if self.due.pop_first().is_some() || self.tags.shed() => {}
                None => break,
            }
        }
        None
    }

    fn is_empty(&self) -> bool {
        self.dict.is_empty() && self.tags.is_bare()
    }

    /// Whether [`Db::shed`] has left nothing.
    fn is_bare(&self) -> bool {
        self.dict.slots() == 0 && self.due.is_empty() && self.tags.is_bare()
    }
}
