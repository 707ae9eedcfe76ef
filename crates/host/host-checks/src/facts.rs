//! Facts of a host and of the server on it.

mod interface;
mod process;

pub use interface::{Channels, Coalescing, Interface, Interrupt, Qdisc, Rings};
pub use process::{Bounds, Process, Quota, Thread, Throttling};
