//! Subsonic API 1.16.1 with the OpenSubsonic extensions, and the same functions as a plain JSON
//! API. The crate opens no sockets: it accepts the endpoint name and the parameters of a request,
//! and returns a document. If the request is for a file, the crate returns a target (path and
//! query), at which the program that uses the crate serves the file.
//!
//! Principal types: [`Server`], which handles requests, and [`Store`], which stores users,
//! playlists, stars and the like. [`LibraryAccess`] is the interface that the program must
//! implement: the index, scans, and the targets of files and covers.
//!
//! ```text
//! name, parameters ─► log in ─► endpoint ─┬─ reads index and store ─► Writer ─► XML, JSON, JSONP
//!                                         ├─ changes the store ─► journal, synced ─► Writer
//!                                         └─ names a file ─► its target in the library
//! ```
//!
//! Units and limits: times are in milliseconds since 1970, except where the Subsonic protocol uses
//! seconds. [`Limits`] bounds the entries of one response and the data of one user. Errors:
//! protocol errors are documents; a [`StoreError`] is a fault of the host. Threads: every call may
//! wait for the disk, so call it from a thread that may block; calls may run concurrently. Sources:
//! the Subsonic API 1.16.1 and the OpenSubsonic extensions, as documented at
//! opensubsonic.netlify.app.

#![forbid(unsafe_code)]

mod server;
mod subsonic;

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
mod sessions;
mod system;

mod people;
mod renamed;
mod songs;

mod api;
mod page;

mod derived;
mod timeline;

mod auth;
mod store;

mod call;
mod context;
mod downloads;
mod fault;
mod groups;
mod guard;
mod ids;
mod index;
pub mod language;
mod library_access;
mod limits;
mod params;
mod playing;
mod response;
mod time;
mod visits;
mod write;

#[cfg(test)]
mod tests;

pub use api::ApiRequest;
pub use index::Index;
pub use library_access::{LibraryAccess, MotionVideo, Reading, Scanning, Watching};
pub use limits::Limits;
pub use login::{LoggedIn, LoginError};
pub use params::Params;
pub use response::Response;
pub use server::Server;
pub use sessions::{NewSession, SessionInfo, SessionLogin};
pub use shares::ShareRequest;
pub use store::{Damage, Store, StoreError, UserError};
pub use subsonic::Request;
