//! Nodes of a stream: consecutive entries, packed into one allocation.
//!
//! ```text
//! node:   field count │ name … │ entry │ entry │ …
//! entry:  shape │ ms │ seq │ text … │ size
//! name, text:  length │ bytes
//! ```
//!
//! The names are the node's field names: those of the first entry that was added, or those in the
//! RDB file. An entry with the same fields has the shape 0, and its texts are values only. Any
//! other entry has its number of fields as its shape, and its texts are names and values in turn.
//! `ms` counts from the first id of the node; `seq` does too if `ms` is 0. `size` is the number of
//! bytes of the entry without `size` itself.
//!
//! All numbers are varints: seven bits per byte, the lowest first, and the top bit set in all bytes
//! but the last. The bytes of `size` are reversed, so that a walk can start at the end.

use super::id::Id;
use crate::listpack;
use crate::memory::{allocated, reallocate_vec};

/// Bytes of the two counters of an [`Arc`](std::sync::Arc), in which a stream keeps each node,
/// group and consumer.
pub(super) const ARC_BYTES: usize = 16;
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
    /// Id of the last entry.
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

    /// Returns whether the entry has the field names of its node.
    pub(crate) fn has_node_fields(&self) -> bool {
        self.names.is_some()
    }
}

impl Node {
    /// Returns a node with one entry. `fields` are names and values in turn.
    pub(crate) fn new(id: Id, fields: &[impl AsRef<[u8]>]) -> Self {
        let names: Vec<&[u8]> = fields.iter().step_by(2).map(AsRef::as_ref).collect();
        let mut node = Self::with_names(id, &names);
        node.append(id, fields);
        node
    }

    /// Returns a node without entries, whose first id is `id`. Entries with the fields `names`
    /// store only values.
    pub(crate) fn with_names(id: Id, names: &[impl AsRef<[u8]>]) -> Self {
        let mut bytes = Vec::new();
        put_number(&mut bytes, names.len() as u64);
        let mut listpack_bytes = listpack::int_bytes(names.len() as i64);
        for name in names {
            put_text(&mut bytes, name.as_ref());
            listpack_bytes += listpack::text_bytes(name.as_ref());
        }
        Self {
            first: id,
            last: id,
            names_bytes: bytes.len(),
            bytes,
            entries: 0,
            removed: 0,
            listpack_bytes: listpack_bytes + listpack::int_bytes(0),
        }
    }

    pub(crate) fn first(&self) -> Id {
        self.first
    }

    /// Returns the id of the last entry.
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

    /// Releases the spare capacity that is larger than the content.
    pub(crate) fn shrink_to_double(&mut self) {
        self.bytes.shrink_to(2 * self.bytes.len());
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

    /// Returns the bytes that an entry takes in a listpack in addition to its texts.
    fn listpack_overhead(&self, id: Id, count: i64, shape: Shape) -> usize {
        let (seq, elements) = (id.seq.wrapping_sub(self.first.seq) as i64, 3 + count);
        let ms = id.ms.wrapping_sub(self.first.ms) as i64;
        let shared = listpack::int_bytes(0) + listpack::int_bytes(ms) + listpack::int_bytes(seq);
        shared
            + match shape {
                Shape::NodeFields => listpack::int_bytes(elements),
                Shape::OwnFields => {
                    listpack::int_bytes(count) + listpack::int_bytes(elements + count + 1)
                }
            }
    }

    fn shape(&self, fields: &[impl AsRef<[u8]>]) -> Shape {
        let mut names = self.names();
        let is_same = take_number(&mut names) == fields.len() as u64 / 2
            && fields
                .iter()
                .step_by(2)
                .all(|name| take_text(&mut names) == name.as_ref());
        match is_same {
            true => Shape::NodeFields,
            false => Shape::OwnFields,
        }
    }

    /// Returns the encoded number of the node's field names, and the encoded names.
    fn names(&self) -> &[u8] {
        &self.bytes[..self.names_bytes]
    }

    /// Returns the node's field names.
    pub(crate) fn field_names(&self) -> impl Iterator<Item = &[u8]> {
        let mut names = self.names();
        let count = take_number(&mut names);
        (0..count).map(move |_| take_text(&mut names))
    }

    fn delta(&self, id: Id) -> (u64, u64) {
        let ms = id.ms.checked_sub(self.first.ms);
        let ms = ms.expect("ids of a node ascend from its first id");
        match ms {
            0 => (0, id.seq - self.first.seq),
            ms => (ms, id.seq),
        }
    }

    /// Returns the entries; the iteration can start at either end.
    pub(crate) fn entries(&self) -> Entries<'_> {
        Entries {
            node: self,
            front: self.names_bytes,
            back: self.bytes.len(),
        }
    }

    fn entry(&self, start: usize, end: usize) -> Entry<'_> {
        let mut rest = &self.bytes[start..end];
        let shape = take_number(&mut rest);
        let (ms, seq) = (take_number(&mut rest), take_number(&mut rest));
        let id = match ms {
            0 => Id::new(self.first.ms, self.first.seq + seq),
            ms => Id::new(self.first.ms + ms, seq),
        };
        let mut names = self.names();
        let node_len = take_number(&mut names);
        match shape {
            0 => Entry {
                id,
                len: node_len as usize,
                names: Some(names),
                texts: rest,
            },
            len => Entry {
                id,
                len: len as usize,
                names: None,
                texts: rest,
            },
        }
    }

    pub(crate) fn find(&self, id: Id) -> Option<Entry<'_>> {
        self.entries().find(|entry| entry.id == id)
    }

    /// Removes the entry with this id. Returns whether there was one.
    pub(crate) fn remove(&mut self, id: Id) -> bool {
        let mut entries = self.entries();
        loop {
            let start = entries.front;
            match entries.next() {
                None => return false,
                Some(entry) if entry.id != id => {}
                Some(_) => {
                    let end = entries.front;
                    self.bytes.drain(start..end);
                    self.entries -= 1;
                    self.removed += 1;
                    // Do not keep the id of a removed last entry: XSETID may lower the stream's
                    // last id, and the next entry then gets an id below that of the removed one.
                    if let Some(last) = self.entries().next_back() {
                        self.last = last.id;
                    }
                    return true;
                }
            }
        }
    }

    /// Removes entries from the start of the node for as long as `is_old` returns true. Returns the
    /// number of removed entries.
    pub(crate) fn remove_front(&mut self, mut is_old: impl FnMut(Id) -> bool) -> usize {
        let mut entries = self.entries();
        let (mut end, mut count) = (entries.front, 0);
        while entries.next().is_some_and(|entry| is_old(entry.id)) {
            end = entries.front;
            count += 1;
        }
        self.bytes.drain(self.names_bytes..end);
        self.entries -= count;
        self.removed += count;
        count
    }
}

/// Double-ended iterator over the entries of a node.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    node: &'a Node,
    front: usize,
    back: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        if self.front == self.back {
            return None;
        }
        let start = self.front;
        let mut rest = &self.node.bytes[start..self.back];
        let shape = take_number(&mut rest);
        take_number(&mut rest);
        take_number(&mut rest);
        let texts = match shape {
            0 => take_number(&mut self.node.names()),
            len => 2 * len,
        };
        (0..texts).for_each(|_| _ = take_text(&mut rest));
        let end = self.back - rest.len();
        self.front = end + number_bytes((end - start) as u64);
        Some(self.node.entry(start, end))
    }
}

impl<'a> DoubleEndedIterator for Entries<'a> {
    fn next_back(&mut self) -> Option<Entry<'a>> {
        if self.front == self.back {
            return None;
        }
        let (size, width) = size_before(&self.node.bytes[..self.back]);
        let end = self.back - width;
        self.back = end - size;
        Some(self.node.entry(self.back, end))
    }
}

fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while 0x80 <= number {
        to.push(0x80 | number as u8);
        number >>= 7;
    }
    to.push(number as u8);
}

fn put_text(to: &mut Vec<u8>, text: &[u8]) {
    put_number(to, text.len() as u64);
    to.extend_from_slice(text);
}

/// Appends the size of the entry that begins at `start`, with its bytes reversed.
fn put_size(to: &mut Vec<u8>, start: usize) {
    let end = to.len();
    put_number(to, (end - start) as u64);
    to[end..].reverse();
}

fn number_bytes(number: u64) -> usize {
    let bits = u64::BITS - number.leading_zeros();
    bits.div_ceil(7).max(1) as usize
}

fn take_number(from: &mut &[u8]) -> u64 {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let (byte, rest) = from.split_first().expect("a number ends within its node");
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return number;
        }
        shift += 7;
    }
}

fn take_text<'a>(from: &mut &'a [u8]) -> &'a [u8] {
    let len = take_number(from) as usize;
    let (text, rest) = from.split_at(len);
    *from = rest;
    text
}

/// Returns the size at the end of `bytes`, and the number of bytes that the size itself takes.
fn size_before(bytes: &[u8]) -> (usize, usize) {
    let mut size = 0;
    for (place, byte) in bytes.iter().rev().enumerate() {
        size |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return (size, place + 1);
        }
    }
    unreachable!("an entry is followed by its size")
}
