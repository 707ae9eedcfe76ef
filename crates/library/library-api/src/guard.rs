//! Limits on failed logins.
//!
//! After `failures_max` failures for one name, an address may not try that name again until
//! `failures_wait_s` after the last failure. Failures are counted per address and name: behind a
//! proxy all clients may share one address, and one client must not lock out the others.
//!
//! Names are untrusted input of any length, so only their hashes are kept. The counters for names
//! of users are kept apart from those for all other names, so that a flood of invented names does
//! not displace the counters of users.

#[cfg(test)]
mod tests;

use parking_lot::{Mutex, MutexGuard};
use std::net::IpAddr;
use std::num::NonZeroUsize;

use lru::LruCache;

use crate::limits::Limits;

/// Hash of a name and an address (of an IPv6 address, its first 64 bits).
type Guesser = [u8; 16];

/// Login attempt: its client address and its user name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try<'a> {
    pub(crate) address: IpAddr,
    pub(crate) name: &'a str,
    /// True if a user of this name exists.
    pub(crate) is_user: bool,
}

/// Counters of recent failed logins.
#[derive(Debug)]
pub(crate) struct Guard {
    failures_max: u32,
    wait_ms: i64,
    of_users: Mutex<LruCache<Guesser, Failed>>,
    of_others: Mutex<LruCache<Guesser, Failed>>,
}

#[derive(Clone, Copy, Debug)]
struct Failed {
    times: u32,
    last_ms: i64,
}

impl Guard {
    pub(crate) fn new(limits: &Limits) -> Guard {
        let kept = NonZeroUsize::new(limits.failures_kept).unwrap_or(NonZeroUsize::MIN);
        Guard {
            failures_max: limits.failures_max,
            wait_ms: i64::from(limits.failures_wait_s) * 1000,
            of_users: Mutex::new(LruCache::new(kept)),
            of_others: Mutex::new(LruCache::new(kept)),
        }
    }

    /// Returns the seconds until the next login attempt is allowed; `None` if it is allowed now.
    pub(crate) fn wait_s(&self, this: &Try<'_>, now_ms: i64) -> Option<u64> {
        let mut failed = self.failed(this);
        let guesser = guesser(this);
        let found = failed.get(&guesser)?;
        let left_ms = found.last_ms.saturating_add(self.wait_ms) - now_ms;
        if left_ms <= 0 {
            failed.pop(&guesser);
            return None;
        }
        (self.failures_max <= found.times).then_some(left_ms.unsigned_abs().div_ceil(1000))
    }

    /// Records the outcome of a login attempt: success clears the counter, failure increments it.
    pub(crate) fn note(&self, this: &Try<'_>, is_in: bool, now_ms: i64) {
        let mut failed = self.failed(this);
        let guesser = guesser(this);
        if is_in {
            failed.pop(&guesser);
            return;
        }
        let times = failed.peek(&guesser).map_or(0, |failed| failed.times);
        failed.put(
            guesser,
            Failed {
                times: times.saturating_add(1),
                last_ms: now_ms,
            },
        );
    }

    fn failed(&self, this: &Try<'_>) -> MutexGuard<'_, LruCache<Guesser, Failed>> {
        let failed = match this.is_user {
            true => &self.of_users,
            false => &self.of_others,
        };
        failed.lock()
    }
}

fn guesser(this: &Try<'_>) -> Guesser {
    let mut hasher = blake3::Hasher::new();
    match network(this.address) {
        IpAddr::V4(address) => hasher.update(&address.octets()),
        IpAddr::V6(address) => hasher.update(&address.octets()),
    };
    hasher.update(b" ");
    hasher.update(this.name.as_bytes());
    *hasher
        .finalize()
        .as_bytes()
        .first_chunk()
        .expect("a hash has 32 bytes")
}

/// Returns an IPv4 address unchanged. In an IPv6 address, clears all but the first 64 bits, because
/// a client can choose the other bits freely.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
        four => four,
    }
}
