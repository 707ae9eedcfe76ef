//! Background work of a turn (one pass of the event loop), and functions by which callers in the
//! same process use the data without commands.

use bytes::Bytes;

use super::Keyspace;
use crate::db::{Lifetime, NEVER, WriteTime, is_due};
use crate::notify::Class;
use crate::string::Str;
use crate::text::Key;
use crate::value::{Kind, Value};

impl Keyspace {
    /// Does the background work of one turn of the event loop: evicts keys, removes expired keys
    /// and keys of which a cache tag was dropped, and frees removed values, each up to its limit.
    /// Returns true if some of this work is left, so that the next turn must follow at once.
    pub fn turn(&mut self, now_ms: u64) -> bool {
        self.make_room(now_ms);
        let is_swept = self.sweep(self.limits.expire_keys_per_turn);
        let is_tidy = self.discarded.free(self.limits.free_elements_per_turn) && is_swept;
        let now = now_ms as i64;
        if !self.active_expire {
            return !is_tidy;
        }
        let mut budget = self.limits.expire_keys_per_turn;
        for db in 0..self.dbs.len() {
            while let Some(&(deadline_ms, slot)) = self.dbs[db].due.first()
                && is_due(deadline_ms, now)
            {
                if budget == 0 {
                    return true;
                }
                budget -= 1;
                let key = self.dbs[db].dict.at(slot).key.clone();
                self.expire(db, key.bytes());
            }
        }
        !is_tidy
    }

    /// Returns the earliest deadline of all keys, in Unix milliseconds.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<u64> {
        let first = self.dbs.iter().filter_map(|db| db.due.first());
        first.min().map(|due| due.0.max(0).unsigned_abs())
    }

    /// Returns the string at a key, by reference if the string is a blob. Counts as a use of the
    /// key.
    pub fn get(&mut self, db: usize, key: &[u8], now_ms: u64) -> Option<Bytes> {
        let slot = self.find_live(db, key, now_ms)?;
        let entry = self.used(db, slot, now_ms as i64);
        Str::of(&entry.value).map(Str::to_bytes)
    }

    /// Returns whether a key exists. Does not count as a use of the key.
    pub fn contains(&mut self, db: usize, key: &[u8], now_ms: u64) -> bool {
        self.find_live(db, key, now_ms).is_some()
    }

    /// Sets a key, regardless of its previous value, with an optional deadline. A blob is stored by
    /// reference.
    pub fn set(&mut self, db: usize, key: &[u8], value: &Bytes, until: Lifetime) {
        let now = until.now_ms as i64;
        let deadline_ms = until.deadline_ms.map_or(NEVER, |deadline| deadline as i64);
        let slot = self.find_live(db, key, until.now_ms);
        let stored = Value::Str(Str::new(value));
        match slot {
            Some(slot) => {
                self.before_removal(db, slot);
                let old = self.dbs[db].change(slot, |old| std::mem::replace(old, stored));
                self.replaced_value(db, slot, old);
                self.dbs[db].set_deadline(slot, deadline_ms);
                self.used(db, slot, now);
            }
            None => {
                let hashed = (self.seed.hash(key), key);
                self.insert(db, hashed, stored, WriteTime { deadline_ms, now });
            }
        }
        let slot = self.dbs[db].dict.find(key).expect("the key was just set");
        self.dbs[db].set_tags(slot, &[]);
        self.effects.changes += 1;
        self.touch(db, key);
        self.emit_event(db, Class::String, "set", key);
        if self.journals() {
            let mut set = vec![
                Bytes::from_static(b"SET"),
                Bytes::copy_from_slice(key),
                value.clone(),
            ];
            if let Some(deadline) = until.deadline_ms {
                set.extend([
                    Bytes::from_static(b"PXAT"),
                    Bytes::from(deadline.to_string()),
                ]);
            }
            self.effects.journal.push((db, set));
        }
    }

    /// Removes a key. Returns whether the key existed.
    pub fn remove(&mut self, db: usize, key: &[u8], now_ms: u64) -> bool {
        let Some(slot) = self.find_live(db, key, now_ms) else {
            return false;
        };
        self.before_removal(db, slot);
        self.remove_key(db, key);
        self.effects.changes += 1;
        self.report_removal(db, key, Class::Generic, "del");
        true
    }

    /// Removes a key that is known to be no longer valid: its deadline has passed, or one of its
    /// cache tags was dropped.
    ///
    /// # Panics
    /// If the key is still valid at `now`.
    pub(crate) fn remove_gone(&mut self, db: usize, key: &[u8], now: i64) {
        let slot = self.find_live(db, key, now as u64);
        assert!(slot.is_none(), "a key that has expired is not found again");
    }

    fn find_live(&mut self, db: usize, key: &[u8], now_ms: u64) -> Option<u32> {
        let slot = self.dbs[db].dict.find(key)?;
        if !self.dbs[db].is_gone(slot, now_ms as i64) {
            return Some(slot);
        }
        if self.dbs[db].tags.is_stale(slot) {
            self.drop_tagged(db, slot);
        } else {
            self.expire(db, key);
        }
        None
    }

    /// Removes a key whose cache tag was dropped. Does not record the removal in the append-only
    /// file, because the file contains the command TAG INVALIDATE, which dropped the tag.
    pub(crate) fn drop_tagged(&mut self, db: usize, slot: u32) {
        self.before_removal(db, slot);
        let key = self.dbs[db].dict.at(slot).key.clone();
        self.remove_key(db, key.bytes());
        self.touch(db, key.bytes());
        self.emit_event(db, Class::Generic, "del", key.bytes());
    }

    /// Checks up to `count` tagged keys in each database. Removes those of which a cache tag was
    /// dropped. Returns whether all such keys of the keyspace are removed.
    pub(crate) fn sweep(&mut self, count: usize) -> bool {
        for db in 0..self.dbs.len() {
            for slot in self.dbs[db].tags.sweep(count) {
                self.drop_tagged(db, slot);
            }
        }
        self.dbs.iter().all(|db| db.tags.is_swept())
    }

    /// Removes keys whose cache tags were dropped, up to the limit for one turn of the event loop.
    /// Returns whether all such keys are removed.
    pub fn sweep_tagged(&mut self) -> bool {
        self.sweep(self.limits.expire_keys_per_turn)
    }

    /// Replaces the cache tags of a key. Returns whether the key exists.
    pub fn tag(&mut self, db: usize, key: &[u8], tags: &[Bytes], now_ms: u64) -> bool {
        let slot = self.find_live(db, key, now_ms);
        if let Some(slot) = slot {
            self.dbs[db].set_tags(slot, tags);
        }
        slot.is_some()
    }

    /// Drops all keys of a database that have this cache tag, and returns their number. For
    /// clients, the keys disappear at once. The memory of the keys is freed over the next turns of
    /// the event loop.
    pub fn invalidate(&mut self, db: usize, tag: &Bytes) -> usize {
        let dropped = self.dbs[db].tags.invalidate(tag);
        if 0 < dropped && self.journals() {
            let words = [b"TAG".as_slice(), b"INVALIDATE"].map(Bytes::from_static);
            let [command, invalidate] = words;
            self.effects
                .journal
                .push((db, vec![command, invalidate, tag.clone()]));
        }
        self.effects.changes += dropped as u64;
        dropped
    }

    /// Acquires the build lock of a key that does not exist: the right to compute its value. If
    /// another client holds the lock, returns the time at which that lock expires.
    pub(crate) fn lock(&mut self, db: usize, key: &[u8], (now, until): (i64, i64)) -> Option<i64> {
        let max = self.limits.locks_max;
        let locks = &mut self.dbs[db].locks;
        let name = Key::new(key);
        if let Some(&held_until) = locks.get(&name).filter(|&&held_until| now < held_until) {
            return Some(held_until);
        }
        if max <= locks.len() {
            locks.retain(|_, held_until| now < *held_until);
        }
        if locks.len() < max {
            locks.insert(name, until);
        }
        None
    }

    /// Returns the time at which the build lock of a key expires, in Unix milliseconds, if the lock
    /// is held.
    #[must_use]
    pub fn locked_until(&self, db: usize, key: &[u8]) -> Option<i64> {
        self.dbs[db].locks.get(&Key::new(key)).copied()
    }

    /// Releases the build lock of a key, if it is the lock that expires at `until_ms`.
    pub fn release_lock(&mut self, db: usize, key: &[u8], until_ms: i64) {
        if self.locked_until(db, key) == Some(until_ms) {
            self.unlock(db, key);
        }
    }

    /// Releases the build lock of a key, if held, and wakes the clients that block on the key.
    pub(crate) fn unlock(&mut self, db: usize, key: &[u8]) {
        let locks = &mut self.dbs[db].locks;
        if !locks.is_empty() && locks.remove(&Key::new(key)).is_some() {
            self.mark_ready(db, key);
        }
    }
}
