//! Facts of a network namespace, without its interfaces.

use crate::Fact;

/// Network settings, counters and objects of the network namespace.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Maximum backlog of a listening socket.
    pub somaxconn: Fact<u64>,
    /// Maximum number of handshakes in progress per listening socket.
    pub syn_backlog: Fact<u64>,
    /// Handshakes that found the backlog full, since boot.
    pub listen_overflows: Fact<u64>,
    /// Handshakes that were dropped for any reason, since boot.
    pub listen_drops: Fact<u64>,
    /// Maximum number of packets that wait for a processor: `net.core.netdev_max_backlog`.
    pub packet_backlog: Fact<u64>,
    /// Packets that were dropped because a processor's queue was full, since boot.
    pub softnet_dropped: Fact<u64>,
    /// Rounds of packet processing that ended at their limit of time or packets, since boot.
    pub softnet_squeezed: Fact<u64>,
    /// `net.core.busy_poll`.
    pub busy_poll: Fact<u64>,
    /// `net.core.busy_read`.
    pub busy_read: Fact<u64>,
    /// Queueing discipline of new interfaces.
    pub default_qdisc: Fact<String>,
    /// Congestion control of new connections.
    pub congestion_control: Fact<String>,
    /// `net.ipv4.tcp_slow_start_after_idle`.
    pub slow_start_after_idle: Fact<u64>,
    /// Maximum of `net.ipv4.tcp_wmem`, in bytes.
    pub write_bytes_max: Fact<u64>,
    /// `net.ipv4.tcp_autocorking`.
    pub autocorking: Fact<u64>,
    /// `net.ipv4.tcp_migrate_req`.
    pub migrate_requests: Fact<u64>,
    /// Entries of the table of receive flow steering.
    pub flow_entries: Fact<u64>,
    /// Number of ports for outgoing connections.
    pub ports: Fact<u64>,
    /// Tracked connections.
    pub conntrack: Fact<u64>,
    /// Maximum number of tracked connections.
    pub conntrack_max: Fact<u64>,
    /// Base chains of nftables, as names.
    pub chains: Fact<Vec<String>>,
    /// Tables of the older iptables modules, as names.
    pub tables: Fact<Vec<String>>,
    /// Packet sockets.
    pub taps: Fact<Vec<Tap>>,
}

/// Packet socket, which sees packets of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Inode of the socket.
    pub inode: u64,
    /// Name and id of the process that has the socket; `None` if unknown.
    pub owner: Option<String>,
}
