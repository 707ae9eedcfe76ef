//! The server's side of the operator's dashboard. It serves a history of the counters, the current
//! state and findings as JSON at `/-/api/ops`. It also runs the actions of operators, which are a
//! purge of variants and a prefetch, and the prefetch in idle time.
//!
//! Principal type: [`Ops`], whose thread samples the counters once per second.
//!
//! ```text
//! all counters ─► sample (once per second) ─┬─► history: 1 s, 10 s and 60 s ────────────┐
//!                                           └─► saved bytes, kept in the data directory ├─► JSON
//! current state, log, host ─► findings ─────────────────────────────────────────────────┘
//! ```
//!
//! Two more documents are made only when a client asks: the report on the host (`pelton doctor`) at
//! `/-/api/doctor`, and CPU profiles at `/-/profile`.
//!
//! Units and limits: the history has a fixed size of less than 400,000 bytes. Byte counts in it are
//! in KiB, so that 32 bits suffice. Errors: an error of the dashboard makes no other request fail;
//! if the data directory cannot be written, only the total of saved bytes is lost at a restart.
//! Threads: `ops` samples the counters and writes the saved bytes; `prefetch` exists while an
//! operator's prefetch runs; `idle prefetch` waits for idle time; the JSON is composed on the
//! blocking pool.

#![forbid(unsafe_code)]

mod dashboard_mount;
mod doctor_mount;
mod findings;
mod history;
mod host;
mod host_report;
mod idle_prefetch;
mod metrics;
mod mount;
mod mounts;
mod path_parameter;
mod prefetch;
mod prefetch_mount;
mod present;
mod profile_mount;
mod reading;
mod sampler;
mod saved;
mod series;
mod variants_mount;

pub use host_report::host_report;
pub use mounts::mounts;
pub use sampler::{Ops, Sources};
