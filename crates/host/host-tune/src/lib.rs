//! Reversible tuning of a host: plans changes of its settings, applies them through a journal, and
//! takes them back. The crate parses no command line.
//!
//! Principal items: [`Order`], [`run`], [`plan`], [`apply`], [`status`], [`confirm`] and
//! [`revert`].
//!
//! ```text
//! Facts, present values ─► plan ─► apply ── intention, synced ──► journal
//!                                    │ ──── value, read back ──► kernel
//!                                    └ starts guard ── deadline, no confirmation ──► take back
//! journal ─► status, confirm, revert
//! ```
//!
//! Units: deadlines are milliseconds of `CLOCK_BOOTTIME`. Limits: a journal of 4 MiB; the guard
//! must be ready within 5 s, and retries 150 times what the kernel or the disk refuses. Errors:
//! [`report::Error`], which says who is at fault. Threads: none; the guard is a process of its own
//! session, and every command that changes the journal holds the lock of its directory. Sources:
//! see crate `host-checks`.

#![forbid(unsafe_code)]
// `eprintln!` and `println!` are denied: they panic if the line cannot be written, and block while
// the reader of the output does not read.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod apply;
mod guard;
mod journal;
mod order;
mod plan;
mod render;
mod revert;
mod status;
mod task;
#[cfg(test)]
mod tests;

pub use apply::{Applied, apply};
pub use guard::guard;
pub use order::{Accepted, Order, plan};
pub use plan::{Change, Choice, Goal, Other, Plan, Reason};
pub use revert::{Conflict, Obstacle, OnConflict, Outcome, revert};
pub use status::{Present, Progress, Status, confirm, status};
pub use task::{Format, Task, run};
