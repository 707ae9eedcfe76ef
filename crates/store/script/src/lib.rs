//! Lua scripts of a Redis-compatible store. No sockets, no files, no clock, no data.

#![forbid(unsafe_code)]

mod cache;
mod limits;
mod number;
mod random;

pub use cache::{Flags, LoadError, Sha};
pub use limits::Limits;
