//! The HTTP service: a library of originals, answered with the smallest variant each client can read.
//!
//! Principal types: [`Service`], shared by all cores, and [`Core`], one core's share of it, whose [`serve`] is the life of
//! a connection. A request's path through the files:
//!
//! ```text
//! connection ─► answer ─► core ──────────── ready ──► bytes, a hit: nothing shared is touched
//!                 ├─► mount, for what is no library
//!                           └─► choose ─► flight ─► convert ─► cell
//!                                  │                    └────► variants on disk
//!                                  └─► representation ─► bytes
//! ```
//!
//! It is no cache of somebody else's server, and knows no pixels: what may be made of a picture is `picture`'s to say,
//! making it the worker's.
//!
//! Units and limits: [`Limits`] for caches and answers, [`conversion::flight::Limits`] for conversions, `image_plan::Limits` and
//! `http1::Limits` for what comes in. Errors: [`problem::Problem`] for clients, by who is at fault; [`OpenError`] for the
//! operator. Threads: see [`conversion`] and [`variants`], which are where cores meet; everything else belongs to one core.
//! Sources: RFC 9110, 9111, 9112, 9457 (problems), 9211 (Cache-Status), OpenMetrics 1.0.

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
pub use prefetch::Tally;
pub use scheme::{Https, Scheme};
pub use service::{Known, Limits, OpenError, Service, Settings};
