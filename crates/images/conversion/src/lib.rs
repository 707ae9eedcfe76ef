//! Conversions of pictures and transcodes of tracks. The crate contains the queues, which run at
//! most one job per key at a time, and the jobs, which workers run in sandboxes. It is independent
//! of protocols.
//!
//! Principal types: [`flight::Flights`] is the queue of picture conversions,
//! [`transcode::Transcoder`] is the queue of transcodes of tracks, and [`convert::Converter`] runs
//! one conversion and writes the variant to the disk.
//!
//! ```text
//! server -> flight or transcode -> convert -> cell
//!                                          -> variants (disk)
//! ```
//!
//! Units and limits: [`flight::Limits`], [`transcode::Limits`]; sizes are in bytes and times in
//! milliseconds. Errors: an outcome says who is at fault. If a conversion fails, the reason is
//! remembered in place of the variant. Originals that crash workers are quarantined. Threads:
//! `convert-N`, `improve-N` and `transcode-N`; requests wait on channels.

#![forbid(unsafe_code)]

pub mod chunks;
pub mod convert;
pub mod flight;
pub mod growing;
pub mod metrics;
pub mod quarantine;
mod queue;
pub mod score;
pub mod single_flight;
mod sync;
#[cfg(test)]
mod tests;
pub mod transcode;
