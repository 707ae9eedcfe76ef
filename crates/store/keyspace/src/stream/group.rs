//! Consumer groups of a stream.
//!
//! ```text
//! group:     pending  id ─► delivery: time, count, consumer number
//!            consumers ─► by number: name, times, ids of its pending entries
//! ```
//!
//! Each pending entry is in the map of its group and in the map of its consumer. A consumer that a
//! snapshot shares is copied before it changes.

use std::sync::Arc;

use super::id::Id;
use super::id_map::IdMap;
use super::node::ARC_BYTES;
use crate::memory::{allocated, room_bytes};

/// Delivery of a pending entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Time of the last delivery in Unix milliseconds.
    pub(crate) time_ms: i64,
    /// Number of deliveries.
    pub(crate) count: u64,
    pub(crate) consumer: ConsumerNumber,
}

/// Number of a consumer within its group. The number is reused after the consumer was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConsumerNumber(u32);

/// A consumer of a group.
#[derive(Clone, Debug)]
pub(crate) struct Consumer {
    pub(crate) name: Box<[u8]>,
    /// Time of the consumer's last command in Unix milliseconds.
    pub(crate) seen_ms: i64,
    /// Time in Unix milliseconds at which the consumer last received entries, if it ever did.
    pub(crate) active_ms: Option<i64>,
    pub(crate) pending: IdMap<()>,
}

impl Consumer {
    fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>() + ARC_BYTES)
            + allocated(self.name.len())
            + self.pending.heap_bytes()
    }
}

/// A consumer group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: Box<[u8]>,
    /// Id of the last entry that was delivered as new.
    pub(crate) last_id: Id,
    /// Number of entries up to `last_id` that were ever added; `None` if unknown.
    pub(crate) entries_read: Option<u64>,
    pending: IdMap<Delivery>,
    /// Consumers by number.
    consumers: Vec<Option<Arc<Consumer>>>,
    /// Numbers that no consumer has.
    vacant: Vec<ConsumerNumber>,
    /// Numbers of the consumers in the order of their names.
    by_name: Vec<ConsumerNumber>,
    /// Heap bytes of all consumers.
    consumers_bytes: usize,
}

impl Group {
    pub(crate) fn new(name: &[u8], last_id: Id, entries_read: Option<u64>) -> Self {
        Self {
            name: name.into(),
            last_id,
            entries_read,
            pending: IdMap::new(),
            consumers: Vec::new(),
            vacant: Vec::new(),
            by_name: Vec::new(),
            consumers_bytes: 0,
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>() + ARC_BYTES)
            + allocated(self.name.len())
            + self.pending.heap_bytes()
            + room_bytes::<Option<Arc<Consumer>>>(self.consumers.capacity())
            + room_bytes::<ConsumerNumber>(self.vacant.capacity())
            + room_bytes::<ConsumerNumber>(self.by_name.capacity())
            + self.consumers_bytes
    }

    /// Returns the entries that were delivered and not acknowledged.
    pub(crate) fn pending(&self) -> &IdMap<Delivery> {
        &self.pending
    }

    /// Returns the consumers in the order of their names.
    pub(crate) fn consumers(&self) -> impl ExactSizeIterator<Item = &Consumer> {
        self.by_name.iter().map(|&number| self.consumer(number))
    }

    /// Returns the consumer at this place in the order of names.
    pub(crate) fn consumer_at(&self, place: usize) -> &Consumer {
        self.consumer(self.by_name[place])
    }

    /// Returns the number of consumers.
    pub(crate) fn consumers_len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn consumer(&self, number: ConsumerNumber) -> &Consumer {
        let consumer = self.consumers[number.0 as usize].as_deref();
        consumer.expect("numbers in use have a consumer")
    }

    fn place(&self, name: &[u8]) -> Result<usize, usize> {
        let name_of = |number: &ConsumerNumber| &*self.consumer(*number).name;
        self.by_name
            .binary_search_by(|number| name_of(number).cmp(name))
    }

    /// Returns the number of the consumer with this name, if there is one.
    pub(crate) fn find_consumer(&self, name: &[u8]) -> Option<ConsumerNumber> {
        self.place(name).ok().map(|place| self.by_name[place])
    }

    /// Adds a consumer. Returns `None` if there is one with this name.
    pub(crate) fn add_consumer(&mut self, name: &[u8], now: i64) -> Option<ConsumerNumber> {
        let place = self.place(name).err()?;
        let consumer = Arc::new(Consumer {
            name: name.into(),
            seen_ms: now,
            active_ms: None,
            pending: IdMap::new(),
        });
        self.consumers_bytes += consumer.heap_bytes();
        let number = self.vacant.pop().unwrap_or_else(|| {
            let next = u32::try_from(self.consumers.len());
            self.consumers.push(None);
            ConsumerNumber(next.expect("fewer consumers than 2³²"))
        });
        self.consumers[number.0 as usize] = Some(consumer);
        self.by_name.insert(place, number);
        Some(number)
    }

    /// Removes a consumer with its pending entries. Returns their number.
    pub(crate) fn remove_consumer(&mut self, number: ConsumerNumber) -> usize {
        let place = self.place(&self.consumer(number).name);
        self.by_name
            .remove(place.expect("numbers in use have a name"));
        let consumer = self.consumers[number.0 as usize].take();
        let consumer = consumer.expect("numbers in use have a consumer");
        self.consumers_bytes -= consumer.heap_bytes();
        self.vacant.push(number);
        for (id, ()) in consumer.pending.iter_from(Id::MIN) {
            self.pending.remove(id);
        }
        consumer.pending.len()
    }

    /// Changes a consumer, which is copied first if a snapshot shares it.
    fn edit_consumer<R>(
        &mut self,
        number: ConsumerNumber,
        change: impl FnOnce(&mut Consumer) -> R,
    ) -> R {
        let consumer = self.consumers[number.0 as usize].as_mut();
        let consumer = consumer.expect("numbers in use have a consumer");
        let before = consumer.heap_bytes();
        let result = change(Arc::make_mut(consumer));
        self.consumers_bytes = self.consumers_bytes + consumer.heap_bytes() - before;
        result
    }

    /// Records that the consumer sent a command.
    pub(crate) fn set_seen(&mut self, number: ConsumerNumber, now: i64) {
        self.edit_consumer(number, |consumer| consumer.seen_ms = now);
    }

    /// Sets the time at which the consumer last received entries.
    pub(crate) fn set_active(&mut self, number: ConsumerNumber, time_ms: Option<i64>) {
        self.edit_consumer(number, |consumer| consumer.active_ms = time_ms);
    }

    /// Makes an entry pending, or replaces its delivery; the entry then belongs to the consumer of
    /// the new delivery.
    pub(crate) fn deliver(&mut self, id: Id, delivery: Delivery) {
        let before = self.pending.insert(id, delivery);
        let before = before.map(|before| before.consumer);
        if before == Some(delivery.consumer) {
            return;
        }
        if let Some(before) = before {
            self.edit_consumer(before, |consumer| consumer.pending.remove(id));
        }
        self.edit_consumer(delivery.consumer, |consumer| {
            consumer.pending.insert(id, ())
        });
    }

    /// Removes a pending entry. Returns whether there was one.
    pub(crate) fn acknowledge(&mut self, id: Id) -> bool {
        let Some(delivery) = self.pending.remove(id) else {
            return false;
        };
        self.edit_consumer(delivery.consumer, |consumer| consumer.pending.remove(id));
        true
    }

    /// Returns the delivery of a pending entry. The caller must not change its consumer.
    pub(crate) fn delivery_mut(&mut self, id: Id) -> Option<&mut Delivery> {
        self.pending.get_mut(id)
    }

    /// Frees up to `left` parts of a removed group. Returns whether the group can be dropped.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        if !self.pending.free_some(left) {
            return false;
        }
        while 0 < *left {
            let Some(last) = self.consumers.last_mut() else {
                return true;
            };
            if let Some(consumer) = last.as_mut().and_then(Arc::get_mut)
                && !consumer.pending.free_some(left)
            {
                return false;
            }
            self.consumers.pop();
            *left = left.saturating_sub(1);
        }
        false
    }

    /// Returns the number of blocks of pending entries and consumers.
    pub(crate) fn parts(&self) -> usize {
        let consumers = self.consumers.iter().flatten();
        let parts = consumers.map(|consumer| 1 + consumer.pending.chunks());
        self.pending.chunks() + parts.sum::<usize>()
    }

    /// Reallocates the heap memory of the group's pending entries and consumers. Returns the work
    /// done, in the unit of [`Stream::reallocate`](super::Stream::reallocate).
    pub(crate) fn reallocate(&mut self) -> usize {
        let mut work = 1;
        let pending = 0..self.pending.chunks();
        work += pending
            .map(|at| self.pending.reallocate(at) / 8)
            .sum::<usize>();
        for consumer in self.consumers.iter_mut().flatten() {
            work += 1;
            let Some(consumer) = Arc::get_mut(consumer) else {
                continue;
            };
            let chunks = 0..consumer.pending.chunks();
            work += chunks
                .map(|at| consumer.pending.reallocate(at) / 8)
                .sum::<usize>();
        }
        work
    }
}
