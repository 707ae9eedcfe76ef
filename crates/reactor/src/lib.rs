//! One pinned, single-threaded tokio runtime a core, each with its own listeners, connections and clock. No routes,
//! no HTTP but the text of a `Date` field.
//!
//! Principal type: [`Conn`], one accepted connection, handed to the core's handler. [`bind`] opens the sockets,
//! [`run`] serves them until [`Stop`] is triggered.
//!
//! ```text
//!            ┌ thread core-0, pinned ────────────────────────────────────────────┐
//! kernel ──► │ listener ─► accept loop ─► handler(Conn), a local task each       │
//! spreads    │               │  cap reached: an idle connection goes, or this one │
//! by         │               └─ tick, twice a second: Clock, due deadlines       │
//! SO_REUSE-  └───────────────────────────────────────────────────────────────────┘
//! PORT  ──►  ┌ thread core-1 … shares nothing but the count of open connections ──┐
//! ```
//!
//! Threads: one a core, named `core-N`, and what a handler sends to the runtime's blocking pool (`core-N-file`, not
//! pinned). A core owns its state: `start` runs on its thread and may build it of `Rc` and `Cell`. The only shared
//! writes are the count of open connections, on accept and close, and [`Counters`], each written by one core.
//!
//! Time: [`Clock`] is read from the system once a tick, so a request costs no clock read and no timer. A [`Deadline`]
//! is two cells; the tick wakes those that are due, so none fires early and none later than two ticks after.
//!
//! Drain: when stopped, each core takes what its backlog still holds, closes its listeners, and ends the connections
//! that wait for a request. Busy ones finish; those left after `drain_ms_max` are dropped, and [`run`] says how many.
//!
//! Units and limits: [`Limits`]; milliseconds and bytes. Errors: [`Error`] is the host's fault and ends the start;
//! [`Ended`] says why one connection is over and is a normal result.

#![forbid(unsafe_code)]

mod accept;
mod clock;
mod conn;
mod core;
mod cores;
mod counters;
mod deadline;
mod descriptors;
mod error;
mod file;
mod limits;
mod listen;
mod run;
mod stop;
#[cfg(test)]
mod tests;

pub use clock::{Clock, HTTP_DATE_BYTES};
pub use conn::{Conn, FileRange};
pub use core::Core;
pub use cores::{CoreId, usable_cores};
pub use counters::Counters;
pub use deadline::{Deadline, Ended, Wait};
pub use descriptors::raise_descriptors_max;
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use listen::{Listeners, bind};
pub use run::{Drained, run};
pub use stop::Stop;
