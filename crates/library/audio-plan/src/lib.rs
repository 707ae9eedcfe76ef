//! Transcoding decisions and plans for audio: sources, requests, decisions. No files, no clock, no
//! samples; `worker` executes a plan with the crate `audio`.
//!
//! Principal entry: [`decide`]. It decides to send the original file unchanged, or returns a
//! [`Plan`], which is sent with a job and, together with the original's version, forms the key of a
//! variant.
//!
//! ```text
//! request ─ AudioRequest ─┐
//! index ─── Source ───────┴─ decide ─► Raw(reason) │ Transcode(Plan) ─► bytes ─► worker ─┐
//!                                              verified output ◄─ Checker ◄─ Ogg Opus ◄──┘
//! ```
//!
//! The only output format is Opus in Ogg: among the formats that players support, it alone has an
//! encoder with a permissive licence, and it needs the fewest bytes.
//!
//! Units and limits: times are milliseconds, rates are bits or kilobits per second, as stated by
//! each name; [`Limits`] bounds the tracks that are transcoded. [`packets`] reads the tables of an
//! MP4 file in memory. [`Checker`] verifies a worker's output incrementally, in complete pages.
//! Errors: [`MalformedPlan`] is the sender's fault, [`StreamViolation`] the worker's, [`Malformed`]
//! a file's. Threads: none. Sources: RFC 3533 (Ogg), RFC 6716 and 7845 (Opus, Opus in Ogg).

#![forbid(unsafe_code)]

mod checker;
mod decide;
mod mp4;
mod plan;
mod source;

pub use checker::{Checker, StreamViolation, page_crc};
pub use decide::{AudioRequest, Decision, Format, Limits, RawReason, decide};
pub use mp4::{Malformed, Packets, packets};
pub use plan::{Cost, Gain, MalformedPlan, Plan, TEXT_BYTES_MAX};
pub use source::{Codec, Source};

/// Sample rate of the output; Opus has no other.
pub const SAMPLE_RATE_HZ: u32 = 48_000;
/// Media type of the output (RFC 7845 §9).
pub const MEDIA_TYPE: &str = "audio/ogg; codecs=opus";
/// File extension of the output, and name of its format in requests.
pub const SUFFIX: &str = "opus";

#[cfg(test)]
mod tests;
