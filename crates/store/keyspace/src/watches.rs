//! Watched keys and their versions, from which a transaction learns that a key has changed.

use std::collections::HashMap;

use bytes::Bytes;

use crate::db::Db;

/// A watched key, with its version at the time of WATCH.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) db: usize,
    pub(crate) key: Bytes,
    pub(crate) version: u64,
    /// State of the key at the time of WATCH.
    pub(crate) state_at_watch: KeyState,
}

/// State of a watched key, as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyState {
    Nothing,
    /// A value whose deadline has passed: absent to clients, so its removal is not a change.
    Expired,
    Value,
}

impl Watched {
    /// Returns the number of bytes that one watch of `key` uses: its entry in the session and its
    /// entry in the keyspace.
    pub(crate) fn bytes(key: &Bytes) -> usize {
        const MAP_ENTRY_BYTES: usize = 64;
        size_of::<Self>() + key.len() + MAP_ENTRY_BYTES
    }
}

/// Versions of the watched keys of each database.
#[derive(Debug)]
pub(crate) struct Watches {
    dbs: Vec<HashMap<Bytes, Watch>>,
    version: u64,
}

#[derive(Debug, Default)]
struct Watch {
    clients: usize,
    version: u64,
}

impl Watches {
    pub(crate) fn new(databases: usize) -> Self {
        Self {
            dbs: (0..databases).map(|_| HashMap::new()).collect(),
            version: 0,
        }
    }

    /// Registers one client's watch of a key. Returns the key's version.
    pub(crate) fn watch(&mut self, db: usize, key: &Bytes) -> u64 {
        let watch = self.dbs[db].entry(key.clone()).or_default();
        watch.clients += 1;
        watch.version
    }

    /// Removes the watches in `all`, which belong to one client.
    pub(crate) fn unwatch(&mut self, all: impl Iterator<Item = Watched>) {
        for watched in all {
            let watches = &mut self.dbs[watched.db];
            let watch = watches
                .get_mut(&watched.key)
                .expect("watched keys of sessions are in the table");
            watch.clients -= 1;
            if watch.clients == 0 {
                watches.remove(&watched.key);
            }
        }
    }

    /// Returns the version of a watched key.
    pub(crate) fn version(&self, db: usize, key: &[u8]) -> u64 {
        self.dbs[db]
            .get(key)
            .expect("watched keys of sessions are in the table")
            .version
    }

    /// Gives the key a new version. The transactions of clients that watch this key then fail.
    #[inline]
    pub(crate) fn touch(&mut self, db: usize, key: &[u8]) {
        if self.dbs[db].is_empty() {
            return;
        }
        self.version += 1;
        if let Some(watch) = self.dbs[db].get_mut(key) {
            watch.version = self.version;
        }
    }

    /// Gives new versions to watched keys of database `db` before SWAPDB or a flush replaces its
    /// content. `here` is the current content. `there` is the other database of the swap; for a
    /// flush, it equals `here`. A key gets a new version if it exists in `here`, expired or not, or
    /// if it exists in `there` and has not expired.
    pub(crate) fn touch_all(&mut self, db: usize, (here, there): (&Db, &Db), now: i64) {
        self.version += 1;
        let is_new = |slot: u32| !there.is_gone(slot, now);
        for (key, watch) in &mut self.dbs[db] {
            if here.dict.find(key).is_some() || there.dict.find(key).is_some_and(is_new) {
                watch.version = self.version;
            }
        }
    }
}
