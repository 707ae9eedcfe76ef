//! One pinned, single-threaded tokio runtime per core, each with its own listeners, connections and
//! clock. The crate has no routes, and no HTTP except the text of a `Date` field.
//!
//! The principal type is [`Conn`], an accepted connection. The core passes it to its handler.
//! [`bind`] opens the sockets; [`run`] serves them until [`Stop`] is triggered.
//!
//! ```text
//!            ┌ thread core-0, pinned ────────────────────────────────────────────┐
//! kernel ──► │ listener ─► accept loop ─► handler(Conn), one local task each     │
//! spreads    │               │  at the cap: evict an idle connection, or shed    │
//! by         │               └─ tick, twice a second: Clock, due deadlines       │
//! SO_REUSE-  └───────────────────────────────────────────────────────────────────┘
//! PORT  ──►  ┌ thread core-1 … shares little with the others: see Threads ───────┐
//! ```
//!
//! ```no_run
//! use std::io::IoSlice;
//! use reactor::{Conn, Ended, Limits, Stop, bind, run, usable_cores};
//!
//! async fn echo(mut conn: Conn) -> Result<(), Ended> {
//!     let mut buffer = [0; 1024];
//!     loop {
//!         let read = conn.read(&mut buffer).await?; // the first bytes arm Wait::Head
//!         if read == 0 {
//!             return Ok(());
//!         }
//!         conn.deadline.disarm(); // no deadline while the response is prepared
//!         conn.write_all(&mut [IoSlice::new(&buffer[..read])]).await?; // then Wait::Idle
//!     }
//! }
//!
//! let limits = Limits::default();
//! let listeners = bind(&["127.0.0.1:7".parse().unwrap()], &usable_cores(&limits)?, &limits)?;
//! let stop = Stop::new(); // give a clone to the signal handler
//! let drained = run(listeners, &limits, b"", &stop, |core| {
//!     println!("core {} starts", core.index()); // build the state of this core here
//!     |conn| async {
//!         if let Err(ended) = echo(conn).await {
//!             println!("{ended:?}");
//!         }
//!     }
//! })?;
//! println!("{} connections dropped", drained.dropped);
//! # Ok::<(), reactor::Error>(())
//! ```
//!
//! Threads: one per core, named `core-N`, and the runtime's blocking pool, named `core-N-file` and
//! not pinned. A core owns its state: the closure that builds the state runs on the core's thread
//! and may use `Rc` and `Cell`. Cores share three things: the counts of open connections (in total,
//! and per client address); the method by which the kernel chooses the core of a new connection
//! (steering); and the [`Counters`], each of which only one core writes. A child process that a
//! core's thread starts may run only on that core's processor. So start child processes before
//! [`run`], or from another thread.
//!
//! Fairness: one iteration of a core's event loop polls the sockets once, then runs the tasks whose
//! sockets are ready. No connection monopolises a core: tokio makes a task yield after 128
//! operations that did not wait, and [`Conn::write_file`] yields after each slice.
//!
//! Time: [`Clock`] is set from the system once per tick, so a request costs no clock read and no
//! timer. Arming a [`Deadline`] costs two memory writes; the tick wakes the connections whose
//! deadline is due. A deadline never fires early, and fires at most two ticks (one second) late.
//!
//! Overload: at `connections_max`, the core makes room for a new connection: it evicts the
//! connection that has waited longest for a request. If all its connections have a request, the
//! core sheds the new connection: it sends `shed_response` and closes the connection. A new
//! connection is also shed if its client address already has `address_connections_max` open
//! connections. If the process has no descriptor left, the core uses a reserved descriptor to shed
//! new connections.
//!
//! Drain: when stopped, each core accepts the connections left in its backlog, then closes its
//! listeners. Connections that wait for a request stay open for about one more second, because a
//! request may be on its way; then the core closes them. Busy connections may finish their
//! requests. After `drain_ms_max`, the remaining connections are dropped, and [`run`] returns their
//! number. Tasks that a handler spawned beside its connection are then dropped, too.
//!
//! Limits: [`Limits`], in milliseconds and bytes. Errors: an [`Error`] makes the start fail. It is
//! the fault of the host, or of the operator who chose the address. [`Ended`] is the reason why one
//! connection has ended, which is a normal result. `SIGPIPE` must stay ignored, as Rust's runtime
//! sets it at the start: `sendfile` has no flag `MSG_NOSIGNAL`.

mod accept;
mod address;
mod allocations;
mod blocking;
mod clock;
mod conn;
mod core;
mod cores;
mod counted;
mod counters;
mod deadline;
mod descriptors;
mod detach;
mod error;
mod file;
mod gate;
mod handover;
mod heap;
mod lend;
mod limits;
mod listen;
mod lock;
mod metrics;
pub mod notify;
mod open;
mod run;
mod slice;
mod socket;
mod steering;
mod stop;
mod sync;
#[cfg(test)]
mod tests;
mod upgrade;

pub use address::{Network, counted_address};
pub use allocations::CountingAllocator;
pub use blocking::blocking;
pub use clock::{Clock, HTTP_DATE_BYTES};
pub use conn::{Conn, FileRange};
pub use core::Core;
pub use cores::{CoreId, usable_cores};
pub use counted::CountedStream;
pub use counters::Counters;
pub use deadline::{Deadline, Ended, Linger, Wait};
pub use descriptors::raise_descriptors_max;
pub use detach::{Side, detach};
pub use error::{Error, ErrorKind};
pub use file::read_cached;
pub use handover::listeners_from_manager;
pub use heap::{
    HeapFigures, Jemalloc, heap_figures, purge_heap, return_freed_memory, without_block_cache,
};
pub use lend::{
    ZERO_COPY_BYTES_MIN, ZeroCopySocket, ZeroCopyWriter, allocate_buffer, zero_copy,
    zero_copy_within,
};
pub use limits::Limits;
pub use listen::{Listeners, adopt, bind};
pub use lock::{DirLock, LockError, Sharing};
pub use metrics::render_metrics;
pub use run::{Drained, run};
pub use socket::{acked_bytes, reset_when_closed};
pub use steering::Steering;
pub use stop::Stop;
pub use upgrade::{Predecessor, Program, predecessor};
