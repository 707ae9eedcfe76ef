//! Facts of a network interface.

use crate::{Cpus, Fact};

/// Network interface.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Name, such as `eth0`.
    pub name: String,
    /// Kind of a virtual interface, such as `veth`; empty for a network card.
    pub kind: String,
    /// Number of receive queues.
    pub receive_queues: Fact<u64>,
    /// Number of transmit queues.
    pub transmit_queues: Fact<u64>,
    /// Interrupts of the card.
    pub interrupts: Fact<Vec<Interrupt>>,
    /// Processors to which each receive queue passes packets in software.
    pub receive_cpus: Fact<Vec<Cpus>>,
    /// Flow entries of all receive queues.
    pub receive_flows: Fact<u64>,
    /// Processors that use each transmit queue.
    pub transmit_cpus: Fact<Vec<Cpus>>,
    /// True if threads process received packets, instead of software interrupts.
    pub is_threaded: Fact<bool>,
    /// Number of empty polls for which interrupts stay deferred: `napi_defer_hard_irqs`.
    pub deferred_interrupts: Fact<u64>,
    /// Maximum delay of deferred packets, in nanoseconds: `gro_flush_timeout`.
    pub flush_timeout_ns: Fact<u64>,
    /// Memory node of the card; -1 if there is none.
    pub node: Fact<i64>,
    /// Numbers of queues, in use and at most.
    pub channels: Fact<Channels>,
    /// Sizes of the rings.
    pub rings: Fact<Rings>,
    /// Packets that the card dropped because its receive ring was full, since the interface exists.
    pub ring_drops: Fact<u64>,
    /// Moderation of interrupts.
    pub coalescing: Fact<Coalescing>,
    /// Features that are on.
    pub features: Fact<Vec<String>>,
    /// Queueing disciplines.
    pub qdiscs: Fact<Vec<Qdisc>>,
    /// True if an XDP program is attached.
    pub has_xdp: Fact<bool>,
}

/// Interrupt of a network card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Number.
    pub number: u32,
    /// Processors that handle the interrupt.
    pub cpus: Cpus,
}

/// Numbers of queues of a network card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// Maximum number of receive queues.
    pub receive_max: u32,
    /// Number of receive queues in use.
    pub receive: u32,
}

/// Sizes of the receive ring of a network card, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    /// Maximum size.
    pub receive_max: u32,
    /// Present size.
    pub receive: u32,
}

/// Moderation of receive interrupts. A field that the driver does not report is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// True if the card adapts the moderation to the load.
    pub is_adaptive: Option<bool>,
    /// Delay in microseconds.
    pub receive_us: Option<u32>,
}

/// Queueing discipline of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Kind, such as `fq_codel`.
    pub kind: String,
    /// True if the discipline is the root of its interface.
    pub is_root: bool,
    /// True if the discipline filters received packets.
    pub is_ingress: bool,
}
