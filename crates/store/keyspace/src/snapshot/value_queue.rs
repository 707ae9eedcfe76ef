//! Queue of the large values that a snapshot writes in parts, one value after the other. Commands
//! may change a value while it is in the queue.
//!
//! A queued value remains in its keyspace entry. Before a command changes the value, the value is
//! protected. A protected hash, set or sorted set copies each element before the element's first
//! change. For a list or a stream, the queue gets a copy that shares the nodes of the value. If a
//! command removes the value from its entry, the queue keeps the value until it is written. So a
//! change copies only the changed elements or nodes, even while the value is being written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::db::{Db, IN_VALUE_QUEUE};
use crate::rdb::{Position, Writer, write_part, write_protected};
use crate::value::Value;

/// Database that contains the entry of a queued value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// The entry is in the database with this index.
    Db(usize),
    /// The entry is in the flushed database with this id.
    Flushed(u64),
}

/// A database that was flushed during the snapshot, with the snapshot's progress in it.
#[derive(Debug)]
pub(crate) struct Flushed {
    pub(crate) id: u64,
    pub(crate) part: super::Part,
    pub(crate) db: Db,
}

#[derive(Debug)]
struct QueuedValue {
    /// Index that the value's database had at the start of the snapshot.
    number: usize,
    /// Bytes of the snapshot that precede the value's elements, such as the key. Empty once these
    /// bytes are written.
    head: Vec<u8>,
    source: ValueSource,
    /// Position of the next element to write, unless the value is protected.
    position: Position,
    is_protected: bool,
}

#[derive(Debug)]
enum ValueSource {
    Entry(Location, u32),
    /// A value that only the queue owns, and the number of heap bytes that are freed when it is
    /// dropped.
    Own(Value, usize),
}

/// Queue of the large values to write. The first value is the one that is being written.
#[derive(Debug, Default)]
pub(crate) struct ValueQueue {
    queue: VecDeque<QueuedValue>,
    /// True if the bytes that precede the first value's elements are written.
    pub(crate) is_open: bool,
    copied_bytes: Arc<AtomicUsize>,
    own_bytes: usize,
}

impl ValueQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Appends a value to the queue. `head` is written before the elements of the value.
    pub(crate) fn push(&mut self, number: usize, head: Vec<u8>, location: Location, slot: u32) {
        self.queue.push_back(QueuedValue {
            number,
            head,
            source: ValueSource::Entry(location, slot),
            position: Position::default(),
            is_protected: false,
        });
    }

    /// Starts the first value of the queue. Returns the number of its database, and its head, which
    /// the caller must write. Returns `None` if the first value was already started or the queue is
    /// empty.
    pub(crate) fn open(&mut self) -> Option<(usize, Vec<u8>)> {
        let first = self.queue.front_mut().filter(|_| !self.is_open)?;
        self.is_open = true;
        Some((first.number, std::mem::take(&mut first.head)))
    }

    /// Writes the next part of the first value. Returns whether the whole value is now written. A
    /// value that is written as a whole leaves the queue, and moves to `unused` if only the queue
    /// owned it.
    pub(crate) fn write(
        &mut self,
        (dbs, flushed): (&mut [Db], &mut [Flushed]),
        work_max: usize,
        writer: &mut Writer<'_>,
        unused: &mut Vec<Value>,
    ) -> bool {
        let first = self
            .queue
            .front_mut()
            .expect("the first value of the queue was opened");
        let value = match &mut first.source {
            ValueSource::Own(value, _) => value,
            ValueSource::Entry(location, slot) => {
                let db = find(dbs, flushed, *location);
                &mut db.dict.at_mut(*slot).value
            }
        };
        let is_whole = if first.is_protected {
            write_protected(value, work_max, writer)
        } else {
            match write_part(value, first.position, work_max, writer) {
                Some(rest) => {
                    first.position = rest;
                    false
                }
                None => true,
            }
        };
        if is_whole {
            self.is_open = false;
            let first = self
                .queue
                .pop_front()
                .expect("the value that was just written is the first");
            match first.source {
                ValueSource::Own(value, bytes) => {
                    self.own_bytes -= bytes;
                    unused.push(value);
                }
                ValueSource::Entry(location, slot) => {
                    let db = find(dbs, flushed, location);
                    db.dict.at_mut(slot).access &= !IN_VALUE_QUEUE;
                }
            }
        }
        is_whole
    }

    fn find(&mut self, location: Location, slot: u32) -> &mut QueuedValue {
        let is_it = |queued: &&mut QueuedValue| matches!(queued.source, ValueSource::Entry(at, it) if (at, it) == (location, slot));
        let found = self.queue.iter_mut().find(is_it);
        found.expect("a marked entry is in the queue")
    }

    /// Keeps the present state of a value for the snapshot. Call it before the value changes in its
    /// entry, while the value waits in the queue to be written. Of a list or a stream, only the
    /// table of nodes is copied at once; of other values, each item is copied before its first
    /// change.
    pub(crate) fn protect(&mut self, db: usize, slot: u32, dbs: &mut [Db]) {
        let copied_bytes = Arc::clone(&self.copied_bytes);
        let queued = self.find(Location::Db(db), slot);
        let entry = dbs[db].dict.at_mut(slot);
        if queued.is_protected {
            return;
        }
        let position = queued.position.index;
        match &mut entry.value {
            Value::Str(_) => unreachable!("a string is written at once"),
            // The copy shares its nodes with the value, so it counts as 0 bytes.
            Value::List(list) => {
                queued.source = ValueSource::Own(Value::List(Box::new(list.share())), 0);
                entry.access &= !IN_VALUE_QUEUE;
                return;
            }
            Value::Stream(stream) => {
                queued.source = ValueSource::Own(Value::Stream(Box::new(stream.share())), 0);
                entry.access &= !IN_VALUE_QUEUE;
                return;
            }
            Value::Hash(hash) => hash.guard(position, &copied_bytes),
            Value::Set(set) => set.guard(position, &copied_bytes),
            Value::Zset(zset) => zset.guard(position, &copied_bytes),
        }
        queued.is_protected = true;
    }

    /// Takes ownership of a queued value that was removed from its entry.
    pub(crate) fn take(&mut self, db: usize, slot: u32, value: Value) {
        let bytes = value.heap_bytes();
        self.find(Location::Db(db), slot).source = ValueSource::Own(value, bytes);
        self.own_bytes += bytes;
    }

    /// Records that a queued value moved to another entry.
    pub(crate) fn moved(&mut self, from: (usize, u32), to: (usize, u32)) {
        self.find(Location::Db(from.0), from.1).source =
            ValueSource::Entry(Location::Db(to.0), to.1);
    }

    /// Updates the locations of queued values after databases were swapped or flushed.
    pub(crate) fn relocate(&mut self, relocate: impl Fn(Location) -> Location) {
        for queued in &mut self.queue {
            if let ValueSource::Entry(location, _) = &mut queued.source {
                *location = relocate(*location);
            }
        }
    }

    /// Clears the queue; values that only the queue owns are moved to `unused`.
    pub(crate) fn cancel(
        &mut self,
        (dbs, flushed): (&mut [Db], &mut [Flushed]),
        unused: &mut Vec<Value>,
    ) {
        for queued in std::mem::take(self).queue {
            match queued.source {
                ValueSource::Own(value, _) => unused.push(value),
                ValueSource::Entry(location, slot) => {
                    let entry = find(dbs, flushed, location).dict.at_mut(slot);
                    entry.access &= !IN_VALUE_QUEUE;
                    match &mut entry.value {
                        Value::Str(_) | Value::List(_) | Value::Stream(_) => {}
                        Value::Hash(hash) => hash.unguard(),
                        Value::Set(set) => set.unguard(),
                        Value::Zset(zset) => zset.unguard(),
                    }
                }
            }
        }
    }

    /// Returns the sum of the bytes of copied elements and of values that only the queue owns. The
    /// value at the front of the queue is left out, because it is being written.
    pub(crate) fn waiting_bytes(&self) -> usize {
        let first = self.queue.front().map_or(0, |queued| match queued.source {
            ValueSource::Own(_, bytes) => bytes,
            ValueSource::Entry(..) => 0,
        });
        self.own_bytes - first + self.copied_bytes.load(Ordering::Relaxed)
    }
}

fn find<'a>(dbs: &'a mut [Db], flushed: &'a mut [Flushed], location: Location) -> &'a mut Db {
    match location {
        Location::Db(index) => &mut dbs[index],
        Location::Flushed(id) => {
            let mut flushed = flushed.iter_mut();
            let found = flushed.find(|it| it.id == id);
            &mut found
                .expect("a flushed database is kept until it is written")
                .db
        }
    }
}
