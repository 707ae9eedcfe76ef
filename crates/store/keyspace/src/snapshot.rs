//! The data at one point in time, written out while commands go on.
//!
//! A snapshot walks the slots of each database. Whoever is about to change, remove or expire a key that the walk has
//! not met writes the key first, as it was. So what is written is exactly what there was when the snapshot began, and
//! what it takes beside the data is what was changed since the last call of [`Keyspace::snapshot_next`].
//!
//! Each entry has a bit that says in which of two epochs it was written. Beginning a snapshot turns the epoch, so that
//! every entry is unwritten at once; keys that are added while it runs belong to the new epoch from the start.
//!
//! ```text
//! slots:   written written written │ unwritten  written*  unwritten …       * changed, and written before
//!                                  └ next
//! ```
//!
//! A large value is written in parts, and while that goes on keys that are about to change are written aside, and follow it.
//! How it changes itself meanwhile is told in `line.rs`.
//!
//! What one call does is bounded by what it reads, and not by what comes of that: of values that compress well, a few
//! bytes of the file are a lot of work.

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
use line::{Flushed, Home, Line};

/// The bit of an entry's `access` that tells its epoch.
const EPOCH: u32 = 1 << 29;

/// What a slot costs beside what is in it, in bytes that are written: an entry is a line of the processor's caches, and so
/// is most often what it refers to.
const ENTRY_WORK: usize = 64;
const VACANT_WORK: usize = 8;

/// The epoch, and the snapshot under way.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// [`EPOCH`] or 0.
    epoch: u32,
    under_way: Option<Snapshot>,
}

#[derive(Debug)]
struct Snapshot {
    options: Options,
    /// That of entries that are written.
    epoch: u32,
    parts: Vec<Part>,
    /// Databases that were flushed since. The first is next.
    flushed: Vec<Flushed>,
    /// How many were.
    flushes: u64,
    /// What is to be handed over next.
    pending: Buffer,
    /// It was given up: what is left is marked as written, and nothing is.
    is_void: bool,
    /// Large values that are begun.
    line: Line,
    /// Keys that were about to change while a large value was open.
    aside: Buffer,
    /// Values that were written and nobody needs.
    unused: Vec<Value>,
    /// The database that was selected last in the file.
    selected: Option<usize>,
    crc: u64,
}

/// How far one database is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Its number when the snapshot began.
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
    /// Appends one entry, or has it written in parts; and the database it is in, if another one came before. What that
    /// took.
    fn write(&mut self, number: usize, db: &mut Db, (home, slot): (Home, u32)) -> usize {
        if self.is_void {
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
            true => &mut self.aside,
            false => &mut self.pending,
        };
        let mut writer = to.writer(compress);
        select(&mut self.selected, number, &mut writer);
        write_entry_head(db, slot, &mut writer);
        let rest = write_part(&db.dict.at(slot).value, 0, usize::MAX, &mut writer);
        assert!(rest.is_none(), "nothing is that long");
        writer.work
    }

    /// Goes on with the large values that are begun, as far as the work goes that is left.
    fn go_on(&mut self, dbs: &mut [Db], left: &mut usize) {
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
                self.pending.append(&mut self.aside);
            }
        }
    }

    /// Writes unwritten entries of one database as far as the work goes that is left; how far it is written then.
    fn walk_db(&mut self, mut part: Part, db: &mut Db, home: Home, left: &mut usize) -> Part {
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

/// Names a database, unless what came before is in it too.
fn select(selected: &mut Option<usize>, number: usize, writer: &mut Writer<'_>) {
    if *selected != Some(number) {
        *selected = Some(number);
        writer.byte(opcode::SELECT);
        writer.len(number);
    }
}

/// Writes what stands before a value's elements.
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
    /// Begins a snapshot of what there is at this moment; `false` if one is under way.
    pub fn snapshot_begin(&mut self, options: Options) -> bool {
        if self.snapshots.under_way.is_some() {
            return false;
        }
        // What was dropped by its tag is not there any more. Who cannot wait for that calls `sweep_tagged` before.
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
            is_void: false,
            line: Line::default(),
            aside: Buffer::default(),
            unused: Vec::new(),
            selected: None,
            crc: 0,
        };
        snapshot.write_head(self.used_bytes(), &self.functions);
        self.snapshots.under_way = Some(snapshot);
        true
    }

    /// Libraries of functions that a snapshot held: they cannot be called here, and the next snapshot has them again.
    #[must_use]
    pub fn functions(&self) -> &[Bytes] {
        &self.functions
    }

    /// Drops the libraries of functions.
    pub fn clear_functions(&mut self) {
        self.functions.clear();
    }

    /// Whether a snapshot is under way.
    #[must_use]
    pub fn snapshot_under_way(&self) -> bool {
        self.snapshots.under_way.is_some()
    }

    /// Appends the next part of the file; whether that was the last. Bounded is the work, by the bytes that are read for it,
    /// those of the table included; what is appended is less, if it can be compressed, or about as much.
    ///
    /// # Panics
    /// When no snapshot is under way.
    pub fn snapshot_next(&mut self, work_bytes: usize, to: &mut Vec<u8>) -> bool {
        let mut snapshot = self
            .snapshots
            .under_way
            .take()
            .expect("a snapshot was begun");
        // What was written because it changed may be more than a turn hands over.
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

    /// Bytes that a snapshot holds because they were about to change or to go, until the next calls of
    /// [`Keyspace::snapshot_next`]. One value that is next is not counted: the memory of one may take as long to come back
    /// as the disk takes for it.
    #[must_use]
    pub fn snapshot_waiting_bytes(&self) -> usize {
        self.snapshots.under_way.as_ref().map_or(0, |it| {
            let pending = it.pending.waiting_bytes() - it.pending.next_blob_bytes();
            pending + it.aside.waiting_bytes() + it.line.waiting_bytes()
        })
    }

    /// Gives a snapshot up. It is over when [`Keyspace::snapshot_next`] says so, whose bytes are of no use any more.
    pub fn snapshot_cancel(&mut self) {
        if let Some(snapshot) = &mut self.snapshots.under_way {
            snapshot.is_void = true;
            snapshot.pending = Buffer::default();
            snapshot.aside = Buffer::default();
            let homes = (&mut self.dbs[..], &mut snapshot.flushed[..]);
            snapshot.line.give_up(homes, &mut snapshot.unused);
        }
    }

    /// Writes unwritten entries as far as the work goes that is left; whether none remains.
    fn walk(&mut self, snapshot: &mut Snapshot, mut left: usize) -> bool {
        loop {
            snapshot.go_on(&mut self.dbs, &mut left);
            for (index, db) in self.dbs.iter_mut().enumerate() {
                let part = snapshot.parts[index];
                snapshot.parts[index] = snapshot.walk_db(part, db, Home::Db(index), &mut left);
            }
            while snapshot.line.is_empty() && 0 < left && !snapshot.flushed.is_empty() {
                let mut next = snapshot.flushed.remove(0);
                let home = Home::Flushed(next.id);
                next.part = snapshot.walk_db(next.part, &mut next.db, home, &mut left);
                if next.part.is_done() && snapshot.line.is_empty() {
                    self.discard_db(next.db);
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

    /// The epoch bit of keys that are added.
    pub(crate) fn epoch(&self) -> u32 {
        self.snapshots.epoch
    }

    /// An entry changes: it is written first, or protected, if a snapshot wants it.
    #[inline]
    pub(crate) fn about_to_change(&mut self, db: usize, slot: u32) {
        self.about_to_go(db, slot);
        if let Some(snapshot) = &mut self.snapshots.under_way
            && self.dbs[db].dict.at(slot).access & IN_LINE != 0
        {
            snapshot.line.protect(db, slot, &mut self.dbs);
        }
    }

    /// An entry goes, or gets another value: it is written first, if a snapshot wants it. Who takes the value out then calls
    /// [`Keyspace::retire`], or [`Keyspace::moved`] if it stays in another entry.
    #[inline]
    pub(crate) fn about_to_go(&mut self, db: usize, slot: u32) {
        if let Some(snapshot) = &mut self.snapshots.under_way {
            let entry = self.dbs[db].dict.at_mut(slot);
            if entry.access & EPOCH != self.snapshots.epoch {
                entry.access ^= EPOCH;
                let number = snapshot.parts[db].number;
                snapshot.write(number, &mut self.dbs[db], (Home::Db(db), slot));
            }
        }
    }

    /// Frees the value of an entry that was removed from a slot, now or later.
    pub(crate) fn retire(&mut self, db: usize, slot: u32, entry: Entry) {
        self.retire_value((db, slot), entry.access & IN_LINE != 0, entry.value);
    }

    /// Frees a value that an entry had before another one.
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

    /// The value of an entry that was removed from one slot is in another one now.
    pub(crate) fn moved(&mut self, from: (usize, u32), access: u32, to: (usize, u32)) {
        if access & IN_LINE != 0
            && let Some(snapshot) = &mut self.snapshots.under_way
        {
            snapshot.line.moved(from, to);
            self.dbs[to.0].dict.at_mut(to.1).access |= IN_LINE;
        }
    }

    /// Empties a database; a snapshot keeps what it has not written.
    pub(crate) fn replace_db(&mut self, db: usize) {
        let old = std::mem::replace(&mut self.dbs[db], Db::new(self.seed));
        let Some(snapshot) = &mut self.snapshots.under_way else {
            return self.discard_db(old);
        };
        let part = &mut snapshot.parts[db];
        if part.is_done() && snapshot.line.is_empty() {
            return self.discard_db(old);
        }
        let id = snapshot.flushes;
        snapshot.flushes += 1;
        snapshot.line.rehome(|home| match home {
            Home::Db(index) if index == db => Home::Flushed(id),
            other => other,
        });
        let done = Part {
            next: part.end,
            ..*part
        };
        let part = std::mem::replace(part, done);
        snapshot.flushed.push(Flushed { id, part, db: old });
    }

    /// Two databases exchange their numbers; the snapshot writes them under those they had.
    pub(crate) fn swap_dbs(&mut self, first: usize, second: usize) {
        self.dbs.swap(first, second);
        if let Some(snapshot) = &mut self.snapshots.under_way {
            snapshot.parts.swap(first, second);
            snapshot.line.rehome(|home| match home {
                Home::Db(index) if index == first => Home::Db(second),
                Home::Db(index) if index == second => Home::Db(first),
                other => other,
            });
        }
    }
}
