//! Everything the reactor bounds.

/// Bounds of a reactor. Times are kept by a tick of half a second: a deadline fires up to a second late, never early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Cores served, of those this process may use. Default 256.
    pub cores_max: usize,
    /// Connections a listener holds between handshake and accept; the kernel cuts it to `net.core.somaxconn`.
    /// Default 4096.
    pub backlog: u32,
    /// Open connections of the whole process. Beyond it an idle connection of the core is ended, or, when it finds
    /// none, the new one is shed. Default 16384.
    pub connections_max: usize,
    /// Open connections from one address, an IPv6 address counting as its /64; beyond it new ones are shed. Networks
    /// that [`crate::Listeners::exempt`] names are not counted. Default 512.
    pub address_connections_max: usize,
    /// Threads for work that may sleep, over all cores; each core has at least one. Default 64.
    pub blocking_threads_max: usize,
    /// From accept to the first byte. Default 10,000 ms.
    pub first_byte_ms: u64,
    /// From accept to the end of a TLS handshake. Default 10,000 ms.
    pub handshake_ms: u64,
    /// From the first byte of a request to the end of its head. Default 10,000 ms.
    pub head_ms: u64,
    /// In which a body must bring what `body_bytes_per_s_min` asks for. Default 10,000 ms.
    pub body_ms: u64,
    /// Slowest body, over each `body_ms`. Default 512 bytes a second.
    pub body_bytes_per_s_min: u64,
    /// Between two requests of one connection. Default 75,000 ms.
    pub idle_ms: u64,
    /// In which a client that lets an answer wait must take what `write_bytes_per_s_min` asks for. Default 60,000 ms.
    pub write_stall_ms: u64,
    /// Slowest reader, over each `write_stall_ms`, by what its kernel acknowledges. Default 512 bytes a second.
    pub write_bytes_per_s_min: u64,
    /// Silence of a client after our end of its connection, in [`crate::Conn::linger`]. Default 2,000 ms.
    pub linger_ms: u64,
    /// Time in all that such a client may go on sending. Default 30,000 ms.
    pub linger_ms_max: u64,
    /// Most bytes dropped meanwhile. Default 1 GiB.
    pub linger_bytes_max: usize,
    /// From [`crate::Stop::trigger`] until connections that are still busy are dropped, and blocking work is no longer
    /// waited for. Default 30,000 ms.
    pub drain_ms_max: u64,
    /// Bytes that the kernel takes of one connection's answers ahead of what it has sent. More lets a distant client have
    /// them sooner when it makes room; less costs more wakeups. Default 128 KiB.
    pub unsent_bytes_max: u32,
    /// Most bytes of a file sent before other connections get their turn. Default 1 MiB.
    pub sendfile_slice_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            cores_max: 256,
            backlog: 4096,
            connections_max: 16_384,
            address_connections_max: 512,
            blocking_threads_max: 64,
            first_byte_ms: 10_000,
            handshake_ms: 10_000,
            head_ms: 10_000,
            body_ms: 10_000,
            body_bytes_per_s_min: 512,
            idle_ms: 75_000,
            write_stall_ms: 60_000,
            write_bytes_per_s_min: 512,
            linger_ms: 2_000,
            linger_ms_max: 30_000,
            linger_bytes_max: 1 << 30,
            drain_ms_max: 30_000,
            unsent_bytes_max: 128 << 10,
            sendfile_slice_bytes: 1 << 20,
        }
    }
}

impl Limits {
    /// Whether a reactor can work within these.
    ///
    /// # Errors
    /// The name of a bound that must not be zero.
    pub fn check(&self) -> Result<(), &'static str> {
        let bounds = [
            ("cores_max", self.cores_max),
            ("backlog", self.backlog as usize),
            ("connections_max", self.connections_max),
            ("address_connections_max", self.address_connections_max),
            ("blocking_threads_max", self.blocking_threads_max),
            ("unsent_bytes_max", self.unsent_bytes_max as usize),
            ("sendfile_slice_bytes", self.sendfile_slice_bytes),
        ];
        match bounds.iter().find(|(_, bound)| *bound == 0) {
            Some((name, _)) => Err(name),
            None => Ok(()),
        }
    }

    /// What a body must bring in `body_ms`: a byte at least.
    #[must_use]
    pub fn body_window_bytes(&self) -> u64 {
        window_bytes(self.body_bytes_per_s_min, self.body_ms)
    }

    /// What a reader must take in `write_stall_ms`: a byte at least.
    #[must_use]
    pub fn write_window_bytes(&self) -> u64 {
        window_bytes(self.write_bytes_per_s_min, self.write_stall_ms)
    }
}

fn window_bytes(bytes_per_s: u64, window_ms: u64) -> u64 {
    (bytes_per_s.saturating_mul(window_ms) / 1000).max(1)
}
