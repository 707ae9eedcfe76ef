//! Failed logins: whoever guesses has to wait.
//!
//! An address that failed so many times for one name gets no further try for that name until a while after the last one. It
//! is the address and the name together, so that behind a proxy, where all have one address, nobody locks out another.
//!
//! Names are what a stranger sends, so their hashes are kept. Names of users are counted apart from all others: any number
//! of invented names leaves the counts for users as they are.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::limits::Limits;

/// Hash of an address, of IPv6 the part that one customer has, and a name.
type Guesser = [u8; 16];

/// A try to log in: where it comes from, and as whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try<'a> {
    pub(crate) address: IpAddr,
    pub(crate) name: &'a str,
    /// Whether there is a user of this name.
    pub(crate) is_user: bool,
}

/// Remembers failures, the most recent of them.
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

    /// Returns the seconds to wait before the next try, if there may be none now.
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

    /// Notes how a try ended.
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
        failed.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Of IPv6 the first 64 bits: the rest is anybody's choice.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
        four => four,
    }
}
