//! The environment of a command's handler.

use bytes::Bytes;

use crate::db::{Entry, NEVER, WriteTime};
use crate::fault::Fault;
use crate::keyspace::{Journal, Keyspace};
use crate::notify::Class;
use crate::session::Session;
use crate::settings::Growth;
use crate::value::{Kind, Value};

/// One running command: the store, the client's session, the arguments, and the changes so far.
pub(crate) struct Context<'a> {
    pub(crate) ks: &'a mut Keyspace,
    pub(crate) session: &'a mut Session,
    pub(crate) args: &'a [Bytes],
    /// Unix time in milliseconds.
    pub(crate) now: i64,
    /// Index of the selected database.
    pub(crate) db: usize,
    /// Number of changes that the command has made. A command without changes is not recorded in
    /// the append-only file.
    pub(crate) dirty: u64,
    journal: Journal<'a>,
    /// Hash of the first argument, which is a key in most commands. It is computed when it is first
    /// needed.
    pub(crate) hash: Option<u64>,
}

/// Deadline that a key gets when its value is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deadline {
    Keep,
    Never,
    At(i64),
}

/// Class and name of the keyspace event that is sent when a command stores its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreEvent {
    pub(crate) class: Class,
    pub(crate) name: &'static str,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        ks: &'a mut Keyspace,
        session: &'a mut Session,
        args: &'a [Bytes],
        now_ms: u64,
    ) -> Self {
        let db = session.db;
        Self {
            ks,
            session,
            args,
            now: i64::try_from(now_ms).unwrap_or(i64::MAX),
            db,
            dirty: 0,
            journal: Journal::AsIs(args),
            hash: None,
        }
    }

    /// Records the number of changes, and the command's entries for the append-only file, in the
    /// keyspace.
    pub(crate) fn finish(self) {
        self.ks.commit(self.db, self.dirty, self.journal);
    }

    /// Records the command `args` in the append-only file instead of the running command.
    pub(crate) fn rewrite<const N: usize>(&mut self, args: [Bytes; N]) {
        self.rewrite_as(args.into());
    }

    /// Records the command `args` in the append-only file instead of the running command. Several
    /// calls record several commands.
    pub(crate) fn rewrite_as(&mut self, args: Vec<Bytes>) {
        if !self.ks.journals() {
            return;
        }
        match &mut self.journal {
            Journal::Rewritten(commands) => commands.push(args),
            Journal::AsIs(_) => self.journal = Journal::Rewritten(vec![args]),
        }
    }

    #[inline]
    pub(crate) fn growth(&self) -> Growth {
        self.ks.growth()
    }

    /// Returns the hash of a key; the hash is cached if the key is the first argument.
    #[inline]
    fn hash(&mut self, key: &[u8]) -> u64 {
        let seed = self.ks.seed;
        let is_first = self
            .args
            .get(1)
            .is_some_and(|first| std::ptr::eq(&first[..], key));
        match is_first {
            true => *self.hash.get_or_insert_with(|| seed.hash(key)),
            false => seed.hash(key),
        }
    }

    /// Returns the slot of a key, if the key exists. If the key has expired, or one of its cache
    /// tags was dropped, removes the key and returns `None`. A replay of the append-only file keeps
    /// expired keys.
    #[inline]
    pub(crate) fn find(&mut self, key: &[u8]) -> Option<u32> {
        let hash = self.hash(key);
        let db = &self.ks.dbs[self.db];
        let slot = db.dict.find_hashed(hash, key)?;
        if db.is_gone(slot, self.now) {
            return self.remove_expired(slot, key);
        }
        Some(slot)
    }

    /// Removes a key that has expired, or of which a cache tag was dropped, and returns `None`.
    /// During a replay, keeps an expired key and returns its slot, because the append-only file
    /// itself contains the removal.
    fn remove_expired(&mut self, slot: u32, key: &[u8]) -> Option<u32> {
        let db = &self.ks.dbs[self.db];
        if db.tags.is_stale(slot) {
            self.ks.drop_tagged(self.db, slot);
        } else if self.session.replay {
            return Some(slot);
        } else {
            self.ks.expire(self.db, key);
        }
        None
    }

    pub(crate) fn exists(&mut self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    pub(crate) fn entry(&mut self, key: &[u8]) -> Option<&Entry> {
        let slot = self.find(key)?;
        Some(self.ks.dbs[self.db].dict.at(slot))
    }

    /// Returns an entry without updating its last use (for TYPE, TTL and the like). Counts a hit or
    /// a miss.
    pub(crate) fn entry_untouched(&mut self, key: &[u8]) -> Option<&Entry> {
        let Some(slot) = self.find(key) else {
            self.record_miss(key);
            return None;
        };
        self.ks.stats.hits += 1;
        Some(self.ks.dbs[self.db].dict.at(slot))
    }

    fn record_miss(&mut self, key: &[u8]) {
        self.ks.stats.misses += 1;
        self.ks.emit_event(self.db, Class::KeyMiss, "keymiss", key);
    }

    /// Returns a value. Counts a hit or a miss, and updates the key's last use.
    #[inline]
    pub(crate) fn read(&mut self, key: &[u8]) -> Option<&Value> {
        let Some(slot) = self.find(key) else {
            self.record_miss(key);
            return None;
        };
        self.ks.stats.hits += 1;
        let entry = match self.session.no_touch {
            true => self.ks.dbs[self.db].dict.at(slot),
            false => self.ks.used(self.db, slot, self.now),
        };
        Some(&entry.value)
    }

    /// Returns the value of a key, if the key exists. A value of another type than `T` is an error.
    /// Counts a hit or a miss and updates the key's last use, as [`Context::read`] does.
    #[inline]
    pub(crate) fn read_as<T: Kind>(&mut self, key: &[u8]) -> Result<Option<&T>, Fault> {
        match self.read(key) {
            None => Ok(None),
            Some(value) => T::of(value).map(Some).ok_or(Fault::WRONG_TYPE),
        }
    }

    /// Returns the value of a key, if the key exists. A value of another type than `T` is an error.
    /// Counts no hit or miss, because the command is about to change the value.
    pub(crate) fn peek_as<T: Kind>(&mut self, key: &[u8]) -> Result<Option<&T>, Fault> {
        match self.entry(key) {
            None => Ok(None),
            Some(entry) => T::of(&entry.value).map(Some).ok_or(Fault::WRONG_TYPE),
        }
    }

    /// Changes an existing value. If the change empties a collection, [`Context::changed`] removes
    /// the key.
    pub(crate) fn edit<T: Kind, R>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<Option<R>, Fault> {
        let Some(slot) = self.find(key) else {
            return Ok(None);
        };
        self.edit_slot(slot, change).map(Some)
    }

    fn edit_slot<T: Kind, R>(
        &mut self,
        slot: u32,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<R, Fault> {
        self.ks.used(self.db, slot, self.now);
        self.ks.before_change(self.db, slot);
        self.ks.dbs[self.db].change(slot, |value| {
            T::of_mut(value).map(change).ok_or(Fault::WRONG_TYPE)
        })
    }

    /// Changes the value of `key` with `change`. If the key does not exist, its value is first
    /// created with `empty`.
    pub(crate) fn edit_or_new<T: Kind, R>(
        &mut self,
        key: &[u8],
        empty: impl FnOnce() -> T,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<R, Fault> {
        let slot = match self.find(key) {
            Some(slot) => slot,
            None => self.insert(key, empty().into_value(), NEVER),
        };
        self.edit_slot(slot, change)
    }

    /// Adds a key that does not exist yet.
    pub(crate) fn insert(&mut self, key: &[u8], value: Value, deadline_ms: i64) -> u32 {
        let now = self.now;
        let hash = self.hash(key);
        let until = WriteTime { deadline_ms, now };
        self.ks.insert(self.db, (hash, key), value, until)
    }

    /// Sets a key, regardless of its previous value and type.
    pub(crate) fn put(&mut self, key: &[u8], value: Value, deadline: Deadline) -> u32 {
        let Some(slot) = self.find(key) else {
            let deadline_ms = match deadline {
                Deadline::At(deadline_ms) => deadline_ms,
                Deadline::Keep | Deadline::Never => NEVER,
            };
            return self.insert(key, value, deadline_ms);
        };
        self.ks.before_removal(self.db, slot);
        let db = &mut self.ks.dbs[self.db];
        let old = db.change(slot, |old| std::mem::replace(old, value));
        match deadline {
            Deadline::Keep => {}
            Deadline::Never => _ = db.set_deadline(slot, NEVER),
            Deadline::At(deadline_ms) => _ = db.set_deadline(slot, deadline_ms),
        }
        self.ks.replaced_value(self.db, slot, old);
        self.ks.used(self.db, slot, self.now);
        self.ks.mark_ready(self.db, key);
        slot
    }

    /// Sets the deadline of an existing key; [`NEVER`] removes the deadline. Returns the previous
    /// deadline.
    pub(crate) fn set_deadline(&mut self, slot: u32, deadline_ms: i64) -> i64 {
        self.ks.before_removal(self.db, slot);
        self.ks.dbs[self.db].set_deadline(slot, deadline_ms)
    }

    /// Removes a key that exists and has not expired. Returns its slot and entry.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<(u32, Entry)> {
        let slot = self.find(key)?;
        self.ks.before_removal(self.db, slot);
        let hash = self.hash(key);
        let removed = self.ks.dbs[self.db].remove_hashed(hash, key);
        if let Some((_, entry)) = &removed {
            self.ks.removed(self.db, key, &entry.value);
        }
        removed
    }

    /// Removes a key, but sends no event and records nothing in the append-only file. Returns
    /// whether the key existed.
    pub(crate) fn clear(&mut self, key: &[u8]) -> bool {
        let removed = self.remove(key);
        let retired = removed.map(|(slot, entry)| self.ks.retire(self.db, slot, entry));
        retired.is_some()
    }

    /// Removes a key and reports the change. Returns whether the key existed.
    pub(crate) fn delete(&mut self, key: &[u8]) -> bool {
        let removed = self.clear(key);
        if removed {
            self.changed(key, Class::Generic, "del");
        }
        removed
    }

    /// Records a change of a key: counts the change, invalidates watches of the key, sends the
    /// event, and removes the key if its collection became empty.
    pub(crate) fn changed(&mut self, key: &[u8], class: Class, event: &'static str) {
        self.dirty += 1;
        self.ks.touch(self.db, key);
        self.ks.emit_event(self.db, class, event, key);
        // A key with an empty string is kept; a key with an empty collection is removed.
        if class != Class::String && self.remove_if_empty(key) {
            self.ks.emit_event(self.db, Class::Generic, "del", key);
        }
    }

    /// Counts a change of a stream that leaves its entries as they are, and sends the event. As in
    /// Redis, the change does not invalidate watches of the key.
    pub(crate) fn changed_inside(&mut self, key: &[u8], event: &'static str) {
        self.dirty += 1;
        self.ks.emit_event(self.db, Class::Stream, event, key);
    }

    /// Removes the key if its value is an empty collection. Returns whether the key was removed.
    pub(crate) fn remove_if_empty(&mut self, key: &[u8]) -> bool {
        let hash = self.hash(key);
        let db = &mut self.ks.dbs[self.db];
        let found = db.dict.find_hashed(hash, key);
        let is_vacant = found.is_some_and(|slot| db.dict.at(slot).value.is_vacant());
        if is_vacant && let Some((slot, entry)) = db.remove_hashed(hash, key) {
            self.ks.retire(self.db, slot, entry);
        }
        is_vacant
    }

    pub(crate) fn int(&self, index: usize) -> Result<i64, Fault> {
        resp::parse_int(&self.args[index]).ok_or(Fault::NOT_INT)
    }

    pub(crate) fn double(&self, index: usize) -> Result<f64, Fault> {
        crate::text::parse_double(&self.args[index]).ok_or(Fault::NOT_FLOAT)
    }

    /// Returns whether the argument at `index` is `word`, ignoring case.
    pub(crate) fn is(&self, index: usize, word: &str) -> bool {
        let arg = self.args.get(index);
        arg.is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Stores a collection that a command computed, or removes the key if the collection is empty.
    pub(crate) fn store(&mut self, key: &Bytes, value: Value, event: StoreEvent) {
        if value.is_vacant() {
            self.delete(key);
            return;
        }
        self.put(key, value, Deadline::Never);
        self.changed(key, event.class, event.name);
    }
}
