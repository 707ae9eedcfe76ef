//! What the tests stand on: the program, a client that speaks bytes, and pictures made on the spot.

mod caller;
mod client;
mod home;
pub(crate) mod media;
mod metrics;
mod processes;
mod server;
mod wait;

pub(crate) use caller::{Caller, Reply};
pub(crate) use client::{Answer, Client};
pub(crate) use home::Home;
pub(crate) use metrics::Metrics;
pub(crate) use processes::{Workers, is_alive, signal};
pub(crate) use server::{Server, pelton};
pub(crate) use wait::{eventually, repetitions};
