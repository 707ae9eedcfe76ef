//! Judgement of a host, as it matters to a server that runs on it: facts in, findings out. No I/O,
//! no clock; crate `host` reads the facts.
//!
//! Principal items: [`Facts`], [`CHECKS`] and [`judge`].
//!
//! ```text
//! Facts ──► CHECKS, one row per property of the host ──► Report, the worst finding first
//! ```
//!
//! Units and limits: names of fields end in their unit; [`Cpus`] holds numbers below
//! [`Cpus::END`]. Errors: a fact that could not be read is a [`Fact`] with the reason, and the rows
//! that need the fact are unknown. Threads: none. Sources:
//! `Documentation/admin-guide/sysctl/net.rst`, `Documentation/networking/scaling.rst` and
//! `napi.rst` of Linux; for the gains, Marc Richards, "Extreme HTTP Performance Tuning", 2021, here
//! called "the article", whose steps have numbers.

#![forbid(unsafe_code)]

mod check;
mod cpus;
mod fact;
mod facts;
mod rows;
#[cfg(test)]
mod tests;
mod text;
mod verdict;

pub use check::{Check, Class, Finding, Judgement, Report, Standing};
pub use cpus::Cpus;
pub use fact::{Evidence, Fact, Unread};
pub use facts::{
    Audit, Bounds, Channels, Coalescing, Connection, Facts, Interface, Interrupt, Kernel, Listener,
    Memory, Metrics, Network, Process, Processors, Qdisc, Quota, Release, Rings, Server, Steering,
    Tap, Thread, Throttling,
};
pub use rows::{CHECKS, judge};
pub use text::{Rows, Style, write_report};
