//! Memory: when keys were used, and which of them go when it is short.
//!
//! Each key has a stamp of 28 bits. Under the LRU policies it is the sixteenth of a second of the last use, so that as many
//! days pass before it begins anew as with the seconds of Redis, and keys of one second can be told apart; under the LFU
//! policies 16 bits are the minute in which the counter last fell and 8 bits a counter that grows logarithmically.
//!
//! ```text
//! access:  flags 4 │ stamp 28:  tick   or   0 4 │ minute 16 │ counter 8
//! ```
//!
//! Of the keys that were sampled, the worst few are remembered, as in Redis: the next evictions choose among them too, so that
//! a sample that held only keys in use costs none of them.

use crate::db::{Db, Entry};
use crate::keyspace::Keyspace;
use crate::notify::Class;
use crate::settings::Policy;
use crate::value::Value;

const STAMP_MASK: u32 = 0x0fff_ffff;
/// Ticks of the LRU clock in a second.
const TICKS_PER_S: i64 = 16;
/// Sampled keys that are remembered for the next evictions.
const POOL_MAX: usize = 16;
/// SIEVE: used since the hand last passed.
const VISITED: u32 = 1 << 28;
/// Where an LFU counter begins, so that new keys are not the first to go.
const COUNTER_START: u32 = 5;
/// SIEVE: a new key that takes more than this part of the room has to be used before it may stay.
const PROBATION_PART: usize = 16;
/// Keys on probation that are remembered.
const PROBATION_MAX: usize = 1024;
/// Slots tried for each sample before the keys with deadlines are taken in order.
const SAMPLE_TRIES: usize = 16;

impl Entry {
    /// Seconds since the last use.
    pub(crate) fn idle_s(&self, now: i64) -> u32 {
        self.idle_ticks(now) / TICKS_PER_S as u32
    }

    /// Ticks since the last use.
    fn idle_ticks(&self, now: i64) -> u32 {
        tick(now).wrapping_sub(self.access & STAMP_MASK) & STAMP_MASK
    }

    /// The LFU counter, less what it lost since it was last looked at.
    pub(crate) fn frequency(&self, now: i64, decay_minutes: u32) -> u32 {
        let counter = self.access & 0xff;
        let then = (self.access & STAMP_MASK) >> 8 & 0xffff;
        let passed = minute(now).wrapping_sub(then) & 0xffff;
        match passed.checked_div(decay_minutes) {
            Some(periods) => counter.saturating_sub(periods),
            None => counter,
        }
    }
}

fn tick(now: i64) -> u32 {
    (now.wrapping_mul(TICKS_PER_S) / 1000) as u32 & STAMP_MASK
}

fn minute(now: i64) -> u32 {
    (now / 60_000) as u32 & 0xffff
}

/// What is known of the use of a key that comes from elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Use {
    /// It counts as used now.
    #[default]
    Now,
    /// It was used so many seconds ago.
    Idle(u32),
    /// Its LFU counter.
    Frequency(u8),
}

/// Of which keys there are too many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    All,
    Small,
    Blobs,
}

impl Share {
    fn has(self, entry: &Entry) -> bool {
        match self {
            Self::All => true,
            Self::Small => entry.value.blob_bytes() == 0,
            Self::Blobs => entry.value.blob_bytes() != 0,
        }
    }
}

/// A key that was sampled for an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sampled {
    /// When it was last looked at; the higher, the sooner it goes.
    badness: u32,
    db: usize,
    slot: u32,
}

/// The deadline of a new key, and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    pub(crate) deadline_ms: i64,
    pub(crate) now: i64,
}

impl Keyspace {
    /// The stamp of a key that is used for the first time.
    pub(crate) fn first_stamp(&self, now: i64) -> u32 {
        if self.limits.policy.is_lfu() {
            minute(now) << 8 | COUNTER_START
        } else {
            tick(now)
        }
    }

    /// A key was used.
    #[inline]
    pub(crate) fn used(&mut self, db: usize, slot: u32, now: i64) -> &Entry {
        let is_lfu = self.limits.policy.is_lfu();
        let stamp = if is_lfu {
            self.counted_stamp(db, slot, now)
        } else {
            tick(now)
        };
        let entry = self.dbs[db].dict.at_mut(slot);
        entry.access = entry.access & !STAMP_MASK | stamp | VISITED;
        entry
    }

    /// Gives a key the use it had elsewhere, as far as the policy keeps that.
    pub(crate) fn set_use(&mut self, db: usize, slot: u32, used: Use, now: i64) {
        let is_lfu = self.limits.policy.is_lfu();
        let stamp = match used {
            Use::Idle(idle_s) if !is_lfu => {
                let ticks = idle_s.wrapping_mul(TICKS_PER_S as u32);
                tick(now).wrapping_sub(ticks) & STAMP_MASK
            }
            Use::Frequency(counter) if is_lfu => minute(now) << 8 | u32::from(counter),
            Use::Now | Use::Idle(_) | Use::Frequency(_) => return,
        };
        let entry = self.dbs[db].dict.at_mut(slot);
        entry.access = entry.access & !STAMP_MASK | stamp;
    }

    fn counted_stamp(&mut self, db: usize, slot: u32, now: i64) -> u32 {
        let entry = self.dbs[db].dict.at(slot);
        let mut counter = entry.frequency(now, self.limits.lfu_decay_minutes);
        if counter < 255 {
            let above = f64::from(counter.saturating_sub(COUNTER_START));
            let chance = 1.0 / (above * f64::from(self.limits.lfu_log_factor) + 1.0);
            counter += u32::from(self.rng.f64() < chance);
        }
        minute(now) << 8 | counter
    }

    /// Adds a key that is not there, with its hash.
    pub(crate) fn insert(
        &mut self,
        db: usize,
        key: (u64, &[u8]),
        value: Value,
        until: Until,
    ) -> u32 {
        let stamp = self.first_stamp(until.now) | self.epoch();
        let takes_much = self.limits.policy == Policy::AllKeysSieve && self.takes_much(&value);
        let slot = self.dbs[db].insert(key, value, until.deadline_ms, stamp);
        if takes_much && self.probation.len() < PROBATION_MAX {
            self.probation.push_back((db, slot));
        }
        self.appeared(db, key.1);
        slot
    }

    /// Whether a value takes a large part of the room that there is for its like.
    fn takes_much(&self, value: &Value) -> bool {
        let blobs_max = self.limits.maxmemory_blob_bytes;
        let room = match value.blob_bytes() {
            0 => self.limits.maxmemory_bytes,
            _ if blobs_max == 0 => self.limits.maxmemory_bytes,
            _ => blobs_max,
        };
        let part = usize::try_from(room).unwrap_or(usize::MAX) / PROBATION_PART;
        part != 0 && part < value.heap_bytes()
    }

    /// Of what there is too much.
    fn overdrawn(&self) -> Option<Share> {
        let passes = |bytes: usize, max: u64| max != 0 && max < bytes as u64;
        let (max, blobs_max) = (
            self.limits.maxmemory_bytes,
            self.limits.maxmemory_blob_bytes,
        );
        if blobs_max == 0 {
            let used = self.used_bytes() + self.beside_bytes;
            return passes(used, max).then_some(Share::All);
        }
        let blob_bytes = self.blob_bytes();
        if passes(blob_bytes, blobs_max) {
            Some(Share::Blobs)
        } else if max != 0 && passes(self.used_bytes() - blob_bytes + self.beside_bytes, max) {
            Some(Share::Small)
        } else {
            None
        }
    }

    /// Evicts until the data fits; whether it does, or will after a few more turns.
    pub(crate) fn make_room(&mut self, now_ms: u64) -> bool {
        if self.limits.maxmemory_bytes == 0 && self.limits.maxmemory_blob_bytes == 0 {
            return true;
        }
        for _ in 0..self.limits.evict_keys_per_turn {
            let Some(share) = self.overdrawn() else {
                return true;
            };
            let Some((db, slot)) = self.victim(share, now_ms as i64) else {
                return false;
            };
            self.evict(db, slot);
        }
        true
    }

    fn evict(&mut self, db: usize, slot: u32) {
        self.about_to_go(db, slot);
        let key = self.dbs[db].dict.at(slot).key.clone();
        self.remove_key(db, key.bytes());
        self.stats.evicted += 1;
        self.gone(db, key.bytes(), Class::Evicted, "evicted");
    }

    /// The key that goes next.
    fn victim(&mut self, share: Share, now: i64) -> Option<(usize, u32)> {
        match self.limits.policy {
            Policy::NoEviction => None,
            Policy::VolatileTtl => {
                let dbs = self.dbs.iter().enumerate();
                let first = dbs.filter_map(|(db, it)| {
                    let mut due = it.due.iter();
                    let due = due.find(|due| share.has(it.dict.at(due.1)))?;
                    Some((due.0, db, due.1))
                });
                first.min().map(|(_, db, slot)| (db, slot))
            }
            Policy::AllKeysSieve => self.unproven(share).or_else(|| match share {
                Share::Blobs => self.sieve_blobs(),
                Share::All | Share::Small => self.sieve(share),
            }),
            policy => self.worst_sample(policy, share, now),
        }
    }

    fn worst_sample(&mut self, policy: Policy, share: Share, now: i64) -> Option<(usize, u32)> {
        let volatile = matches!(
            policy,
            Policy::VolatileLru | Policy::VolatileLfu | Policy::VolatileRandom
        );
        let random = matches!(policy, Policy::AllKeysRandom | Policy::VolatileRandom);
        let samples = if random { 1 } else { self.limits.samples };
        let decay = self.limits.lfu_decay_minutes;
        let badness = |entry: &Entry| match policy.is_lfu() {
            true => 255 - entry.frequency(now, decay),
            false => entry.idle_ticks(now),
        };
        if random {
            self.pool.clear();
        }
        for db in 0..self.dbs.len() {
            for _ in 0..samples {
                let Some(slot) = sample(&self.dbs[db], volatile, share, &mut self.rng) else {
                    break;
                };
                if self.pool.iter().all(|it| (it.db, it.slot) != (db, slot)) {
                    let badness = 0;
                    self.pool.push(Sampled { badness, db, slot });
                }
            }
        }
        // A slot may hold another key by now, or none: what is remembered is only where to look.
        let dbs = &self.dbs;
        self.pool.retain_mut(|it| {
            let Some(entry) = dbs[it.db].dict.peek(it.slot) else {
                return false;
            };
            it.badness = badness(entry);
            share.has(entry) && (!volatile || entry.deadline().is_some())
        });
        self.pool.sort_unstable();
        let worst = self.pool.pop();
        let surplus = self.pool.len().saturating_sub(POOL_MAX);
        self.pool.drain(..surplus);
        worst.map(|it| (it.db, it.slot))
    }

    /// A new key that takes much room, and was not used since. A slot on probation may hold another key by now; that one has
    /// to be of the same kind to go.
    fn unproven(&mut self, share: Share) -> Option<(usize, u32)> {
        while let Some((db, slot)) = self.probation.pop_front() {
            if let Some(entry) = self.dbs[db].dict.peek(slot)
                && entry.access & VISITED == 0
                && share.has(entry)
                && self.takes_much(&entry.value)
            {
                return Some((db, slot));
            }
        }
        None
    }

    /// The next key the hand finds unused. It passes the slots in turn, so new keys and old ones alike, and takes the
    /// mark of those that were used.
    fn sieve(&mut self, share: Share) -> Option<(usize, u32)> {
        let total: usize = self.dbs.iter().map(|db| db.dict.slots() as usize).sum();
        // After one round every mark is gone; the second finds a key, if there is one. A database's end is a step too.
        for _ in 0..2 * (total + self.dbs.len()) {
            let (db, slot) = self.hand;
            let dict = &mut self.dbs[db].dict;
            if dict.slots() <= slot {
                self.hand = ((db + 1) % self.dbs.len(), 0);
                continue;
            }
            self.hand.1 += 1;
            if dict.peek(slot).is_none_or(|entry| !share.has(entry)) {
                continue;
            }
            let entry = dict.at_mut(slot);
            if entry.access & VISITED == 0 {
                return Some((db, slot));
            }
            entry.access &= !VISITED;
        }
        None
    }

    /// The same among the keys with blobs.
    fn sieve_blobs(&mut self) -> Option<(usize, u32)> {
        let total: usize = self.dbs.iter().map(|db| db.blobs.len()).sum();
        for _ in 0..2 * (total + self.dbs.len()) {
            let (db, from) = self.blob_hand;
            let Some(&slot) = self.dbs[db].blobs.range(from..).next() else {
                self.blob_hand = ((db + 1) % self.dbs.len(), 0);
                continue;
            };
            self.blob_hand.1 = slot + 1;
            let entry = self.dbs[db].dict.at_mut(slot);
            if entry.access & VISITED == 0 {
                return Some((db, slot));
            }
            entry.access &= !VISITED;
        }
        None
    }
}

/// Some key of this kind, one with a deadline if those alone may go.
fn sample(db: &Db, volatile: bool, share: Share, rng: &mut fastrand::Rng) -> Option<u32> {
    let fits = |slot: &u32| {
        let entry = db.dict.at(*slot);
        share.has(entry) && (!volatile || entry.deadline().is_some())
    };
    if volatile && db.due.is_empty() {
        return None;
    }
    for _ in 0..SAMPLE_TRIES {
        let slot = match share {
            Share::All | Share::Small => db.dict.random(rng)?,
            Share::Blobs => {
                let from = rng.u32(..db.dict.slots().max(1));
                *db.blobs.range(from..).next().or(db.blobs.first())?
            }
        };
        if fits(&slot) {
            return Some(slot);
        }
    }
    // They are rare: what comes first from some place on.
    match (volatile, share) {
        (true, _) => {
            let (first, last) = (db.due.first()?.0, db.due.last()?.0);
            let from = rng.i64(first..=last);
            let around = db.due.range((from, 0)..).chain(db.due.iter());
            around.map(|due| due.1).find(fits)
        }
        (false, Share::Blobs) => db.blobs.first().copied(),
        (false, Share::All | Share::Small) => {
            let mut slots = 0..db.dict.slots();
            slots.find(|slot| db.dict.peek(*slot).is_some() && fits(slot))
        }
    }
}
