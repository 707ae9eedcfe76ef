//! Steering: the choice of the core that accepts a new connection.
//!
//! The kernel receives a connection's packets on some processor. If the core of that processor
//! serves the connection, the packets stay in the caches of that processor. But all packets may
//! arrive on one processor, as with a single client or a network card with one queue. The other
//! cores would then be idle.
//!
//! So the mode `auto` starts with a choice by the kernel's hash, and samples on which processors
//! connections arrive. If the arrivals are even over the cores, `auto` switches to the core of the
//! arrival processor. If the arrivals, or the connections accepted per core, are no longer even,
//! `auto` switches back to the hash.
//!
//! Sources: socket(7) `SO_INCOMING_CPU`, which works with `SO_REUSEPORT` since Linux 6.2;
//! `SO_ATTACH_REUSEPORT_CBPF`.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use rustix::io::Errno;
use rustix::net::sockopt;

use crate::CoreId;

/// Method by which connections are spread over the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Steering {
    /// Switches between `Hash` and `IncomingCpu`, based on the observed balance.
    Auto,
    /// Choice by a hash of the connection's addresses and ports.
    Hash,
    /// Choice of the core whose processor receives the connection's packets, by `SO_INCOMING_CPU`.
    /// If no core runs on that processor, any core is chosen.
    IncomingCpu,
    /// Same choice as `IncomingCpu`, made by a BPF program, for kernels before 6.2.
    Cbpf,
}

impl Steering {
    /// All methods, in order of declaration.
    pub const ALL: [Steering; 4] = [
        Steering::Auto,
        Steering::Hash,
        Steering::IncomingCpu,
        Steering::Cbpf,
    ];

    /// Returns the name in settings and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Steering::Auto => "auto",
            Steering::Hash => "hash",
            Steering::IncomingCpu => "incoming-cpu",
            Steering::Cbpf => "cbpf",
        }
    }
}

/// Sampling interval, in connections: a core samples every eighth connection. A sample finds the
/// processor on which a connection arrived, which costs a system call.
pub(crate) const SAMPLE: u64 = 8;
/// Minimum number of samples, on average over the cores, before the mode `auto` chooses between
/// `Hash` and `IncomingCpu`.
const SAMPLES_MIN: u64 = 64;
/// Limit up to which connections count as evenly spread over the cores: the number of connections
/// of the busiest core, in percent of the mean.
const EVEN_PCT: u64 = 150;
/// Maximum percentage of connections that arrive on processors to which no core is pinned. If more
/// do, `IncomingCpu` is not used.
const ELSEWHERE_PCT_MAX: u64 = 10;

/// State of steering that all cores share.
#[derive(Debug)]
pub(crate) struct SteeringState {
    configured: Steering,
    now: AtomicU8,
    /// Number of sampled connections that arrived on each core's processor. The last entry counts
    /// those that arrived on a processor without a core.
    arrived: Box<[AtomicU64]>,
    cores: Box<[CoreId]>,
}

/// Counts of arrived and accepted connections. They are either the totals at the last decision of
/// [`Steering::Auto`], or the increase since that decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArrivalCounts {
    /// Sampled connections that arrived on each core's processor, indexed as
    /// [`SteeringState::arrived`].
    arrived: Vec<u64>,
    /// Accepted connections per core.
    accepted: Vec<u64>,
}

impl SteeringState {
    pub(crate) fn new(configured: Steering, cores: &[CoreId]) -> SteeringState {
        let now = match configured {
            Steering::Auto => Steering::Hash,
            other => other,
        };
        SteeringState {
            configured,
            now: AtomicU8::new(now as u8),
            arrived: (0..=cores.len()).map(|_| AtomicU64::new(0)).collect(),
            cores: cores.into(),
        }
    }

    /// Returns the method by which connections are currently spread; never `Auto`.
    pub(crate) fn now(&self) -> Steering {
        Steering::ALL[usize::from(self.now.load(Relaxed))]
    }

    /// Records that a connection arrived on the processor `cpu`. Returns whether core `core` is
    /// pinned to that processor.
    pub(crate) fn note(&self, cpu: usize, core: usize) -> bool {
        let owner = self.cores.iter().position(|id| id.0 == cpu);
        self.arrived[owner.unwrap_or(self.cores.len())].fetch_add(1, Relaxed);
        owner == Some(core)
    }

    /// Chooses again between `Hash` and `IncomingCpu`. Does nothing if the setting is not `auto`,
    /// or after too few samples since the last decision. `before` holds the counts at the last
    /// decision; a new decision replaces them. One core calls this periodically.
    pub(crate) fn reconsider(&self, accepted: &[u64], before: &mut ArrivalCounts) {
        if self.configured != Steering::Auto {
            return;
        }
        let arrived: Vec<u64> = self
            .arrived
            .iter()
            .map(|count| count.load(Relaxed))
            .collect();
        let increases = ArrivalCounts {
            arrived: since(&arrived, &before.arrived),
            accepted: since(accepted, &before.accepted),
        };
        if increases.arrived.iter().sum::<u64>() < SAMPLES_MIN * self.cores.len() as u64 {
            return;
        }
        self.now.store(increases.verdict(self.now()) as u8, Relaxed);
        *before = ArrivalCounts {
            arrived,
            accepted: accepted.to_vec(),
        };
    }
}

fn since(now: &[u64], before: &[u64]) -> Vec<u64> {
    let before = before.iter().chain(std::iter::repeat(&0));
    now.iter()
        .zip(before)
        .map(|(now, before)| now - before)
        .collect()
}

impl ArrivalCounts {
    /// Decides the next steering from these counts. They were collected under the steering `now`.
    fn verdict(&self, now: Steering) -> Steering {
        let (elsewhere, here) = self
            .arrived
            .split_last()
            .expect("the last entry counts processors without a core");
        let all: u64 = self.arrived.iter().sum();
        let arrivals_are_even = is_even(here) && elsewhere * 100 <= all * ELSEWHERE_PCT_MAX;
        match now {
            // `IncomingCpu` needs two conditions: arrivals are even over the cores, and so are the
            // accepted connections. The second condition shows that the kernel honours the option.
            Steering::IncomingCpu if arrivals_are_even && is_even(&self.accepted) => {
                Steering::IncomingCpu
            }
            Steering::Hash if arrivals_are_even => Steering::IncomingCpu,
            _ => Steering::Hash,
        }
    }
}

fn is_even(shares: &[u64]) -> bool {
    let largest = shares.iter().max().copied().unwrap_or(0);
    largest * 100 * shares.len() as u64 <= shares.iter().sum::<u64>() * EVEN_PCT
}

/// Makes the kernel prefer `socket` for connections whose packets arrive on the processor `core`;
/// `None` removes the preference.
pub(crate) fn prefer(socket: impl std::os::fd::AsFd, core: Option<CoreId>) -> io::Result<()> {
    // -1 (here `u32::MAX`) means no processor.
    let cpu = core.map_or(u32::MAX, |core| core.0 as u32);
    match sockopt::set_socket_incoming_cpu(socket, cpu) {
        // A kernel without this option has no preference to remove.
        Err(Errno::NOPROTOOPT) if core.is_none() => Ok(()),
        set => Ok(set?),
    }
}

/// Returns the processor that received the connection's most recent packet.
pub(crate) fn arrived_on(socket: impl std::os::fd::AsFd) -> io::Result<usize> {
    Ok(sockopt::socket_incoming_cpu(socket)? as usize)
}

/// Attaches a BPF program, which chooses the socket of each new connection, to the `SO_REUSEPORT`
/// group of `socket`. The sockets of the group must have been opened in the order of `cores`, one
/// per entry.
pub(crate) fn attach(socket: &TcpListener, cores: &[CoreId]) -> io::Result<()> {
    let filter = program(cores);
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len())
            .expect("the program has two instructions for each of at most 1,024 cores"),
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: `program` points to `filter`, which outlives the call and whose length is `len`; the
    // kernel copies and verifies the filter, and writes to neither structure. Breaks if `filter` is
    // dropped before the call.
    let attached = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    match attached {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Builds the BPF program that returns the index of the socket for the current processor. The
/// processor numbers may have gaps. For a processor without a core, the program returns an invalid
/// index, and the kernel chooses a socket by its hash.
fn program(cores: &[CoreId]) -> Vec<libc::sock_filter> {
    // linux/filter.h: a load from this negative offset yields the number of the current processor.
    const PROCESSOR: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_CPU) as u32;
    let step = |code: u32, k: u32, jf: u8| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    let mut steps = vec![step(
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        PROCESSOR,
        0,
    )];
    for (index, core) in cores.iter().enumerate() {
        steps.push(step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            core.0 as u32,
            1,
        ));
        steps.push(step(libc::BPF_RET | libc::BPF_K, index as u32, 0));
    }
    steps.push(step(libc::BPF_RET | libc::BPF_K, u32::MAX, 0));
    steps
}

#[cfg(test)]
mod tests;
