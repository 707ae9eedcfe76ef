//! What may be made of a track for a player that asks for less than the file: sources, wishes, decisions, plans. No
//! files, no clock, no samples; what a plan says is done by `worker`, with `audio`.
//!
//! Principal entry: [`decide`]. What comes of it is the file as it is, or a [`Plan`], which is a job's plan and, with the
//! original's version, a variant's key.
//!
//! ```text
//! what was asked ─ Wish ──┐
//! the index ───── Source ─┴─ decide ─► Raw(why) │ Make(Plan) ─► bytes ─► worker ─► Ogg Opus ─► Checker ─► believed
//! ```
//!
//! What is made is Opus in Ogg and nothing else: of the formats that players have, it alone has an encoder whose licence
//! lets everybody use it, and it needs the fewest bytes.
//!
//! Units and limits: times are milliseconds, rates bits or kilobits a second, as names say; [`Limits`] bounds what is
//! taken on. [`packets`] reads the tables of an MP4 file that is in memory. [`Checker`] reads what a worker made, piece by piece, and believes whole pages only. Errors:
//! [`MalformedPlan`] is the sender's fault, [`Lie`] the worker's, [`Malformed`] a file's. Threads: none. Sources: RFC 3533 (Ogg), RFC 6716 and
//! 7845 (Opus, Opus in Ogg).

#![forbid(unsafe_code)]

mod checker;
mod decide;
mod mp4;
mod plan;
mod source;

pub use checker::{Checker, Lie, page_crc};
pub use decide::{Decision, Format, Limits, Why, Wish, decide};
pub use mp4::{Malformed, Packets, packets};
pub use plan::{Cost, Gain, MalformedPlan, Plan, TEXT_BYTES_MAX};
pub use source::{Codec, Source};

/// Samples a second and channel of what is made; Opus has no other.
pub const SAMPLE_RATE_HZ: u32 = 48_000;
/// Media type of what is made (RFC 7845 §9).
pub const MEDIA_TYPE: &str = "audio/ogg; codecs=opus";
/// Ending of its files, and how players ask for it.
pub const SUFFIX: &str = "opus";

#[cfg(test)]
mod tests;
