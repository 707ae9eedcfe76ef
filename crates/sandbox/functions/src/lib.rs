//! Programs of the operator as routes of the server, each run in cells of its own: sandboxed
//! processes or microVMs (`[programs.NAME]`, docs/cells.md).
//!
//! Principal type: [`Programs`], a mount of the server.
//!
//! ```text
//! request ─► route ─► unit ─► permit (one of `concurrency`) ─► thread ─► cell ─► CGI output
//!                      ├─► next unit of the chain, which gets this output as input ─► …
//!                      └─► the fallback that `on_error` names, if a unit fails
//! ```
//!
//! A unit is one program. The whole body of a request is received before the request waits for a
//! cell, and the request holds a cell only while a program runs: slow clients and the other
//! programs of a chain occupy no cell. Threads: the threads of the server's cores look up the table
//! and wait for results. Each unit has as many threads as it may run requests at a time. Programs
//! are booted by the thread that handles signals and by the thread that polls for changed files.
//! Locks that requests take are held for reads and swaps of pointers, never during a boot or a run.

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
