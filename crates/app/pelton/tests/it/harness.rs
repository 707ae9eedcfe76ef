//! Shared code of the tests: the running program, clients that send raw bytes, and generated
//! pictures.

mod caller;
mod certificate;
mod client;
pub(crate) mod frames;
mod home;
mod http2;
pub(crate) mod media;
mod metrics;
mod processes;
mod secure;
mod server;
mod wait;

pub(crate) use caller::{Caller, Reply};
pub(crate) use certificate::Certificate;
pub(crate) use client::{Client, Response};
pub(crate) use frames::Frames;
pub(crate) use home::Home;
pub(crate) use http2::Http2;
pub(crate) use metrics::Metrics;
pub(crate) use processes::{Workers, halt, is_alive, signal};
pub(crate) use secure::{Secure, trusting};
pub(crate) use server::{Server, pelton};
pub(crate) use wait::{eventually, repetitions};
