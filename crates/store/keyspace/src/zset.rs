//! Sorted sets. A small sorted set is a packed list of members and scores. A large one has a table
//! of members, and a tree that orders them by rank.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::dict::{Dict, Node, Seed};
use crate::memory::allocated;
use crate::packed::{Element, Packed};
use crate::settings::Growth;
use crate::text::Key;
use crate::tree::Tree;

/// A sorted set in one of its encodings.
#[derive(Clone, Debug)]
pub(crate) enum Zset {
    /// Members and scores alternate, in ascending order; a score has eight bytes.
    Packed(Packed),
    Large(Large),
}

/// Large encoding of a sorted set: a table of members by name, and a tree of their slots by rank.
#[derive(Clone, Debug)]
pub(crate) struct Large {
    members: Dict<Scored>,
    order: Tree<ScoredSlot>,
}

/// A score, and the slot of its member.
#[derive(Clone, Copy, Debug)]
struct ScoredSlot {
    score: f64,
    slot: u32,
}

/// A member of a large sorted set, with its score.
type Scored = Node<f64>;

fn score_of(bytes: &[u8]) -> f64 {
    f64::from_le_bytes(bytes.try_into().expect("a packed score has eight bytes"))
}

/// Compares members by score, then by name. Scores are never NaN; 0 and -0 are equal.
fn compare(left: (f64, &[u8]), right: (f64, &[u8])) -> Ordering {
    let by_score = left.0.partial_cmp(&right.0).expect("a score is never NaN");
    by_score.then_with(|| left.1.cmp(right.1))
}

impl Large {
    fn new(seed: Seed) -> Self {
        Self {
            members: Dict::new(seed),
            order: Tree::new(),
        }
    }

    fn insert(&mut self, name: &[u8], score: f64) {
        let slot = self.members.insert(Scored::new(name, score));
        let members = &self.members;
        self.order
            .insert(ScoredSlot { score, slot }, &order(members));
    }

    fn unrank(&mut self, slot: u32) {
        let members = &self.members;
        let score = members.at(slot).value;
        let removed = self
            .order
            .remove(&ScoredSlot { score, slot }, &order(members));
        assert!(removed, "every member has a rank");
    }

    fn member(&self, scored: ScoredSlot) -> (&[u8], f64) {
        (self.members.at(scored.slot).name.bytes(), scored.score)
    }
}

fn order(members: &Dict<Scored>) -> impl Fn(&ScoredSlot, &ScoredSlot) -> Ordering {
    |left, right| {
        let name = |scored: &ScoredSlot| members.at(scored.slot).name.bytes();
        let by_score = left
            .score
            .partial_cmp(&right.score)
            .expect("a score is never NaN");
        by_score.then_with(|| name(left).cmp(name(right)))
    }
}

impl Zset {
    pub(crate) fn new() -> Self {
        Self::Packed(Packed::default())
    }

    /// Returns an empty sorted set in large encoding.
    pub(crate) fn large(seed: Seed) -> Self {
        Self::Large(Large::new(seed))
    }

    /// Converts to the packed encoding, if the sorted set is small enough.
    pub(crate) fn pack(self, growth: Growth) -> Self {
        let encodings = growth.encodings;
        let mut is_small = self.len() <= encodings.zset_entries_max;
        if is_small {
            self.each(0..self.len(), false, |name, _| {
                is_small = name.len() <= encodings.zset_value_bytes_max;
                is_small
            });
        }
        if !is_small {
            return self;
        }
        let mut packed = Self::new();
        self.each(0..self.len(), false, |name, score| {
            packed.set(name, score, growth);
            true
        });
        packed
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Packed(packed) => packed.len() / 2,
            Self::Large(large) => large.members.len(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>())
            + match self {
                Self::Packed(packed) => packed.heap_bytes(),
                Self::Large(large) => large.members.heap_bytes() + large.order.heap_bytes(),
            }
    }

    /// Reallocates the heap memory of the members, then the leaves of the tree. Starts at position
    /// `from`, and stops when the work budget `left` is used up. The first positions are the slots
    /// of the members; the ranks in the tree follow. Returns the position at which the next call
    /// continues, or `None` at the end of the sorted set.
    pub(crate) fn reallocate(&mut self, from: usize, left: &mut usize) -> Option<usize> {
        let large = match self {
            Self::Packed(packed) => {
                packed.reallocate();
                return None;
            }
            Self::Large(large) => large,
        };
        let slots = large.members.slots() as usize;
        let next = large
            .members
            .reallocate(from, left, |member| member.name.reallocate());
        if next.is_some() {
            return next;
        }
        let mut rank = from.saturating_sub(slots);
        while rank < large.order.len() {
            if *left == 0 {
                return Some(slots + rank);
            }
            *left -= 1;
            rank = large.order.reallocate_leaf(rank);
        }
        None
    }

    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Packed(_) => "listpack",
            Self::Large(_) => "skiplist",
        }
    }

    pub(crate) fn score(&self, name: &[u8]) -> Option<f64> {
        match self {
            Self::Packed(packed) => {
                let mut pairs = packed.pairs();
                let found = pairs.find(|(member, _)| member.bytes == name);
                found.map(|(_, score)| score_of(score))
            }
            Self::Large(large) => large.members.get(name).map(|member| member.value),
        }
    }

    /// Sets the score of a member. Returns the previous score.
    pub(crate) fn set(&mut self, name: &[u8], score: f64, growth: Growth) -> Option<f64> {
        let old = self.score(name);
        if old == Some(score) {
            return old;
        }
        if old.is_some() {
            self.remove(name);
        }
        let Growth { encodings, seed } = growth;
        if let Self::Packed(packed) = self {
            let is_long = encodings.zset_value_bytes_max < name.len();
            if !is_long && packed.len() / 2 < encodings.zset_entries_max {
                let mut pairs = packed.pairs();
                let sorts_after = |other: &[u8], other_score| {
                    compare((score, name), (other_score, other)).is_lt()
                };
                let next = pairs.find(|(other, it)| sorts_after(other.bytes, score_of(it)));
                let at = next.map_or(packed.bytes(), |(other, _)| other.at);
                // Adding 0.0 turns -0 into 0. Redis does the same: its small sorted sets store
                // whole scores as integers.
                packed.insert(at, &(score + 0.0).to_le_bytes());
                packed.insert(at, name);
                return old;
            }
            let mut large = Large::new(seed);
            for (member, score) in packed.pairs() {
                large.insert(member.bytes, score_of(score));
            }
            *self = Self::Large(large);
        }
        let Self::Large(large) = self else {
            unreachable!("unpacked above");
        };
        large.insert(name, score);
        old
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<f64> {
        match self {
            Self::Packed(packed) => {
                let mut pairs = packed.pairs();
                let found = pairs.find(|(member, _)| member.bytes == name);
                let (at, score) = found.map(|(member, score)| (member.at, score_of(score)))?;
                packed.remove(at);
                packed.remove(at);
                Some(score)
            }
            Self::Large(large) => {
                let slot = large.members.find(name)?;
                large.unrank(slot);
                large.members.remove(name).map(|member| member.value)
            }
        }
    }

    /// Returns the number of members that precede, in the order of rank, the first member for which
    /// `is_before` returns false.
    pub(crate) fn rank(&self, is_before: impl Fn(f64, &[u8]) -> bool) -> usize {
        match self {
            Self::Packed(packed) => {
                let pairs = packed.pairs();
                let before = pairs.take_while(|(it, score)| is_before(score_of(score), it.bytes));
                before.count()
            }
            Self::Large(large) => large
                .order
                .rank(|scored| is_before(scored.score, large.members.at(scored.slot).name.bytes())),
        }
    }

    /// Returns the rank of a member, counted from the lowest score.
    pub(crate) fn rank_of(&self, name: &[u8]) -> Option<usize> {
        let score = self.score(name)?;
        Some(self.rank(|other, it| compare((other, it), (score, name)).is_lt()))
    }

    /// Visits the members of a range of ranks, in ascending or descending order, until `visit`
    /// returns `false`.
    pub(crate) fn each(
        &self,
        range: Range<usize>,
        reverse: bool,
        mut visit: impl FnMut(&[u8], f64) -> bool,
    ) {
        if range.is_empty() {
            return;
        }
        match self {
            Self::Packed(packed) => {
                let mut visit = |pair: (Element<'_>, &[u8])| visit(pair.0.bytes, score_of(pair.1));
                let pairs = packed.pairs();
                if reverse {
                    let skipped = pairs.rev().skip(self.len() - range.end);
                    skipped.take(range.len()).all(&mut visit);
                } else {
                    pairs.skip(range.start).take(range.len()).all(&mut visit);
                }
            }
            Self::Large(large) => {
                let mut visit = |scored| {
                    let (name, score) = large.member(scored);
                    visit(name, score)
                };
                if reverse {
                    large.order.descend(range, &mut visit);
                } else {
                    large.order.ascend(range, &mut visit);
                }
            }
        }
    }

    pub(crate) fn remove_range(&mut self, range: Range<usize>) {
        if let Self::Packed(packed) = self {
            packed.remove_range(range.start * 2..range.end * 2);
            return;
        }
        let mut names = Vec::with_capacity(range.len());
        self.each(range, false, |name, _| {
            names.push(Key::new(name));
            true
        });
        for name in names {
            self.remove(name.bytes());
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self, Self::Large(_))
    }

    /// Visits members from `position` on (0 is the start), in no particular order, until
    /// `visit` returns `false`. Returns the next position, unless the end was reached. Positions
    /// are valid until the sorted set changes; a packed sorted set is visited as a whole.
    pub(crate) fn each_from(
        &self,
        position: usize,
        mut visit: impl FnMut(&[u8], f64) -> bool,
    ) -> Option<usize> {
        match self {
            Self::Packed(_) => {
                self.each(0..self.len(), true, |name, score| {
                    visit(name, score);
                    true
                });
                None
            }
            Self::Large(large) => large
                .members
                .iter_from(position)
                .find(|(_, member)| !visit(member.name.bytes(), member.value))
                .map(|it| it.0),
        }
    }

    /// Starts to protect the members of a large sorted set at `position` and all later positions,
    /// for [`Zset::take_guarded`]: each member is copied before its first change.
    pub(crate) fn guard(&mut self, position: usize, copied_bytes: &Arc<AtomicUsize>) {
        if let Self::Large(large) = self {
            large.members.guard(position, copied_bytes);
        }
    }

    pub(crate) fn unguard(&mut self) {
        if let Self::Large(large) = self {
            large.members.unguard();
        }
    }

    /// Passes members with their scores to `visit`, in their state at the call of [`Zset::guard`].
    /// Stops when `visit` returns `false`; the next call continues with the next member. Returns
    /// whether all members were passed.
    pub(crate) fn take_guarded(&mut self, mut visit: impl FnMut(&[u8], f64) -> bool) -> bool {
        match self {
            Self::Large(large) => large
                .members
                .take_guarded(|member| visit(member.name.bytes(), member.value)),
            Self::Packed(_) => unreachable!("only tables are guarded"),
        }
    }

    /// Frees parts of a removed sorted set: first the leaves of the tree, then the members, at most
    /// `left` in total. Returns whether the sorted set is now small enough to be dropped.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        match self {
            Self::Packed(_) => true,
            Self::Large(large) => large.order.free_some(left) && large.members.free_some(left),
        }
    }

    /// Visits the members in the bucket of the hash table at `cursor`, and returns the next cursor.
    /// Cursor 0 starts a scan; 0 is returned at the end. A packed sorted set is visited as a whole.
    pub(crate) fn scan<'a>(&'a self, cursor: u64, mut visit: impl FnMut(&'a [u8], f64)) -> u64 {
        match self {
            Self::Packed(packed) => {
                for (member, score) in packed.pairs() {
                    visit(member.bytes, score_of(score));
                }
                0
            }
            Self::Large(large) => large.members.scan(cursor, |_, member| {
                visit(member.name.bytes(), member.value);
            }),
        }
    }

    /// Returns a random member; all members are equally likely.
    pub(crate) fn random(&self, rng: &mut fastrand::Rng) -> Option<(Key, f64)> {
        match self {
            Self::Packed(packed) if packed.is_empty() => None,
            Self::Packed(packed) => {
                let (member, score) = packed.pairs().nth(rng.usize(..packed.len() / 2))?;
                Some((Key::new(member.bytes), score_of(score)))
            }
            Self::Large(large) => {
                let member = large.members.at(large.members.random(rng)?);
                Some((member.name.clone(), member.value))
            }
        }
    }
}
