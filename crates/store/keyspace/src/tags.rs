//! Cache tags: labels of keys. All keys with a tag can be dropped at once.
//!
//! A tag has a generation, which is a number. A tagged key stores the generation that the tag had
//! at the time of tagging. If the tag gets a newer generation, keys with an older generation count
//! as removed. So a single increment can drop a million keys. A sweep then frees the memory of the
//! dropped keys, some keys per turn of the event loop.

use std::collections::BTreeMap;

use crate::dict::{Dict, Node, Payload, Seed};

/// Heap bytes per key in the B-tree `Tags::by_key`, without the tags themselves.
const NODE_BYTES: usize = 32;

/// Cache tags of one database.
#[derive(Debug)]
pub(crate) struct Tags {
    tags: Dict<Tag>,
    /// Tags of each tagged key, by the key's slot.
    by_key: BTreeMap<u32, Box<[TagRef]>>,
    tag_refs: usize,
    /// Slot at which the sweep of keys with dropped tags continues, if a sweep is in progress.
    sweep: Option<u32>,
}

type Tag = Node<TagUses>;

/// Generation of a tag, and the numbers of keys with the tag.
#[derive(Clone, Debug, Default)]
struct TagUses {
    generation: u64,
    /// Number of keys that got the tag in its current generation.
    keys: usize,
    /// Number of keys that have the tag, from any generation: keys of earlier generations count as
    /// removed, but are still in memory.
    references: usize,
}

impl Payload for TagUses {}

/// Reference from a key to one of its tags, with the tag's generation at the time of tagging.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagRef {
    tag: u32,
    generation: u64,
}

impl Tags {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            tags: Dict::new(seed),
            by_key: BTreeMap::new(),
            tag_refs: 0,
            sweep: None,
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let trees = self.by_key.len() * NODE_BYTES + self.tag_refs * size_of::<TagRef>();
        if self.tags.is_empty() {
            trees
        } else {
            trees + self.tags.heap_bytes()
        }
    }

    /// Sets the tags of a key; repeated names count once.
    pub(crate) fn assign<'a>(&mut self, slot: u32, names: impl Iterator<Item = &'a [u8]>) {
        let mut tag_refs: Vec<TagRef> = Vec::new();
        for name in names {
            let tag = self.tags.find(name).unwrap_or_else(|| self.add(name));
            if tag_refs.iter().all(|it| it.tag != tag) {
                let record = &mut self.tags.at_mut(tag).value;
                record.keys += 1;
                record.references += 1;
                tag_refs.push(TagRef {
                    tag,
                    generation: record.generation,
                });
            }
        }
        self.tag_refs += tag_refs.len();
        self.by_key.insert(slot, tag_refs.into());
    }

    fn add(&mut self, name: &[u8]) -> u32 {
        self.tags.insert(Tag::new(name, TagUses::default()))
    }

    /// Removes the tags of a key.
    pub(crate) fn take(&mut self, slot: u32) {
        for tag_refs in self.by_key.remove(&slot).into_iter().flatten() {
            self.tag_refs -= 1;
            let tag = self.tags.at_mut(tag_refs.tag);
            let uses = &mut tag.value;
            uses.references -= 1;
            uses.keys -= usize::from(uses.generation == tag_refs.generation);
            if uses.references == 0 {
                let name = tag.name.clone();
                self.tags.remove(name.bytes());
            }
        }
    }

    /// Moves the tags from the key's old slot to its new slot. If a sweep in progress has already
    /// passed the new slot, the sweep goes back to it.
    pub(crate) fn moved(&mut self, from: u32, to: u32) {
        if let Some(tag_refs) = self.by_key.remove(&from) {
            self.by_key.insert(to, tag_refs);
            self.sweep = self.sweep.map(|next| next.min(to));
        }
    }

    /// Returns whether one of the key's tags was dropped after tagging.
    pub(crate) fn is_stale(&self, slot: u32) -> bool {
        let tag_refs = self.by_key.get(&slot).into_iter().flatten();
        let mut tag_refs =
            tag_refs.map(|it| (self.tags.at(it.tag).value.generation, it.generation));
        tag_refs.any(|(current, then)| current != then)
    }

    /// Drops all keys with this tag, and returns their number.
    pub(crate) fn invalidate(&mut self, name: &[u8]) -> usize {
        let Some(tag) = self.tags.find(name) else {
            return 0;
        };
        let tag = &mut self.tags.at_mut(tag).value;
        tag.generation += 1;
        self.sweep = Some(0);
        std::mem::take(&mut tag.keys)
    }

    pub(crate) fn count(&self, name: &[u8]) -> usize {
        self.tags.get(name).map_or(0, |tag| tag.value.keys)
    }

    pub(crate) fn names(&self, slot: u32) -> Vec<&[u8]> {
        let tag_refs = self.by_key.get(&slot).into_iter().flatten();
        tag_refs
            .map(|it| self.tags.at(it.tag).name.bytes())
            .collect()
    }

    /// Checks the next `count` tagged keys, and returns the slots of the dropped keys.
    pub(crate) fn sweep(&mut self, count: usize) -> Vec<u32> {
        let Some(from) = self.sweep else {
            return Vec::new();
        };
        let checked: Vec<u32> = self
            .by_key
            .range(from..)
            .take(count)
            .map(|it| *it.0)
            .collect();
        let last = checked.last().filter(|_| checked.len() == count);
        self.sweep = last.map(|slot| slot + 1);
        checked
            .into_iter()
            .filter(|&slot| self.is_stale(slot))
            .collect()
    }

    /// Frees one tag, or the tags of one key, of a removed database. Returns whether there was
    /// anything to free.
    pub(crate) fn free_some(&mut self) -> bool {
        self.by_key.pop_first().is_some() || self.tags.pop_slot().is_some()
    }

    /// Returns whether [`Tags::free_some`] has freed everything.
    pub(crate) fn is_freed(&self) -> bool {
        self.by_key.is_empty() && self.tags.slots() == 0
    }

    pub(crate) fn is_swept(&self) -> bool {
        self.sweep.is_none()
    }
}
