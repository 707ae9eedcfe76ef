//! Data of a Redis-compatible store, and the commands on it. No sockets, no files, no clock.
//!
//! Principal type: [`Keyspace`]. It receives the arguments of a command and the time, and appends
//! the reply to a [`resp::Out`].
//!
//! ```text
//! [Bytes] ─► execute ─► table ─► handler ─► Db ─► Dict ─► Value        reply ─► Out
//!               │                    └─► effects: commands for the AOF, events, ready keys
//!               └─► Outcome: done, refused, queued, block, service command, run these (EXEC)
//! ```
//!
//! ```
//! use bytes::Bytes;
//! use keyspace::{Keyspace, Limits, Session};
//! use resp::{Out, Proto};
//!
//! let mut keyspace = Keyspace::new(Limits::default(), 7);
//! let mut session = Session::new();
//! let mut out = Out::new(Proto::Resp2);
//! let args = ["LPUSH", "queue", "job"].map(Bytes::from);
//! keyspace.execute(&mut session, &args, 0, &mut out);
//! assert_eq!(out.to_bytes(), ":1\r\n");
//! ```
//!
//! Callers in the same process read and write the data without commands: [`Keyspace::get`] returns
//! the same buffer that replies refer to.
//!
//! Units and limits: times are Unix milliseconds, sizes bytes; [`Limits`] bounds databases,
//! strings, memory and the work of one turn (a pass of the event loop). `now` is an argument of
//! every function that needs it; the caller reads the clock once per turn. Errors: a refused
//! command gets the same error reply as in Redis; a file that violates the RDB format is not
//! loaded. Threads: plain values, owned by one core. Sources: the command reference of Redis 7.2,
//! and the replies of Redis servers.

#![forbid(unsafe_code)]

mod chunked;
mod command;
mod commands;
mod context;
mod db;
mod decimal;
mod defrag;
mod dict;
mod discard;
mod evict;
mod fault;
mod hash;
mod keyspace;
mod list;
mod listpack;
mod memory;
mod notify;
mod outcome;
mod packed;
pub mod rdb;
mod session;
mod set;
mod settings;
mod snapshot;
mod stream;
mod string;
mod table;
mod tags;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod value;
mod waiting;
mod watches;
mod zset;

pub use command::{Block, Command, Flags, Group, Keys};
pub use commands::server::send_help;
pub use db::Lifetime;
pub use keyspace::{Effects, Keyspace, LastLoad, Stats};
pub use notify::{Class, Event, Notify};
pub use outcome::Outcome;
pub use session::{Prefetched, Session};
pub use settings::{Encodings, Limits, Policy};
pub use table::{command, commands, unknown_command};
pub use text::glob;

/// Tests the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
