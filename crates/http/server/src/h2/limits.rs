//! Limits of HTTP/2 connections.

/// Limits of one HTTP/2 connection. The limits on request heads are those of HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum concurrent streams; RFC 9113 §6.5.2 recommends at least 100. Default 100.
    pub streams_max: u32,
    /// Number of unsent bytes, over all streams, at which no more bytes are read from files; may be
    /// exceeded by one chunk. Memory that several responses share does not count. Default 16 KiB.
    pub buffer_bytes_max: usize,
    /// Maximum number of responses in preparation, over all streams. Further requests wait. Default
    /// 32.
    pub running_max: usize,
    /// Maximum bytes that a client may send without a new request and without reading a response.
    /// Default 256 KiB.
    pub idle_bytes_max: usize,
    /// Maximum number by which failed streams may exceed completed ones. A stream fails if the
    /// client resets it before its response was sent, or if the server refuses it because of an
    /// error of the client. Default 256.
    pub resets_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            streams_max: 100,
            buffer_bytes_max: 16 << 10,
            running_max: 32,
            idle_bytes_max: 256 << 10,
            resets_max: 256,
        }
    }
}
