//! MicroVM inside one process: memory, one CPU, and the subset of Linux that its program gets. The
//! crate `sandbox` contains the jail around the process, and the pool of such processes. This crate
//! depends on neither.
//!
//! Principal types: [`Guest`], the snapshot of a program that is ready for a job, and [`Running`],
//! a machine that starts from this snapshot, runs a job, and is wiped (reset to the snapshot).
//! [`Image`] checks the program's file.
//!
//! ```text
//! program (ring 3) ─ syscall ─► stub (ring 0): out ─► this process
//! program (ring 3) ◄─ iretq ──── stub (ring 0) ◄── result ────┘
//!
//! Guest::boot ──► template ──► Guest::start ──► Running::run ──► Running::wipe ─┐
//!                                                    ▲────────────────────────────┘
//! ```
//!
//! There is no guest kernel. Ring 0 holds descriptor tables, page tables, handlers that report
//! exceptions, and a stub: two instructions that pass a system call to this process. On a host
//! without hardware virtualisation, ring 0 is emulated; the program runs natively.
//!
//! Units and limits: sizes are in bytes. [`Plan`] bounds a guest's memory, [`THREADS_MAX`] its
//! threads, [`sandbox_protocol::JobLimits`] each job. CPU time and wall time are bounded from
//! outside, by ending the process.
//!
//! Errors: a message for the operator. After an error, the machine must not be used again. The
//! failure of a program is a [`JobOutcome`], not an error.
//!
//! Threads: none. A machine belongs to the thread that created it, and runs while that thread is in
//! [`Running::run`].
//!
//! Sources: the kernel's documentation of the KVM API; the Intel SDM, volume 3; the System V ABI
//! with its supplement for x86-64.

mod calls;
mod cpu;
mod elf;
mod guest;
mod layout;
mod machine;
mod memory;
mod seals;
mod slices;
mod space;
mod stack;

pub use calls::{AllowedFile, Files, THREADS_MAX};
pub use elf::{ElfError, Image};
pub use guest::{Guest, JobOutcome, JobProtocol, Plan, Running, WipeResult};
pub use kvm_ioctls::Kvm;
pub use seals::add_seals;
pub use slices::Server;
pub use stack::StartArguments;
