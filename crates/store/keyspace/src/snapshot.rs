//! Snapshots: the data at one point in time, written while commands go on.
//!
//! A snapshot walks the slots of each database. Before a command changes, removes or expires a key
//! that the walk has not reached, the old state of the key is written. So the file contains exactly
//! the data at the start of the snapshot, and the additional memory is what changed since the last
//! call of [`Keyspace::write_snapshot_part`].
//!
//! Each entry has a bit for the epoch in which it was last written, one of two. Starting a snapshot
//! flips the current epoch, so that all entries count as unwritten at once; keys that are added
//! during the snapshot belong to the new epoch from the start.
//!
//! ```text
//! slots:   written written written │ unwritten  written*  unwritten …       * before it changed
//!                                  └ next
//! ```
//!
//! A large value is written in parts. Meanwhile, keys that are about to change are written to a
//! second buffer, which follows the large value in the file. `line.rs` describes how a large value
//! may change while it is written.
//!
//! The work per call is limited by the bytes read, not by the bytes written: for values that
//! compress well, a few bytes of the file are a lot of work.

mod buffer;
mod line;
#[cfg(test)]
mod tests;

use bytes::Bytes;

use crate::db::{Db, Entry, IN_LINE};
use crate::keyspace::Keyspace;
use crate::rdb::{Options, TAGS_FIELD, Writer, crc64, opcode, value_kind, write_count, write_part};
use crate::value::Value;

pub(crate) use buffer::Blobs;
use buffer::Buffer;
use line::{Flushed, Location, ValueQueue};

/// Bit of `Entry::access`: the epoch of the entry.
const EPOCH: u32 = 1 << 29;

/// Cost of a slot besides its content, in bytes written: an entry is one cache line, and so is
/// usually the memory it refers to.
const ENTRY_WORK: usize = 64;
const VACANT_WORK: usize = 8;

/// The current epoch, and the snapshot in progress.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// [`EPOCH`] or 0.
    epoch: u32,
    under_way: Option<Snapshot>,
}

#[derive(Debug)]
struct Snapshot {
    options: Options,
    /// Epoch of written entries.
    epoch: u32,
    parts: Vec<Part>,
    /// Databases that were flushed during the snapshot; the first one is written next.
    flushed: Vec<Flushed>,
    /// Number of flushes during the snapshot; gives each flushed database its id.
    flushes: u64,
    /// Bytes to be handed over next.
    pending: Buffer,
    /// True if the snapshot was cancelled: the remaining entries are marked as written without
    /// being written.
    is_cancelled: bool,
    /// Large values in progress.
    line: ValueQueue,
    /// Keys that were about to change while a large value was being written.
    deferred: Buffer,
    /// Values that were written and can be freed.
    unused: Vec<Value>,
    /// Database that was last selected in the file.
    selected: Option<usize>,
    crc: u64,
}

/// Progress of one database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Index of the database at the start of the snapshot.
    number: usize,
    next: u32,
    end: u32,
}

impl Part {
    fn is_done(&self) -> bool {
        self.next == self.end
    }
}

impl Snapshot {
    /// Writes one entry, preceded by the selection of its database if needed; or queues it, if it
    /// is written in parts. Returns the work done.
    fn write(&mut self, number: usize, db: &mut Db, (home, slot): (Location, u32)) -> usize {
        if self.is_cancelled {
            return 0;
        }
        let compress = self.options.compress;
        let entry = db.dict.at_mut(slot);
        if entry.value.has_parts() {
            entry.access |= IN_LINE;
            let mut head = Vec::new();
            write_entry_head(db, slot, &mut Writer::new(&mut head, compress));
            self.line.push(number, head, home, slot);
            return 0;
        }
        let to = match self.line.is_open {
            true => &mut self.deferred,
            false => &mut self.pending,
        };
        let mut writer = to.writer(compress);
        select(&mut self.selected, number, &mut writer);
        write_entry_head(db, slot, &mut writer);
        let rest = write_part(&db.dict.at(slot).value, 0, usize::MAX, &mut writer);
        assert!(
            rest.is_none(),
            "without a work limit, the whole value is written"
        );
        writer.work
    }

    /// Continues the large values in progress, up to the work in `left`.
    fn continue_values(&mut self, dbs: &mut [Db], left: &mut usize) {
        while 0 < *left && !self.line.is_empty() {
            let mut writer = self.pending.writer(self.options.compress);
            if let Some((number, head)) = self.line.open() {
                select(&mut self.selected, number, &mut writer);
                writer.to.extend_from_slice(&head);
            }
            let homes = (&mut *dbs, &mut self.flushed[..]);
            let is_whole = self.line.write(homes, *left, &mut writer, &mut self.unused);
            *left = left.saturating_sub(writer.work + ENTRY_WORK);
            if is_whole {
                self.pending.append(&mut self.deferred);
            }
        }
    }

    /// Writes unwritten entries of one database, up to the work in `left`. Returns the new
    /// progress.
    fn walk_db(&mut self, mut part: Part, db: &mut Db, home: Location, left: &mut usize) -> Part {
        while !part.is_done() && self.line.is_empty() && 0 < *left {
            let slot = part.next;
            part.next += 1;
            let entry = db.dict.peek(slot);
            if entry.is_none_or(|it| it.access & EPOCH == self.epoch) {
                *left = left.saturating_sub(VACANT_WORK);
                continue;
            }
            db.dict.at_mut(slot).access ^= EPOCH;
            let work = self.write(part.number, db, (home, slot));
            *left = left.saturating_sub(ENTRY_WORK + work);
        }
        part
    }

    fn write_head(&mut self, used_bytes: usize, functions: &[Bytes]) {
        let options = self.options;
        self.pending
            .extend(format!("REDIS{:04}", options.version).as_bytes());
        let mut writer = self.pending.writer(false);
        let fields = [
            ("redis-ver", "7.2.4".to_owned()),
            ("redis-bits", "64".to_owned()),
            ("ctime", (options.now_ms / 1000).to_string()),
            ("used-mem", used_bytes.to_string()),
            ("aof-base", u8::from(options.aof_base).to_string()),
        ];
        for (name, value) in fields {
            writer.byte(opcode::AUX);
            writer.string(name.as_bytes());
            writer.string(value.as_bytes());
        }
        for library in functions {
            writer.byte(opcode::FUNCTION);
            writer.string(library);
        }
    }
}

/// Writes the selection of a database, unless it is selected already.
fn select(selected: &mut Option<usize>, number: usize, writer: &mut Writer<'_>) {
    if *selected != Some(number) {
        *selected = Some(number);
        writer.byte(opcode::SELECT);
        writer.len(number);
    }
}

/// Writes the head of an entry: all that precedes its value's elements.
fn write_entry_head(db: &Db, slot: u32, writer: &mut Writer<'_>) {
    let entry = db.dict.at(slot);
    let tags = db.tags.names(slot);
    if !tags.is_empty() {
        let mut names = Vec::new();
        let mut list = Writer::new(&mut names, false);
        tags.iter().for_each(|name| list.string(name));
        writer.byte(opcode::AUX);
        writer.string(TAGS_FIELD);
        writer.string(&names);
    }
    if let Some(deadline_ms) = entry.deadline() {
        writer.byte(opcode::EXPIRE_MS);
        writer.to.extend_from_slice(&deadline_ms.to_le_bytes());
    }
    writer.byte(value_kind(&entry.value));
    writer.string(entry.key.bytes());
    write_count(&entry.value, writer);
}

impl Keyspace {
    /// Starts a snapshot of the current data. Returns `false` if a snapshot is in progress.
    pub fn start_snapshot(&mut self, options: Options) -> bool {
        if self.snapshots.under_way.is_some() {
            return false;
        }
        // Keys with a dropped tag must not appear in the file. A caller that cannot afford this
        // sweep at once calls `sweep_tagged` first.
        while !self.sweep(usize::MAX) {}
        self.snapshots.epoch ^= EPOCH;
        let parts = self.dbs.iter().enumerate().map(|(number, db)| Part {
            number,
            next: 0,
            end: db.dict.slots(),
        });
        let mut snapshot = Snapshot {
            options,
            epoch: self.snapshots.epoch,
            parts: parts.collect(),
            flushed: Vec::new(),
            flushes: 0,
            pending: Buffer::default(),
            is_cancelled: false,
            line: ValueQueue::default(),
            deferred: Buffer::default(),
            unused: Vec::new(),
            selected: None,
            crc: 0,
        };
        snapshot.write_head(self.used_bytes(), &self.functions);
        self.snapshots.under_way = Some(snapshot);
        true
    }

    /// Returns the function libraries of a loaded snapshot: they cannot be called here, but the
    /// next snapshot contains them again.
    #[must_use]
    pub fn functions(&self) -> &[Bytes] {
        &self.functions
    }

    /// Drops the function libraries.
    pub fn clear_functions(&mut self) {
        self.functions.clear();
    }

    /// Returns whether a snapshot is in progress.
    #[must_use]
    pub fn has_snapshot(&self) -> bool {
        self.snapshots.under_way.is_some()
    }

    /// Appends the next part of the file, and returns whether it was the last one. `work_bytes`
    /// limits the work, measured in bytes read including the table; the appended part is about as
    /// large, or smaller if it can be compressed.
    ///
    /// # Panics
    /// If no snapshot is in progress.
    pub fn write_snapshot_part(&mut self, work_bytes: usize, to: &mut Vec<u8>) -> bool {
        let mut snapshot = self
            .snapshots
            .under_way
            .take()
            .expect("a snapshot is in progress");
        // Entries written because of changes may already exceed the budget of one turn.
        let left = work_bytes.saturating_sub(snapshot.pending.waiting_bytes());
        let is_walked = self.walk(&mut snapshot, left);
        let from = to.len();
        let bytes_max = work_bytes.saturating_mul(2);
        let is_done = snapshot.pending.hand_over(bytes_max, to, self.keep) && is_walked;
        if is_done {
            to.push(opcode::EOF);
        }
        snapshot.crc = crc64(snapshot.crc, &to[from..]);
        snapshot
            .unused
            .drain(..)
            .for_each(|value| self.discard(value));
        if is_done {
            to.extend_from_slice(&snapshot.crc.to_le_bytes());
        } else {
            self.snapshots.under_way = Some(snapshot);
        }
        is_done
    }

    /// Returns the bytes held for entries that changed or were removed, until the next calls of
    /// [`Keyspace::write_snapshot_part`]. A single value that is next is not counted, since its
    /// memory is freed only as fast as the disk takes it.
    #[must_use]
    pub fn snapshot_waiting_bytes(&self) -> usize {
        self.snapshots.under_way.as_ref().map_or(0, |it| {
            let pending = it.pending.waiting_bytes() - it.pending.next_blob_bytes();
            pending + it.deferred.waiting_bytes() + it.line.waiting_bytes()
        })
    }

    /// Cancels the snapshot. It ends when [`Keyspace::write_snapshot_part`] returns `true`; the
    /// caller discards the bytes.
    pub fn cancel_snapshot(&mut self) {
        if let Some(snapshot) = &mut self.snapshots.under_way {
            snapshot.is_cancelled = true;
            snapshot.pending = Buffer::default();
            snapshot.deferred = Buffer::default();
            let homes = (&mut self.dbs[..], &mut snapshot.flushed[..]);
            snapshot.line.cancel(homes, &mut snapshot.unused);
        }
    }

    /// Writes unwritten entries, up to the work in `left`. Returns whether none remain.
    fn walk(&mut self, snapshot: &mut Snapshot, mut left: usize) -> bool {
        loop {
            snapshot.continue_values(&mut self.dbs, &mut left);
            for (index, db) in self.dbs.iter_mut().enumerate() {
                let part = snapshot.parts[index];
                snapshot.parts[index] = snapshot.walk_db(part, db, Location::Db(index), &mut left);
            }
            while snapshot.line.is_empty() && 0 < left && !snapshot.flushed.is_empty() {
                let mut next = snapshot.flushed.remove(0);
                let home = Location::Flushed(next.id);
                next.part = snapshot.walk_db(next.part, &mut next.db, home, &mut left);
                if next.part.is_done() && snapshot.line.is_empty() {
                    self.free_db_lazily(next.db);
                } else {
                    snapshot.flushed.insert(0, next);
                }
            }
            if snapshot.line.is_empty() || left == 0 {
                break;
            }
        }
        snapshot.line.is_empty()
            && snapshot.flushed.is_empty()
            && snapshot.parts.iter().all(Part::is_done)
    }

    /// Returns the epoch bit for new keys.
    pub(crate) fn epoch(&self) -> u32 {
        self.snapshots.epoch
    }

    /// Prepares a change of an entry's value: if a snapshot needs the entry, it is written first,
    /// or protected if it is being written in parts.
    #[inline]
    pub(crate) fn before_change(&mut self, db: usize, slot: u32) {
        self.before_removal(db, slot);
        if let Some(snapshot) = &mut self.snapshots.under_way
            && self.dbs[db].dict.at(slot).access & IN_LINE != 0
        {
            snapshot.line.protect(db, slot, &mut self.dbs);
        }
    }

    /// Prepares the removal of an entry or the replacement of its value: if a snapshot needs the
    /// entry, it is written first. A caller that takes the value out then calls
    /// [`Keyspace::retire`], or [`Keyspace::moved`] if the value moves to another entry.
    #[inline]
    pub(crate) fn before_removal(&mut self, db: usize, slot: u32) {
        if let Some(snapshot) = &mut self.snapshots.under_way {
            let entry = self.dbs[db].dict.at_mut(slot);
            if entry.access & EPOCH != self.snapshots.epoch {
                entry.access ^= EPOCH;
                let number = snapshot.parts[db].number;
                snapshot.write(number, &mut self.dbs[db], (Location::Db(db), slot));
            }
        }
    }

    /// Frees the value of an entry that was removed from a slot, now or later.
    pub(crate) fn retire(&mut self, db: usize, slot: u32, entry: Entry) {
        self.retire_value((db, slot), entry.access & IN_LINE != 0, entry.value);
    }

    /// Frees the former value of an entry whose value was replaced.
    pub(crate) fn replaced_value(&mut self, db: usize, slot: u32, value: Value) {
        let access = &mut self.dbs[db].dict.at_mut(slot).access;
        let is_in_line = *access & IN_LINE != 0;
        *access &= !IN_LINE;
        self.retire_value((db, slot), is_in_line, value);
    }

    fn retire_value(&mut self, (db, slot): (usize, u32), is_in_line: bool, value: Value) {
        match &mut self.snapshots.under_way {
            Some(snapshot) if is_in_line => snapshot.line.take(db, slot, value),
            _ => self.discard(value),
        }
    }

    /// Informs the snapshot that a value moved from one slot to another.
    pub(crate) fn moved(&mut self, from: (usize, u32), access: u32, to: (usize, u32)) {
        if access & IN_LINE != 0
            && let Some(snapshot) = &mut self.snapshots.under_way
        {
            snapshot.line.moved(from, to);
            self.dbs[to.0].dict.at_mut(to.1).access |= IN_LINE;
        }
    }

    /// Empties a database; a snapshot keeps the part that it has not written yet.
    pub(crate) fn replace_db(&mut self, db: usize) {
        let old = std::mem::replace(&mut self.dbs[db], Db::new(self.seed));
        let Some(snapshot) = &mut self.snapshots.under_way else {
            return self.free_db_lazily(old);
        };
        let part = &mut snapshot.parts[db];
        if part.is_done() && snapshot.line.is_empty() {
            return self.free_db_lazily(old);
        }
        let id = snapshot.flushes;
        snapshot.flushes += 1;
        snapshot.line.relocate(|home| match home {
            Location::Db(index) if index == db => Location::Flushed(id),
            other => other,
        });
        let done = Part {
            next: part.end,
            ..*part
        };
        let part = std::mem::replace(part, done);
        snapshot.flushed.push(Flushed { id, part, db: old });
    }

    /// Swaps two databases; a snapshot writes both under their former numbers.
    pub(crate) fn swap_dbs(&mut self, first: usize, second: usize) {
        self.dbs.swap(first, second);
        if let Some(snapshot) = &mut self.snapshots.under_way {
            snapshot.parts.swap(first, second);
            snapshot.line.relocate(|home| match home {
                Location::Db(index) if index == first => Location::Db(second),
                Location::Db(index) if index == second => Location::Db(first),
                other => other,
            });
        }
    }
}
