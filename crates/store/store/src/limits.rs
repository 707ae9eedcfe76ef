//! Bounds of the server that have no directive in redis.conf.

/// Bounds of the server. Each field states its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes taken from a socket by one read. The buffer belongs to the core; an idle
    /// connection holds none. Default 64 KiB.
    pub read_bytes: usize,
    /// Maximum bytes of a large value read from a socket before other connections get their turn.
    /// Default 256 KiB.
    pub blob_read_bytes: usize,
    /// Maximum bytes written to a socket before other connections get their turn. Default 256 KiB.
    pub write_slice_bytes: usize,
    /// Maximum bytes of output that may wait for one client, even if `client-output-buffer-limit`
    /// allows more. Default 1 GiB.
    pub out_bytes_max: usize,
    /// Maximum number of requests of one client that are parsed before the first of them runs, so
    /// that the memory they need is prefetched together. Default 16.
    pub requests_ahead_max: usize,
    /// Maximum bytes read from a client while it is blocked or a pause (`CLIENT PAUSE`) holds its
    /// commands back. Default 1 MiB.
    pub ahead_bytes_max: usize,
    /// Maximum number of samples kept per event of `LATENCY`. Default 160.
    pub latency_samples_max: usize,
    /// Maximum number of distinct error names that are counted separately. Default 128.
    pub error_names_max: usize,
    /// Maximum bytes of the AOF that wait for the disk; above this limit, clients wait. Default 64
    /// MiB.
    pub journal_bytes_max: usize,
    /// Maximum number of batches of commands from this process that wait for the core; above this
    /// limit, their senders wait. Default 64.
    pub local_requests_max: usize,
    /// Maximum bytes that a snapshot reads per pass of the event loop, including the table around
    /// the values. Reading them takes about 0.1 ms. Default 64 KiB.
    pub snapshot_turn_bytes: usize,
    /// Maximum bytes of a snapshot that wait for the disk because clients changed keys that the
    /// snapshot had not reached; above this limit, clients wait. Default 32 MiB.
    pub snapshot_bytes_max: usize,
    /// Maximum number of elements that defragmentation moves per pass of the event loop. Moving
    /// them takes about 0.1 ms. Default 256.
    pub defrag_elements_per_turn: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            read_bytes: 64 << 10,
            blob_read_bytes: 256 << 10,
            write_slice_bytes: 256 << 10,
            out_bytes_max: 1 << 30,
            requests_ahead_max: 16,
            ahead_bytes_max: 1 << 20,
            latency_samples_max: 160,
            error_names_max: 128,
            journal_bytes_max: 64 << 20,
            local_requests_max: 64,
            snapshot_turn_bytes: 64 << 10,
            snapshot_bytes_max: 32 << 20,
            defrag_elements_per_turn: 256,
        }
    }
}
