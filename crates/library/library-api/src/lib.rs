//! The library for players: the Subsonic protocol 1.16.1 with OpenSubsonic, and the same as plain JSON. No sockets: a
//! request's name and parameters in, a document or the target of a file out.
//!
//! Principal types: [`Server`], which answers, and [`Store`], which keeps what users leave. What the house around them must
//! offer is a [`House`]: the index, scans, and where files and covers are served.
//!
//! ```text
//! name, parameters ─► who asks? ─► a row of the table ─┬─ reads the index and the store ─► Writer ─► XML, JSON, JSONP
//!                                                       ├─ changes the store ─► journal, synced ─► the same
//!                                                       └─ names a file ─► its own target in the library
//! ```
//!
//! Units and limits: times in milliseconds since 1970, but for what the protocol counts in seconds; [`Limits`] bounds what
//! one answer lists and what one user keeps. Errors: the protocol's, which are documents; [`StoreError`] is the host's
//! fault. Threads: every call may wait for the disk, so it belongs on a thread that may sleep; calls run beside each other.
//! Sources: the Subsonic API 1.16.1 and the OpenSubsonic extensions, as documented at opensubsonic.netlify.app.

#![forbid(unsafe_code)]

mod server;

mod endpoints;

mod browse;
mod lists;
mod search;

mod lyrics;
mod media;
mod named;
mod transcoding;

mod bookmarks;
mod marks;
mod playlists;
mod shares;

mod accounts;
mod login;
mod system;

mod people;
mod renamed;
mod songs;

mod api;
mod page;

mod derived;

mod auth;
mod store;

mod fault;
mod guard;
mod house;
mod ids;
mod limits;
mod params;
mod write;

#[cfg(test)]
mod tests;

pub use accounts::UserError;
pub use api::ApiRequest;
pub use house::{House, Reading, Scanning, Watching};
pub use limits::Limits;
pub use login::{LoggedIn, LoginError};
pub use params::Params;
pub use server::{Answer, Index, Request, Server};
pub use store::{Damage, Store, StoreError};
