//! Limits of the reactor.

/// Limits of a reactor. Deadlines are checked twice a second: a deadline fires at most one second
/// late, never early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of cores that the reactor runs on. Default 256.
    pub cores_max: usize,
    /// Maximum number of connections per listener that wait for accept after the TCP handshake. The
    /// kernel lowers this number to `net.core.somaxconn`. Default 4096.
    pub backlog: u32,
    /// Maximum number of open connections of the whole process. When it is reached, a core evicts
    /// an idle connection for each new connection, or sheds the new connection if none is idle.
    /// Default 16384.
    pub connections_max: usize,
    /// Maximum number of open connections per client address; all IPv6 addresses of one /64 network
    /// count as one address. Beyond the maximum, new connections are shed. Networks passed to
    /// [`crate::Listeners::exempt`] are not counted. Default 512.
    pub address_connections_max: usize,
    /// Maximum number of threads for blocking work, over all cores. Each core has at least one.
    /// Default 64.
    pub blocking_threads_max: usize,
    /// Maximum time from accept to the client's first byte. Default 10,000 ms.
    pub first_byte_ms: u64,
    /// Maximum time from accept to the end of a TLS handshake. Default 10,000 ms.
    pub handshake_ms: u64,
    /// Maximum time from the first byte of a request to the end of its head. Default 10,000 ms.
    pub head_ms: u64,
    /// Interval over which the rate of a request body is averaged; see `body_bytes_per_s_min`.
    /// Default 10,000 ms.
    pub body_ms: u64,
    /// Minimum rate of a request body, averaged over each `body_ms`. Default 512 bytes per second.
    pub body_bytes_per_s_min: u64,
    /// Maximum time between two requests of one connection. Default 75,000 ms.
    pub idle_ms: u64,
    /// Interval over which the rate of a client that reads a response is averaged; see
    /// `write_bytes_per_s_min`. Default 60,000 ms.
    pub write_stall_ms: u64,
    /// Minimum rate of a client that reads a response, averaged over each `write_stall_ms` and
    /// measured by the bytes that the client's kernel acknowledges. Default 512 bytes per second.
    pub write_bytes_per_s_min: u64,
    /// Maximum time without data from the client in [`crate::Conn::linger`], after the server has
    /// closed its side of the connection. Default 2,000 ms.
    pub linger_ms: u64,
    /// Maximum total time for which a client may continue to send after the server has closed its
    /// side of the connection. Default 30,000 ms.
    pub linger_ms_max: u64,
    /// Maximum number of bytes that a client may send after the server has closed its side of the
    /// connection. These bytes are read and dropped. Default 1 GiB.
    pub linger_bytes_max: usize,
    /// Maximum time from [`crate::Stop::trigger`] until busy connections are dropped and the
    /// reactor stops waiting for blocking work. Default 30,000 ms.
    pub drain_ms_max: u64,
    /// Maximum number of bytes per connection that the kernel accepts before it has sent them
    /// (`TCP_NOTSENT_LOWAT`). A higher value keeps distant clients supplied with data; a lower
    /// value costs more wakeups of the server. Default 128 KiB.
    pub unsent_bytes_max: u32,
    /// Maximum number of bytes of a file that a core sends before it serves its other connections.
    /// Default 1 MiB.
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
    /// Checks that every limit that must be positive is positive.
    ///
    /// # Errors
    /// The name of the first such limit that is zero.
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

    /// Returns the number of body bytes that must arrive within `body_ms`, at least one.
    #[must_use]
    pub fn body_window_bytes(&self) -> u64 {
        window_bytes(self.body_bytes_per_s_min, self.body_ms)
    }

    /// Returns the number of bytes that a client must acknowledge within `write_stall_ms`, at least
    /// one.
    #[must_use]
    pub fn write_window_bytes(&self) -> u64 {
        window_bytes(self.write_bytes_per_s_min, self.write_stall_ms)
    }
}

fn window_bytes(bytes_per_s: u64, window_ms: u64) -> u64 {
    (bytes_per_s.saturating_mul(window_ms) / 1000).max(1)
}
