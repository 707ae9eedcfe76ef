//! Lists: a deque of packed nodes, with blobs between them.
//!
//! ```text
//! nodes:  [a b c …]  [d e f …]  blob  [g h …]        packed nodes: at most 8 KiB by default
//! ```

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use resp::{BLOB_BYTES_MIN, Out};

use crate::memory::{allocated, room_bytes};
use crate::packed::{Packed, record_bytes};
use crate::string::blob_bytes;

/// Maximum size of one node: the value of `list-max-listpack-size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeLimit(pub(crate) i64);

/// Maximum bytes per node if only the number of elements is limited.
const NODE_BYTES_MAX: usize = 8192;
/// Bytes that Redis counts for the head of a listpack.
const HEAD_BYTES: usize = 7;

impl NodeLimit {
    fn bytes(self) -> usize {
        match self.0 {
            -1 => 4096,
            -3 => 16_384,
            -4 => 32_768,
            ..=-5 => 65_536,
            _ => NODE_BYTES_MAX,
        }
    }

    fn holds(self, bytes: usize, count: usize) -> bool {
        let count_max = usize::try_from(self.0).unwrap_or(usize::MAX);
        count <= count_max && bytes + HEAD_BYTES <= self.bytes()
    }
}

#[derive(Clone, Debug)]
enum Node {
    Packed(Packed),
    /// A packed node shared with a snapshot: it is copied before it changes.
    Shared(Arc<Packed>),
    Blob(Bytes),
}

/// A reference to an element.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece<'a> {
    Short(&'a [u8]),
    Blob(&'a Bytes),
}

impl<'a> Piece<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Short(bytes) => bytes,
            Self::Blob(bytes) => bytes,
        }
    }

    pub(crate) fn to_bytes(self) -> Bytes {
        match self {
            Self::Short(bytes) => Bytes::copy_from_slice(bytes),
            Self::Blob(bytes) => bytes.clone(),
        }
    }

    #[inline]
    pub(crate) fn send(self, out: &mut Out) {
        match self {
            Self::Short(bytes) => out.bulk(bytes),
            Self::Blob(bytes) => out.blob(bytes),
        }
    }
}

impl Node {
    fn len(&self) -> usize {
        match self {
            Self::Packed(packed) => packed.len(),
            Self::Shared(packed) => packed.len(),
            Self::Blob(_) => 1,
        }
    }

    /// Makes the node shareable and returns a clone that shares its memory.
    fn share(&mut self) -> Self {
        if let Self::Packed(packed) = self {
            *self = Self::Shared(Arc::new(std::mem::take(packed)));
        }
        self.clone()
    }

    /// Turns a shared node into a node that may be changed. Copies the node's memory if a snapshot
    /// still refers to it.
    fn make_exclusive(&mut self) {
        if let Self::Shared(packed) = self {
            let packed = std::mem::take(packed);
            *self = Self::Packed(Arc::unwrap_or_clone(packed));
        }
    }

    fn new(value: &Bytes) -> Self {
        if BLOB_BYTES_MIN <= value.len() {
            return Self::Blob(value.clone());
        }
        let mut packed = Packed::default();
        packed.push_back(value);
        Self::Packed(packed)
    }

    fn piece(&self, index: usize) -> Piece<'_> {
        match self {
            Self::Packed(packed) => {
                Piece::Short(packed.get(index).expect("the index is within the node"))
            }
            Self::Shared(packed) => {
                Piece::Short(packed.get(index).expect("the index is within the node"))
            }
            Self::Blob(blob) => Piece::Blob(blob),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Packed(packed) => packed.heap_bytes(),
            Self::Shared(packed) => packed.heap_bytes(),
            Self::Blob(blob) => blob_bytes(blob.len()),
        }
    }

    fn packed_with_space(&mut self, value: &[u8], limit: NodeLimit) -> Option<&mut Packed> {
        match self {
            Self::Packed(packed) => {
                let bytes = packed.bytes() + record_bytes(value.len());
                limit.holds(bytes, packed.len() + 1).then_some(packed)
            }
            Self::Shared(_) => unreachable!("the caller has made the node exclusive"),
            Self::Blob(_) => None,
        }
    }

    fn pieces(&self) -> Box<dyn DoubleEndedIterator<Item = Piece<'_>> + '_> {
        match self {
            Self::Packed(packed) => Box::new(packed.iter().map(|it| Piece::Short(it.bytes))),
            Self::Shared(packed) => Box::new(packed.iter().map(|it| Piece::Short(it.bytes))),
            Self::Blob(blob) => Box::new(std::iter::once(Piece::Blob(blob))),
        }
    }
}

/// A list value.
#[derive(Clone, Debug)]
pub(crate) struct List {
    nodes: VecDeque<Node>,
    len: usize,
    heap_bytes: usize,
    limit: NodeLimit,
    /// True from the time when the list outgrows one node until the list fits in half of a node.
    is_long: bool,
}

/// One end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Left,
    Right,
}

impl List {
    pub(crate) fn new(limit: NodeLimit) -> Self {
        Self {
            nodes: VecDeque::new(),
            len: 0,
            heap_bytes: 0,
            limit,
            is_long: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>()) + room_bytes::<Node>(self.nodes.capacity()) + self.heap_bytes
    }

    pub(crate) fn limit(&self) -> NodeLimit {
        self.limit
    }

    /// Reallocates the heap memory of nodes, starting at node `from`, until the work budget `left`
    /// is used up. Returns the node at which the next call continues, or `None` at the end of the
    /// list.
    pub(crate) fn reallocate(&mut self, from: usize, left: &mut usize) -> Option<usize> {
        for (index, node) in self.nodes.iter_mut().enumerate().skip(from) {
            if *left == 0 {
                return Some(index);
            }
            // A full node of 8 KiB takes as long to move as many small blocks. So the work that is
            // counted for a node grows with the number of its elements.
            *left = left.saturating_sub(1 + node.len() / 8);
            if let Node::Packed(packed) = node {
                packed.reallocate();
            }
        }
        None
    }

    pub(crate) fn encoding(&self) -> &'static str {
        if self.is_long {
            "quicklist"
        } else {
            "listpack"
        }
    }

    pub(crate) fn push(&mut self, end: End, value: &Bytes) {
        let limit = self.limit;
        let at = match end {
            End::Left => 0,
            End::Right => self.nodes.len().saturating_sub(1),
        };
        self.make_exclusive(at);
        let last = self.nodes.get_mut(at);
        let packed_with_space = if BLOB_BYTES_MIN <= value.len() {
            None
        } else {
            last.and_then(|node| node.packed_with_space(value, limit))
        };
        match (packed_with_space, end) {
            (Some(packed), End::Left) => {
                let before = packed.heap_bytes();
                packed.push_front(value);
                self.heap_bytes += packed.heap_bytes() - before;
            }
            (Some(packed), End::Right) => {
                let before = packed.heap_bytes();
                packed.push_back(value);
                self.heap_bytes += packed.heap_bytes() - before;
            }
            (None, End::Left) => self.put_node(0, Node::new(value)),
            (None, End::Right) => self.put_node(self.nodes.len(), Node::new(value)),
        }
        self.len += 1;
        self.grown(value.len());
    }

    /// Returns a copy that shares its nodes with this list. Only the table of nodes is copied now;
    /// a node is copied before either list changes it.
    pub(crate) fn share(&mut self) -> Self {
        Self {
            nodes: self.nodes.iter_mut().map(Node::share).collect(),
            ..*self
        }
    }

    /// Makes the node at index `at` exclusive before a change, if the node is shared.
    #[inline]
    fn make_exclusive(&mut self, at: usize) {
        if let Some(node @ Node::Shared(_)) = self.nodes.get_mut(at) {
            let before = node.heap_bytes();
            node.make_exclusive();
            self.heap_bytes = self.heap_bytes + node.heap_bytes() - before;
        }
    }

    fn put_node(&mut self, at: usize, node: Node) {
        self.heap_bytes += node.heap_bytes();
        self.nodes.insert(at, node);
    }

    fn take_node(&mut self, at: usize) -> Node {
        let node = self.nodes.remove(at).expect("the caller found the node");
        self.heap_bytes -= node.heap_bytes();
        node
    }

    fn grown(&mut self, value_bytes: usize) {
        let bytes = record_bytes(value_bytes);
        self.is_long |= 1 < self.nodes.len() || !self.limit.holds(bytes, 1);
    }

    fn shrunk(&mut self) {
        if self.is_long && self.nodes.len() == 1 {
            self.make_exclusive(0);
            if let Some(Node::Packed(packed)) = self.nodes.front() {
                self.is_long = !self.limit.holds(packed.bytes() * 2, packed.len() * 2);
            }
        }
    }

    /// Returns the index of the node that holds an element, and the index of the element within
    /// this node.
    fn location(&self, index: usize) -> (usize, usize) {
        if index * 2 < self.len {
            let mut rest = index;
            for (node, held) in self.nodes.iter().enumerate() {
                if rest < held.len() {
                    return (node, rest);
                }
                rest -= held.len();
            }
        } else {
            let mut end = self.len;
            for (node, held) in self.nodes.iter().enumerate().rev() {
                end -= held.len();
                if end <= index {
                    return (node, index - end);
                }
            }
        }
        unreachable!("the index is below the length")
    }

    pub(crate) fn get(&self, index: usize) -> Option<Piece<'_>> {
        if self.len <= index {
            return None;
        }
        let (node, within) = self.location(index);
        Some(self.nodes[node].piece(within))
    }

    pub(crate) fn remove_range(&mut self, range: Range<usize>) {
        let mut left = range.len();
        while 0 < left {
            let (at, within) = self.location(range.start);
            let many = left.min(self.nodes[at].len() - within);
            self.remove_within(at, within..within + many);
            self.len -= many;
            left -= many;
        }
        self.shrunk();
    }

    fn remove_within(&mut self, at: usize, range: Range<usize>) {
        if range.len() == self.nodes[at].len() {
            self.take_node(at);
            return;
        }
        self.make_exclusive(at);
        let Node::Packed(packed) = &mut self.nodes[at] else {
            unreachable!("a blob is removed whole");
        };
        let before = packed.heap_bytes();
        packed.remove_range(range);
        packed.shrink();
        self.heap_bytes = self.heap_bytes + packed.heap_bytes() - before;
    }

    pub(crate) fn drop_end(&mut self, end: End) {
        match end {
            End::Left => self.remove_range(0..1),
            End::Right => self.remove_range(self.len - 1..self.len),
        }
    }

    pub(crate) fn end(&self, end: End) -> Option<Piece<'_>> {
        match end {
            End::Left => self.get(0),
            End::Right => self.get(self.len.checked_sub(1)?),
        }
    }

    pub(crate) fn set(&mut self, index: usize, value: &Bytes) {
        let (at, within) = self.location(index);
        self.make_exclusive(at);
        if value.len() < BLOB_BYTES_MIN
            && let Node::Packed(packed) = &mut self.nodes[at]
        {
            let old = packed
                .element(within)
                .expect("the index is within the node");
            let bytes = packed.bytes() + record_bytes(value.len());
            let bytes = bytes - record_bytes(old.bytes.len());
            if self.limit.holds(bytes, packed.len()) || packed.len() == 1 {
                let before = packed.heap_bytes();
                let old = old.at;
                packed.replace(old, value);
                self.heap_bytes = self.heap_bytes + packed.heap_bytes() - before;
                self.grown(value.len());
                return;
            }
        }
        self.remove_range(index..index + 1);
        self.insert(index, value);
    }

    /// Inserts an element before the element with this index. If `index` is the number of elements,
    /// appends the new element.
    pub(crate) fn insert(&mut self, index: usize, value: &Bytes) {
        if index == 0 {
            return self.push(End::Left, value);
        }
        if index == self.len {
            return self.push(End::Right, value);
        }
        let (at, within) = self.location(index);
        self.make_exclusive(at);
        let is_blob = BLOB_BYTES_MIN <= value.len();
        let limit = self.limit;
        if !is_blob && let Some(packed) = self.nodes[at].packed_with_space(value, limit) {
            let before = packed.heap_bytes();
            let location = packed
                .element(within)
                .expect("the index is within the node")
                .at;
            packed.insert(location, value);
            self.heap_bytes += packed.heap_bytes() - before;
        } else {
            self.split(at, within);
            let at = if within == 0 { at } else { at + 1 };
            self.put_node(at, Node::new(value));
        }
        self.len += 1;
        self.grown(value.len());
    }

    /// Splits the node at index `at` in two, before its element `within`.
    fn split(&mut self, at: usize, within: usize) {
        if within == 0 {
            return;
        }
        let Node::Packed(mut packed) = self.take_node(at) else {
            unreachable!("a blob has one element, and no middle");
        };
        let back = packed.split_off(within);
        packed.shrink();
        self.put_node(at, Node::Packed(packed));
        self.put_node(at + 1, Node::Packed(back));
    }

    /// Returns the elements in a range of indices, in order.
    pub(crate) fn range(&self, range: Range<usize>) -> impl Iterator<Item = Piece<'_>> {
        let (at, within) = if range.is_empty() {
            (0, 0)
        } else {
            self.location(range.start)
        };
        let nodes = self.nodes.range(at..);
        let pieces = nodes.flat_map(Node::pieces);
        pieces.skip(within).take(range.len())
    }

    /// Frees up to `left` nodes of a removed list. Returns whether all nodes are freed.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        while 0 < *left {
            if self.nodes.pop_back().is_none() {
                return true;
            }
            *left -= 1;
        }
        false
    }

    /// Returns an iterator over all elements; the iteration can start at either end.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Piece<'_>> {
        self.nodes.iter().flat_map(Node::pieces)
    }

    /// Removes up to `most` elements equal to `value`, starting from one end. Returns the number of
    /// removed elements.
    pub(crate) fn remove_equal(&mut self, value: &[u8], most: usize, from: End) -> usize {
        let mut found: Vec<usize> = match from {
            End::Left => indices(self.iter().enumerate(), value, most),
            End::Right => indices((0..self.len).rev().zip(self.iter().rev()), value, most),
        };
        if from == End::Left {
            found.reverse();
        }
        for &index in &found {
            self.remove_range(index..index + 1);
        }
        found.len()
    }
}

/// Returns the indices of up to `most` elements equal to `value`.
fn indices<'a>(
    pieces: impl Iterator<Item = (usize, Piece<'a>)>,
    value: &[u8],
    most: usize,
) -> Vec<usize> {
    let equal = pieces.filter(|(_, piece)| piece.bytes() == value);
    equal.map(|(index, _)| index).take(most).collect()
}
