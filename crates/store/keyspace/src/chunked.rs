//! A vector that grows without moving its elements, so that no single insertion has to copy all
//! elements.

use crate::memory::reallocate_vec;
use crate::memory::room_bytes;

/// Base-2 logarithm of the number of elements per chunk. The first chunk grows like a plain vector,
/// so that small collections stay small.
const CHUNK_BITS: u32 = 12;
const CHUNK: usize = 1 << CHUNK_BITS;

/// A vector in chunks of 4096 elements.
#[derive(Clone, Debug)]
pub(crate) struct Chunked<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Chunked<T> {
    pub(crate) const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn at(&self, index: usize) -> &T {
        &self.chunks[index >> CHUNK_BITS][index & (CHUNK - 1)]
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let chunk = self.chunks.get(index >> CHUNK_BITS)?;
        chunk.get(index & (CHUNK - 1))
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut T {
        &mut self.chunks[index >> CHUNK_BITS][index & (CHUNK - 1)]
    }

    pub(crate) fn push(&mut self, value: T) {
        let last = self.len >> CHUNK_BITS;
        if last == self.chunks.len() {
            let whole = if last == 0 { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(whole));
        }
        self.chunks[last].push(value);
        self.len += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.chunks.last_mut()?;
        let value = last.pop();
        if last.is_empty() {
            self.chunks.pop();
        }
        self.len -= usize::from(value.is_some());
        value
    }

    /// Moves the first chunk into a new allocation of the same capacity, as a step of a
    /// defragmentation of the heap.
    pub(crate) fn reallocate_first(&mut self) {
        if let Some(first) = self.chunks.first_mut() {
            reallocate_vec(first);
        }
    }

    /// Returns the heap bytes of the vector itself, without the heap bytes of its elements.
    pub(crate) fn heap_bytes(&self) -> usize {
        let first = self.chunks.first().map_or(0, Vec::capacity);
        let whole = self.chunks.len().saturating_sub(1);
        room_bytes::<T>(first)
            + whole * const { room_bytes::<T>(CHUNK) }
            + room_bytes::<Vec<T>>(self.chunks.capacity())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }
}
