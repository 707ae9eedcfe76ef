//! Which core gets a new connection.
//!
//! The kernel receives a connection's packets on some processor. Served by the core of that processor, they stay in its
//! caches; but where one processor receives everything, as with a single client or a network card with one queue, that
//! would leave the others idle. So `auto` begins with the kernel's hash, watches where connections arrive, follows them
//! only where they arrive evenly, and goes back when the cores' shares grow apart.
//!
//! Sources: socket(7) `SO_INCOMING_CPU`, whose use with `SO_REUSEPORT` works from Linux 6.2 on; `SO_ATTACH_REUSEPORT_CBPF`.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use rustix::io::Errno;
use rustix::net::sockopt;

use crate::CoreId;

/// How connections are spread over the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Steering {
    /// By hash, or where they arrive, by what is seen.
    Auto,
    /// By hash of addresses and ports.
    Hash,
    /// To the core on whose processor they arrive, by `SO_INCOMING_CPU`; to any where that serves none.
    IncomingCpu,
    /// The same by a filter program, for kernels before 6.2.
    Cbpf,
}

impl Steering {
    /// Every kind, in order.
    pub const ALL: [Steering; 4] = [
        Steering::Auto,
        Steering::Hash,
        Steering::IncomingCpu,
        Steering::Cbpf,
    ];

    /// Its name in settings and metrics.
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

/// One connection in so many is asked where it arrived, since asking is a system call.
pub(crate) const SAMPLE: u64 = 8;
/// Samples for each core that `auto` wants before it judges.
const SAMPLES_MIN: u64 = 64;
/// Shares are even while the largest is at most so many hundredths of the mean.
const EVEN_PCT: u64 = 150;
/// Connections that arrive on processors without a core of ours, in a hundred, up to which following is worth it.
const ELSEWHERE_PCT_MAX: u64 = 10;

/// What all cores know of steering.
#[derive(Debug)]
pub(crate) struct Steered {
    asked: Steering,
    now: AtomicU8,
    /// Sampled connections, by the core whose processor they arrived on; the last are those of no core.
    arrived: Box<[AtomicU64]>,
    cores: Box<[CoreId]>,
}

/// What happened since `auto` judged last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// As in [`Steered::arrived`].
    arrived: Vec<u64>,
    /// Connections taken, by core.
    accepted: Vec<u64>,
}

impl Steered {
    pub(crate) fn new(asked: Steering, cores: &[CoreId]) -> Steered {
        let now = match asked {
            Steering::Auto => Steering::Hash,
            other => other,
        };
        Steered {
            asked,
            now: AtomicU8::new(now as u8),
            arrived: (0..=cores.len()).map(|_| AtomicU64::new(0)).collect(),
            cores: cores.into(),
        }
    }

    /// What holds at the moment; never `Auto`.
    pub(crate) fn now(&self) -> Steering {
        Steering::ALL[usize::from(self.now.load(Relaxed))]
    }

    /// Notes that a connection arrived on the processor `cpu`; tells whether core `core` is that processor's.
    pub(crate) fn note(&self, cpu: usize, core: usize) -> bool {
        let owner = self.cores.iter().position(|id| id.0 == cpu);
        self.arrived[owner.unwrap_or(self.cores.len())].fetch_add(1, Relaxed);
        owner == Some(core)
    }

    /// Judges anew, if this is `auto` and enough was seen since `before`. For one core to call, now and then.
    pub(crate) fn judge(&self, accepted: &[u64], before: &mut Seen) {
        if self.asked != Steering::Auto {
            return;
        }
        let arrived: Vec<u64> = self
            .arrived
            .iter()
            .map(|count| count.load(Relaxed))
            .collect();
        let seen = Seen {
            arrived: since(&arrived, &before.arrived),
            accepted: since(accepted, &before.accepted),
        };
        if seen.arrived.iter().sum::<u64>() < SAMPLES_MIN * self.cores.len() as u64 {
            return;
        }
        self.now.store(seen.verdict(self.now()) as u8, Relaxed);
        *before = Seen {
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

impl Seen {
    /// What should hold from now on.
    fn verdict(&self, now: Steering) -> Steering {
        let (elsewhere, here) = self
            .arrived
            .split_last()
            .expect("the last are those of no core");
        let all: u64 = self.arrived.iter().sum();
        let follows = is_even(here) && elsewhere * 100 <= all * ELSEWHERE_PCT_MAX;
        match now {
            // Following is only as even as what is followed, and the shares show whether it is.
            Steering::IncomingCpu if follows && is_even(&self.accepted) => Steering::IncomingCpu,
            Steering::Hash if follows => Steering::IncomingCpu,
            _ => Steering::Hash,
        }
    }
}

fn is_even(shares: &[u64]) -> bool {
    let largest = shares.iter().max().copied().unwrap_or(0);
    largest * 100 * shares.len() as u64 <= shares.iter().sum::<u64>() * EVEN_PCT
}

/// Has the kernel prefer `socket` for connections that arrive on `core`, or no longer.
pub(crate) fn prefer(socket: impl std::os::fd::AsFd, core: Option<CoreId>) -> io::Result<()> {
    // -1 stands for no processor.
    let cpu = core.map_or(u32::MAX, |core| core.0 as u32);
    match sockopt::set_socket_incoming_cpu(socket, cpu) {
        // A kernel that knows no such option prefers nothing anyway.
        Err(Errno::NOPROTOOPT) if core.is_none() => Ok(()),
        set => Ok(set?),
    }
}

/// Where the packets of a connection were received last.
pub(crate) fn arrived_on(socket: impl std::os::fd::AsFd) -> io::Result<usize> {
    Ok(sockopt::socket_incoming_cpu(socket)? as usize)
}

/// Has a filter program choose in the group of `socket`, whose sockets were opened one for each of `cores`, in this order.
pub(crate) fn attach(socket: &TcpListener, cores: &[CoreId]) -> io::Result<()> {
    let filter = program(cores);
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).expect("two instructions for each of at most 1,024 cores"),
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: `program` points at `filter`, which lives through the call and of which `len` is the length; the kernel
    //         copies and checks it, and writes to neither. Breaks if `filter` is dropped before the call.
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

/// Asks which processor it runs on and looks that up; processors may have gaps in their numbers. For one that no core
/// has, the answer is no socket's place, and the kernel falls back to its hash.
fn program(cores: &[CoreId]) -> Vec<libc::sock_filter> {
    // linux/filter.h: what is loaded from this negative offset is the processor's number.
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
