//! The hash table under everything: keys of a database, fields of a hash, members of a set.
//!
//! Linear hashing: the table has `n` buckets, 2^k ≤ n < 2^(k+1), and grows and shrinks by one bucket at a time, so no
//! insertion waits for a rehash and there is never a second table.
//!
//! ```text
//!  buckets   0 … n-2^k-1 │ n-2^k … 2^k-1 │ 2^k … n-1        bucket = hash mod 2^(k+1), if there is such a bucket,
//!  told by   k+1 bits    │ k bits        │ k+1 bits                  else hash mod 2^k
//!  heads:    first slot of each bucket's chain        slots: the entries, each with the next slot of its chain
//! ```
//!
//! A scan walks the hashes in the order of their *reversed* bits. In that order a bucket is an interval, whatever the
//! size of the table, because it holds all hashes that end in its bits. A cursor is the first hash of the interval not
//! yet visited: growing splits intervals, shrinking joins them, and an entry that stays is met at least once.
//!
//! The hash is SipHash-1-3 under a secret seed. It costs about 10 ns for a short key, some 7 more than the fastest
//! keyed hashes, and is the only one of them whose resistance to chosen keys has been studied in public.

mod guard;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use siphasher::sip::SipHasher13;

use crate::chunked::Chunked;
use crate::dict::guard::Guarded;
use crate::text::room_bytes;

/// No slot.
const NONE: u32 = u32::MAX;
/// Fewest buckets of a table that holds something.
const BUCKETS_MIN: usize = 4;
/// Entries for each four buckets: more, and the table grows.
const LOAD_MAX_OF_4: usize = 3;
/// A table with more than this many buckets an entry shrinks.
const BUCKETS_PER_ENTRY_MAX: usize = 8;
/// Buckets joined at most when an entry goes: enough to keep up with any number of removals.
const JOINS_PER_REMOVAL: usize = 16;
/// Keys that [`Dict::warm`] takes at once.
pub(crate) const WARM_MAX: usize = 64;
/// Random slots tried before the next occupied one is taken.
const RANDOM_TRIES: usize = 100;

/// The secret key of the hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(pub(crate) u64, pub(crate) u64);

impl Seed {
    #[inline]
    pub(crate) fn hash(self, key: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.0, self.1).hash(key)
    }
}

/// What a table holds: something with a key, and room for the number of the next slot in its chain.
pub(crate) trait Item: Clone {
    fn key(&self) -> &[u8];
    fn link(&self) -> u32;
    fn set_link(&mut self, link: u32);
    /// Bytes of the heap behind this item.
    fn heap_bytes(&self) -> usize;
}

/// One step of [`Dict::compact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// The item of one slot is in another one now.
    Moved {
        /// Its slot before.
        from: u32,
        /// Its slot now.
        to: u32,
    },
    /// Nothing moved, and there is more to do.
    Looked,
    /// No slot before the last item is vacant but those that became so meanwhile.
    Done,
}

/// A hash table of items, addressed by key or by slot. A slot's number holds until its item is removed, or moved by
/// [`Dict::compact`].
#[derive(Clone, Debug)]
pub(crate) struct Dict<T> {
    seed: Seed,
    heads: Chunked<u32>,
    slots: Chunked<Option<T>>,
    free: Vec<u32>,
    len: usize,
    /// 2^(k+1) - 1.
    mask: u64,
    items_heap_bytes: usize,
    /// The lowest slot that may be vacant, while the items move together; else [`NONE`].
    hole: u32,
    /// Keeps the items as they were, while a snapshot writes them.
    guard: Guarded<T>,
}

impl<T: Item> Dict<T> {
    pub(crate) fn new(seed: Seed) -> Self {
        let mut heads = Chunked::new();
        for _ in 0..BUCKETS_MIN {
            heads.push(NONE);
        }
        Self {
            seed,
            heads,
            slots: Chunked::new(),
            free: Vec::new(),
            len: 0,
            mask: 2 * BUCKETS_MIN as u64 - 1,
            items_heap_bytes: 0,
            hole: NONE,
            guard: Guarded::none(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the heap behind the table and its items.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.heads.heap_bytes()
            + self.slots.heap_bytes()
            + room_bytes::<u32>(self.free.capacity())
            + self.items_heap_bytes
    }

    /// How many slots there are, occupied or not: all items are found below this number.
    pub(crate) fn slots(&self) -> u32 {
        u32::try_from(self.slots.len()).expect("slots are numbered in 32 bits")
    }

    /// The hash of a key, for those who need it more than once.
    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.seed.hash(key)
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        let buckets = self.heads.len();
        let wide = (hash & self.mask) as usize;
        if wide < buckets {
            wide
        } else {
            (hash & (self.mask >> 1)) as usize
        }
    }

    /// The slot of a key.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        self.find_hashed(self.seed.hash(key), key)
    }

    /// The slot of a key whose hash is known.
    #[inline]
    pub(crate) fn find_hashed(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.find_from(*self.heads.at(self.bucket(hash)), key)
    }

    /// The slot of a key in what is left of a chain.
    #[inline]
    fn find_from(&self, mut slot: u32, key: &[u8]) -> Option<u32> {
        while slot != NONE {
            let item = self.at(slot);
            if item.key() == key {
                return Some(slot);
            }
            slot = item.link();
        }
        None
    }

    /// Reads what lookups of these keys are about to read, so that it is in the processor's caches then. Each loop makes
    /// one step of all lookups: its loads do not wait for each other, as those of one lookup do. `touch` reads what is
    /// behind an item; what is returned depends on all that was read.
    pub(crate) fn warm(&self, keys: &[(u64, &[u8])], touch: impl Fn(&T) -> usize) -> usize {
        let mut slots = [NONE; WARM_MAX];
        let slots = &mut slots[..keys.len()];
        for (slot, (hash, _)) in slots.iter_mut().zip(keys) {
            *slot = *self.heads.at(self.bucket(*hash));
        }
        let mut read = 0;
        for slot in slots.iter().filter(|slot| **slot != NONE) {
            read ^= self.at(*slot).link() as usize;
        }
        for (slot, (_, key)) in slots.iter_mut().zip(keys) {
            *slot = self.find_from(*slot, key).unwrap_or(NONE);
        }
        for slot in slots.iter().filter(|slot| **slot != NONE) {
            read ^= touch(self.at(*slot));
        }
        read
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&T> {
        self.find(key).map(|slot| self.at(slot))
    }

    /// The item in an occupied slot.
    #[inline]
    pub(crate) fn at(&self, slot: u32) -> &T {
        let item = self.slots.at(slot as usize).as_ref();
        item.expect("a slot's number is kept only as long as its item")
    }

    /// The item in a slot, if there is such a slot and it is occupied. A table that became empty, or compact, has fewer slots
    /// than it had.
    pub(crate) fn peek(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// The item in a slot, if it is occupied, for a change that leaves it equal to what it was.
    pub(crate) fn peek_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.at_mut(slot as usize).as_mut()
    }

    /// The item in an occupied slot, to be changed. The key must stay, and what grows or shrinks on the heap is told
    /// to [`Dict::resized`].
    #[inline]
    pub(crate) fn at_mut(&mut self, slot: u32) -> &mut T {
        let item = self.slots.at_mut(slot as usize).as_mut();
        item.expect("a slot's number is kept only as long as its item")
    }

    /// The same, where the item is not what it was any more.
    pub(crate) fn change(&mut self, slot: u32) -> &mut T {
        self.guard.changes(slot, &self.slots);
        self.at_mut(slot)
    }

    /// Takes note that an item had so many bytes on the heap, and now has so many.
    pub(crate) fn resized(&mut self, before: usize, after: usize) {
        self.items_heap_bytes = self.items_heap_bytes + after - before;
    }

    /// Adds an item whose key is not in the table.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        let hash = self.seed.hash(item.key());
        self.insert_hashed(hash, item)
    }

    /// The same, where the hash is known.
    pub(crate) fn insert_hashed(&mut self, hash: u64, mut item: T) -> u32 {
        debug_assert!(self.find(item.key()).is_none(), "keys are unique");
        self.len += 1;
        while self.heads.len() * LOAD_MAX_OF_4 < self.len * 4 {
            self.split();
        }
        self.items_heap_bytes += item.heap_bytes();
        let bucket = self.bucket(hash);
        item.set_link(*self.heads.at(bucket));
        let slot = match self.vacant() {
            Some(slot) => {
                self.guard.changes(slot, &self.slots);
                *self.slots.at_mut(slot as usize) = Some(item);
                slot
            }
            None => {
                let slot = self.slots();
                assert!(slot < NONE, "a table holds at most 2^32 - 1 items");
                // One that was empty once has its first slots again.
                self.guard.changes(slot, &self.slots);
                self.slots.push(Some(item));
                slot
            }
        };
        *self.heads.at_mut(bucket) = slot;
        slot
    }

    /// Takes a vacant slot off the list of those. It has slots too that are vacant no more, since a compaction filled them or
    /// cut them off.
    fn vacant(&mut self) -> Option<u32> {
        while let Some(slot) = self.free.pop() {
            if slot < self.slots() && self.peek(slot).is_none() {
                return Some(slot);
            }
        }
        None
    }

    /// Removes the item with this key.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<T> {
        self.remove_hashed(self.seed.hash(key), key).map(|it| it.1)
    }

    /// Removes the item with this key, whose hash is known; from which slot.
    pub(crate) fn remove_hashed(&mut self, hash: u64, key: &[u8]) -> Option<(u32, T)> {
        let bucket = self.bucket(hash);
        let mut before = NONE;
        let mut slot = *self.heads.at(bucket);
        while slot != NONE {
            let item = self.at(slot);
            let next = item.link();
            if item.key() == key {
                self.unlink(bucket, before, next);
                return Some((slot, self.vacate(slot)));
            }
            before = slot;
            slot = next;
        }
        None
    }

    fn unlink(&mut self, bucket: usize, before: u32, next: u32) {
        if before == NONE {
            *self.heads.at_mut(bucket) = next;
        } else {
            self.at_mut(before).set_link(next);
        }
    }

    fn vacate(&mut self, slot: u32) -> T {
        self.guard.changes(slot, &self.slots);
        let item = self.slots.at_mut(slot as usize).take();
        let item = item.expect("the chain led here");
        self.items_heap_bytes -= item.heap_bytes();
        self.len -= 1;
        if self.len == 0 {
            let bytes = self.items_heap_bytes;
            let guard = std::mem::replace(&mut self.guard, Guarded::none());
            *self = Self {
                guard,
                ..Self::new(self.seed)
            };
            assert!(
                bytes == 0,
                "an empty table has nothing behind it, not {bytes} bytes"
            );
            return item;
        }
        self.free.push(slot);
        for _ in 0..JOINS_PER_REMOVAL {
            if BUCKETS_MIN < self.heads.len() && self.len * BUCKETS_PER_ENTRY_MAX < self.heads.len()
            {
                self.join();
            }
        }
        item
    }

    pub(crate) fn is_compacting(&self) -> bool {
        self.hole != NONE
    }

    /// Has [`Dict::compact`] move the items together. Slots that are vacant now are found by it alone.
    pub(crate) fn begin_compaction(&mut self) {
        self.hole = 0;
        self.free = Vec::new();
    }

    /// Takes one step of a compaction: moves the last item into the lowest vacant slot, or looks for either.
    ///
    /// # Panics
    /// When a snapshot guards the items, which it knows by their slots.
    pub(crate) fn compact(&mut self) -> Compaction {
        assert!(self.guard.is_none(), "guarded items keep their slots");
        let Some(last) = self.slots().checked_sub(1).filter(|last| self.hole < *last) else {
            self.hole = NONE;
            return Compaction::Done;
        };
        let Some(item) = self.peek(last) else {
            self.slots.pop();
            return Compaction::Looked;
        };
        let to = self.hole;
        if self.peek(to).is_some() {
            self.hole += 1;
            return Compaction::Looked;
        }
        let bucket = self.bucket(self.seed.hash(item.key()));
        let head = *self.heads.at(bucket);
        if head == last {
            *self.heads.at_mut(bucket) = to;
        } else {
            let mut before = head;
            while self.at(before).link() != last {
                before = self.at(before).link();
            }
            self.at_mut(before).set_link(to);
        }
        *self.slots.at_mut(to as usize) = self.slots.pop().flatten();
        Compaction::Moved { from: last, to }
    }

    /// Allocates the first chunks anew, which are smaller than the others. Items keep their slots.
    pub(crate) fn reallocate_first_chunks(&mut self) {
        self.heads.reallocate_first();
        self.slots.reallocate_first();
    }

    /// Takes the last slot away, and what is in it, from a table that is not searched any more.
    pub(crate) fn pop_slot(&mut self) -> Option<Option<T>> {
        self.slots.pop()
    }

    /// Adds one bucket, and moves to it what belongs there.
    fn split(&mut self) {
        let new = self.heads.len();
        let old = new & (self.mask >> 1) as usize;
        self.heads.push(NONE);
        let mut slot = std::mem::replace(self.heads.at_mut(old), NONE);
        while slot != NONE {
            let hash = self.seed.hash(self.at(slot).key());
            let target = if hash & self.mask == new as u64 {
                new
            } else {
                old
            };
            let head = std::mem::replace(self.heads.at_mut(target), slot);
            let item = self.at_mut(slot);
            let next = item.link();
            item.set_link(head);
            slot = next;
        }
        if self.heads.len() as u64 == self.mask + 1 {
            self.mask = 2 * self.mask + 1;
        }
    }

    /// Takes the last bucket away; what it held goes to the one it was split from.
    fn join(&mut self) {
        if self.heads.len() as u64 == self.mask.div_ceil(2) {
            self.mask >>= 1;
        }
        let chain = self.heads.pop().expect("there are buckets to join");
        if chain == NONE {
            return;
        }
        let target = self.heads.len() & (self.mask >> 1) as usize;
        let mut last = chain;
        while self.at(last).link() != NONE {
            last = self.at(last).link();
        }
        let head = std::mem::replace(self.heads.at_mut(target), chain);
        self.at_mut(last).set_link(head);
    }

    /// Visits one bucket and returns where to go on; 0 begins, and 0 is returned at the end.
    pub(crate) fn scan<'a>(&'a self, cursor: u64, mut visit: impl FnMut(u32, &'a T)) -> u64 {
        let bucket = self.bucket(cursor);
        let half = self.mask.div_ceil(2) as usize;
        let is_split = half <= bucket || bucket < self.heads.len() - half;
        let bits = if is_split { self.mask } else { self.mask >> 1 };
        let mut slot = *self.heads.at(bucket);
        while slot != NONE {
            let item = self.at(slot);
            visit(slot, item);
            slot = item.link();
        }
        let last = cursor | !bits;
        last.reverse_bits().wrapping_add(1).reverse_bits()
    }

    /// A slot, each occupied one as likely as the others (nearly, in a table that is almost empty).
    pub(crate) fn random(&self, rng: &mut fastrand::Rng) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let slots = self.slots();
        for _ in 0..RANDOM_TRIES {
            let slot = rng.u32(..slots);
            if self.peek(slot).is_some() {
                return Some(slot);
            }
        }
        let start = rng.u32(..slots);
        let mut around = (start..slots).chain(0..start);
        around.find(|&slot| self.peek(slot).is_some())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// Keeps the items from a slot on as they are now, for [`Dict::take_guarded`]: what changes is copied before, and counted
    /// in `copied_bytes`.
    pub(crate) fn guard(&mut self, slot: usize, copied_bytes: &Arc<AtomicUsize>) {
        self.guard = Guarded::from(slot as u32..self.slots(), copied_bytes);
    }

    pub(crate) fn unguard(&mut self) {
        self.guard = Guarded::none();
    }

    /// Visits items as they were when they were guarded, each once, as long as `visit` says so; whether all were, and
    /// nothing is guarded any more.
    pub(crate) fn take_guarded(&mut self, visit: impl FnMut(&T) -> bool) -> bool {
        self.guard.take(&self.slots, visit)
    }

    /// The items from a slot on, with the slots behind them.
    pub(crate) fn iter_from(&self, slot: usize) -> impl Iterator<Item = (usize, &T)> {
        let slots = (slot..self.slots.len()).map(|slot| (slot + 1, self.slots.at(slot)));
        slots.filter_map(|(next, item)| item.as_ref().map(|item| (next, item)))
    }
}

#[cfg(test)]
mod tests;
