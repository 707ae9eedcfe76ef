//! The store over RESP: connections, pub/sub, blocking commands, configuration, files. No data structures: those are
//! `keyspace`'s.
//!
//! Principal type: [`Server`], which opens the sockets of a [`Config`] and serves them until it is stopped. Others in the
//! process run commands by its [`Handle`], without a socket; [`Remote`] does the same with a store elsewhere. [`Embedded`] is a
//! small store of its own, without a server.
//!
//! ```text
//!              ┌ core: one pinned thread, which owns everything below ────────────────────────────┐
//! TCP,  ──────►│ connection ─► resp::Parser ─► dispatch ─┬─► keyspace::execute ─► effects ─┐       │
//! Unix         │     ▲                                   └─► command/* (CLIENT, INFO, …)   │       │
//!              │     └─ one write ◄─ committed ◄─ Out ◄──── pubsub, block, persist ◄───────┘       │
//!              └──────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A turn: a connection reads once, runs every whole command in what came, waits for the journal where the setting says
//! so, and writes all replies with one system call. Blobs are read into their final place and written from it.
//!
//! Threads: one core owns the data, so a command is one borrow of one cell and locks nothing; the other cores of the
//! process have no part in it. To use more of them, `keyspace` is cut into segments and a core gets some of those; what
//! crosses segments then needs an order, which is why it is not done before it is measured to pay.
//!
//! Order: replies of one client come in the order of its commands; a message of pub/sub that one of its own commands
//! causes follows that command's reply. Clients blocked on a key are served in the order they came.
//!
//! Units and limits: the configuration has Redis's names and units; [`Limits`] bounds what has no name there. What a
//! slow reader pins counts as its output, by the classes of `client-output-buffer-limit`.
//! Errors: what a client does wrong is answered, with Redis's texts. [`ConfigError`] is the fault of who wrote the
//! configuration, [`Error`] the host's or the files'.
//! Sources: the RESP specification; the behaviour of Redis 7.2, by its documentation and by asking a server.

#![forbid(unsafe_code)]

mod block;
mod client;
mod clock;
mod command;
mod config;
mod connection;
mod dispatch;
mod embedded;
mod error;
mod latency;
mod limits;
mod local;
mod pace;
mod persist;
mod process;
mod pubsub;
mod redact;
mod remote;
mod rename;
mod rewrite;
mod service;
mod settings;
mod slowlog;
mod state;
mod stats;
#[cfg(test)]
mod tests;
mod text;

pub use config::{Config, ConfigError, LogLevel};
pub use embedded::{Conversation, Embedded, Holdings};
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use local::{ComputeError, Handle, Stopped, Terms};
pub use process::version;
pub use remote::{Remote, Url, UrlError};
pub use service::Server;
