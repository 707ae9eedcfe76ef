//! A microVM as one process has it: memory, one CPU, and the part of Linux that its program gets.
//!
//! ```text
//! program (ring 3) ── syscall ─► stub (ring 0): out ─► this process ── result ─► stub: iretq ─► program
//! ```
//!
//! There is no guest kernel. Ring 0 holds descriptor tables, page tables and a stub of two instructions; where a host has
//! no hardware virtualisation its code is emulated, and the program's is not.

mod calls;
mod cpu;
pub(crate) mod guest;
pub(crate) mod layout;
mod machine;
mod memory;
mod slices;
mod space;
mod stack;

pub(crate) use calls::THREADS_MAX;
