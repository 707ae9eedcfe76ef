//! Properties of a file's audio, as the manifest lists them.

/// Properties of a file's audio.
pub(super) struct Audio {
    pub(super) duration_ms: u64,
    pub(super) sample_rate_hz: u32,
    pub(super) channels: u16,
}

/// Returns the duration of `samples` in milliseconds, rounded.
pub(super) fn ms(samples: u64, rate_hz: u32) -> u64 {
    (samples * 1000 + u64::from(rate_hz) / 2) / u64::from(rate_hz)
}
