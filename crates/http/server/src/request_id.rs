//! Request ids. A client that reports an error can state the id, which identifies the request's
//! line in the access log.

use std::fmt;

/// Id of one request: 24 hexadecimal digits, unique over all cores and restarts.
///
/// ```text
/// 19aa8b3c4d5 003 00000000f7
/// └ start, ms │   └ number on that core
///             └ core
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestId {
    /// Start of the service, in milliseconds since 1970.
    pub(crate) start_unix_ms: u64,
    pub(crate) core: u16,
    pub(crate) number: u64,
}

impl RequestId {
    /// Returns a span id for W3C Trace Context, never zero. It looks random, but is computed from
    /// the request id.
    pub(crate) fn span(self) -> u64 {
        // The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
        // generators, 2014).
        let mut bits =
            self.start_unix_ms ^ u64::from(self.core) << 48 ^ self.number.rotate_left(20);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31).max(1)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.start_unix_ms & 0xfff_ffff_ffff;
        let (core, number) = (self.core & 0xfff, self.number & 0xff_ffff_ffff);
        write!(out, "{start:011x}{core:03x}{number:010x}")
    }
}
