//! HTTP service: a library of originals, served as the smallest variant that each client can
//! decode.
//!
//! Principal types: [`Service`], which all cores share, and [`Core`], its state on one core.
//! [`serve`] runs one connection. A request passes these files:
//!
//! ```text
//! connection ─► answer ─► core ─────────── ready ──► bytes: a hit touches nothing shared
//!                 ├─► mount: paths outside the library
//!                 └─► choose ─► conversion::flight ─► convert ─► cell
//!                       │                               └─► variants::cache (disk)
//!                       └─► representation ─► head, bytes
//! ```
//!
//! The service is not a proxy cache, and it never touches pixels: `image_plan` decides what may be
//! made of a picture, the worker makes it.
//!
//! Units and limits: [`Limits`] for caches and responses, [`conversion::flight::Limits`] for
//! conversions, `image_plan::Limits` and `http1::Limits` for input. Errors: [`problem::Problem`]
//! for clients, by who is at fault; [`OpenError`] for the operator. Threads: cores meet in
//! [`conversion`] and [`variants`]; everything else belongs to one core. Sources: RFC 9110, 9111,
//! 9112, 9457 (problems), 9211 (Cache-Status).

#![forbid(unsafe_code)]

mod batch;
mod connection;
mod h2;
mod input;
mod scheme;
pub mod tls;
mod transport;

mod answer;
mod answer_memory;
pub mod archive;
mod coding;
mod core;
mod favicon;
mod fields;
pub mod gate;
mod head;
mod parted;
mod request_id;
mod trace;

pub mod choose;
pub mod representation;

mod describe;
mod elsewhere;
mod gallery;
mod prefetch;

mod service;

pub mod mount;

mod live;

pub mod media_type;
pub mod problem;

pub mod access;
pub mod metrics;

pub use connection::serve;
pub use core::Core;
pub use fields::{Cors, Headers};
pub use h2::Limits as Http2Limits;
pub use live::{Live, LiveCore};
pub use prefetch::PrefetchProgress;
pub use scheme::{Https, Scheme};
pub use service::{Known, Limits, OpenError, Service, Settings};
