//! Commands that prepare or repair the data of a server: `pelton scan`, `prefetch`, `purge`, `user`
//! and `quarantine`; `pelton convert` and `sign`, which need no server; and `pelton profile`. Each
//! command ends when its work is done, and may run while a server uses the same data directory.
//! `purge` and `profile` need a running server, to which they send a request.
//!
//! The crate reads no command line and starts no cells. The caller resolves the configuration and
//! passes the values of the command's flags. For [`prefetch`], the caller also passes a service
//! with a pool of cells, and for [`convert`] a pool of cells.
//!
//! ```text
//! scan        library ──────────────────────────► catalog
//! prefetch    catalog, library ─► Service ──────► variants
//! convert     pictures ─► cells ────────────────► files, report or table
//! purge       path or tag ─► running server ────► number of removed entries on stdout
//! user        password, question at the terminal ► journal of users, avatars, require_login
//! quarantine  data directory ───────────────────► list on stdout, or removal of an entry
//! profile     samples of a running server ───────► file
//! sign        URL, keys ────────────────────────► signed URL or verdict on stdout
//! ```
//!
//! Limits: an avatar has at most 16 MiB, and a password at most 1 KiB; the configuration contains
//! all other limits. Errors: a command returns its exit code, or the errors to report. A file of
//! the library that cannot be read or converted does not end the command: the command reports it,
//! and returns the exit code for findings. Threads: `scan` and `prefetch` start one thread, which
//! draws the progress bar on a terminal; `convert` starts one thread per cell.

#![forbid(unsafe_code)]
// `eprintln!` and `println!` are denied: they panic if the line cannot be written, and block while
// the reader of the output does not read.
#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod convert;
pub mod prefetch;
pub mod profile;
pub mod purge;
pub mod quarantine;
mod replace;
mod running_server;
pub mod scan;
pub mod sign;
pub mod user;
