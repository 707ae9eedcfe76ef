//! Messages of the program to its operator: errors with exit codes, the log, reports of panics, and
//! the results of commands.
//!
//! Principal type: [`Error`], whose kind selects the exit code of the process. [`log`] writes all
//! lines on stderr or to a file; [`print()`] writes results to stdout.
//!
//! ```text
//! errors, notes ─┐
//! tracing events ┴─► log ─► lines in memory (1 MiB at most) ─► thread `log` ─► stderr or a file
//! a panic ───────────────────────────────────────────────────► stderr, then SIGABRT
//! ```
//!
//! Threads: every thread queues its lines and continues. Only the log's own thread waits for the
//! reader of stderr. While the queue is full, further lines are dropped and counted.

#![forbid(unsafe_code)]
// `eprintln!` and `println!` are denied: they panic if the line cannot be written, and block while
// the reader of the output does not read.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod error;
pub mod log;
mod output;
pub mod panics;

pub use error::{EXIT_FINDINGS, EXIT_HOST, EXIT_OK, EXIT_USAGE, Error, fail, line, notes};
pub use output::print;
