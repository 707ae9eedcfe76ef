//! Facts of a running server.

use crate::Fact;

/// Facts of a running server.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Process id.
    pub pid: Fact<u32>,
    /// Listening sockets.
    pub listeners: Fact<Vec<Listener>>,
    /// Options of some open connections.
    pub connections: Fact<Vec<Connection>>,
    /// Counters from the server's metrics.
    pub metrics: Fact<Metrics>,
}

/// Listening socket of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listener {
    /// Address and port.
    pub address: String,
    /// Connections that wait for accept.
    pub waiting: u32,
    /// Maximum number of connections that wait for accept.
    pub backlog: u32,
    /// Processor of `SO_INCOMING_CPU`; `None` if unset or unknown.
    pub incoming_cpu: Option<u32>,
    /// Congestion control that accepted connections inherit; `None` if unknown.
    pub congestion_control: Option<String>,
}

/// Options of an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Identifier of the network card's queue (`SO_INCOMING_NAPI_ID`); 0 if the card has none.
    pub napi_id: u32,
}

/// Counters of a running server, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Requests.
    pub requests: u64,
    /// System calls of the cores.
    pub system_calls: u64,
    /// Accepted connections.
    pub accepted: u64,
    /// Connections that the busiest core accepted, divided by the mean of all cores.
    pub imbalance: f64,
    /// Connections in the sample that records on which processor a connection arrives.
    pub located: u64,
    /// Connections in the sample that arrived on the processor of their core.
    pub local: u64,
    /// Numbers of cores per steering mode.
    pub steering: Steering,
}

/// Number of cores by steering mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// By a hash of addresses and ports.
    pub hash: u64,
    /// By `SO_INCOMING_CPU`.
    pub incoming_cpu: u64,
    /// By a BPF program.
    pub cbpf: u64,
}

impl Steering {
    /// Returns the number of cores.
    #[must_use]
    pub fn cores(self) -> u64 {
        self.hash + self.incoming_cpu + self.cbpf
    }
}
