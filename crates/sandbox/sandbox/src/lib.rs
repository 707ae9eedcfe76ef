//! Sandboxes (cells), each of which runs one job at a time. A cell is a process or a microVM. The
//! process is isolated before it reads any input, and exits after its reply. The microVM runs in
//! such a process (crate `microvm`) and is wiped after each reply: it gets back the state that it
//! had before the job. This crate does not interpret a job: the job's author and the worker agree
//! on the meaning of its plan.
//!
//! Principal types: [`Pool`], the server's side, and [`inside::serve`], which a worker's `main`
//! calls.
//!
//! ```text
//! server                                         worker: one static program, from a sealed memfd
//!  Pool::run ──┬─ socket: job + 2 descriptors ─► child ─ one job ─ reply ─ exit
//!   (any       │  pidfd: to kill it                ▲
//!   thread)    │                                   │ forks ahead
//!  supervisor ─┴─ socket: fork, forked, reaped ─ zygote ◄── init (keeps the PID namespace alive)
//! ```
//!
//! The zygote never sees a job, so a child inherits nothing of earlier jobs; the memory of a job is
//! freed when its child ends. A pool runs jobs either by the worker's own code or by a program of
//! the operator ([`Program`]), in processes or in microVMs under KVM. The process that represents a
//! cell differs, but the pool treats each as a socket and a pidfd:
//!
//! ```text
//! worker, process   child: runs the job itself, and exits
//! worker, kvm       helper: hosts a microVM running the worker; reports ready after a wipe
//! program, process  launcher: starts the program with the job as its streams, waits, and exits
//! program, kvm      helper: hosts a microVM in which the program starts anew for each job
//! ```
//!
//! The worker's executable has all four roles; [`sandbox_protocol::control::Start`] selects one. So
//! no second executable must be built, shipped and kept at the same version.
//!
//! Isolation mechanisms (the jail), in the order in which they take effect:
//!
//! 1. Namespaces for processes, network, IPC, mounts, host name and cgroups. If the server is root,
//!    the process runs as another user; otherwise it gets a user namespace. If the host denies
//!    namespaces, the process shares those of the server (`spawn`).
//! 2. The process is killed when the server ends. The standard streams are `/dev/null`, and all
//!    other descriptors except the socket are closed.
//! 3. Limits: no core file, few descriptors, bounded address space. The out-of-memory killer
//!    chooses the process first, and the kernel does not merge its pages with those of other
//!    processes. Programs also get a user namespace, so that their threads are counted and limited
//!    separately from those of other processes.
//! 4. No capabilities, `no_new_privs`, not dumpable.
//! 5. Fork of the init process, with a filter that lets it only wait and exit.
//! 6. Landlock, which denies all access to files. Its only rules allow the files that a program may
//!    read.
//! 7. Warm-up: code of the worker prepares for jobs. This code reads no input, so it may still make
//!    most system calls. Then heap and code are laid out in huge pages. A child inherits these
//!    pages, or needs one page fault per 2 MB for them.
//! 8. The seccomp filter: an allow-list without calls that open paths, create sockets, start
//!    programs, map executable memory or sleep. A denied call kills the process.
//! 9. In a child: the zygote's descriptors are replaced. A worker's child cannot fork: a limit on
//!    processes denies this or, if the worker is the host's root, a second filter. Each job sets
//!    limits on memory, file size and CPU time; the server enforces the wall time. A helper creates
//!    its microVM, then closes `/dev/kvm` and can no longer call `fork`; the size of its guest's
//!    memory is fixed.
//!
//! [`Posture`] lists the mechanisms that were applied; [`Limits::min_isolation`] states the
//! minimum.
//!
//! Units and limits: every bound is a field of [`Limits`] or of [`sandbox_protocol::JobLimits`], in
//! bytes, milliseconds or processes.
//!
//! Errors: [`Error`] when a pool does not start, [`Failure`] for a job; their kinds say what is at
//! fault: original, worker or host. A reply is trusted only after
//! [`sandbox_protocol::AllegedReply::verify`], and the output's bytes only once their file is
//! sealed.
//!
//! Threads: any number of threads share a [`Pool`], and its calls block. The pool's own thread, the
//! supervisor, starts zygotes and refills the queue.
//!
//! Sources: the kernel's documentation of seccomp, Landlock, namespaces and memfd seals.

mod channel;
mod contract;
mod error;
mod exit;
pub mod inside;
mod limits;
mod memfd;
mod metrics;
mod place;
mod pool;
mod posture;
mod probe;
mod procfs;
mod program;
mod queue;
mod reproducer;
mod service;
mod shared;
mod slot;
mod spawn;
mod stats;
mod supervisor;
mod sync;
mod syscall;
mod verdict;
mod weight;
mod zygote;

pub use contract::SERVICE_FD;
pub use error::{Error, ErrorKind, Failure, FailureKind};
pub use limits::Limits;
pub use metrics::render_metrics;
pub use pool::{Finished, Pool, Task};
pub use posture::{Backend, HugePages, Isolation, Posture};
pub use probe::{Probe, fresh_memory, probe};
pub use program::Program;
pub use reproducer::{Reproducer, ReproducerFolder};
pub use service::Service;
pub use stats::Stats;
