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
pub(crate) mod guest;
pub(crate) mod layout;
mod machine;
mod memory;
mod seals;
mod slices;
mod space;
mod stack;

pub(crate) use calls::THREADS_MAX;
pub(crate) use seals::add_seals;
