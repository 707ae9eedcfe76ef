//! Lazy free: removed values that are too large to be freed at once are freed over several turns of
//! the event loop.

use bytes::{Bytes, BytesMut};

use crate::db::Db;
use crate::memory::release;
use crate::string::Str;
use crate::value::{AT_ONCE_MAX, Value};

/// Maximum number of queued values. While the queue is full, values are freed immediately, which
/// bounds the memory of the queue.
const WAITING_MAX: usize = 1024;

/// Values and databases that wait to be freed. Their memory no longer counts as data.
#[derive(Debug)]
pub(crate) struct LazyFreeQueue {
    values: Vec<Value>,
    dbs: Vec<Db>,
    /// Function that gets the buffer of a large blob before the buffer is freed; see [`release`].
    pub(crate) keep: fn(BytesMut) -> Bytes,
}

impl LazyFreeQueue {
    pub(crate) fn new(keep: fn(BytesMut) -> Bytes) -> Self {
        Self {
            values: Vec::new(),
            dbs: Vec::new(),
            keep,
        }
    }

    /// Frees a value, or queues it to be freed in later turns of the event loop.
    #[inline]
    pub(crate) fn discard(&mut self, value: Value) {
        if let Value::Str(Str::Blob(blob)) = value {
            release(*blob, self.keep);
        } else if AT_ONCE_MAX < value.elements() && self.values.len() < WAITING_MAX {
            self.values.push(value);
        }
    }

    /// Queues a whole database, to be freed in later turns of the event loop.
    pub(crate) fn add_db(&mut self, db: Db) {
        if !db.is_empty() {
            self.dbs.push(db);
        }
    }

    /// Returns the number of collections and databases that wait to be freed.
    pub(crate) fn len(&self) -> usize {
        self.values.len() + self.dbs.len()
    }

    /// Frees at most `elements_max` elements. Returns whether the queue is empty.
    pub(crate) fn free(&mut self, elements_max: usize) -> bool {
        let mut left = elements_max;
        while 0 < left {
            if let Some(value) = self.values.last_mut() {
                if value.free_some(&mut left) {
                    self.values.pop();
                }
            } else if let Some(db) = self.dbs.last_mut() {
                // A large value joins the queue of values, and is freed before the next key.
                match db.free_some(&mut left) {
                    Some(value) => self.discard(value),
                    None => _ = self.dbs.pop_if(|db| db.is_freed()),
                }
            } else {
                return true;
            }
        }
        self.len() == 0
    }
}
