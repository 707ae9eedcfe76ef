//! Eviction: the last use of keys, and the choice of keys to evict when memory is short.
//!
//! Each key has a stamp of 28 bits. Under the LRU policies it is the time of the last use in
//! sixteenths of a second: it wraps around after as many days as the seconds of Redis, and
//! distinguishes keys that were used within the same second. Under the LFU policies, 16 bits are
//! the minute of the last decay of the counter, and 8 bits are a counter that grows
//! logarithmically.
//!
//! ```text
//! access:  flags 4 │ stamp 28:  tick   or   0 4 │ minute 16 │ counter 8
//! ```
//!
//! As in Redis, the best candidates of earlier samples are remembered, and the next evictions
//! choose among them too: a sample that contains only recently used keys then costs none of them.

use crate::db::{Db, Entry};
use crate::keyspace::Keyspace;
use crate::notify::Class;
use crate::settings::Policy;
use crate::value::Value;

const STAMP_MASK: u32 = 0x0fff_ffff;
/// Ticks of the LRU clock per second.
const TICKS_PER_S: i64 = 16;
/// Sampled keys that are remembered for later evictions, at most.
const POOL_MAX: usize = 16;
/// SIEVE: the key was used since the hand last passed it.
const VISITED: u32 = 1 << 28;
/// Initial value of an LFU counter, so that new keys are not the first to be evicted.
const COUNTER_START: u32 = 5;
/// SIEVE: a new key larger than the limit divided by this number is on probation until it is used.
const PROBATION_PART: usize = 16;
/// Keys on probation, at most.
const PROBATION_MAX: usize = 1024;
/// Random slots tried per sample before a linear search.
const SAMPLE_TRIES: usize = 16;

impl Entry {
    pub(crate) fn idle_s(&self, now: i64) -> u32 {
        self.idle_ticks(now) / TICKS_PER_S as u32
    }

    fn idle_ticks(&self, now: i64) -> u32 {
        tick(now).wrapping_sub(self.access & STAMP_MASK) & STAMP_MASK
    }

    /// Returns the LFU counter, reduced by the decay since its last update.
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

/// Last use of a key that is imported from elsewhere (RESTORE, a snapshot).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Use {
    /// Counts as used now.
    #[default]
    Now,
    /// Seconds since the last use.
    Idle(u32),
    /// LFU counter.
    Frequency(u8),
}

/// Part of the data that exceeds its limit.
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
    /// Idle ticks, or 255 minus the LFU counter, at the last update; the highest is evicted first.
    badness: u32,
    db: usize,
    slot: u32,
}

/// Deadline of a new key, and the current time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteTime {
    pub(crate) deadline_ms: i64,
    pub(crate) now: i64,
}

impl Keyspace {
    pub(crate) fn first_stamp(&self, now: i64) -> u32 {
        if self.limits.policy.is_lfu() {
            minute(now) << 8 | COUNTER_START
        } else {
            tick(now)
        }
    }

    /// Records a use of a key, and returns its entry.
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

    /// Sets the imported last use of a key, if the policy records that kind of use.
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

    /// Adds a key that does not exist, given its hash.
    pub(crate) fn insert(
        &mut self,
        db: usize,
        key: (u64, &[u8]),
        value: Value,
        until: WriteTime,
    ) -> u32 {
        let stamp = self.first_stamp(until.now) | self.epoch();
        let is_large = self.limits.policy == Policy::AllKeysSieve && self.is_large(&value);
        let slot = self.dbs[db].insert(key, value, until.deadline_ms, stamp);
        if is_large && self.probation.len() < PROBATION_MAX {
            self.probation.push_back((db, slot));
        }
        self.key_created(db, key.1);
        slot
    }

    /// Returns whether a value takes more than a sixteenth of its memory limit.
    fn is_large(&self, value: &Value) -> bool {
        let blobs_max = self.limits.maxmemory_blob_bytes;
        let room = match value.blob_bytes() {
            0 => self.limits.maxmemory_bytes,
            _ if blobs_max == 0 => self.limits.maxmemory_bytes,
            _ => blobs_max,
        };
        let part = usize::try_from(room).unwrap_or(usize::MAX) / PROBATION_PART;
        part != 0 && part < value.heap_bytes()
    }

    /// Returns the part of the data that exceeds its limit, if any.
    fn exceeded_share(&self) -> Option<Share> {
        let passes = |bytes: usize, max: u64| max != 0 && max < bytes as u64;
        let (max, blobs_max) = (
            self.limits.maxmemory_bytes,
            self.limits.maxmemory_blob_bytes,
        );
        if blobs_max == 0 {
            let used = self.used_bytes() + self.non_data_bytes;
            return passes(used, max).then_some(Share::All);
        }
        let blob_bytes = self.blob_bytes();
        if passes(blob_bytes, blobs_max) {
            Some(Share::Blobs)
        } else if max != 0 && passes(self.used_bytes() - blob_bytes + self.non_data_bytes, max) {
            Some(Share::Small)
        } else {
            None
        }
    }

    /// Evicts until the data fits. Returns `false` if no key can be evicted; `true` if the data
    /// fits, or if the limit of evictions per turn was reached and later turns continue.
    pub(crate) fn make_room(&mut self, now_ms: u64) -> bool {
        if self.limits.maxmemory_bytes == 0 && self.limits.maxmemory_blob_bytes == 0 {
            return true;
        }
        for _ in 0..self.limits.evict_keys_per_turn {
            let Some(share) = self.exceeded_share() else {
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
        self.before_removal(db, slot);
        let key = self.dbs[db].dict.at(slot).key.clone();
        self.remove_key(db, key.bytes());
        self.stats.evicted += 1;
        self.gone(db, key.bytes(), Class::Evicted, "evicted");
    }

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
            Policy::AllKeysSieve => self.unused_on_probation(share).or_else(|| match share {
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
        // A remembered slot may be empty or hold another key by now, so each one is evaluated
        // again.
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

    /// Returns a large new key that was not used since its creation. A slot on probation may hold
    /// another key by now; that key must meet the same conditions.
    fn unused_on_probation(&mut self, share: Share) -> Option<(usize, u32)> {
        while let Some((db, slot)) = self.probation.pop_front() {
            if let Some(entry) = self.dbs[db].dict.peek(slot)
                && entry.access & VISITED == 0
                && share.has(entry)
                && self.is_large(&entry.value)
            {
                return Some((db, slot));
            }
        }
        None
    }

    /// Advances the hand to the next unused key. The hand passes new and old keys alike in the
    /// order of slots, and clears the mark of the used ones.
    fn sieve(&mut self, share: Share) -> Option<(usize, u32)> {
        let total: usize = self.dbs.iter().map(|db| db.dict.slots() as usize).sum();
        // The first round clears all marks, so the second finds a key, if there is one. Moving on
        // to the next database is a step too.
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

    /// Advances the hand for blobs to the next unused key with a blob.
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

/// Returns a random slot of this share, limited to keys with a deadline if `volatile`.
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
    // Matching keys are rare: search in order from a random position.
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
