//! What is done without being asked for, and what callers in the process ask for without a command.

use bytes::Bytes;

use crate::db::NEVER;
use crate::evict::Until;
use crate::keyspace::Keyspace;
use crate::notify::Class;
use crate::string::Str;
use crate::value::{Kind, Value};

impl Keyspace {
    /// Removes keys whose deadline has passed, and evicts, both within bounds; whether more is due at once.
    pub fn turn(&mut self, now_ms: u64) -> bool {
        self.make_room(now_ms);
        let now = now_ms as i64;
        if !self.active_expire {
            return false;
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
        false
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
        self.used(db, slot, now_ms as i64);
        Str::of(&self.dbs[db].dict.at(slot).value).map(Str::to_bytes)
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
                self.about_to_change(db, slot);
                self.dbs[db].change(slot, |old| *old = stored);
                self.dbs[db].set_deadline(slot, deadline_ms);
                self.used(db, slot, now);
            }
            None => _ = self.insert(db, key, stored, Until { deadline_ms, now }),
        }
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
        self.about_to_change(db, slot);
        self.dbs[db].remove(key);
        self.effects.changes += 1;
        self.gone(db, key, Class::Generic, "del");
        true
    }

    fn find_live(&mut self, db: usize, key: &[u8], now_ms: u64) -> Option<u32> {
        let slot = self.dbs[db].dict.find(key)?;
        if Self::is_due(self.dbs[db].dict.at(slot).deadline_ms, now_ms as i64) {
            self.expire(db, key);
            return None;
        }
        Some(slot)
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
