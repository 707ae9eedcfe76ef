//! The Redis-compatible server: connections, pub/sub, blocking commands, configuration, files. The
//! data structures are in the crate `keyspace`.
//!
//! Principal type: [`Server`], which opens the sockets of a [`Config`] and serves them until it is
//! stopped. Other threads of the process run commands through its [`Handle`], without a socket;
//! [`Remote`] runs commands in a store of another process or host. [`Embedded`] is a small store
//! without a server.
//!
//! ```text
//!              ┌ core: one pinned thread, which owns everything below ──────────────────────────┐
//! TCP,  ──────►│ connection ─► resp::Parser ─► dispatch ─┬─► keyspace::execute ─► effects ─┐     │
//! Unix         │     ▲                                   └─► command/* (CLIENT, INFO, …)   │     │
//!              │     └─ one write ◄─ committed ◄─ Out ◄──── pubsub, block, persist ◄───────┘     │
//!              └────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A turn is one pass of the core's event loop. In a turn, a connection reads once and runs every
//! complete command in the bytes that it read. If `appendfsync` is `always`, the connection then
//! waits for the AOF. It writes all replies together, usually with one system call. Large values
//! are read from the socket into the memory where they are kept, and written to the socket from
//! there.
//!
//! Threads: one core owns the data, so commands need no lock; the other cores of the process are
//! not involved. To use more cores, `keyspace` would have to be split into segments, each owned by
//! a core. Commands across segments would then need an order. So the split is not made until a
//! measurement shows its benefit.
//!
//! Order: a client gets its replies in the order of its commands. If a client's command causes a
//! pub/sub message to the same client, the message follows the command's reply. Clients blocked on
//! a key are served in the order in which they blocked.
//!
//! Units and limits: the configuration has Redis's names and units; [`Limits`] has the limits for
//! which Redis has no directive. Memory that cannot be freed because a client reads slowly counts
//! as waiting output, which `client-output-buffer-limit` bounds. Errors: the replies to faulty
//! commands have the same text as in Redis. [`ConfigError`] reports a mistake in the configuration;
//! [`Error`] reports a problem of the host or of the store's files. Sources: the RESP
//! specification; the behaviour of Redis 7.2, from its documentation and from experiments with a
//! server.

#![forbid(unsafe_code)]

mod block;
mod client;
mod clients;
mod clock;
mod command;
mod config;
mod connection;
mod dispatch;
mod effects;
mod embedded;
mod error;
mod functions;
mod housekeeping;
mod latency;
mod limits;
mod local;
mod pace;
mod pause;
mod persist;
mod process;
mod pubsub;
mod redact;
mod remote;
mod rename;
mod rewrite;
mod run_script;
mod script_log;
mod script_task;
mod scripts;
mod service;
mod settings;
mod shared;
mod slowlog;
mod state;
mod statistics;
mod stats;
mod taken_reply;
#[cfg(test)]
mod tests;
mod text;

pub use config::{Config, ConfigError, LogLevel};
pub use embedded::{Embedded, EmbeddedSession, StoreUsage};
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use local::{ComputeError, ComputeOptions, Handle, Stopped};
pub use process::version;
pub use remote::{Remote, Url, UrlError};
pub use service::Server;
