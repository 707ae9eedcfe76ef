//! Guard that preserves the state of a table at one moment, while the table changes. The guard
//! copies each item before the item's first change. So a change costs the copy of one item, and the
//! guard holds copies of changed items only.
//!
//! ```text
//! slots:   visited visited │ unchanged   copied   unchanged   copied …  │ added later
//!                          └ next                                       └ end
//! ```

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::chunked::Chunked;
use crate::dict::item::Item;

/// Guard of a table, if it has one. Cloning a table does not clone its guard.
#[derive(Debug)]
pub(crate) struct Guarded<T>(Option<Box<Guard<T>>>);

#[derive(Debug)]
struct Guard<T> {
    /// Slots that [`Guard::take`] has not visited yet.
    slots: Range<u32>,
    /// One bit per slot. The bit is set if the slot has changed since the guard was created;
    /// `copies` then contains the former item of the slot, if there was one.
    changed: Vec<u64>,
    copies: Vec<T>,
    /// Total bytes of the copies in all guards of one snapshot.
    copied_bytes: Arc<AtomicUsize>,
}

impl<T> Clone for Guarded<T> {
    fn clone(&self) -> Self {
        Self::none()
    }
}

impl<T> Guarded<T> {
    pub(crate) const fn none() -> Self {
        Self(None)
    }
}

impl<T: Item> Guarded<T> {
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn from(slots: Range<u32>, copied_bytes: &Arc<AtomicUsize>) -> Self {
        Self(Some(Box::new(Guard {
            changed: vec![0; slots.end as usize / 64 + 1],
            slots,
            copies: Vec::new(),
            copied_bytes: Arc::clone(copied_bytes),
        })))
    }

    /// Copies the item of a slot that is about to change, if a guard needs the copy.
    #[inline]
    pub(crate) fn changes(&mut self, slot: u32, slots: &Chunked<Option<T>>) {
        if let Some(guard) = &mut self.0 {
            guard.copy(slot, slots);
        }
    }

    pub(crate) fn take(
        &mut self,
        slots: &Chunked<Option<T>>,
        visit: impl FnMut(&T) -> bool,
    ) -> bool {
        let is_all = self.0.as_mut().is_none_or(|it| it.take(slots, visit));
        if is_all {
            self.0 = None;
        }
        is_all
    }
}

impl<T: Item> Guard<T> {
    #[cold]
    fn copy(&mut self, slot: u32, slots: &Chunked<Option<T>>) {
        if self.slots.contains(&slot) && !self.has_changed(slot) {
            self.changed[slot as usize / 64] |= 1 << (slot % 64);
            // There is no item to copy if the slot was vacant, or if the table became empty and
            // lost its slots.
            if let Some(Some(item)) = slots.get(slot as usize) {
                self.copies.push(item.clone());
                self.copied_bytes.fetch_add(bytes(item), Ordering::Relaxed);
            }
        }
    }

    fn has_changed(&self, slot: u32) -> bool {
        self.changed[slot as usize / 64] & 1 << (slot % 64) != 0
    }

    fn take(&mut self, slots: &Chunked<Option<T>>, mut visit: impl FnMut(&T) -> bool) -> bool {
        while let Some(slot) = self.slots.next() {
            if !self.has_changed(slot)
                && let Some(Some(item)) = slots.get(slot as usize)
                && !visit(item)
            {
                return false;
            }
        }
        while let Some(item) = self.copies.pop() {
            self.copied_bytes.fetch_sub(bytes(&item), Ordering::Relaxed);
            if !visit(&item) {
                return false;
            }
        }
        true
    }
}

/// Returns the memory that a copy of an item uses, in bytes.
fn bytes<T: Item>(item: &T) -> usize {
    size_of::<T>() + item.heap_bytes()
}
