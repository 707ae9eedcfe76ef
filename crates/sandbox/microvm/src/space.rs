//! Memory that a program allocates while it runs: a heap that grows up, mappings that grow down,
//! and freed ranges among the mappings. This module only calculates addresses: all of this memory
//! is mapped and zero from the start.

use super::layout::{LARGE_BYTES, PAGE_BYTES};
use std::ops::Range;

/// Maximum number of freed ranges that are remembered. If there are more, the job cannot allocate
/// the further ranges again.
const FREE_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Space {
    heap: Range<u64>,
    mappings: Range<u64>,
    /// Freed ranges, sorted, not adjoining, all within `mappings`.
    free: Vec<Range<u64>>,
    /// Maximum number of bytes that may be in use.
    bytes_max: u64,
    peak_bytes: u64,
}

impl Space {
    pub(super) fn new(heap_begin: u64, mappings_top: u64, bytes_max: u64) -> Space {
        Space {
            heap: heap_begin..heap_begin,
            mappings: mappings_top..mappings_top,
            free: Vec::new(),
            bytes_max,
            peak_bytes: 0,
        }
    }

    /// Sets the memory limit to the bytes in use now plus `bytes_max`, and resets the peak.
    pub(super) fn allow(&mut self, bytes_max: u64) {
        self.bytes_max = self.used_bytes().saturating_add(bytes_max);
        self.peak_bytes = self.used_bytes();
    }

    /// Raises `bytes_max` by `bytes`.
    pub(super) fn allow_more(&mut self, bytes: u64) {
        self.bytes_max = self.bytes_max.saturating_add(bytes);
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let free = self.free.iter().map(|range| range.end - range.start);
        let mapped = self.mappings.end - self.mappings.start - free.sum::<u64>();
        self.heap.end - self.heap.start + mapped
    }

    /// Returns the range that was never allocated: whole pages between the heap and the mappings.
    pub(super) fn spare(&self) -> Range<u64> {
        self.heap.end.next_multiple_of(PAGE_BYTES)..self.mappings.start
    }

    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// Implements `brk`. Returns the heap's new end, or its old end on refusal, and the pages that
    /// the heap no longer has.
    pub(super) fn set_break(&mut self, end: u64) -> (u64, Range<u64>) {
        let now = self.heap.end;
        if end < self.heap.start || self.mappings.start < end {
            return (now, now..now);
        }
        if now < end && self.bytes_max < self.used_bytes() + (end - now) {
            return (now, now..now);
        }
        self.heap.end = end;
        self.note();
        let whole = |address: u64| address.next_multiple_of(PAGE_BYTES);
        (end, whole(end)..whole(now).max(whole(end)))
    }

    /// Allocates zeroed memory and returns its address. Returns `None` if `bytes` is 0, or if the
    /// limit or the address space would be exceeded.
    pub(super) fn map(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.checked_next_multiple_of(PAGE_BYTES)?;
        if bytes == 0 || self.bytes_max < self.used_bytes().checked_add(bytes)? {
            return None;
        }
        // A mapping of at least the size of a large page is aligned to that size, so that large
        // pages can back it.
        let align = if bytes < LARGE_BYTES {
            PAGE_BYTES
        } else {
            LARGE_BYTES
        };
        let fits = |range: &Range<u64>| {
            let place = range.end.checked_sub(bytes)? / align * align;
            (range.start <= place).then_some(place)
        };
        let found = self.free.iter().enumerate();
        let found = found
            .filter_map(|(index, range)| Some((index, fits(range)?)))
            .next();
        let place = match found {
            Some((index, place)) => {
                let range = self.free.remove(index);
                self.give(range.start..place);
                self.give(place + bytes..range.end);
                place
            }
            None => {
                let place = self.mappings.start.checked_sub(bytes)? / align * align;
                if place < self.heap.end {
                    return None;
                }
                let between = place + bytes..self.mappings.start;
                self.mappings.start = place;
                self.give(between);
                place
            }
        };
        self.note();
        Some(place)
    }

    /// Returns whether all of `range` lies in the region of the mappings. Parts of it may be free.
    pub(super) fn is_mapping(&self, range: &Range<u64>) -> bool {
        self.mappings.start <= range.start && range.end <= self.mappings.end
    }

    /// Frees a range, which may be a part of a mapping, or free already.
    pub(super) fn unmap(&mut self, range: Range<u64>) {
        assert!(self.is_mapping(&range), "callers ask `is_mapping`");
        self.give(range);
    }

    /// Allocates the free parts of `wanted`, for a mapping at a fixed address. Returns false, and
    /// changes nothing, if the memory limit or the maximum number of free ranges would be exceeded.
    pub(super) fn take(&mut self, wanted: &Range<u64>) -> bool {
        let mut rest = Vec::with_capacity(self.free.len() + 1);
        for free in &self.free {
            rest.push(free.start..free.end.min(wanted.start).max(free.start));
            rest.push(free.start.max(wanted.end).min(free.end)..free.end);
        }
        rest.retain(|range| !range.is_empty());
        let before = std::mem::replace(&mut self.free, rest);
        if self.bytes_max < self.used_bytes() || FREE_MAX < self.free.len() {
            self.free = before;
            return false;
        }
        self.note();
        true
    }

    fn give(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let apart = |other: &Range<u64>| other.end < range.start || range.end < other.start;
        let mut merged = range.clone();
        self.free.retain(|other| {
            if apart(other) {
                return true;
            }
            merged = merged.start.min(other.start)..merged.end.max(other.end);
            false
        });
        if merged.start == self.mappings.start {
            self.mappings.start = merged.end;
        } else if self.free.len() < FREE_MAX {
            let place = self
                .free
                .partition_point(|other| other.start < merged.start);
            self.free.insert(place, merged);
        }
    }

    fn note(&mut self) {
        self.peak_bytes = self.peak_bytes.max(self.used_bytes());
    }
}

#[cfg(test)]
mod tests;
