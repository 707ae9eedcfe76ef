//! Commands about the server and its connections. Commands about keys are in the crate `keyspace`.

mod auth;
mod call;
mod client;
mod config;
mod debug;
mod emulated;
mod function;
mod info;
mod latency;
mod pubsub;
mod script;
mod server;
mod slowlog;
mod table;

pub(crate) use table::{Rules, rules, run};
