//! Streams: entries ordered by id, in packed nodes, and the consumer groups that read them.
//!
//! ```text
//! nodes:   [1-0 1-1 2-0 …]  [7-0 8-0 …]  [9-0 9-3]      ordered by id; found by binary search
//! groups:  last delivered id, pending entries, consumers
//! ```
//!
//! New entries go to the last node until it is full. Trimming removes nodes from the front. A node
//! that a snapshot shares is copied before it changes.

mod group;
mod id;
mod id_map;
mod node;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

pub(crate) use group::{Consumer, ConsumerNumber, Delivery, Group};
pub(crate) use id::{Id, number};
pub(crate) use id_map::IdMap;
pub(crate) use node::{Entry, NODE_BYTES_MAX, Node, NodeLimits};

use crate::memory::{allocated, room_bytes};

/// A stream value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    nodes: VecDeque<Arc<Node>>,
    len: usize,
    /// Largest id that was ever added.
    pub(crate) last_id: Id,
    /// Largest id that XDEL removed.
    pub(crate) max_deleted_id: Id,
    /// Number of entries that were ever added.
    pub(crate) entries_added: u64,
    /// Groups in the order of their names.
    groups: Vec<Group>,
    /// Heap bytes of all nodes.
    nodes_bytes: usize,
}

/// Entries that trimming keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// At most this number of entries.
    Newest(usize),
    /// The entries from this id on.
    From(Id),
}

/// Result of trimming.
#[derive(Debug)]
pub(crate) struct Trimmed {
    /// Number of removed entries.
    pub(crate) entries: usize,
    /// Nodes that were removed as a whole. The caller frees them, now or later.
    pub(crate) nodes: Stream,
}

/// Precision of trimming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Exact,
    /// Only whole nodes are removed, and at most this number of entries, if there is a limit.
    WholeNodes {
        entries_max: Option<usize>,
    },
}

impl Stream {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn nodes(&self) -> &VecDeque<Arc<Node>> {
        &self.nodes
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>())
            + room_bytes::<Arc<Node>>(self.nodes.capacity())
            + self.nodes_bytes
            + room_bytes::<Group>(self.groups.capacity())
            + self.groups.iter().map(Group::heap_bytes).sum::<usize>()
    }

    /// Returns the number of blocks of heap memory that hold entries, groups and consumers.
    pub(crate) fn parts(&self) -> usize {
        self.nodes.len() + self.groups.iter().map(Group::parts).sum::<usize>()
    }

    /// Returns a copy that shares its nodes and pending entries with this stream. They are copied
    /// before either stream changes them.
    pub(crate) fn share(&self) -> Self {
        self.clone()
    }

    /// Frees up to `left` parts of a removed stream. Returns whether the stream is now small enough
    /// to be dropped.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        while 0 < *left {
            if self.nodes.pop_back().is_some() {
                *left -= 1;
            } else if let Some(group) = self.groups.last_mut() {
                if group.free_some(left) {
                    self.groups.pop();
                }
            } else {
                return true;
            }
        }
        false
    }

    /// Reallocates the heap memory of nodes, starting at node `from`, and of the groups behind
    /// them, until the work budget `left` is used up. Returns the position at which the next call
    /// continues, or `None` at the end.
    pub(crate) fn reallocate(&mut self, from: usize, left: &mut usize) -> Option<usize> {
        let mut position = from;
        while 0 < *left {
            let work = if let Some(node) = self.nodes.get_mut(position) {
                if let Some(node) = Arc::get_mut(node) {
                    node.reallocate();
                }
                1 + node.len() / 8
            } else {
                let group = self.groups.get_mut(position - self.nodes.len());
                group?.reallocate()
            };
            *left = left.saturating_sub(work);
            position += 1;
        }
        Some(position)
    }

    /// Returns the id of the first entry, or the smallest id if there is no entry.
    pub(crate) fn first_id(&self) -> Id {
        let first = self.nodes.front().and_then(|node| node.entries().next());
        first.map_or(Id::MIN, |entry| entry.id)
    }

    /// Returns the id of the last entry, if there is one.
    pub(crate) fn last_entry_id(&self) -> Option<Id> {
        let last = self.nodes.back()?.entries().next_back();
        last.map(|entry| entry.id)
    }

    /// Appends an entry. `fields` are names and values in turn.
    ///
    /// # Panics
    /// If the id is not above [`Stream::last_id`].
    pub(crate) fn append(&mut self, id: Id, fields: &[Bytes], limits: NodeLimits) {
        assert!(self.last_id < id, "the caller has checked the id");
        let text_bytes = fields.iter().map(Bytes::len).sum();
        let last = self.nodes.len().wrapping_sub(1);
        match self.nodes.back() {
            Some(node) if node.has_space(text_bytes, limits) => {
                self.edit_node(last, |node| node.append(id, fields));
            }
            Some(_) => {
                self.edit_node(last, Node::shrink);
                self.push_node(Node::new(id, fields));
            }
            None => self.push_node(Node::new(id, fields)),
        }
        self.len += 1;
        self.last_id = id;
        self.entries_added = self.entries_added.saturating_add(1);
    }
}
