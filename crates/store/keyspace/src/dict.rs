//! The hash table of the store: keys of a database, fields of a hash, members of a set.
//!
//! Linear hashing: the table has `n` buckets, 2^k ≤ n < 2^(k+1), and grows and shrinks by one
//! bucket at a time. So no insertion waits for a rehash, and there is never a second table.
//!
//! ```text
//!  buckets   0 … n-2^k-1 │ n-2^k … 2^k-1 │ 2^k … n-1     bucket = hash mod 2^(k+1) if it exists,
//!  chosen by k+1 bits    │ k bits        │ k+1 bits               else hash mod 2^k
//!  heads:    first slot of each bucket's chain
//!  slots:    the entries, each with the next slot of its chain
//! ```
//!
//! A scan visits the hashes in the order of their *reversed* bits. A bucket holds all hashes that
//! end in the bucket's bits, so in this order a bucket is an interval of hashes at every size of
//! the table. A cursor is the first hash that the scan has not visited yet. Growing splits
//! intervals, and shrinking joins them, so an entry that exists during the whole scan is visited at
//! least once.
//!
//! The hash is SipHash-1-3 under a secret seed. It costs about 10 ns for a short key, about 7 ns
//! more than the fastest keyed hashes. SipHash was chosen because its resistance to chosen keys has
//! been studied in public; the resistance of the faster hashes has not.

mod guard;
mod item;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use siphasher::sip::SipHasher13;

use crate::chunked::Chunked;
use crate::dict::guard::Guarded;
pub(crate) use crate::dict::item::{Item, Node, Payload};
use crate::memory::room_bytes;

/// Slot number that means "none".
const NONE: u32 = u32::MAX;
/// Minimum number of buckets.
const BUCKETS_MIN: usize = 4;
/// Maximum number of entries per four buckets; above this, the table grows.
const LOAD_MAX_OF_4: usize = 3;
/// Maximum number of buckets per entry; above this, the table shrinks.
const BUCKETS_PER_ENTRY_MAX: usize = 8;
/// Maximum number of buckets that are removed per removal of an entry. With this number, the table
/// shrinks as fast as entries are removed.
const JOINS_PER_REMOVAL: usize = 16;
/// Maximum number of keys per call of [`Dict::prefetch`].
pub(crate) const PREFETCH_MAX: usize = 64;
/// Number of slots that [`Dict::random`] tries at random before it searches for the next occupied
/// slot.
const RANDOM_TRIES: usize = 100;

/// Secret key of the hash function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(pub(crate) u64, pub(crate) u64);

impl Seed {
    #[inline]
    pub(crate) fn hash(self, key: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.0, self.1).hash(key)
    }
}

/// Result of one step of [`Dict::compact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// An item moved to another slot.
    Moved {
        /// Slot before the move.
        from: u32,
        /// Slot after the move.
        to: u32,
    },
    /// No item moved, and the compaction is not finished.
    Searching,
    /// The compaction is finished. Of the slots below the last item, only those that became vacant
    /// during the compaction may still be vacant.
    Done,
}

/// A hash table of items, addressed by key or by slot. A slot's number is valid until its item is
/// removed, or moved by [`Dict::compact`].
#[derive(Clone, Debug)]
pub(crate) struct Dict<T> {
    seed: Seed,
    heads: Chunked<u32>,
    slots: Chunked<Option<T>>,
    free: Vec<u32>,
    len: usize,
    /// Mask of the k+1 low bits of a hash: 2^(k+1) - 1, where 2^k ≤ number of buckets < 2^(k+1).
    mask: u64,
    items_heap_bytes: usize,
    /// During a compaction, the lowest slot that may be vacant; otherwise [`NONE`].
    hole: u32,
    /// Copies of changed items, while a snapshot writes the table.
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

    /// Returns the heap bytes of the table and its items.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.heads.heap_bytes()
            + self.slots.heap_bytes()
            + room_bytes::<u32>(self.free.capacity())
            + self.items_heap_bytes
    }

    /// Returns the number of slots, occupied or not. All slot numbers are below this number.
    pub(crate) fn slots(&self) -> u32 {
        u32::try_from(self.slots.len()).expect("slots are numbered in 32 bits")
    }

    /// Returns the hash of a key, for callers that need it more than once.
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

    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        self.find_hashed(self.seed.hash(key), key)
    }

    /// Returns the slot of a key whose hash is known.
    #[inline]
    pub(crate) fn find_hashed(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.find_from(*self.heads.at(self.bucket(hash)), key)
    }

    /// Returns the slot of a key in the chain that starts at `slot`.
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

    /// Reads the memory that lookups of these keys will read, to bring it into the processor's
    /// caches. Each loop of this function does one step of all lookups. The loads of different
    /// lookups overlap; the loads of a single lookup would have to wait for each other. `touch`
    /// reads the heap memory of an item. The returned value depends on all data that was read, so
    /// that the compiler removes no read.
    pub(crate) fn prefetch(&self, keys: &[(u64, &[u8])], touch: impl Fn(&T) -> usize) -> usize {
        let mut slots = [NONE; PREFETCH_MAX];
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

    /// Returns the item in an occupied slot.
    #[inline]
    pub(crate) fn at(&self, slot: u32) -> &T {
        let item = self.slots.at(slot as usize).as_ref();
        item.expect("a slot's number is kept only as long as its item")
    }

    /// Returns the item in a slot, if the slot exists and is occupied. A table that was emptied or
    /// compacted has fewer slots than before.
    pub(crate) fn peek(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// Returns the item in a slot, if the slot is occupied. The caller may reallocate the item, but
    /// must keep it equal to its old value, because this function, unlike [`Dict::change`], makes
    /// no copy for a snapshot in progress.
    pub(crate) fn peek_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.at_mut(slot as usize).as_mut()
    }

    /// Returns the item in an occupied slot, to be changed. The caller must not change the key, and
    /// must report a change of heap bytes to [`Dict::resized`].
    #[inline]
    pub(crate) fn at_mut(&mut self, slot: u32) -> &mut T {
        let item = self.slots.at_mut(slot as usize).as_mut();
        item.expect("a slot's number is kept only as long as its item")
    }

    /// Returns the item in an occupied slot, to change its value. If [`Dict::guard`] protects the
    /// item, the item is copied before its first change.
    pub(crate) fn change(&mut self, slot: u32) -> &mut T {
        self.guard.changes(slot, &self.slots);
        self.at_mut(slot)
    }

    /// Updates the memory accounting after an item's heap bytes changed from `before` to `after`.
    pub(crate) fn resized(&mut self, before: usize, after: usize) {
        self.items_heap_bytes = self.items_heap_bytes + after - before;
    }

    /// Adds an item whose key is not in the table, and returns its slot.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        let hash = self.seed.hash(item.key());
        self.insert_hashed(hash, item)
    }

    /// Adds an item whose key is not in the table and whose hash is known, and returns its slot.
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
                // A table that became empty starts with slot 0 again. A snapshot in progress must
                // not take the new item for the former item of this slot, so the slot is marked as
                // changed.
                self.guard.changes(slot, &self.slots);
                self.slots.push(Some(item));
                slot
            }
        };
        *self.heads.at_mut(bucket) = slot;
        slot
    }

    /// Takes a vacant slot off the free list. The list may contain slots that a compaction filled
    /// or cut off, which are skipped.
    fn vacant(&mut self) -> Option<u32> {
        while let Some(slot) = self.free.pop() {
            if slot < self.slots() && self.peek(slot).is_none() {
                return Some(slot);
            }
        }
        None
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<T> {
        self.remove_hashed(self.seed.hash(key), key).map(|it| it.1)
    }

    /// Removes the item with this key, whose hash is known. Returns its slot and the item.
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
        let item = item.expect("a chain contains only occupied slots");
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

    /// Starts a compaction, which [`Dict::compact`] continues. Only the compaction reuses slots
    /// that are vacant now.
    pub(crate) fn start_compaction(&mut self) {
        self.hole = 0;
        self.free = Vec::new();
    }

    /// Makes one step of a compaction: moves the last item into the lowest vacant slot, or
    /// continues the search for one of these two slots.
    ///
    /// # Panics
    ///
    /// If a snapshot guards the items: a snapshot identifies items by their slots.
    pub(crate) fn compact(&mut self) -> Compaction {
        assert!(self.guard.is_none(), "guarded items keep their slots");
        let Some(last) = self.slots().checked_sub(1).filter(|last| self.hole < *last) else {
            self.hole = NONE;
            return Compaction::Done;
        };
        let Some(item) = self.peek(last) else {
            self.slots.pop();
            return Compaction::Searching;
        };
        let to = self.hole;
        if self.peek(to).is_some() {
            self.hole += 1;
            return Compaction::Searching;
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

    /// Reallocates the first chunk of the buckets and the first chunk of the slots. All later
    /// chunks have the full size and their own pages, so they need not move. Items keep their
    /// slots.
    pub(crate) fn reallocate_first_chunks(&mut self) {
        self.heads.reallocate_first();
        self.slots.reallocate_first();
    }

    /// Removes the last slot, if any, and returns its content: an item, or `None` if the slot is
    /// vacant. The table must not be searched afterwards.
    pub(crate) fn pop_slot(&mut self) -> Option<Option<T>> {
        self.slots.pop()
    }

    /// Adds one bucket by a split of an old bucket: moves the items that belong to the new bucket.
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

    /// Removes the last bucket, and moves its items to the bucket from which it was split.
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

    /// Visits one bucket and returns the next cursor. Cursor 0 starts a scan; 0 is returned at the
    /// end.
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

    /// Returns a random occupied slot. All occupied slots are equally likely, except in a table
    /// that is almost empty.
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

    /// Starts to protect the items in slot `slot` and all higher slots, for [`Dict::take_guarded`]:
    /// each item is copied before its first change. `copied_bytes` counts the bytes of the copies.
    pub(crate) fn guard(&mut self, slot: usize, copied_bytes: &Arc<AtomicUsize>) {
        self.guard = Guarded::from(slot as u32..self.slots(), copied_bytes);
    }

    pub(crate) fn unguard(&mut self) {
        self.guard = Guarded::none();
    }

    /// Passes the items that [`Dict::guard`] protects to `visit`: each item once, in the state that
    /// it had when `guard` was called. Stops when `visit` returns `false`; the next call continues
    /// with the next item. Returns true when all items were passed, which ends the protection.
    pub(crate) fn take_guarded(&mut self, visit: impl FnMut(&T) -> bool) -> bool {
        self.guard.take(&self.slots, visit)
    }

    /// Returns the items from a slot on, each with the number of the next slot.
    pub(crate) fn iter_from(&self, slot: usize) -> impl Iterator<Item = (usize, &T)> {
        let slots = (slot..self.slots.len()).map(|slot| (slot + 1, self.slots.at(slot)));
        slots.filter_map(|(next, item)| item.as_ref().map(|item| (next, item)))
    }

    /// Reallocates the heap memory of items, starting at slot `from`. Visits at most `left` slots,
    /// and subtracts their number from `left`. Returns the slot at which the next call continues,
    /// or `None` at the end of the table.
    pub(crate) fn reallocate(
        &mut self,
        from: usize,
        left: &mut usize,
        each: impl Fn(&mut T),
    ) -> Option<usize> {
        if from == 0 {
            self.reallocate_first_chunks();
        }
        for slot in from..self.slots() as usize {
            if *left == 0 {
                return Some(slot);
            }
            *left -= 1;
            if let Some(item) = self.peek_mut(slot as u32) {
                each(item);
            }
        }
        None
    }

    /// Frees up to `left` items of a removed table. Returns whether all items are freed.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        while 0 < *left {
            match self.pop_slot() {
                None => return true,
                Some(item) => drop(item),
            }
            *left -= 1;
        }
        false
    }
}

#[cfg(test)]
mod tests;
