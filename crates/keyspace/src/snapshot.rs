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

use crate::db::{Db, Entry};
use crate::dict::Dict;
use crate::keyspace::Keyspace;
use crate::rdb::{Options, Writer, crc64, opcode, value_kind, write_value};

/// The bit of an entry's `access` that tells its epoch.
const EPOCH: u32 = 1 << 25;

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
    parts: Vec<Part>,
    /// Databases that were flushed since, and how far they are written.
    flushed: Vec<(Part, Dict<Entry>)>,
    /// Keys that were about to change.
    pending: Vec<u8>,
    /// The database that was selected last in the file.
    selected: Option<usize>,
    crc: u64,
    has_head: bool,
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
    fn write(&mut self, number: usize, entry: &Entry) {
        let mut writer = Writer {
            to: &mut self.pending,
            compress: self.options.compress,
        };
        if self.selected != Some(number) {
            self.selected = Some(number);
            writer.byte(opcode::SELECT);
            writer.len(number);
        }
        if let Some(deadline_ms) = entry.deadline() {
            writer.byte(opcode::EXPIRE_MS);
            writer.to.extend_from_slice(&deadline_ms.to_le_bytes());
        }
        writer.byte(value_kind(&entry.value));
        writer.string(entry.key.bytes());
        write_value(&entry.value, &mut writer);
    }

    fn write_head(&mut self, used_bytes: usize) {
        let options = self.options;
        self.has_head = true;
        self.pending
            .extend_from_slice(format!("REDIS{:04}", options.version).as_bytes());
        let mut writer = Writer {
            to: &mut self.pending,
            compress: false,
        };
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

    /// Hands over what is written so far.
    fn flush(&mut self, to: &mut Vec<u8>) {
        self.crc = crc64(self.crc, &self.pending);
        to.append(&mut self.pending);
    }

    fn write_end(&mut self, to: &mut Vec<u8>) {
        self.pending.push(opcode::EOF);
        self.flush(to);
        to.extend_from_slice(&self.crc.to_le_bytes());
    }
}

impl Keyspace {
    /// Begins a snapshot of what there is at this moment; `false` if one is under way.
    pub fn snapshot_begin(&mut self, options: Options) -> bool {
        if self.snapshots.under_way.is_some() {
            return false;
        }
        self.snapshots.epoch ^= EPOCH;
        let parts = self.dbs.iter().enumerate().map(|(number, db)| Part {
            number,
            next: 0,
            end: db.dict.slots(),
        });
        self.snapshots.under_way = Some(Snapshot {
            options,
            parts: parts.collect(),
            flushed: Vec::new(),
            pending: Vec::new(),
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

    /// Appends the next part of the file, about so many bytes; whether that was the last.
    ///
    /// # Panics
    /// When no snapshot is under way.
    pub fn snapshot_next(&mut self, budget_bytes: usize, to: &mut Vec<u8>) -> bool {
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
        let is_done = self.walk(&mut snapshot, budget_bytes);
        if is_done {
            snapshot.write_end(to);
        } else {
            snapshot.flush(to);
            self.snapshots.under_way = Some(snapshot);
        }
        is_done
    }

    /// Gives a snapshot up.
    pub fn snapshot_cancel(&mut self) {
        if let Some(mut snapshot) = self.snapshots.under_way.take() {
            // Every entry comes into the new epoch, as if it were written.
            snapshot.flushed.clear();
            while !self.walk(&mut snapshot, usize::MAX) {}
        }
    }

    /// Writes unwritten entries until there are so many bytes; whether none is left.
    fn walk(&mut self, snapshot: &mut Snapshot, budget_bytes: usize) -> bool {
        let epoch = self.snapshots.epoch;
        for index in 0..self.dbs.len() {
            let dict = &mut self.dbs[index].dict;
            let mut part = snapshot.parts[index];
            while !part.is_done() && snapshot.pending.len() < budget_bytes {
                if dict.peek(part.next).is_some() {
                    let entry = dict.at_mut(part.next);
                    if entry.access & EPOCH != epoch {
                        entry.access ^= EPOCH;
                        snapshot.write(part.number, entry);
                    }
                }
                part.next += 1;
            }
            snapshot.parts[index] = part;
        }
        while let Some((mut part, dict)) = snapshot.flushed.pop() {
            while !part.is_done() && snapshot.pending.len() < budget_bytes {
                if let Some(entry) = dict.peek(part.next)
                    && entry.access & EPOCH != epoch
                {
                    snapshot.write(part.number, entry);
                }
                part.next += 1;
            }
            if !part.is_done() {
                snapshot.flushed.push((part, dict));
                return false;
            }
        }
        snapshot.parts.iter().all(Part::is_done)
    }

    /// The epoch bit of keys that are added.
    pub(crate) fn epoch(&self) -> u32 {
        self.snapshots.epoch
    }

    /// An entry changes or goes: it is written first, if a snapshot wants it.
    #[inline]
    pub(crate) fn about_to_change(&mut self, db: usize, slot: u32) {
        if let Some(snapshot) = &mut self.snapshots.under_way {
            let entry = self.dbs[db].dict.at_mut(slot);
            if entry.access & EPOCH != self.snapshots.epoch {
                entry.access ^= EPOCH;
                let number = snapshot.parts[db].number;
                snapshot.write(number, entry);
            }
        }
    }

    /// Empties a database; a snapshot keeps what it has not written.
    pub(crate) fn replace_db(&mut self, db: usize) {
        let seed = self.seed;
        let old = std::mem::replace(&mut self.dbs[db], Db::new(seed));
        if let Some(snapshot) = &mut self.snapshots.under_way {
            let part = &mut snapshot.parts[db];
            if !part.is_done() {
                snapshot.flushed.push((*part, old.dict));
                part.next = part.end;
            }
        }
    }

    /// Two databases exchange their numbers; the snapshot writes them under those they had.
    pub(crate) fn swap_dbs(&mut self, first: usize, second: usize) {
        self.dbs.swap(first, second);
        if let Some(snapshot) = &mut self.snapshots.under_way {
            snapshot.parts.swap(first, second);
        }
    }
}
