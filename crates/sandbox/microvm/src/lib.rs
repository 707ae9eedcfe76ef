//! A microVM inside one process: memory, one CPU, and the subset of Linux that its program gets.
//!
//! ```text
//! program (ring 3) ─ syscall ─► stub (ring 0): out ─► this process
//! program (ring 3) ◄─ iretq ──── stub (ring 0) ◄── result ────┘
//! ```
//!
//! There is no guest kernel. Ring 0 holds descriptor tables, page tables and a stub of two
//! instructions. On a host without hardware virtualisation, ring 0 is emulated; the program runs
//! natively.

mod calls;
mod cpu;
pub mod elf;
mod guest;
mod layout;
mod machine;
mod memory;
mod seals;
mod slices;
mod space;
mod stack;

pub use calls::{AllowedFile, Files, THREADS_MAX};
pub use guest::{
    Guest, JobOutcome, JobProtocol, Plan, Running, Server, WipeResult, environment_bytes,
};
pub use kvm_ioctls::Kvm;
pub use seals::add_seals;
pub use stack::StartArguments;
