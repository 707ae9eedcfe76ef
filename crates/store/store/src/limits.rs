//! Limits of the server that are not directives of redis.conf.

/// Limits of the server. Each field states its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of bytes that one read takes from a socket. All connections of the core share
    /// one read buffer, so an idle connection holds no buffer. Default 64 KiB.
    pub read_bytes: usize,
    /// Maximum number of bytes of a large value that are read from a socket before other
    /// connections are served. Default 256 KiB.
    pub blob_read_bytes: usize,
    /// Maximum number of bytes written to a socket before other connections are served. Default 256
    /// KiB.
    pub write_slice_bytes: usize,
    /// Maximum number of bytes of output that may wait for one client, even if
    /// `client-output-buffer-limit` allows more. Default 1 GiB.
    pub out_bytes_max: usize,
    /// Maximum number of requests of one client that are parsed before the first of them runs, so
    /// that the memory for all of them is prefetched together. Default 16.
    pub requests_ahead_max: usize,
    /// Maximum number of bytes read from a client while it is blocked or its commands are paused
    /// (`CLIENT PAUSE`). Default 1 MiB.
    pub ahead_bytes_max: usize,
    /// Maximum number of samples kept per event of `LATENCY`. Default 160.
    pub latency_samples_max: usize,
    /// Maximum number of distinct error names that are counted separately. Default 128.
    pub error_names_max: usize,
    /// Maximum number of bytes of the AOF that wait to be written to disk. Above this limit,
    /// clients wait. Default 64 MiB.
    pub journal_bytes_max: usize,
    /// Maximum number of requests from other threads of this process, such as batches of commands,
    /// that wait for the core. Above this limit, the senders wait. Default 64.
    pub local_requests_max: usize,
    /// Maximum number of bytes that a snapshot reads per pass of the event loop, including the
    /// bytes of the hash table. Reading this many bytes takes about 0.1 ms. Default 64 KiB.
    pub snapshot_turn_bytes: usize,
    /// Maximum number of bytes of changed keys that a snapshot holds in memory. If a client changes
    /// a key that the snapshot has not reached, the key's old state waits in memory until it is
    /// written to disk. Above this limit, clients wait. Default 32 MiB.
    pub snapshot_bytes_max: usize,
    /// Maximum number of elements that defragmentation moves per pass of the event loop. Moving
    /// these elements takes about 0.1 ms. Default 256.
    pub defrag_elements_per_turn: usize,
    /// Maximum time in milliseconds for which a script that has exceeded `busy-reply-threshold`
    /// runs before other clients get their error replies. Default 10.
    pub script_slice_ms: u64,
    /// Limits of the interpreter and of the cache of scripts.
    pub scripts: script::Limits,
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
            script_slice_ms: 10,
            scripts: script::Limits::default(),
        }
    }
}
