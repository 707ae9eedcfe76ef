//! Quota of conversions per client address: a bucket of tokens that fills up within a minute.
//!
//! Of a bucket, only one number is kept: the time at which it will be full (the generic cell rate
//! algorithm, ITU-T I.371). A conversion takes one token, which moves that time into the future. If
//! the time lies more than a minute ahead, the bucket is empty.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::num::NonZeroUsize;

use http1::Request;
use lru::LruCache;
use parking_lot::Mutex;
use reactor::Network;

/// Maximum number of addresses whose buckets are kept; about 100 bytes each. The bucket of an
/// evicted address is full again.
const ADDRESSES_MAX: NonZeroUsize = NonZeroUsize::new(16_384).expect("not zero");
/// Time in which an empty bucket fills up.
const MINUTE_US: u64 = 60_000_000;

/// Buckets of the client addresses that had conversions in the last minute.
#[derive(Debug)]
pub(crate) struct Quotas(Mutex<LruCache<IpAddr, u64>>);

impl Default for Quotas {
    fn default() -> Quotas {
        // A cache with a fixed capacity would allocate its memory at once, even for a server
        // without this limit.
        Quotas(Mutex::new(LruCache::unbounded()))
    }
}

impl Quotas {
    /// Takes a token of `address`, whose bucket holds `tokens_max`. `now_us` is the time on any
    /// clock that all callers use.
    ///
    /// # Errors
    /// Seconds until there is a token, at least 1.
    pub(crate) fn take(&self, address: IpAddr, tokens_max: u32, now_us: u64) -> Result<(), u64> {
        let price_us = MINUTE_US / u64::from(tokens_max.max(1));
        let mut buckets = self.0.lock();
        let full_at_us = buckets.get_or_insert_mut(address, || now_us);
        let after_us = now_us.max(*full_at_us) + price_us;
        let missing_us = after_us.saturating_sub(now_us + MINUTE_US);
        if 0 < missing_us {
            return Err(missing_us.div_ceil(1_000_000).max(1));
        }
        *full_at_us = after_us;
        if ADDRESSES_MAX.get() < buckets.len() {
            buckets.pop_lru();
        }
        Ok(())
    }
}

/// Returns the address whose quota a request uses: the peer, or the client that a trusted proxy
/// names in X-Forwarded-For. Returns `None` if a trusted proxy names no client. All addresses of
/// one IPv6 host have the same quota.
pub(crate) fn client_address(
    request: &Request<'_>,
    peer: IpAddr,
    proxies: &[Network],
) -> Option<IpAddr> {
    let is_proxy = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
    let peer = peer.to_canonical();
    if !is_proxy(peer) {
        return Some(reactor::counted_address(peer));
    }
    // Each proxy appends the address of its peer, so only the addresses that trusted proxies have
    // appended are true.
    let lines: Vec<&[u8]> = request.values("x-forwarded-for").into_iter().collect();
    let mut hops = lines
        .iter()
        .rev()
        .flat_map(|line| line.rsplit(|byte| *byte == b','));
    let client = hops.find_map(|hop| match address(hop.trim_ascii()) {
        Some(address) if is_proxy(address) => None,
        named => Some(named),
    });
    client.flatten().map(reactor::counted_address)
}

/// Parses an address with or without a port, in the forms that proxies send.
fn address(hop: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(hop).ok()?;
    let socket = || {
        text.parse::<std::net::SocketAddr>()
            .map(|socket| socket.ip())
    };
    let bracketed = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = bracketed.unwrap_or(text).parse().or_else(|_| socket());
    address.ok().map(|address| address.to_canonical())
}
