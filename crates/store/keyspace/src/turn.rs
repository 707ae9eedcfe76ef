//! What is done without being asked for, and what callers in the process ask for without a command.

use bytes::Bytes;

use crate::db::NEVER;
use crate::evict::Until;
use crate::keyspace::Keyspace;
use crate::notify::Class;
use crate::string::Str;
use crate::text::Key;
use crate::value::{Kind, Value};

impl Keyspace {
    /// Removes keys whose deadline has passed, evicts, and frees what was removed, each within bounds; whether more is due
    /// at once.
    pub fn turn(&mut self, now_ms: u64) -> bool {
        self.make_room(now_ms);
        let is_swept = self.sweep(self.limits.expire_keys_per_turn);
        let is_tidy = self.free(self.limits.free_elements_per_turn) && is_swept;
        let now = now_ms as i64;
        if !self.active_expire {
            return !is_tidy;
        }
        let mut budget = self.limits.expire_keys_per_turn;
        for db in 0..self.dbs.len() {
            while let Some(&(deadline_ms, slot)) = self.dbs[db].due.first()
                && Self::is_due(deadline_ms, now)
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

    /// When the next key is due, in Unix milliseconds.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<u64> {
        let first = self.dbs.iter().filter_map(|db| db.due.first());
        first.min().map(|due| due.0.max(0).unsigned_abs())
    }

    /// The string at a key, by reference if it is a blob. Counts as a use.
    pub fn get(&mut self, db: usize, key: &[u8], now_ms: u64) -> Option<Bytes> {
        let slot = self.find_live(db, key, now_ms)?;
        let entry = self.used(db, slot, now_ms as i64);
        Str::of(&entry.value).map(Str::to_bytes)
    }

    /// Whether there is something at a key. Counts as no use.
    pub fn contains(&mut self, db: usize, key: &[u8], now_ms: u64) -> bool {
        self.find_live(db, key, now_ms).is_some()
    }

    /// Sets a key, whatever it held, with a deadline in Unix milliseconds if it is to have one. A blob is kept by
    /// reference.
    pub fn set(&mut self, db: usize, key: &[u8], value: &Bytes, until: Lifetime) {
        let now = until.now_ms as i64;
        let deadline_ms = until.deadline_ms.map_or(NEVER, |deadline| deadline as i64);
        let slot = self.find_live(db, key, until.now_ms);
        let stored = Value::Str(Str::new(value));
        match slot {
            Some(slot) => {
                self.about_to_go(db, slot);
                let old = self.dbs[db].change(slot, |old| std::mem::replace(old, stored));
                self.replaced_value(db, slot, old);
                self.dbs[db].set_deadline(slot, deadline_ms);
                self.used(db, slot, now);
            }
            None => {
                let hashed = (self.seed.hash(key), key);
                self.insert(db, hashed, stored, Until { deadline_ms, now });
            }
        }
        let slot = self.dbs[db].dict.find(key).expect("it was just set");
        self.dbs[db].set_tags(slot, &[]);
        self.effects.changes += 1;
        self.touch(db, key);
        self.note(db, Class::String, "set", key);
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

    /// Removes a key; whether it was there.
    pub fn remove(&mut self, db: usize, key: &[u8], now_ms: u64) -> bool {
        let Some(slot) = self.find_live(db, key, now_ms) else {
            return false;
        };
        self.about_to_go(db, slot);
        self.remove_key(db, key);
        self.effects.changes += 1;
        self.gone(db, key, Class::Generic, "del");
        true
    }

    /// Removes a key that was found to be gone: its deadline has passed, or a tag of it was dropped.
    pub(crate) fn remove_gone(&mut self, db: usize, key: &[u8], now: i64) {
        let slot = self.find_live(db, key, now as u64);
        assert!(slot.is_none(), "a key that is gone stays gone");
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

    /// Removes a key whose tag was dropped. The journal has the dropping.
    pub(crate) fn drop_tagged(&mut self, db: usize, slot: u32) {
        self.about_to_go(db, slot);
        let key = self.dbs[db].dict.at(slot).key.clone();
        self.remove_key(db, key.bytes());
        self.touch(db, key.bytes());
        self.note(db, Class::Generic, "del", key.bytes());
    }

    /// Removes some of the keys whose tags were dropped; whether all are.
    pub(crate) fn sweep(&mut self, count: usize) -> bool {
        for db in 0..self.dbs.len() {
            for slot in self.dbs[db].tags.sweep(count) {
                self.drop_tagged(db, slot);
            }
        }
        self.dbs.iter().all(|db| db.tags.is_swept())
    }

    /// Removes keys whose tags were dropped, as many as a turn may; whether all are gone.
    pub fn sweep_tagged(&mut self) -> bool {
        self.sweep(self.limits.expire_keys_per_turn)
    }

    /// Gives a key tags in place of those it had; whether it is there.
    pub fn tag(&mut self, db: usize, key: &[u8], tags: &[Bytes], now_ms: u64) -> bool {
        let slot = self.find_live(db, key, now_ms);
        if let Some(slot) = slot {
            self.dbs[db].set_tags(slot, tags);
        }
        slot.is_some()
    }

    /// Drops all keys of a database that have this tag; how many had it. They are gone at once, and what they hold is
    /// given back within the next turns.
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

    /// Takes the lock of a key that is not there; if another one has it, until when.
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

    /// Until when somebody makes what is to be at a key, in Unix milliseconds.
    #[must_use]
    pub fn locked_until(&self, db: usize, key: &[u8]) -> Option<i64> {
        self.dbs[db].locks.get(&Key::new(key)).copied()
    }

    /// Gives the lock of a key back, if it is the one that was taken until then.
    pub fn give_back(&mut self, db: usize, key: &[u8], until_ms: i64) {
        if self.locked_until(db, key) == Some(until_ms) {
            self.unlock(db, key);
        }
    }

    /// Gives the lock of a key back, if somebody has it; who waits for the key has to be asked again.
    pub(crate) fn unlock(&mut self, db: usize, key: &[u8]) {
        let locks = &mut self.dbs[db].locks;
        if !locks.is_empty() && locks.remove(&Key::new(key)).is_some() {
            self.replaced(db, key);
        }
    }
}

/// When a value is set, and how long it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Unix time in milliseconds.
    pub now_ms: u64,
    /// When it goes, in Unix milliseconds; `None` is never.
    pub deadline_ms: Option<u64>,
}
