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
    groups: Vec<Arc<Group>>,
    /// Heap bytes of all groups.
    groups_bytes: usize,
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

    pub(crate) fn groups(&self) -> &[Arc<Group>] {
        &self.groups
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>())
            + room_bytes::<Arc<Node>>(self.nodes.capacity())
            + self.nodes_bytes
            + room_bytes::<Arc<Group>>(self.groups.capacity())
            + self.groups_bytes
    }

    /// Returns the number of blocks of heap memory that hold entries, groups and consumers.
    pub(crate) fn parts(&self) -> usize {
        self.nodes.len() + self.groups.iter().map(|group| group.parts()).sum::<usize>()
    }

    /// Returns a copy that shares its nodes and groups with this stream. They are copied before
    /// either stream changes them.
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
                // A group that a snapshot shares is freed with the snapshot's copy.
                if Arc::get_mut(group).is_none_or(|group| group.free_some(left)) {
                    self.groups.pop();
                    *left = left.saturating_sub(1);
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
                Arc::get_mut(group?).map_or(1, Group::reallocate)
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

    /// Appends a complete node. Does not update the number of entries: see [`Stream::recount`].
    ///
    /// # Panics
    /// If its ids are not above those of the last node.
    pub(crate) fn push_node(&mut self, node: Node) {
        let last = self.nodes.back().map(|node| node.last());
        assert!(last < Some(node.first()), "the ids of nodes ascend");
        self.nodes_bytes += node.heap_bytes();
        self.nodes.push_back(Arc::new(node));
    }

    /// Counts the entries of all nodes anew, as needed after [`Stream::push_node`].
    pub(crate) fn recount(&mut self) {
        self.len = self.nodes.iter().map(|node| node.len()).sum();
    }

    /// Changes a node, which is copied first if a snapshot shares it.
    fn edit_node<R>(&mut self, at: usize, change: impl FnOnce(&mut Node) -> R) -> R {
        let before = self.nodes[at].heap_bytes();
        let result = change(Arc::make_mut(&mut self.nodes[at]));
        self.nodes_bytes = self.nodes_bytes + self.nodes[at].heap_bytes() - before;
        result
    }

    fn take_node(&mut self, at: usize) -> Arc<Node> {
        let node = self.nodes.remove(at).expect("the caller found the node");
        self.nodes_bytes -= node.heap_bytes();
        node
    }

    /// Returns the index of the first node whose last id is not below `id`.
    fn node_index(&self, id: Id) -> usize {
        self.nodes.partition_point(|node| node.last() < id)
    }

    /// Returns the entry with this id, if there is one.
    pub(crate) fn get(&self, id: Id) -> Option<Entry<'_>> {
        self.nodes.get(self.node_index(id))?.find(id)
    }

    /// Returns the entries from `start` to `end`, both included.
    pub(crate) fn range(&self, start: Id, end: Id) -> impl Iterator<Item = Entry<'_>> {
        let nodes = self.nodes.range(self.node_index(start)..);
        let entries = nodes.flat_map(|node| node.entries());
        entries
            .skip_while(move |entry| entry.id < start)
            .take_while(move |entry| entry.id <= end)
    }

    /// Returns the entries from `end` down to `start`, both included.
    pub(crate) fn range_back(&self, start: Id, end: Id) -> impl Iterator<Item = Entry<'_>> {
        let after = self.nodes.partition_point(|node| node.first() <= end);
        let nodes = self.nodes.range(..after).rev();
        let entries = nodes.flat_map(|node| node.entries().rev());
        entries
            .skip_while(move |entry| end < entry.id)
            .take_while(move |entry| start <= entry.id)
    }

    /// Returns the number of entries from `start` to `end`, both included, but at most `count_max`.
    pub(crate) fn count(&self, start: Id, end: Id, count_max: usize) -> usize {
        let mut count = 0;
        for node in self.nodes.range(self.node_index(start)..) {
            if count_max <= count || end < node.first() {
                break;
            }
            let is_whole = start <= node.first() && node.last() <= end;
            count += match is_whole {
                true => node.len(),
                false => {
                    let ids = node.entries().map(|entry| entry.id);
                    ids.filter(|id| (start..=end).contains(id)).count()
                }
            };
        }
        count.min(count_max)
    }

    /// Removes the entry with this id. Returns whether there was one.
    pub(crate) fn remove(&mut self, id: Id) -> bool {
        let at = self.node_index(id);
        let node = self.nodes.get(at);
        if node.is_none_or(|node| node.find(id).is_none()) {
            return false;
        }
        self.edit_node(at, |node| node.remove(id));
        self.release_spare(at);
        self.len -= 1;
        true
    }

    /// Frees the memory of entries that were removed from a node. The last node, to which entries
    /// are appended, may keep as much spare capacity as it has content.
    fn release_spare(&mut self, at: usize) {
        if self.nodes[at].len() == 0 {
            self.take_node(at);
        } else if at + 1 < self.nodes.len() {
            self.edit_node(at, Node::shrink);
        } else {
            self.edit_node(at, Node::shrink_to_double);
        }
    }

    /// Removes entries from the front, except those in `kept`.
    pub(crate) fn trim(&mut self, kept: Kept, precision: Precision) -> Trimmed {
        let before = self.len;
        let mut removed_nodes = Self::new();
        while let Some(node) = self.nodes.front() {
            if matches!(kept, Kept::Newest(count) if self.len <= count) {
                break;
            }
            let removed = before - self.len;
            if let Precision::WholeNodes {
                entries_max: Some(entries_max),
            } = precision
                && entries_max < removed + node.len()
            {
                break;
            }
            let is_whole = match kept {
                Kept::Newest(count) => count <= self.len - node.len(),
                Kept::From(id) => node.last() < id,
            };
            if !is_whole {
                break;
            }
            self.len -= node.len();
            let node = self.take_node(0);
            removed_nodes.nodes.push_back(node);
        }
        if precision == Precision::Exact {
            self.trim_first_node(kept);
        }
        Trimmed {
            entries: before - self.len,
            nodes: removed_nodes,
        }
    }

    /// Removes entries from the front of the first node, except those in `kept`.
    fn trim_first_node(&mut self, kept: Kept) {
        let Some(first) = self.nodes.front().and_then(|node| node.entries().next()) else {
            return;
        };
        let mut excess = match kept {
            Kept::Newest(count) => self.len.saturating_sub(count),
            Kept::From(id) if id <= first.id => 0,
            Kept::From(_) => usize::MAX,
        };
        if excess == 0 {
            return;
        }
        self.len -= self.edit_node(0, |node| {
            node.remove_front(|id| match kept {
                Kept::From(from) => id < from,
                Kept::Newest(_) => {
                    excess = excess.wrapping_sub(1);
                    excess != usize::MAX
                }
            })
        });
        self.release_spare(0);
    }

    /// Returns the index of the group with this name, or as `Err` the index for a new group.
    fn group_place(&self, name: &[u8]) -> Result<usize, usize> {
        self.groups
            .binary_search_by(|group| (*group.name).cmp(name))
    }

    pub(crate) fn group(&self, name: &[u8]) -> Option<&Group> {
        self.group_place(name)
            .ok()
            .map(|place| &*self.groups[place])
    }

    /// Changes a group, which is copied first if a snapshot shares it. Returns `None` if there is
    /// no group with this name.
    pub(crate) fn edit_group<R>(
        &mut self,
        name: &[u8],
        change: impl FnOnce(&mut Group) -> R,
    ) -> Option<R> {
        let place = self.group_place(name).ok()?;
        let group = &mut self.groups[place];
        let before = group.heap_bytes();
        let result = change(Arc::make_mut(group));
        self.groups_bytes = self.groups_bytes + group.heap_bytes() - before;
        Some(result)
    }

    /// Adds a group. Returns `false` if there is one with this name.
    pub(crate) fn add_group(&mut self, group: Group) -> bool {
        let place = self.group_place(&group.name);
        if let Err(place) = place {
            self.groups_bytes += group.heap_bytes();
            self.groups.insert(place, Arc::new(group));
        }
        place.is_err()
    }

    /// Removes a group, if there is one with this name. Returns it as the only group of an empty
    /// stream, for the caller to free, now or later.
    pub(crate) fn remove_group(&mut self, name: &[u8]) -> Option<Self> {
        let place = self.group_place(name).ok()?;
        let group = self.groups.remove(place);
        let groups_bytes = group.heap_bytes();
        self.groups_bytes -= groups_bytes;
        Some(Self {
            groups: vec![group],
            groups_bytes,
            ..Self::new()
        })
    }

    /// Returns whether XDEL may have removed an entry from `start` on.
    fn has_gap(&self, start: Id) -> bool {
        self.len != 0 && self.max_deleted_id != Id::MIN && start <= self.max_deleted_id
    }

    /// Returns the number of entries that were ever added up to `id`, if it is known.
    pub(crate) fn entries_until(&self, id: Id) -> Option<u64> {
        if self.entries_added == 0 {
            return Some(0);
        }
        if self.len == 0 && id <= self.last_id || id == self.last_id {
            return Some(self.entries_added);
        }
        let first_id = self.first_id();
        let has_gap = self.max_deleted_id != Id::MIN && first_id <= self.max_deleted_id;
        if self.last_id < id || has_gap || first_id < id {
            return None;
        }
        let before_first = self.entries_added.checked_sub(self.len as u64);
        before_first.map(|before| before.saturating_add(u64::from(id == first_id)))
    }

    /// Returns the value of [`Group::entries_read`] after the group has also read the entry `id`.
    pub(crate) fn entries_read_after(&self, entries_read: Option<u64>, id: Id) -> Option<u64> {
        match entries_read {
            Some(count) if !self.has_gap(id) => Some(count.saturating_add(1)),
            _ if self.entries_added != 0 => self.entries_until(id),
            unchanged => unchanged,
        }
    }

    /// Returns the number of entries that a group has not read, if it is known. The number is
    /// negative if a client has set the group's counter too high.
    pub(crate) fn lag(&self, group: &Group) -> Option<i64> {
        let read = match group.entries_read {
            _ if self.entries_added == 0 => return Some(0),
            Some(count) if !self.has_gap(group.last_id) => count,
            _ => self.entries_until(group.last_id)?,
        };
        Some(self.entries_added.wrapping_sub(read) as i64)
    }
}

#[cfg(test)]
mod tests;
