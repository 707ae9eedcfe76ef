//! Map from ids to values, ordered by id, that a snapshot can share: the pending entries of groups
//! and consumers.
//!
//! ```text
//! chunks:  [1-0 1-1 2-0 …]  [7-0 8-0 …]  [9-0 9-3]        sorted, at most 128 items each
//! ```
//!
//! A chunk that a snapshot shares is copied before it changes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::id::Id;
use crate::memory::{allocated, reallocate_vec, room_bytes};

/// Maximum number of items of a chunk.
const CHUNK_MAX: usize = 128;
/// Heap bytes of a chunk besides its items: the counters of its `Arc`, and its `Vec`.
const CHUNK_BYTES: usize = allocated(16 + size_of::<Vec<()>>());

/// Items of a chunk, in the order of their ids.
type Chunk<V> = Vec<(Id, V)>;

/// A map from ids to values, ordered by id.
#[derive(Clone, Debug)]
pub(crate) struct IdMap<V> {
    chunks: VecDeque<Arc<Chunk<V>>>,
    len: usize,
    /// Heap bytes of all chunks.
    heap_bytes: usize,
}

impl<V: Clone> IdMap<V> {
    pub(crate) fn new() -> Self {
        Self {
            chunks: VecDeque::new(),
            len: 0,
            heap_bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.heap_bytes + room_bytes::<Arc<Chunk<V>>>(self.chunks.capacity())
    }

    /// Returns the number of chunks.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Returns the items of a chunk, in the order of their ids.
    pub(crate) fn chunk(&self, index: usize) -> &[(Id, V)] {
        &self.chunks[index]
    }

    /// Returns the index of the chunk that has, or would have, this id.
    fn chunk_index(&self, id: Id) -> usize {
        let after = self.chunks.partition_point(|chunk| chunk[0].0 <= id);
        after.saturating_sub(1)
    }

    /// Returns the index of the chunk and, within the chunk, of the item with this id; as `Err`,
    /// the indices at which a new item would be inserted.
    fn position(&self, id: Id) -> Result<(usize, usize), (usize, usize)> {
        let at = self.chunk_index(id);
        let Some(chunk) = self.chunks.get(at) else {
            return Err((at, 0));
        };
        let within = chunk.binary_search_by_key(&id, |item| item.0);
        within
            .map(|within| (at, within))
            .map_err(|within| (at, within))
    }

    pub(crate) fn get(&self, id: Id) -> Option<&V> {
        let (at, within) = self.position(id).ok()?;
        Some(&self.chunks[at][within].1)
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut V> {
        let (at, within) = self.position(id).ok()?;
        self.edit(at, |_| {});
        let chunk = Arc::get_mut(&mut self.chunks[at]).expect("`edit` made the chunk exclusive");
        Some(&mut chunk[within].1)
    }

    /// Sets the value of an id. Returns the previous value, if any.
    pub(crate) fn insert(&mut self, id: Id, value: V) -> Option<V> {
        let (at, within) = match self.position(id) {
            Ok((at, within)) => {
                return self.edit(at, |chunk| {
                    Some(std::mem::replace(&mut chunk[within].1, value))
                });
            }
            Err(place) => place,
        };
        self.len += 1;
        let len = self.chunks.get(at).map_or(CHUNK_MAX, |chunk| chunk.len());
        if len < CHUNK_MAX {
            self.edit(at, |chunk| chunk.insert(within, (id, value)));
        } else if within == len || self.chunks.is_empty() {
            // Ids are usually added in ascending order. A new chunk leaves the full one full.
            let next = (at + 1).min(self.chunks.len());
            self.put_chunk(next, vec![(id, value)]);
        } else {
            let back = self.edit(at, |chunk| chunk.split_off(CHUNK_MAX / 2));
            self.put_chunk(at + 1, back);
            let (at, within) = match within.checked_sub(CHUNK_MAX / 2) {
                Some(within) => (at + 1, within),
                None => (at, within),
            };
            self.edit(at, |chunk| chunk.insert(within, (id, value)));
        }
        None
    }

    pub(crate) fn remove(&mut self, id: Id) -> Option<V> {
        let (at, within) = self.position(id).ok()?;
        self.len -= 1;
        let (removed, is_empty) = self.edit(at, |chunk| {
            let (_, removed) = chunk.remove(within);
            if chunk.len() * 4 < chunk.capacity() {
                chunk.shrink_to(chunk.len() * 2);
            }
            (removed, chunk.is_empty())
        });
        if is_empty && let Some(chunk) = self.chunks.remove(at) {
            self.heap_bytes -= Self::chunk_heap_bytes(&chunk);
        }
        Some(removed)
    }

    fn chunk_heap_bytes(chunk: &Chunk<V>) -> usize {
        CHUNK_BYTES + room_bytes::<(Id, V)>(chunk.capacity())
    }

    fn put_chunk(&mut self, at: usize, chunk: Chunk<V>) {
        self.heap_bytes += Self::chunk_heap_bytes(&chunk);
        self.chunks.insert(at, Arc::new(chunk));
    }

    /// Changes a chunk, which is copied first if a snapshot shares it.
    fn edit<R>(&mut self, at: usize, change: impl FnOnce(&mut Chunk<V>) -> R) -> R {
        let before = Self::chunk_heap_bytes(&self.chunks[at]);
        let result = change(Arc::make_mut(&mut self.chunks[at]));
        self.heap_bytes = self.heap_bytes + Self::chunk_heap_bytes(&self.chunks[at]) - before;
        result
    }

    /// Returns the items from this id on.
    pub(crate) fn iter_from(&self, id: Id) -> impl Iterator<Item = (Id, &V)> {
        let (at, within) = self.position(id).unwrap_or_else(|place| place);
        let items = self.chunks.range(at.min(self.chunks.len())..);
        let items = items.flat_map(|chunk| chunk.iter());
        items.skip(within).map(|(id, value)| (*id, value))
    }

    pub(crate) fn first(&self) -> Option<Id> {
        Some(self.chunks.front()?.first()?.0)
    }

    pub(crate) fn last(&self) -> Option<Id> {
        Some(self.chunks.back()?.last()?.0)
    }

    /// Frees up to `left` chunks. Returns whether all chunks are freed.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        while 0 < *left {
            if self.chunks.pop_back().is_none() {
                return true;
            }
            *left -= 1;
        }
        false
    }

    /// Reallocates the chunk at index `at`, unless a snapshot shares it. Returns its number of
    /// items.
    pub(crate) fn reallocate(&mut self, at: usize) -> usize {
        let chunk = &mut self.chunks[at];
        if let Some(items) = Arc::get_mut(chunk) {
            reallocate_vec(items);
        }
        chunk.len()
    }
}
