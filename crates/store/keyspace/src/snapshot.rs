//! Snapshots: the data at one point in time, written while commands continue to run.
//!
//! A snapshot walks the slots of each database. Before a command changes, removes or expires a key
//! that the walk has not reached, the old state of the key is written. So the file contains exactly
//! the data at the start of the snapshot, and the additional memory holds only data that changed
//! since the last call of [`Snapshots::write_part`].
//!
//! Each entry has one bit for the epoch in which it was last written. There are two epochs.
//! Starting a snapshot switches to the other epoch, so that all entries count as unwritten at once.
//! Keys that are added during the snapshot belong to the new epoch from the start.
//!
//! ```text
//! slots:   written written written │ unwritten  written*  unwritten …       * before it changed
//!                                  └ next
//! ```
//!
//! A large value is written in parts. Meanwhile, keys that are about to change are written to a
//! second buffer, which follows the large value in the file. `value_queue.rs` describes how a large
//! value may change while it is written.
//!
//! The work per call is limited by the bytes read, not by the bytes written: for values that
//! compress well, writing a few bytes of the file requires much reading.

mod buffer;
#[cfg(test)]
mod tests;
mod value_queue;

use bytes::Bytes;

use crate::db::{Db, IN_VALUE_QUEUE};
use crate::dict::Seed;
use crate::discard::LazyFreeQueue;
use crate::rdb::{
    Options, Position, TAGS_FIELD, Writer, crc64, opcode, value_kind, write_count, write_part,
};
use crate::value::Value;

use buffer::Buffer;
use value_queue::{Flushed, Location, ValueQueue};

/// Bit of `Entry::access`: the epoch in which a snapshot last wrote the entry.
const EPOCH: u32 = 1 << 29;

/// Work that is counted for reading an occupied slot, in bytes: its entry fills one cache line. The
/// work for the content is counted in addition.
const ENTRY_WORK: usize = 64;
const VACANT_WORK: usize = 8;

/// State of the snapshots: the current epoch, and the snapshot in progress.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// Current epoch, which new keys get: [`EPOCH`] or 0.
    epoch: u32,
    running: Option<Snapshot>,
}

#[derive(Debug)]
struct Snapshot {
    options: Options,
    /// Epoch that marks an entry as written by this snapshot.
    epoch: u32,
    parts: Vec<Part>,
    /// Databases that were flushed during the snapshot. The first of them is written next.
    flushed: Vec<Flushed>,
    /// Number of flushes during the snapshot; gives each flushed database its id.
    flushes: u64,
    /// Bytes of the file that the next calls of [`Snapshots::write_part`] append.
    pending: Buffer,
    /// True if the snapshot was cancelled: the remaining entries are marked as written without
    /// being written.
    is_cancelled: bool,
    /// Large values that are being written in parts.
    values: ValueQueue,
    /// Entries of keys that were about to change while a large value was being written.
    deferred: Buffer,
    /// Values that were written and can be freed.
    unused: Vec<Value>,
    /// Database that was last selected in the file.
    selected: Option<usize>,
    crc: u64,
}

/// Progress of the snapshot in one database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Index that the database had when the snapshot started. SWAPDB may have changed it since.
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
    /// Writes one entry, preceded by the selection of its database if needed. An entry that is
    /// written in parts is only queued. Returns the work done.
    fn write(&mut self, number: usize, db: &mut Db, (location, slot): (Location, u32)) -> usize {
        if self.is_cancelled {
            return 0;
        }
        let compress = self.options.compress;
        let entry = db.dict.at_mut(slot);
        if entry.value.has_parts() {
            entry.access |= IN_VALUE_QUEUE;
            let mut head = Vec::new();
            let writer = Writer::new(&mut head, compress);
            write_entry_head(db, slot, &mut writer.with_version(self.options.version));
            self.values.push(number, head, location, slot);
            return 0;
        }
        let to = match self.values.is_open {
            true => &mut self.deferred,
            false => &mut self.pending,
        };
        let mut writer = to.writer(compress).with_version(self.options.version);
        select(&mut self.selected, number, &mut writer);
        write_entry_head(db, slot, &mut writer);
        let start = Position::default();
        let rest = write_part(&db.dict.at(slot).value, start, usize::MAX, &mut writer);
        assert!(
            rest.is_none(),
            "without a work limit, the whole value is written"
        );
        writer.work
    }

    /// Continues to write the large values, until the work budget `left` is used up.
    fn continue_values(&mut self, dbs: &mut [Db], left: &mut usize) {
        while 0 < *left && !self.values.is_empty() {
            let options = self.options;
            let writer = self.pending.writer(options.compress);
            let mut writer = writer.with_version(options.version);
            if let Some((number, head)) = self.values.open() {
                select(&mut self.selected, number, &mut writer);
                writer.to.extend_from_slice(&head);
            }
            let homes = (&mut *dbs, &mut self.flushed[..]);
            let is_whole = self
                .values
                .write(homes, *left, &mut writer, &mut self.unused);
            *left = left.saturating_sub(writer.work + ENTRY_WORK);
            if is_whole {
                self.pending.append(&mut self.deferred);
            }
        }
    }

    /// Writes the unwritten entries of one database, until the work budget `left` is used up or a
    /// large value is queued. Returns the new progress.
    fn walk_db(
        &mut self,
        mut part: Part,
        db: &mut Db,
        location: Location,
        left: &mut usize,
    ) -> Part {
        while !part.is_done() && self.values.is_empty() && 0 < *left {
            let slot = part.next;
            part.next += 1;
            let entry = db.dict.peek(slot);
            if entry.is_none_or(|it| it.access & EPOCH == self.epoch) {
                *left = left.saturating_sub(VACANT_WORK);
                continue;
            }
            db.dict.at_mut(slot).access ^= EPOCH;
            let work = self.write(part.number, db, (location, slot));
            *left = left.saturating_sub(ENTRY_WORK + work);
        }
        part
    }

    /// Writes the unwritten entries of all databases, until the work budget `left` is used up.
    /// Returns whether all entries are written.
    fn walk(&mut self, dbs: &mut [Db], free: &mut LazyFreeQueue, mut left: usize) -> bool {
        loop {
            self.continue_values(dbs, &mut left);
            for (index, db) in dbs.iter_mut().enumerate() {
                let part = self.parts[index];
                self.parts[index] = self.walk_db(part, db, Location::Db(index), &mut left);
            }
            while self.values.is_empty() && 0 < left && !self.flushed.is_empty() {
                let mut next = self.flushed.remove(0);
                let location = Location::Flushed(next.id);
                next.part = self.walk_db(next.part, &mut next.db, location, &mut left);
                if next.part.is_done() && self.values.is_empty() {
                    free.add_db(next.db);
                } else {
                    self.flushed.insert(0, next);
                }
            }
            if self.values.is_empty() || left == 0 {
                break;
            }
        }
        self.values.is_empty() && self.flushed.is_empty() && self.parts.iter().all(Part::is_done)
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

/// Writes the selection of a database, unless this database is already selected.
fn select(selected: &mut Option<usize>, number: usize, writer: &mut Writer<'_>) {
    if *selected != Some(number) {
        *selected = Some(number);
        writer.byte(opcode::SELECT);
        writer.len(number);
    }
}

/// Writes the head of an entry: everything that precedes the elements of its value.
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
    writer.byte(value_kind(&entry.value, writer.version));
    writer.string(entry.key.bytes());
    write_count(&entry.value, writer);
}

impl Snapshots {
    /// Starts a snapshot of the current data; the caller must have removed all keys with dropped
    /// cache tags. Returns `false` if a snapshot is in progress.
    pub(crate) fn start(&mut self, dbs: &[Db], functions: &[Bytes], options: Options) -> bool {
        if self.running.is_some() {
            return false;
        }
        self.epoch ^= EPOCH;
        let parts = dbs.iter().enumerate().map(|(number, db)| Part {
            number,
            next: 0,
            end: db.dict.slots(),
        });
        let mut snapshot = Snapshot {
            options,
            epoch: self.epoch,
            parts: parts.collect(),
            flushed: Vec::new(),
            flushes: 0,
            pending: Buffer::default(),
            is_cancelled: false,
            values: ValueQueue::default(),
            deferred: Buffer::default(),
            unused: Vec::new(),
            selected: None,
            crc: 0,
        };
        let used_bytes = dbs.iter().map(Db::heap_bytes).sum();
        snapshot.write_head(used_bytes, functions);
        self.running = Some(snapshot);
        true
    }

    /// Returns whether a snapshot is in progress.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Appends the next part of the snapshot file to `to`. Returns whether this part was the last.
    /// Values that only the snapshot still needed go to `free` once they are written.
    ///
    /// # Panics
    /// If no snapshot is in progress.
    pub(crate) fn write_part(
        &mut self,
        dbs: &mut [Db],
        free: &mut LazyFreeQueue,
        work_bytes: usize,
        to: &mut Vec<u8>,
    ) -> bool {
        let snapshot = self.running.as_mut();
        let snapshot = snapshot.expect("a snapshot is in progress");
        // Entries that were written since the previous call, because they were about to change, may
        // already use up the budget of this call.
        let left = work_bytes.saturating_sub(snapshot.pending.waiting_bytes());
        let is_walked = snapshot.walk(dbs, free, left);
        let from = to.len();
        let bytes_max = work_bytes.saturating_mul(2);
        let is_done = snapshot.pending.hand_over(bytes_max, to, free.keep) && is_walked;
        if is_done {
            to.push(opcode::EOF);
        }
        snapshot.crc = crc64(snapshot.crc, &to[from..]);
        for value in snapshot.unused.drain(..) {
            free.discard(value);
        }
        if is_done {
            to.extend_from_slice(&snapshot.crc.to_le_bytes());
            self.running = None;
        }
        is_done
    }

    /// Returns how many bytes wait to be written because their entries have changed or were
    /// removed. Callers delay commands while this number is too high. So it excludes a large blob
    /// that is next in the file: otherwise commands would wait until the disk has accepted the
    /// whole blob.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.running.as_ref().map_or(0, |it| {
            let pending = it.pending.waiting_bytes() - it.pending.next_blob_bytes();
            pending + it.deferred.waiting_bytes() + it.values.waiting_bytes()
        })
    }

    /// Cancels the snapshot. The caller must continue to call [`Snapshots::write_part`] until it
    /// returns `true`, which ends the snapshot, and must discard the bytes of the file.
    pub(crate) fn cancel(&mut self, dbs: &mut [Db]) {
        if let Some(snapshot) = &mut self.running {
            snapshot.is_cancelled = true;
            snapshot.pending = Buffer::default();
            snapshot.deferred = Buffer::default();
            let homes = (dbs, &mut snapshot.flushed[..]);
            snapshot.values.cancel(homes, &mut snapshot.unused);
        }
    }

    /// Returns the epoch bit for new keys.
    #[inline]
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Prepares the snapshot in progress, if any, for a change of an entry's value. The caller
    /// changes the value afterwards. If the snapshot has not reached the entry, the entry is
    /// written now. If the snapshot is writing the value in parts, the old elements are protected.
    #[inline]
    pub(crate) fn before_change(&mut self, dbs: &mut [Db], db: usize, slot: u32) {
        self.before_removal(dbs, db, slot);
        if let Some(snapshot) = &mut self.running
            && dbs[db].dict.at(slot).access & IN_VALUE_QUEUE != 0
        {
            snapshot.values.protect(db, slot, dbs);
        }
    }

    /// Prepares the snapshot in progress, if any, for the removal of an entry or the replacement of
    /// its value. If the snapshot has not reached the entry, the entry is written now. Afterwards,
    /// a caller that removes the value calls [`Snapshots::take`], and a caller that moves the value
    /// to another entry calls [`Snapshots::moved`].
    #[inline]
    pub(crate) fn before_removal(&mut self, dbs: &mut [Db], db: usize, slot: u32) {
        if let Some(snapshot) = &mut self.running {
            let entry = dbs[db].dict.at_mut(slot);
            if entry.access & EPOCH != self.epoch {
                entry.access ^= EPOCH;
                let number = snapshot.parts[db].number;
                snapshot.write(number, &mut dbs[db], (Location::Db(db), slot));
            }
        }
    }

    /// Takes ownership of a value that was removed from an entry, if the flags of the entry in
    /// `access` show that the snapshot is still writing the value. Otherwise returns the value.
    #[inline]
    pub(crate) fn take(
        &mut self,
        (db, slot): (usize, u32),
        access: u32,
        value: Value,
    ) -> Option<Value> {
        match &mut self.running {
            Some(snapshot) if access & IN_VALUE_QUEUE != 0 => {
                snapshot.values.take(db, slot, value);
                None
            }
            _ => Some(value),
        }
    }

    /// Informs the snapshot that a value moved from one slot to another.
    pub(crate) fn moved(
        &mut self,
        dbs: &mut [Db],
        from: (usize, u32),
        access: u32,
        to: (usize, u32),
    ) {
        if access & IN_VALUE_QUEUE != 0
            && let Some(snapshot) = &mut self.running
        {
            snapshot.values.moved(from, to);
            dbs[to.0].dict.at_mut(to.1).access |= IN_VALUE_QUEUE;
        }
    }

    /// Replaces a database with an empty one. The old database goes to the snapshot in progress if
    /// the snapshot has not finished it, and otherwise to `free`.
    pub(crate) fn replace_db(
        &mut self,
        dbs: &mut [Db],
        free: &mut LazyFreeQueue,
        seed: Seed,
        db: usize,
    ) {
        let old = std::mem::replace(&mut dbs[db], Db::new(seed));
        let Some(snapshot) = &mut self.running else {
            return free.add_db(old);
        };
        let part = &mut snapshot.parts[db];
        if part.is_done() && snapshot.values.is_empty() {
            return free.add_db(old);
        }
        let id = snapshot.flushes;
        snapshot.flushes += 1;
        snapshot.values.relocate(|location| match location {
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

    /// Swaps two databases; the snapshot writes both under their former numbers.
    pub(crate) fn swap_dbs(&mut self, dbs: &mut [Db], first: usize, second: usize) {
        dbs.swap(first, second);
        if let Some(snapshot) = &mut self.running {
            snapshot.parts.swap(first, second);
            snapshot.values.relocate(|location| match location {
                Location::Db(index) if index == first => Location::Db(second),
                Location::Db(index) if index == second => Location::Db(first),
                other => other,
            });
        }
    }
}
