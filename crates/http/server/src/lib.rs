//! HTTP service: a library of originals, served as the smallest variant that each client can
//! decode.
//!
//! Principal types: [`Service`], which all cores share, and [`Core`], its state on one core.
//! [`serve`] runs one connection. A request passes through these files:
//!
//! ```text
//! connection ─► exchange, or h2::session: parse, and write at the end
//!   └─► route ─► ready ────────────────────────► respond: a hit needs only memory of its core
//!         ├─► access_control
//!         ├─► mount, mount_response: paths outside the library
//!         └─► file_request ─► lookup ─► choose ─► variants::cache
//!                               │         └─► conversion::flight ─► convert ─► cell
//!                               └─► representation::prepare ─► respond ─► head, bytes
//! ```
//!
//! The service is not a proxy cache, and never touches pixels. `image_plan` decides which variants
//! a picture may have. A worker, which is a sandboxed process, encodes the variants.
//!
//! Units and limits: [`Limits`] for caches and responses, [`conversion::flight::Limits`] for
//! conversions, `image_plan::Limits` and `http1::Limits` for input. Errors: [`problem::Problem`]
//! tells clients who is at fault; [`OpenError`] is for the operator. Threads: all cores share
//! [`conversion`] and [`variants`]; all other mutable state belongs to one core. Sources: RFC 9110,
//! 9111, 9112, 9457 (problems), 9211 (Cache-Status).

#![forbid(unsafe_code)]

mod connection;
mod exchange;
mod h2;
mod input;
mod scheme;
pub mod tls;
mod transport;

mod access_control;
pub mod gate;
pub mod session_cookie;

pub mod denial;
mod file_request;
pub mod iiif;
mod iiif_response;
pub mod imgproxy;
pub mod permission;
mod quota;
mod redirect;
mod request_context;
mod route;
pub mod signature;

mod compare;
mod describe;
mod favicon;
mod gallery;
mod paths;

pub mod mount;
mod mount_response;

mod lookup;
mod ready;

pub mod choice;
mod choose;
mod known;
pub mod media_type;

pub mod archive;
mod coding;
mod encode;
mod fields;
mod not_found;
mod parted;
pub mod path_tags;
pub mod problem;
mod purge;
pub mod representation;
mod respond;
mod response;
mod response_memory;

mod batch;
mod head;
mod request_id;
mod trace;

mod core;
pub mod figures;
mod live;
mod live_core;
mod prefetch;
mod service;
mod settings;

pub mod access;
pub mod metrics;

pub use connection::serve;
pub use core::Core;
pub use fields::{Cors, Headers};
pub use h2::limits::Limits as Http2Limits;
pub use known::Known;
pub use live::Live;
pub use live_core::LiveCore;
pub use prefetch::PrefetchProgress;
pub use scheme::{Https, Scheme};
pub use service::{OpenError, Service};
pub use settings::{Limits, Settings};
