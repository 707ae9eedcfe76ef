//! What one client may take.

/// Bounds of one connection. The defaults are what the server starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Streams open at the same time, which the client is told; more are refused one by one. Default 100, which is the
    /// least that RFC 9113 §6.5.2 wants.
    pub streams_max: u32,
    /// One head: its names and values with 32 bytes for each field (RFC 9113 §6.5.2), which the client is told; what is
    /// beyond is not kept. Its compressed form may be as long, and ends the connection beyond. Default 16 KiB.
    pub head_bytes_max: usize,
    /// Frames of one head. Default 64.
    pub head_frames_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            streams_max: 100,
            head_bytes_max: 16 << 10,
            head_frames_max: 64,
        }
    }
}
