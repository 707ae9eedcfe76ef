//! Failed logins: whoever guesses has to wait.
//!
//! An address that failed so many times for one name gets no further try for that name until a while after the last one. It
//! is the address and the name together, so that behind a proxy, where all have one address, nobody locks out another.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::limits::Limits;

/// Who failed: an address, of IPv6 the part that one customer has, and a name.
type Who = (IpAddr, String);

/// Remembers failures, the most recent of them.
#[derive(Debug)]
pub(crate) struct Guard {
    failures_max: u32,
    wait_ms: i64,
    failed: Mutex<LruCache<Who, Failed>>,
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
            failed: Mutex::new(LruCache::new(kept)),
        }
    }

    /// Seconds to wait before the next try, if there may be none now.
    pub(crate) fn wait_s(&self, address: IpAddr, name: &str, now_ms: i64) -> Option<u64> {
        let mut failed = self.lock();
        let who = (network(address), name.to_owned());
        let found = failed.get(&who)?;
        let left_ms = found.last_ms.saturating_add(self.wait_ms) - now_ms;
        if left_ms <= 0 {
            failed.pop(&who);
            return None;
        }
        (self.failures_max <= found.times).then_some(left_ms.unsigned_abs().div_ceil(1000))
    }

    /// Notes how a try ended.
    pub(crate) fn note(&self, address: IpAddr, name: &str, is_in: bool, now_ms: i64) {
        let mut failed = self.lock();
        let who = (network(address), name.to_owned());
        if is_in {
            failed.pop(&who);
            return;
        }
        let times = failed.peek(&who).map_or(0, |failed| failed.times);
        failed.put(
            who,
            Failed {
                times: times.saturating_add(1),
                last_ms: now_ms,
            },
        );
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Who, Failed>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
