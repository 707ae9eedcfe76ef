//! Large values that are written in parts, one after the other, while commands change them.
//!
//! A value in the line stays where it is as long as nobody changes it. Before it changes it is protected: a table copies
//! each item before its first change, and of a list the snapshot takes a copy that shares its nodes. A value that goes as a
//! whole is given to the line, which frees it when it is written. So a change costs what it changes, however much of the
//! value is written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::db::{Db, IN_LINE};
use crate::rdb::{Writer, write_part, write_protected};
use crate::value::Value;

/// Up to this size a value is written at once.
const AT_ONCE_BYTES_MAX: usize = 64 << 10;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the database of this index.
    Db(usize),
    /// In one that was flushed, by its number.
    Flushed(u64),
}

/// A database that was flushed, and how far it is written.
#[derive(Debug)]
pub(crate) struct Flushed {
    pub(crate) id: u64,
    pub(crate) part: super::Part,
    pub(crate) db: Db,
}

#[derive(Debug)]
struct Begun {
    /// Of the database, when the snapshot began.
    number: usize,
    /// What stands before its elements.
    head: Vec<u8>,
    source: Source,
    /// Where the rest begins, unless it is protected.
    place: usize,
    is_protected: bool,
}

#[derive(Debug)]
enum Source {
    Entry(Home, u32),
    /// Nobody else has it; and the bytes that this costs.
    Own(Value, usize),
}

/// What is being written, and what comes next.
#[derive(Debug, Default)]
pub(crate) struct Line {
    queue: VecDeque<Begun>,
    /// What stands before the elements of the first is written.
    pub(crate) is_open: bool,
    copied_bytes: Arc<AtomicUsize>,
    own_bytes: usize,
}

impl Value {
    /// Whether it is written in parts, so that none of them takes long.
    pub(crate) fn has_parts(&self) -> bool {
        let is_divisible = match self {
            Self::Str(_) => false,
            Self::List(_) => true,
            Self::Hash(hash) => hash.is_table(),
            Self::Set(set) => set.is_table(),
            Self::Zset(zset) => zset.is_table(),
        };
        is_divisible && AT_ONCE_BYTES_MAX < self.heap_bytes()
    }
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Puts a value at the end. `head` is what stands before its elements.
    pub(crate) fn push(&mut self, number: usize, head: Vec<u8>, home: Home, slot: u32) {
        self.queue.push_back(Begun {
            number,
            head,
            source: Source::Entry(home, slot),
            place: 0,
            is_protected: false,
        });
    }

    /// The database of the first value, and what stands before its elements, if that is not written: it is from here on.
    pub(crate) fn open(&mut self) -> Option<(usize, Vec<u8>)> {
        let first = self.queue.front_mut().filter(|_| !self.is_open)?;
        self.is_open = true;
        Some((first.number, std::mem::take(&mut first.head)))
    }

    /// Writes the next part of the first value; whether it is whole. One that is nobody else's is left in `unused` then.
    pub(crate) fn write(
        &mut self,
        (dbs, flushed): (&mut [Db], &mut [Flushed]),
        work_max: usize,
        writer: &mut Writer<'_>,
        unused: &mut Vec<Value>,
    ) -> bool {
        let first = self.queue.front_mut().expect("it was opened");
        let value = match &mut first.source {
            Source::Own(value, _) => value,
            Source::Entry(home, slot) => {
                let db = find(dbs, flushed, *home);
                &mut db.dict.at_mut(*slot).value
            }
        };
        let is_whole = if first.is_protected {
            write_protected(value, work_max, writer)
        } else {
            match write_part(value, first.place, work_max, writer) {
                Some(rest) => {
                    first.place = rest;
                    false
                }
                None => true,
            }
        };
        if is_whole {
            self.is_open = false;
            let first = self.queue.pop_front().expect("it was written");
            match first.source {
                Source::Own(value, bytes) => {
                    self.own_bytes -= bytes;
                    unused.push(value);
                }
                Source::Entry(home, slot) => {
                    let db = find(dbs, flushed, home);
                    db.dict.at_mut(slot).access &= !IN_LINE;
                }
            }
        }
        is_whole
    }

    fn find(&mut self, home: Home, slot: u32) -> &mut Begun {
        let is_it = |begun: &&mut Begun| matches!(begun.source, Source::Entry(at, it) if (at, it) == (home, slot));
        let found = self.queue.iter_mut().find(is_it);
        found.expect("an entry with that mark is in the line")
    }

    /// A value in the line is about to change where it is.
    pub(crate) fn protect(&mut self, db: usize, slot: u32, dbs: &mut [Db]) {
        let copied_bytes = Arc::clone(&self.copied_bytes);
        let begun = self.find(Home::Db(db), slot);
        let entry = dbs[db].dict.at_mut(slot);
        if begun.is_protected {
            return;
        }
        let place = begun.place;
        match &mut entry.value {
            Value::Str(_) => unreachable!("a string is written at once"),
            Value::List(list) => {
                // What the two share is no memory more.
                begun.source = Source::Own(Value::List(Box::new(list.share())), 0);
                entry.access &= !IN_LINE;
                return;
            }
            Value::Hash(hash) => hash.guard(place, &copied_bytes),
            Value::Set(set) => set.guard(place, &copied_bytes),
            Value::Zset(zset) => zset.guard(place, &copied_bytes),
        }
        begun.is_protected = true;
    }

    /// A value in the line was taken out of its entry, and nobody else wants it.
    pub(crate) fn take(&mut self, db: usize, slot: u32, value: Value) {
        let bytes = value.heap_bytes();
        self.find(Home::Db(db), slot).source = Source::Own(value, bytes);
        self.own_bytes += bytes;
    }

    /// A value in the line was taken to another entry.
    pub(crate) fn moved(&mut self, from: (usize, u32), to: (usize, u32)) {
        self.find(Home::Db(from.0), from.1).source = Source::Entry(Home::Db(to.0), to.1);
    }

    /// Databases are somewhere else now.
    pub(crate) fn rehome(&mut self, rehome: impl Fn(Home) -> Home) {
        for begun in &mut self.queue {
            if let Source::Entry(home, _) = &mut begun.source {
                *home = rehome(*home);
            }
        }
    }

    /// Forgets what is in the line; values that are nobody else's are left in `unused`.
    pub(crate) fn give_up(
        &mut self,
        (dbs, flushed): (&mut [Db], &mut [Flushed]),
        unused: &mut Vec<Value>,
    ) {
        for begun in std::mem::take(self).queue {
            match begun.source {
                Source::Own(value, _) => unused.push(value),
                Source::Entry(home, slot) => {
                    let entry = find(dbs, flushed, home).dict.at_mut(slot);
                    entry.access &= !IN_LINE;
                    match &mut entry.value {
                        Value::Str(_) | Value::List(_) => {}
                        Value::Hash(hash) => hash.unguard(),
                        Value::Set(set) => set.unguard(),
                        Value::Zset(zset) => zset.unguard(),
                    }
                }
            }
        }
    }

    /// Bytes that were copied, or would be free without this; those of the first value are not counted.
    pub(crate) fn waiting_bytes(&self) -> usize {
        let first = self.queue.front().map_or(0, |begun| match begun.source {
            Source::Own(_, bytes) => bytes,
            Source::Entry(..) => 0,
        });
        self.own_bytes - first + self.copied_bytes.load(Ordering::Relaxed)
    }
}

fn find<'a>(dbs: &'a mut [Db], flushed: &'a mut [Flushed], home: Home) -> &'a mut Db {
    match home {
        Home::Db(index) => &mut dbs[index],
        Home::Flushed(id) => {
            let mut flushed = flushed.iter_mut();
            let found = flushed.find(|it| it.id == id);
            &mut found.expect("kept until it is written").db
        }
    }
}
