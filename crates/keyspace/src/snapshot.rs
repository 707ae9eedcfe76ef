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
//! A large value is written in parts. While it is open, keys that are about to change are written aside, and follow it.
//! Is it about to change itself, the rest of it is written at once: there is no other way to keep it as it was.
//!
//! What one call does is bounded by what it reads, and not by what comes of that: of values that compress well, a few
//! bytes of the file are a lot of work.

use crate::db::Db;
use crate::keyspace::Keyspace;
use crate::rdb::{Options, TAGS_FIELD, Writer, crc64, opcode, value_kind, write_part};

/// The bit of an entry's `access` that tells its epoch.
const EPOCH: u32 = 1 << 25;

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
    /// Databases that were flushed since, and how far they are written. The first is next.
    flushed: Vec<(Part, Db)>,
    /// What is to be handed over next, from `handed_over` on.
    pending: Vec<u8>,
    handed_over: usize,
    /// It was given up: what is left is marked as written, and nothing is.
    is_void: bool,
    /// The value of which a part is written.
    open: Option<Open>,
    /// Keys that were about to change while a value was open.
    aside: Vec<u8>,
    /// The database that was selected last in the file.
    selected: Option<usize>,
    crc: u64,
    has_head: bool,
}

/// A value of which a part is written.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its database, or the first that was flushed.
    db: Option<usize>,
    slot: u32,
    /// Where the rest begins.
    place: usize,
}

/// How far one database is written.
#[derive(Clone, Copy, Debug)]
struct Part {
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
    /// Appends one entry, and the database it is in if another one came before.
    fn write(&mut self, number: usize, db: &Db, slot: u32) {
        let rest = self.write_until(number, db, slot, &mut usize::MAX.clone());
        assert!(rest.is_none(), "nothing is that long");
    }

    /// The same, as far as the work goes that is left; where the rest begins.
    fn write_until(
        &mut self,
        number: usize,
        db: &Db,
        slot: u32,
        left: &mut usize,
    ) -> Option<usize> {
        if self.is_void {
            return None;
        }
        let entry = db.dict.at(slot);
        let to = match self.open {
            None => &mut self.pending,
            Some(_) => &mut self.aside,
        };
        let compress = self.options.compress;
        let mut writer = Writer::new(to, compress);
        if self.selected != Some(number) {
            self.selected = Some(number);
            writer.byte(opcode::SELECT);
            writer.len(number);
        }
        let tags = db.tags.names(slot);
        if !tags.is_empty() {
            let mut names = Vec::new();
            let mut list = Writer::new(&mut names, compress);
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
        let rest = write_part(&entry.value, 0, *left, &mut writer);
        *left = left.saturating_sub(writer.work);
        rest
    }

    /// Goes on with the value that is open; whether it is whole, and everything that waited for that is written.
    fn go_on(&mut self, dbs: &[Db], left: &mut usize) -> bool {
        let Some(open) = self.open else {
            return true;
        };
        let db = match open.db {
            Some(index) => &dbs[index],
            None => &self.flushed[0].1,
        };
        let mut writer = Writer::new(&mut self.pending, self.options.compress);
        let value = &db.dict.at(open.slot).value;
        let rest = write_part(value, open.place, *left, &mut writer);
        *left = left.saturating_sub(writer.work);
        self.open = rest.map(|place| Open { place, ..open });
        if self.open.is_none() {
            self.pending.append(&mut self.aside);
        }
        self.open.is_none()
    }

    /// Writes unwritten entries of one database, which has this index or was flushed, as far as the work goes that is
    /// left; how far it is written then.
    fn walk_db(
        &mut self,
        mut part: Part,
        db: &mut Db,
        index: Option<usize>,
        left: &mut usize,
    ) -> Part {
        while !part.is_done() && self.may_begin(*left) {
            let slot = part.next;
            part.next += 1;
            let entry = db.dict.peek(slot);
            if entry.is_none_or(|it| it.access & EPOCH == self.epoch) {
                *left = left.saturating_sub(VACANT_WORK);
                continue;
            }
            *left = left.saturating_sub(ENTRY_WORK);
            db.dict.at_mut(slot).access ^= EPOCH;
            let rest = self.write_until(part.number, db, slot, left);
            let db = index;
            self.open = rest.map(|place| Open { db, slot, place });
        }
        part
    }

    /// Whether another entry may begin.
    fn may_begin(&self, left: usize) -> bool {
        self.open.is_none() && 0 < left
    }

    /// Bytes that wait to be handed over.
    fn waiting_bytes(&self) -> usize {
        self.pending.len() - self.handed_over
    }

    fn write_head(&mut self, used_bytes: usize) {
        let options = self.options;
        self.has_head = true;
        self.pending
            .extend_from_slice(format!("REDIS{:04}", options.version).as_bytes());
        let mut writer = Writer::new(&mut self.pending, false);
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
    }

    /// Hands over what is written, so many bytes at most; whether that was all.
    fn hand_over(&mut self, bytes_max: usize, to: &mut Vec<u8>) -> bool {
        let end = self.pending.len().min(self.handed_over + bytes_max);
        let next = &self.pending[self.handed_over..end];
        self.crc = crc64(self.crc, next);
        to.extend_from_slice(next);
        self.handed_over = end;
        let is_all = end == self.pending.len();
        if is_all {
            self.pending.clear();
            self.handed_over = 0;
        }
        is_all
    }

    fn write_end(&mut self, to: &mut Vec<u8>) {
        self.pending.push(opcode::EOF);
        self.hand_over(usize::MAX - self.handed_over, to);
        to.extend_from_slice(&self.crc.to_le_bytes());
    }
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
        self.snapshots.under_way = Some(Snapshot {
            options,
            epoch: self.snapshots.epoch,
            parts: parts.collect(),
            flushed: Vec::new(),
            pending: Vec::new(),
            handed_over: 0,
            is_void: false,
            open: None,
            aside: Vec::new(),
            selected: None,
            crc: 0,
            has_head: false,
        });
        true
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
        if !snapshot.has_head {
            let changed = std::mem::take(&mut snapshot.pending);
            snapshot.write_head(self.used_bytes());
            snapshot.pending.extend(changed);
        }
        // What was written because it changed may be more than a turn hands over.
        let left = work_bytes.saturating_sub(snapshot.waiting_bytes());
        let is_walked = self.walk(&mut snapshot, left);
        let is_all = snapshot.hand_over(work_bytes.saturating_mul(2), to);
        let is_done = is_walked && is_all;
        if is_done {
            snapshot.write_end(to);
        } else {
            self.snapshots.under_way = Some(snapshot);
        }
        is_done
    }

    /// Bytes that were written because they were about to change, and wait for the next calls of
    /// [`Keyspace::snapshot_next`].
    #[must_use]
    pub fn snapshot_waiting_bytes(&self) -> usize {
        let under_way = self.snapshots.under_way.as_ref();
        under_way.map_or(0, |it| it.waiting_bytes() + it.aside.len())
    }

    /// Gives a snapshot up. It is over when [`Keyspace::snapshot_next`] says so, whose bytes are of no use any more.
    pub fn snapshot_cancel(&mut self) {
        if let Some(snapshot) = &mut self.snapshots.under_way {
            snapshot.is_void = true;
            snapshot.open = None;
            snapshot.pending = Vec::new();
            snapshot.handed_over = 0;
            snapshot.aside = Vec::new();
        }
    }

    /// Writes unwritten entries as far as the work goes that is left; whether none remains.
    fn walk(&mut self, snapshot: &mut Snapshot, mut left: usize) -> bool {
        if 0 < left {
            snapshot.go_on(&self.dbs, &mut left);
        }
        for (index, db) in self.dbs.iter_mut().enumerate() {
            let part = snapshot.parts[index];
            snapshot.parts[index] = snapshot.walk_db(part, db, Some(index), &mut left);
        }
        while snapshot.may_begin(left) && !snapshot.flushed.is_empty() {
            let (part, mut db) = snapshot.flushed.swap_remove(0);
            let part = snapshot.walk_db(part, &mut db, None, &mut left);
            if part.is_done() && snapshot.open.is_none() {
                self.discard_db(db);
            } else {
                snapshot.flushed.insert(0, (part, db));
            }
        }
        snapshot.open.is_none()
            && snapshot.flushed.is_empty()
            && snapshot.parts.iter().all(Part::is_done)
    }

    /// The epoch bit of keys that are added.
    pub(crate) fn epoch(&self) -> u32 {
        self.snapshots.epoch
    }

    /// An entry changes or goes: it is written first, if a snapshot wants it.
    #[inline]
    pub(crate) fn about_to_change(&mut self, db: usize, slot: u32) {
        if let Some(snapshot) = &mut self.snapshots.under_way {
            let is_open = |open: Open| open.db == Some(db) && open.slot == slot;
            if snapshot.open.is_some_and(is_open) {
                snapshot.go_on(&self.dbs, &mut usize::MAX.clone());
            }
            let entry = self.dbs[db].dict.at_mut(slot);
            if entry.access & EPOCH != self.snapshots.epoch {
                entry.access ^= EPOCH;
                let number = snapshot.parts[db].number;
                snapshot.write(number, &self.dbs[db], slot);
            }
        }
    }

    /// Empties a database; a snapshot keeps what it has not written.
    pub(crate) fn replace_db(&mut self, db: usize) {
        let seed = self.seed;
        if let Some(snapshot) = &mut self.snapshots.under_way
            && snapshot.open.is_some_and(|open| open.db == Some(db))
        {
            snapshot.go_on(&self.dbs, &mut usize::MAX.clone());
        }
        let old = std::mem::replace(&mut self.dbs[db], Db::new(seed));
        if let Some(snapshot) = &mut self.snapshots.under_way {
            let part = &mut snapshot.parts[db];
            if !part.is_done() {
                snapshot.flushed.push((*part, old));
                part.next = part.end;
                return;
            }
        }
        self.discard_db(old);
    }

    /// Two databases exchange their numbers; the snapshot writes them under those they had.
    pub(crate) fn swap_dbs(&mut self, first: usize, second: usize) {
        self.dbs.swap(first, second);
        if let Some(snapshot) = &mut self.snapshots.under_way {
            snapshot.parts.swap(first, second);
            if let Some(open) = &mut snapshot.open {
                open.db = match open.db {
                    Some(db) if db == first => Some(second),
                    Some(db) if db == second => Some(first),
                    other => other,
                };
            }
        }
    }
}
