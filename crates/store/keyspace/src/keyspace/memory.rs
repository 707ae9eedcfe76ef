//! Memory of the keyspace: last use of keys, eviction, lazy free, and defragmentation.

use super::Keyspace;
use crate::db::{Entry, WriteTime};
use crate::evict::{self, Use};
use crate::notify::Class;
use crate::value::Value;

impl Keyspace {
    /// Records a use of a key, and returns its entry.
    #[inline]
    pub(crate) fn used(&mut self, db: usize, slot: u32, now: i64) -> &Entry {
        let entry = self.dbs[db].dict.at_mut(slot);
        evict::stamp_used(entry, &self.limits, &mut self.rng, now);
        entry
    }

    /// Sets the last use of an imported key to `used`. Has no effect if the eviction policy does
    /// not record this kind of use.
    pub(crate) fn set_use(&mut self, db: usize, slot: u32, used: Use, now: i64) {
        let entry = self.dbs[db].dict.at_mut(slot);
        evict::set_use(entry, &self.limits, used, now);
    }

    /// Adds a key that does not exist yet and whose hash is known.
    pub(crate) fn insert(
        &mut self,
        db: usize,
        key: (u64, &[u8]),
        value: Value,
        until: WriteTime,
    ) -> u32 {
        let stamp = evict::first_stamp(&self.limits, until.now) | self.snapshots.epoch();
        let is_large = evict::starts_on_probation(&value, &self.limits);
        let slot = self.dbs[db].insert(key, value, until.deadline_ms, stamp);
        if is_large {
            self.evictor.put_on_probation(db, slot);
        }
        self.key_created(db, key.1);
        slot
    }

    /// Evicts keys until the data fits in the memory limits. Returns `false` if the data does not
    /// fit and no key can be evicted. After the maximum number of evictions per turn of the event
    /// loop, returns `true`, and later turns continue.
    pub fn make_room(&mut self, now_ms: u64) -> bool {
        if self.limits.maxmemory_bytes == 0 && self.limits.maxmemory_blob_bytes == 0 {
            return true;
        }
        for _ in 0..self.limits.evict_keys_per_turn {
            let Some(share) = evict::exceeded_share(&self.dbs, &self.limits, self.non_data_bytes)
            else {
                return true;
            };
            let Some((db, slot)) = self.victim(share, now_ms as i64) else {
                return false;
            };
            self.evict(db, slot);
        }
        true
    }

    fn victim(&mut self, share: evict::Share, now: i64) -> Option<(usize, u32)> {
        let (dbs, limits) = (&mut self.dbs, &self.limits);
        self.evictor.victim(dbs, limits, &mut self.rng, share, now)
    }

    fn evict(&mut self, db: usize, slot: u32) {
        self.before_removal(db, slot);
        let key = self.dbs[db].dict.at(slot).key.clone();
        self.remove_key(db, key.bytes());
        self.stats.evicted += 1;
        self.report_removal(db, key.bytes(), Class::Evicted, "evicted");
    }

    /// Frees a value, or a part of one, now or in later turns of the event loop.
    pub(crate) fn discard(&mut self, value: Value) {
        self.discarded.discard(value);
    }

    /// Returns the number of collections and databases that wait to be freed.
    #[must_use]
    pub fn discarded(&self) -> usize {
        self.discarded.len()
    }

    /// Starts a defragmentation of all data; restarts a pass in progress.
    pub fn start_defrag(&mut self) {
        self.defrag.start();
    }

    /// Returns whether a defragmentation is in progress.
    #[must_use]
    pub fn is_defragmenting(&self) -> bool {
        self.defrag.is_running()
    }

    /// Moves up to `elements_max` elements, or none while a snapshot is in progress. Returns
    /// whether the pass continues.
    pub fn continue_defrag(&mut self, elements_max: usize) -> bool {
        match self.has_snapshot() {
            true => self.defrag.is_running(),
            false => self.defrag.advance(&mut self.dbs, elements_max),
        }
    }
}
