//! Limits of one connection.

/// Limits of one connection. The default values are the values that the server uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of streams open at the same time, sent to the client as a setting. Each
    /// further stream is refused, and the connection stays open. Default 100, the minimum that RFC
    /// 9113 §6.5.2 recommends.
    pub streams_max: u32,
    /// Maximum size of a head: its names and values plus 32 bytes per field (RFC 9113 §6.5.2), sent
    /// to the client as a setting. Fields beyond this limit are dropped. A head whose compressed
    /// form is longer than twice this limit ends the connection. Default 16 KiB.
    pub head_bytes_max: usize,
    /// Maximum number of frames per head. Default 64.
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
