//! Eviction: the last use of keys, and the choice of keys to evict when memory exceeds its limit.
//!
//! Each key has a stamp of 28 bits. Under the LRU policies, the stamp is the time of the last use
//! in sixteenths of a second. This time wraps around after 194 days, like the 24 bits of whole
//! seconds in Redis, but it distinguishes keys that were used within the same second. Under the LFU
//! policies, 8 bits of the stamp are a counter that grows logarithmically, and 16 bits are the
//! minute in which the counter last decayed.
//!
//! ```text
//! access, 32 bits:   flags, 4 │ stamp, 28
//! stamp under LRU:   time of the last use, 28
//! stamp under LFU:   zeros, 4 │ minute, 16 │ counter, 8
//! ```
//!
//! As in Redis, the best candidates of earlier samples are
//! remembered, and the next evictions also choose among them. So if a sample contains only recently
//! used keys, an earlier candidate is evicted.

use std::collections::VecDeque;

use crate::db::{Db, Entry};
use crate::settings::{Limits, Policy};
use crate::value::Value;

const STAMP_MASK: u32 = 0x0fff_ffff;
/// Ticks of the LRU clock per second.
const TICKS_PER_S: i64 = 16;
/// Maximum number of sampled keys that are remembered for later evictions.
const POOL_MAX: usize = 16;
/// Bit of `Entry::access` under SIEVE: the key was used after the hand last passed it. The hand is
/// the position of SIEVE in its circular walk over all keys.
const VISITED: u32 = 1 << 28;
/// Initial value of an LFU counter, so that new keys are not the first to be evicted.
const COUNTER_START: u32 = 5;
/// Divisor that defines a large value under SIEVE: a value that uses more than the memory limit
/// divided by this number. A new key with a large value is on probation: it is evicted first,
/// unless it is used.
const PROBATION_PART: usize = 16;
/// Maximum number of keys on probation.
const PROBATION_MAX: usize = 1024;
/// Number of random slots that are tried per sample before a linear search.
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
    /// The key counts as used now.
    #[default]
    Now,
    /// Seconds since the last use.
    Idle(u32),
    /// LFU counter.
    Frequency(u8),
}

/// Part of the data to which a memory limit applies: all data, all data except blobs (long
/// strings), or only the blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
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
struct Sampled {
    /// Suitability for eviction, as last computed: under LRU the ticks since the last use, under
    /// LFU 255 minus the counter. The key with the highest value is evicted first.
    badness: u32,
    db: usize,
    slot: u32,
}

/// State of the eviction: the SIEVE hands, the keys on probation, and the sampled candidates.
#[derive(Debug, Default)]
pub(crate) struct Evictor {
    /// SIEVE: the database and slot that the hand examines next, among all keys (`hand`) and among
    /// keys with blobs (`blob_hand`).
    hand: (usize, u32),
    blob_hand: (usize, u32),
    /// SIEVE: new large keys, which are evicted first unless they are used.
    probation: VecDeque<(usize, u32)>,
    /// Keys that were sampled for an eviction, the best candidate last.
    pool: Vec<Sampled>,
}

/// Returns the stamp of a new key: the current time and, under LFU, the initial counter.
#[inline]
pub(crate) fn first_stamp(limits: &Limits, now: i64) -> u32 {
    if limits.policy.is_lfu() {
        minute(now) << 8 | COUNTER_START
    } else {
        tick(now)
    }
}

/// Records a use of a key.
#[inline]
pub(crate) fn stamp_used(entry: &mut Entry, limits: &Limits, rng: &mut fastrand::Rng, now: i64) {
    let stamp = if limits.policy.is_lfu() {
        counted_stamp(entry, limits, rng, now)
    } else {
        tick(now)
    };
    entry.access = entry.access & !STAMP_MASK | stamp | VISITED;
}

/// Sets the last use of an imported key to `used`, if the policy records this kind of use. The LFU
/// policies record the counter; all other policies record the idle time.
pub(crate) fn set_use(entry: &mut Entry, limits: &Limits, used: Use, now: i64) {
    let is_lfu = limits.policy.is_lfu();
    let stamp = match used {
        Use::Idle(idle_s) if !is_lfu => {
            let ticks = idle_s.wrapping_mul(TICKS_PER_S as u32);
            tick(now).wrapping_sub(ticks) & STAMP_MASK
        }
        Use::Frequency(counter) if is_lfu => minute(now) << 8 | u32::from(counter),
        Use::Now | Use::Idle(_) | Use::Frequency(_) => return,
    };
    entry.access = entry.access & !STAMP_MASK | stamp;
}

fn counted_stamp(entry: &Entry, limits: &Limits, rng: &mut fastrand::Rng, now: i64) -> u32 {
    let mut counter = entry.frequency(now, limits.lfu_decay_minutes);
    if counter < 255 {
        let above = f64::from(counter.saturating_sub(COUNTER_START));
        let chance = 1.0 / (above * f64::from(limits.lfu_log_factor) + 1.0);
        counter += u32::from(rng.f64() < chance);
    }
    minute(now) << 8 | counter
}

/// Returns whether a value uses more than a sixteenth of the memory limit that applies to it.
fn is_large(value: &Value, limits: &Limits) -> bool {
    let blobs_max = limits.maxmemory_blob_bytes;
    let memory_max = match value.blob_bytes() {
        0 => limits.maxmemory_bytes,
        _ if blobs_max == 0 => limits.maxmemory_bytes,
        _ => blobs_max,
    };
    let part = usize::try_from(memory_max).unwrap_or(usize::MAX) / PROBATION_PART;
    part != 0 && part < value.heap_bytes()
}

/// Returns whether the key of a new value starts on probation: it is evicted first, unless it is
/// used.
#[inline]
pub(crate) fn starts_on_probation(value: &Value, limits: &Limits) -> bool {
    limits.policy == Policy::AllKeysSieve && is_large(value, limits)
}

/// Returns the part of the data that exceeds its limit, if any.
pub(crate) fn exceeded_share(dbs: &[Db], limits: &Limits, non_data_bytes: usize) -> Option<Share> {
    let passes = |bytes: usize, max: u64| max != 0 && max < bytes as u64;
    let (max, blobs_max) = (limits.maxmemory_bytes, limits.maxmemory_blob_bytes);
    let used_bytes: usize = dbs.iter().map(Db::heap_bytes).sum();
    if blobs_max == 0 {
        return passes(used_bytes + non_data_bytes, max).then_some(Share::All);
    }
    let blob_bytes: usize = dbs.iter().map(Db::blob_bytes).sum();
    if passes(blob_bytes, blobs_max) {
        Some(Share::Blobs)
    } else if max != 0 && passes(used_bytes - blob_bytes + non_data_bytes, max) {
        Some(Share::Small)
    } else {
        None
    }
}

impl Evictor {
    /// Puts a new large key on probation.
    pub(crate) fn put_on_probation(&mut self, db: usize, slot: u32) {
        if self.probation.len() < PROBATION_MAX {
            self.probation.push_back((db, slot));
        }
    }

    /// Returns the database and slot of the key to evict next, if the policy allows any.
    pub(crate) fn victim(
        &mut self,
        dbs: &mut [Db],
        limits: &Limits,
        rng: &mut fastrand::Rng,
        share: Share,
        now: i64,
    ) -> Option<(usize, u32)> {
        match limits.policy {
            Policy::NoEviction => None,
            Policy::VolatileTtl => {
                let dbs = dbs.iter().enumerate();
                let first = dbs.filter_map(|(db, it)| {
                    let mut due = it.due.iter();
                    let due = due.find(|due| share.has(it.dict.at(due.1)))?;
                    Some((due.0, db, due.1))
                });
                first.min().map(|(_, db, slot)| (db, slot))
            }
            Policy::AllKeysSieve => {
                self.unused_on_probation(dbs, limits, share)
                    .or_else(|| match share {
                        Share::Blobs => self.sieve_blobs(dbs),
                        Share::All | Share::Small => self.sieve(dbs, share),
                    })
            }
            _ => self.worst_sample(dbs, limits, rng, share, now),
        }
    }

    fn worst_sample(
        &mut self,
        dbs: &[Db],
        limits: &Limits,
        rng: &mut fastrand::Rng,
        share: Share,
        now: i64,
    ) -> Option<(usize, u32)> {
        let policy = limits.policy;
        let volatile = matches!(
            policy,
            Policy::VolatileLru | Policy::VolatileLfu | Policy::VolatileRandom
        );
        let random = matches!(policy, Policy::AllKeysRandom | Policy::VolatileRandom);
        let samples = if random { 1 } else { limits.samples };
        let decay = limits.lfu_decay_minutes;
        let badness = |entry: &Entry| match policy.is_lfu() {
            true => 255 - entry.frequency(now, decay),
            false => entry.idle_ticks(now),
        };
        if random {
            self.pool.clear();
        }
        for (db, data) in dbs.iter().enumerate() {
            for _ in 0..samples {
                let Some(slot) = sample(data, volatile, share, rng) else {
                    break;
                };
                if self.pool.iter().all(|it| (it.db, it.slot) != (db, slot)) {
                    let badness = 0;
                    self.pool.push(Sampled { badness, db, slot });
                }
            }
        }
        // By now, a remembered slot may be vacant or contain another key. So each remembered slot
        // is evaluated again.
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

    /// Returns the next key on probation that has a large value and was not used since its
    /// creation. Removes this key, and all keys before it, from the list `probation`. Each slot of
    /// the list is checked again, because it may contain another key by now.
    fn unused_on_probation(
        &mut self,
        dbs: &[Db],
        limits: &Limits,
        share: Share,
    ) -> Option<(usize, u32)> {
        while let Some((db, slot)) = self.probation.pop_front() {
            if let Some(entry) = dbs[db].dict.peek(slot)
                && entry.access & VISITED == 0
                && share.has(entry)
                && is_large(&entry.value, limits)
            {
                return Some((db, slot));
            }
        }
        None
    }

    /// Advances the hand to the next unused key. The hand passes new and old keys alike in the
    /// order of slots, and clears the bit VISITED of each used key.
    fn sieve(&mut self, dbs: &mut [Db], share: Share) -> Option<(usize, u32)> {
        let total: usize = dbs.iter().map(|db| db.dict.slots() as usize).sum();
        // The first walk over all slots clears all VISITED bits, so the second walk finds a key, if
        // any key qualifies. The move to the next database takes an iteration too, hence
        // `dbs.len()`.
        for _ in 0..2 * (total + dbs.len()) {
            let (db, slot) = self.hand;
            let dict = &mut dbs[db].dict;
            if dict.slots() <= slot {
                self.hand = ((db + 1) % dbs.len(), 0);
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
    fn sieve_blobs(&mut self, dbs: &mut [Db]) -> Option<(usize, u32)> {
        let total: usize = dbs.iter().map(|db| db.blobs.len()).sum();
        for _ in 0..2 * (total + dbs.len()) {
            let (db, from) = self.blob_hand;
            let Some(&slot) = dbs[db].blobs.range(from..).next() else {
                self.blob_hand = ((db + 1) % dbs.len(), 0);
                continue;
            };
            self.blob_hand.1 = slot + 1;
            let entry = dbs[db].dict.at_mut(slot);
            if entry.access & VISITED == 0 {
                return Some((db, slot));
            }
            entry.access &= !VISITED;
        }
        None
    }
}

/// Returns the slot of a random key whose value belongs to `share`. If `volatile` is true, only
/// keys with a deadline are considered.
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
