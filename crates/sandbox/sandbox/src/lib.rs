//! Sandboxes for one job: a process that is jailed before it sees a byte from outside, and dies after its answer; or a
//! microVM in such a process, put back after each answer to where it was before it. They know no picture: what a plan
//! means is between the job's author and the worker.
//!
//! Principal types: [`Pool`], the server's side, and [`inside::serve`], which a worker's `main` calls.
//!
//! ```text
//! server                                         worker: one static program, from a sealed memfd
//!  Pool::run ──┬─ socket: job + 2 descriptors ─► child ─ one job ─ reply ─ death
//!   (any       │  pidfd: to kill it                ▲
//!   thread)    │                                   │ forks ahead
//!  keeper ─────┴─ socket: fork, forked, reaped ─ zygote ◄── init (keeps the process namespace alive)
//! ```
//!
//! The zygote never sees a job, so a child inherits nothing of the jobs before it; what a job leaves behind dies with its
//! child. A slot is a socket and a pidfd whatever stands behind them, and the pool drives them alike:
//!
//! ```text
//! worker, process   child: runs the job itself, and dies
//! worker, kvm       helper: hosts a microVM (`vm`) with the same program in it; wiped, it says that it is ready again
//! program, process  launcher: starts the program with the job as its streams, waits for its end, and dies
//! program, kvm      helper: hosts a microVM in which the program begins anew for each job
//! ```
//!
//! All four are the worker's program in another role, which [`sandbox_protocol::control::Start`] names: there is nothing else to build, to
//! ship or to keep at the same version.
//!
//! The jail, in the order in which it closes:
//!
//! 1. Namespaces for processes, network, IPC, mounts, host name and cgroups, and another user where the server is root;
//!    a user namespace where it is not; none of them where the host refuses (`spawn`).
//! 2. Its death with the server's; the standard streams from `/dev/null`, all other descriptors closed but the socket.
//! 3. Limits: no core file, few descriptors, address space. First choice of the out-of-memory killer; no merged pages.
//!    For programs a user namespace, so that their threads are counted, and bounded, apart from everybody else's.
//! 4. No capabilities, `no_new_privs`, not dumpable.
//! 5. Init is split off, with a filter that lets it wait and exit.
//! 6. Landlock without a rule, but for files that a program may read.
//! 7. Warm-up, the only code of the worker that runs with most system calls. It has seen no byte from outside. Then heap
//!    and code are laid out in huge pages, which a child inherits or gets fresh at 2 MB a page fault.
//! 8. The filter: an allow-list without paths, sockets, processes, executable memory or sleep. What it denies kills.
//! 9. In a child: the zygote's descriptors replaced, no processes of its own (by a limit, or a second filter where the
//!    worker is the host's root), and with the job its limits on memory, file size and CPU time. The server watches the
//!    wall time. A helper makes its machine, then loses the device and `fork`; its guest's memory is a slot's.
//!
//! What was applied stands in [`Posture`]; [`Limits::min_isolation`] says how much there must be.
//!
//! Units and limits: every bound is a field of [`Limits`] or of [`sandbox_protocol::JobLimits`], in bytes, milliseconds or processes.
//! Errors: [`Error`] when a pool does not start, [`Failure`] for a job; their kinds say who is at fault: media, worker or
//! host. A reply is believed only as far as [`sandbox_protocol::AllegedReply::verify`] goes, and the answer only once it is sealed.
//! Threads: [`Pool`] is shared by any number of them and blocks; one of its own, the keeper, starts zygotes and refills.
//! Sources: the kernel's documentation of seccomp, Landlock, namespaces, memfd seals and the KVM API.

mod channel;
mod elf;
mod error;
pub mod inside;
mod keeper;
mod limits;
mod memfd;
mod metrics;
mod place;
mod pool;
mod posture;
mod probe;
mod program;
mod reproducer;
mod seen;
mod service;
mod slot;
mod spawn;
mod stats;
mod syscall;
mod verdict;
mod vm;
mod weight;
mod zygote;

pub use error::{Error, ErrorKind, Failure, FailureKind};
pub use limits::Limits;
pub use metrics::render_metrics;
pub use pool::{Finished, Pool, Task};
pub use posture::{Backend, HugePages, Isolation, Posture};
pub use probe::{Probe, fresh_memory, probe};
pub use program::Program;
pub use reproducer::{Crashes, Reproducer};
pub use service::{SERVICE_FD, Service};
pub use stats::Stats;
