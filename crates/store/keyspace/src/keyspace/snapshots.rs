//! Snapshots of the keyspace. A running snapshot must be informed before an entry changes, and when
//! a value is removed or moved.

use super::Keyspace;
use crate::db::{Entry, IN_VALUE_QUEUE};
use crate::rdb::Options;
use crate::value::Value;

impl Keyspace {
    /// Starts a snapshot of the current data. Returns `false` if a snapshot is in progress.
    pub fn start_snapshot(&mut self, options: Options) -> bool {
        if self.snapshots.is_running() {
            return false;
        }
        // Keys with a dropped tag must not appear in the file, so they are all removed first. A
        // caller that must not block for the whole removal calls `sweep_tagged` before.
        while !self.sweep(usize::MAX) {}
        self.snapshots.start(&self.dbs, &self.functions, options)
    }

    /// Returns whether a snapshot is in progress.
    #[must_use]
    pub fn has_snapshot(&self) -> bool {
        self.snapshots.is_running()
    }

    /// Appends the next part of the file to `to`, and returns whether this part was the last.
    /// `work_bytes` limits the bytes of data, including the hash table, that this call reads. The
    /// appended part has about this size, or is smaller if it can be compressed.
    ///
    /// # Panics
    /// If no snapshot is in progress.
    pub fn write_snapshot_part(&mut self, work_bytes: usize, to: &mut Vec<u8>) -> bool {
        let (dbs, free) = (&mut self.dbs, &mut self.discarded);
        self.snapshots.write_part(dbs, free, work_bytes, to)
    }

    /// Returns the number of bytes that hold the old state of changed or removed entries. The next
    /// calls of [`Keyspace::write_snapshot_part`] write this state to the file. If a large blob is
    /// next in the file, it is not counted. Callers delay commands while this number is too high:
    /// if the blob were counted, they would delay commands until the disk has accepted the whole
    /// blob.
    #[must_use]
    pub fn snapshot_waiting_bytes(&self) -> usize {
        self.snapshots.waiting_bytes()
    }

    /// Cancels the snapshot. The caller must continue to call [`Keyspace::write_snapshot_part`]
    /// until it returns `true`, which ends the snapshot, and must discard the bytes of the file.
    pub fn cancel_snapshot(&mut self) {
        self.snapshots.cancel(&mut self.dbs);
    }

    /// Lets a running snapshot save an entry before the entry's value changes.
    #[inline]
    pub(crate) fn before_change(&mut self, db: usize, slot: u32) {
        self.snapshots.before_change(&mut self.dbs, db, slot);
    }

    /// Lets a running snapshot save an entry before the entry is removed or its value is replaced.
    /// A caller that takes the value out of its entry must then call [`Keyspace::retire`] or, if
    /// the value moves to another entry, [`Keyspace::moved`].
    #[inline]
    pub(crate) fn before_removal(&mut self, db: usize, slot: u32) {
        self.snapshots.before_removal(&mut self.dbs, db, slot);
    }

    /// Frees, now or later, the value of an entry that was removed from a slot.
    pub(crate) fn retire(&mut self, db: usize, slot: u32, entry: Entry) {
        self.retire_value((db, slot), entry.access, entry.value);
    }

    /// Frees the former value of an entry whose value was replaced.
    pub(crate) fn replaced_value(&mut self, db: usize, slot: u32, value: Value) {
        let access = &mut self.dbs[db].dict.at_mut(slot).access;
        let before = *access;
        *access &= !IN_VALUE_QUEUE;
        self.retire_value((db, slot), before, value);
    }

    fn retire_value(&mut self, location: (usize, u32), access: u32, value: Value) {
        if let Some(value) = self.snapshots.take(location, access, value) {
            self.discarded.discard(value);
        }
    }

    /// Informs the snapshot that a value moved from one slot to another.
    pub(crate) fn moved(&mut self, from: (usize, u32), access: u32, to: (usize, u32)) {
        self.snapshots.moved(&mut self.dbs, from, access, to);
    }

    /// Removes every key of a database.
    pub(crate) fn flush(&mut self, db: usize, now: i64) {
        self.touch_all(db, db, now);
        self.mark_streams_ready(db);
        let (dbs, free) = (&mut self.dbs, &mut self.discarded);
        self.snapshots.replace_db(dbs, free, self.seed, db);
    }

    /// Swaps two databases.
    pub(crate) fn swap_dbs(&mut self, first: usize, second: usize) {
        self.snapshots.swap_dbs(&mut self.dbs, first, second);
    }
}
