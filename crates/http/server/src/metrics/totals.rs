//! Totals of the responses of all cores.

use super::Metrics;
use super::duration::{BOUNDS_US, BUCKETS};

/// Totals of the responses of all cores since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseTotals {
    /// Responses with variants that existed before the request.
    pub hits: u64,
    /// Responses with variants that were converted for the request.
    pub misses: u64,
    /// Responses with untouched originals.
    pub originals: u64,
    /// Responses with neither a file of the library nor the reply of a mount: error responses,
    /// pages, redirects, metrics and the like.
    pub others: u64,
    /// Responses of mounts.
    pub mounts: u64,
    /// Responses with a status from 400 to 499.
    pub client_errors: u64,
    /// Responses with a status of at least 500.
    pub server_errors: u64,
    /// Responses with status 421: requests for unknown hosts.
    pub misdirected: u64,
    /// Bytes of response bodies sent.
    pub body_bytes: u64,
    /// Bytes by which variants were smaller than their originals.
    pub saved_bytes: u64,
    /// Responses over HTTP/1.0 and 1.1.
    pub http1: u64,
    /// Responses over HTTP/2.
    pub http2: u64,
    /// TLS handshakes with a full key exchange.
    pub handshakes_full: u64,
    /// TLS handshakes that resumed a session.
    pub handshakes_resumed: u64,
    /// TLS handshakes that failed.
    pub handshakes_failed: u64,
    /// Number of hits by duration, in the buckets of [`ResponseTotals::BOUNDS_US`].
    pub hit_buckets: [u64; BUCKETS],
    /// Number of misses by duration, in the buckets of [`ResponseTotals::BOUNDS_US`].
    pub miss_buckets: [u64; BUCKETS],
}

impl ResponseTotals {
    /// Number of buckets of durations.
    pub const BUCKETS: usize = BUCKETS;
    /// Upper bounds of all buckets but the last, in microseconds. The last bucket has no bound.
    pub const BOUNDS_US: [u64; BUCKETS - 1] = BOUNDS_US;

    /// Returns the number of all responses.
    #[must_use]
    pub fn responses(&self) -> u64 {
        self.hits + self.misses + self.originals + self.others + self.mounts
    }
}

impl Metrics {
    /// Returns the totals of all cores.
    #[must_use]
    pub fn totals(&self) -> ResponseTotals {
        let [hits, misses, originals, others, mounts] =
            std::array::from_fn(|row| self.sum(|core| &core.served[row]));
        let [http1, http2] = std::array::from_fn(|row| self.sum(|core| &core.protocols[row]));
        let [handshakes_full, handshakes_resumed, handshakes_failed] =
            std::array::from_fn(|row| self.sum(|core| &core.handshakes[row]));
        let durations = self.cores.iter().map(|core| &core.durations);
        ResponseTotals {
            hits,
            misses,
            originals,
            others,
            mounts,
            client_errors: self.sum(|core| &core.status[4]),
            server_errors: self.sum(|core| &core.status[5]),
            misdirected: durations.map(|it| it.responses(421)).sum(),
            body_bytes: self.sum(|core| &core.body_bytes),
            saved_bytes: self.sum(|core| &core.saved_bytes),
            http1,
            http2,
            handshakes_full,
            handshakes_resumed,
            handshakes_failed,
            hit_buckets: std::array::from_fn(|row| self.sum(|core| core.hit_durations.bucket(row))),
            miss_buckets: std::array::from_fn(|row| {
                self.sum(|core| core.miss_durations.bucket(row))
            }),
        }
    }
}
