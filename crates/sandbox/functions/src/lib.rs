//! Routes of the server on which programs of the operator answer the requests (`[programs.NAME]`,
//! docs/cells.md). Each program runs in its own cells, which are sandboxed processes or microVMs.
//!
//! Principal type: [`Programs`], a mount of the server.
//!
//! ```text
//! request ─► route ─► unit ─► permit (one of `concurrency`) ─► thread ─► cell ─► CGI output
//!                      ├─► next unit of the chain, which gets this output as input ─► …
//!                      └─► the fallback that `on_error` names, if a unit fails
//! ```
//!
//! A unit is one program. A request first receives its whole body, then waits for a cell, and holds
//! the cell only while the program runs. So slow clients occupy no cell.
//!
//! Threads: the server's cores look up routes and wait for results. Each unit has one thread per
//! request that it may run at the same time. Programs boot at the start of the server, on the
//! thread that handles signals, and on the thread that polls for changed files. A lock that
//! requests take is held only while a pointer is read or swapped, never during a boot or a run.

#![forbid(unsafe_code)]

mod boot;
mod programs;
mod reply;
mod state;
mod statistics;
mod status;
mod unit;

pub use programs::{Programs, alone, findings};
pub use state::{StoreSession, empty};
