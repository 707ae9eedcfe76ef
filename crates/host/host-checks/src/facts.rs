//! Facts of a host and of the server on it.

mod interface;
mod network;
mod process;
mod server;

pub use interface::{Channels, Coalescing, Interface, Interrupt, Qdisc, Rings};
pub use network::{Network, Tap};
pub use process::{Bounds, Process, Quota, Thread, Throttling};
pub use server::{Connection, Listener, Metrics, Server, Steering};
