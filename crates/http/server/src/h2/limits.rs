//! Bounds of HTTP/2 connections.

/// Bounds of one HTTP/2 connection. Heads are bounded as in HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Concurrent streams; RFC 9113 §6.5.2 recommends at least 100. Default 100.
    pub streams_max: u32,
    /// Bytes read from files that wait for the client, over all streams; one more chunk is
    /// possible. Shared memory does not count. Default 16 KiB.
    pub buffer_bytes_max: usize,
    /// Responses in preparation, over all streams; further ones wait for their turn. Default 32.
    pub making_max: usize,
    /// Bytes that a client may send without a new request and without reading a response. Default
    /// 256 KiB.
    pub idle_bytes_max: usize,
    /// Streams that the client reset before their response was sent, or that were refused for its
    /// errors, beyond the streams it completed. Default 256.
    pub resets_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            streams_max: 100,
            buffer_bytes_max: 16 << 10,
            making_max: 32,
            idle_bytes_max: 256 << 10,
            resets_max: 256,
        }
    }
}
