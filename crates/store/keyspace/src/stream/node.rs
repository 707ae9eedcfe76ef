//! Nodes of a stream: consecutive entries, packed into one allocation.
//!
//! ```text
//! node:   field count │ name … │ entry │ entry │ …
//! entry:  shape │ ms │ seq │ text … │ size
//! name, text:  length │ bytes
//! ```
//!
//! The names are those of the fields of the node's first entry. An entry with the same fields has
//! the shape 0, and its texts are values only. Any other entry has its number of fields as its
//! shape, and its texts are names and values in turn. `ms` counts from the first id of the node;
//! `seq` does too if `ms` is 0. `size` is the number of bytes of the entry before it.
//!
//! All numbers are varints: seven bits per byte, the lowest first, and the top bit set in all bytes
//! but the last. The bytes of `size` are reversed, so that a walk can start at the end.

use super::id::Id;
use crate::listpack;
use crate::memory::{allocated, reallocate_vec};

/// Bytes of the two counters of an [`Arc`](std::sync::Arc), in which a stream keeps each node.
const ARC_BYTES: usize = 16;
/// Maximum bytes of a node, even if `stream-node-max-bytes` is larger or 0.
pub(crate) const NODE_BYTES_MAX: usize = 1 << 30;

/// Maximum size of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeLimits {
    /// Bytes of the node as a listpack: `stream-node-max-bytes`; 0 means [`NODE_BYTES_MAX`].
    pub(crate) bytes_max: usize,
    /// Number of entries: `stream-node-max-entries`; 0 means no limit.
    pub(crate) entries_max: usize,
}

/// A node: its entries, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    first: Id,
    /// Last id that was appended, even if that entry was removed since.
    last: Id,
    bytes: Vec<u8>,
    /// Bytes of the node's field names at the start of `bytes`.
    names_bytes: usize,
    entries: usize,
    /// Number of entries that were removed.
    removed: usize,
    /// Bytes that the names and all entries, removed ones too, would take in a listpack of Redis.
    listpack_bytes: usize,
}

/// Form in which an entry is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// The entry has the fields of its node, and stores only values.
    NodeFields,
    /// The entry stores its fields and their values.
    OwnFields,
}

/// An entry of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) id: Id,
    /// Number of fields.
    pub(crate) len: usize,
    /// Names of the node's fields, if the entry has the same fields.
    names: Option<&'a [u8]>,
    texts: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Returns the fields and their values, in the order of XADD.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let (mut names, mut texts) = (self.names, self.texts);
        (0..self.len).map(move |_| {
            let name = take_text(names.as_mut().unwrap_or(&mut texts));
            (name, take_text(&mut texts))
        })
    }

    /// Returns whether the entry has the fields of its node's first entry.
    pub(crate) fn has_node_fields(&self) -> bool {
        self.names.is_some()
    }
}

impl Node {
    /// Returns a node with one entry. `fields` are names and values in turn.
    pub(crate) fn new(id: Id, fields: &[impl AsRef<[u8]>]) -> Self {
        let mut bytes = Vec::new();
        put_number(&mut bytes, fields.len() as u64 / 2);
        let mut listpack_bytes = listpack::int_bytes(fields.len() as i64 / 2);
        for name in fields.iter().step_by(2) {
            put_text(&mut bytes, name.as_ref());
            listpack_bytes += listpack::text_bytes(name.as_ref());
        }
        let mut node = Self {
            first: id,
            last: id,
            names_bytes: bytes.len(),
            bytes,
            entries: 0,
            removed: 0,
            listpack_bytes: listpack_bytes + listpack::int_bytes(0),
        };
        node.append(id, fields);
        node
    }

    pub(crate) fn first(&self) -> Id {
        self.first
    }

    /// Returns the last id that was appended, even if that entry was removed since.
    pub(crate) fn last(&self) -> Id {
        self.last
    }

    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>() + ARC_BYTES) + allocated(self.bytes.capacity())
    }

    /// Moves the entries into a new allocation.
    pub(crate) fn reallocate(&mut self) {
        reallocate_vec(&mut self.bytes);
    }

    /// Releases the spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Returns whether an entry belongs into this node rather than a new one. `text_bytes` are the
    /// bytes of its names and values.
    pub(crate) fn has_space(&self, text_bytes: usize, limits: NodeLimits) -> bool {
        let bytes_max = match limits.bytes_max {
            0 => NODE_BYTES_MAX,
            bytes_max => bytes_max.min(NODE_BYTES_MAX),
        };
        // Removed entries count too, as in Redis, which keeps them in the node.
        let counters = [self.entries, self.removed].map(|count| listpack::int_bytes(count as i64));
        let used_bytes = listpack::EMPTY_BYTES + counters[0] + counters[1] + self.listpack_bytes;
        let is_short = limits.entries_max == 0 || self.entries + self.removed < limits.entries_max;
        is_short && used_bytes + text_bytes < bytes_max
    }

    /// Appends an entry. `fields` are names and values in turn.
    ///
    /// # Panics
    /// If the id is below the first id of the node.
    pub(crate) fn append(&mut self, id: Id, fields: &[impl AsRef<[u8]>]) {
        let start = self.bytes.len();
        let shape = self.shape(fields);
        let count = fields.len() / 2;
        let (number, skipped, step) = match shape {
            Shape::NodeFields => (0, 1, 2),
            Shape::OwnFields => (count, 0, 1),
        };
        put_number(&mut self.bytes, number as u64);
        let (ms, seq) = self.delta(id);
        put_number(&mut self.bytes, ms);
        put_number(&mut self.bytes, seq);
        for text in fields.iter().skip(skipped).step_by(step) {
            put_text(&mut self.bytes, text.as_ref());
            self.listpack_bytes += listpack::text_bytes(text.as_ref());
        }
        put_size(&mut self.bytes, start);
        self.listpack_bytes += self.listpack_overhead(id, count as i64, shape);
        self.last = id;
        self.entries += 1;
    }
}
