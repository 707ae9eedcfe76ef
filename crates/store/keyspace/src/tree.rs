//! Ordered sequence that finds items by rank. It stores the order of the members of a sorted set.
//!
//! A B+tree whose inner nodes store the number of items below each child. Items are small, and are
//! passed by value. The caller supplies the comparison: members with equal scores are ordered by
//! name, and the names are stored outside the tree.
//!
//! ```text
//!            [first, count] [first, count] …            inner: up to 32 children
//!             │              └─► [item item item …]     leaves: up to 64 items
//! ```
//!
//! A node that falls below a quarter of its capacity is joined with a neighbour if both fit into
//! one node.

use std::cmp::Ordering;
use std::ops::Range;

use crate::memory::reallocate_vec;

const LEAF_MAX: usize = 64;
const CHILDREN_MAX: usize = 32;

/// Ordered sequence of items, addressed by rank.
#[derive(Clone, Debug)]
pub(crate) struct Tree<T> {
    root: Node<T>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Node<T> {
    Leaf(Vec<T>),
    Inner(Vec<Child<T>>),
}

#[derive(Clone, Debug)]
struct Child<T> {
    first: T,
    count: usize,
    node: Node<T>,
}

impl<T: Copy> Tree<T> {
    pub(crate) const fn new() -> Self {
        Self {
            root: Node::Leaf(Vec::new()),
            len: 0,
        }
    }

    /// Returns the approximate heap bytes, assuming average fill.
    pub(crate) fn heap_bytes(&self) -> usize {
        let leaves = self.len * size_of::<T>() * 8 / 5;
        leaves + self.len / 40 * size_of::<Child<T>>()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Reallocates the leaf that holds the item of this rank, and the inner nodes whose first leaf
    /// is this leaf. Returns the first rank after the leaf.
    ///
    /// # Panics
    /// If there is no item of this rank.
    pub(crate) fn reallocate_leaf(&mut self, rank: usize) -> usize {
        assert!(rank < self.len, "the rank is below the length");
        let mut node = &mut self.root;
        let mut begin = 0;
        loop {
            match node {
                Node::Leaf(items) => {
                    reallocate_vec(items);
                    return begin + items.len();
                }
                Node::Inner(children) => {
                    if begin == rank {
                        reallocate_vec(children);
                    }
                    let mut index = 0;
                    while begin + children[index].count <= rank {
                        begin += children[index].count;
                        index += 1;
                    }
                    node = &mut children[index].node;
                }
            }
        }
    }

    /// Inserts an item. No item in the tree may compare equal to the new item.
    pub(crate) fn insert(&mut self, item: T, order: &impl Fn(&T, &T) -> Ordering) {
        self.len += 1;
        if let Some(right) = self.root.insert(item, order) {
            let left = std::mem::replace(&mut self.root, Node::Inner(Vec::new()));
            let left = Child::new(left);
            self.root = Node::Inner(vec![left, right]);
        }
    }

    /// Removes the item that compares equal to `item`. Returns whether there was such an item.
    pub(crate) fn remove(&mut self, item: &T, order: &impl Fn(&T, &T) -> Ordering) -> bool {
        let removed = self.root.remove(item, order);
        self.len -= usize::from(removed);
        if let Node::Inner(children) = &mut self.root
            && children.len() == 1
        {
            self.root = children.pop().expect("the root has one child").node;
        }
        removed
    }

    /// Frees up to `left` leaves of a removed tree. Returns whether the tree is now small enough to
    /// be dropped.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        let Node::Inner(children) = &mut self.root else {
            return true;
        };
        while 0 < *left {
            match children.pop().map(|child| child.node) {
                None => return true,
                Some(Node::Leaf(_)) => *left -= 1,
                Some(Node::Inner(below)) => children.extend(below),
            }
        }
        false
    }

    /// Returns the number of items that precede, in the order of rank, the first item for which
    /// `is_before` returns false.
    pub(crate) fn rank(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let mut node = &self.root;
        let mut rank = 0;
        loop {
            match node {
                Node::Leaf(items) => return rank + items.partition_point(is_before),
                Node::Inner(children) => {
                    let next = children.partition_point(|child| is_before(&child.first));
                    let next = next.saturating_sub(1);
                    rank += children[..next]
                        .iter()
                        .map(|child| child.count)
                        .sum::<usize>();
                    node = &children[next].node;
                }
            }
        }
    }

    /// Visits the items of a range of ranks in ascending order until `visit` returns `false`.
    pub(crate) fn ascend(&self, range: Range<usize>, visit: &mut impl FnMut(T) -> bool) {
        self.root.ascend(range, visit);
    }

    /// Visits the items of a range of ranks in descending order until `visit` returns `false`.
    pub(crate) fn descend(&self, range: Range<usize>, visit: &mut impl FnMut(T) -> bool) {
        self.root.descend(range, visit);
    }
}

impl<T: Copy> Child<T> {
    fn new(node: Node<T>) -> Self {
        let (first, count) = match &node {
            Node::Leaf(items) => (items[0], items.len()),
            Node::Inner(children) => {
                let count = children.iter().map(|child| child.count).sum();
                (children[0].first, count)
            }
        };
        Self { first, count, node }
    }
}

impl<T: Copy> Node<T> {
    fn len(&self) -> usize {
        match self {
            Self::Leaf(items) => items.len(),
            Self::Inner(children) => children.len(),
        }
    }

    /// Inserts into the subtree. If the node was split, returns its new right neighbour.
    fn insert(&mut self, item: T, order: &impl Fn(&T, &T) -> Ordering) -> Option<Child<T>> {
        match self {
            Self::Leaf(items) => {
                let at = items.partition_point(|other| order(other, &item).is_lt());
                items.insert(at, item);
                // If the new item is the last one, the split moves only the last two items to the
                // right leaf, so the left leaf stays almost full. With an even split, items that
                // are inserted in order would leave every leaf half full.
                let cut = if at + 1 == items.len() {
                    LEAF_MAX - 1
                } else {
                    LEAF_MAX / 2
                };
                (LEAF_MAX < items.len()).then(|| Child::new(Self::Leaf(items.split_off(cut))))
            }
            Self::Inner(children) => {
                let at = children.partition_point(|child| order(&child.first, &item).is_lt());
                let at = at.saturating_sub(1);
                let child = &mut children[at];
                child.count += 1;
                if order(&item, &child.first).is_lt() {
                    child.first = item;
                }
                let right = child.node.insert(item, order)?;
                child.count -= right.count;
                children.insert(at + 1, right);
                let cut = if at + 2 == children.len() {
                    CHILDREN_MAX - 1
                } else {
                    CHILDREN_MAX / 2
                };
                (CHILDREN_MAX < children.len())
                    .then(|| Child::new(Self::Inner(children.split_off(cut))))
            }
        }
    }

    fn remove(&mut self, item: &T, order: &impl Fn(&T, &T) -> Ordering) -> bool {
        match self {
            Self::Leaf(items) => {
                let found = items.binary_search_by(|other| order(other, item));
                found.map(|at| items.remove(at)).is_ok()
            }
            Self::Inner(children) => {
                let at = children.partition_point(|child| order(&child.first, item).is_le());
                let Some(at) = at.checked_sub(1) else {
                    return false;
                };
                let child = &mut children[at];
                if !child.node.remove(item, order) {
                    return false;
                }
                child.count -= 1;
                if child.count == 0 {
                    children.remove(at);
                    return true;
                }
                child.first = match &child.node {
                    Self::Leaf(items) => items[0],
                    Self::Inner(grandchildren) => grandchildren[0].first,
                };
                join_around(children, at);
                true
            }
        }
    }

    fn ascend(&self, range: Range<usize>, visit: &mut impl FnMut(T) -> bool) -> bool {
        match self {
            Self::Leaf(items) => items[range].iter().all(|&item| visit(item)),
            Self::Inner(children) => {
                let mut start = 0;
                children.iter().all(|child| {
                    let child_range = within(&range, start, child.count);
                    start += child.count;
                    child_range.is_empty() || child.node.ascend(child_range, visit)
                })
            }
        }
    }

    fn descend(&self, range: Range<usize>, visit: &mut impl FnMut(T) -> bool) -> bool {
        match self {
            Self::Leaf(items) => items[range].iter().rev().all(|&item| visit(item)),
            Self::Inner(children) => {
                let mut end: usize = children.iter().map(|child| child.count).sum();
                children.iter().rev().all(|child| {
                    end -= child.count;
                    let child_range = within(&range, end, child.count);
                    child_range.is_empty() || child.node.descend(child_range, visit)
                })
            }
        }
    }
}

/// Returns the ranks of `range` that lie in one child node, relative to the child's first rank. The
/// child's first rank is `start`, and its number of items is `count`.
fn within(range: &Range<usize>, start: usize, count: usize) -> Range<usize> {
    let from = range.start.clamp(start, start + count) - start;
    let to = range.end.clamp(start, start + count) - start;
    from..to
}

/// Joins a child node that has become small with a neighbour, if both fit into one node.
fn join_around<T: Copy>(children: &mut Vec<Child<T>>, at: usize) {
    let max = match children[at].node {
        Node::Leaf(_) => LEAF_MAX,
        Node::Inner(_) => CHILDREN_MAX,
    };
    let len = children[at].node.len();
    if max / 4 <= len {
        return;
    }
    let fits = |other: usize| {
        children
            .get(other)
            .is_some_and(|child| child.node.len() + len <= max)
    };
    let left = if fits(at + 1) {
        at
    } else if 0 < at && fits(at - 1) {
        at - 1
    } else {
        return;
    };
    let right = children.remove(left + 1);
    let into = &mut children[left];
    into.count += right.count;
    match (&mut into.node, right.node) {
        (Node::Leaf(items), Node::Leaf(mut more)) => items.append(&mut more),
        (Node::Inner(nodes), Node::Inner(mut more)) => nodes.append(&mut more),
        (Node::Leaf(_), Node::Inner(_)) | (Node::Inner(_), Node::Leaf(_)) => {
            unreachable!("all leaves are at one depth")
        }
    }
}

#[cfg(test)]
mod tests;
