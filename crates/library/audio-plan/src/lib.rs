//! Transcoding of audio: the decision whether to transcode, and the plan of a transcode. The
//! crate opens no files, reads no clock and handles no samples; `worker` executes a plan with the
//! crate `audio`.
//!
//! Principal entry: [`decide`]. It either decides to send the original file, or returns a [`Plan`].
//! The plan is sent to the worker. Together with the version of the original, it also forms the key
//! of the variant in the cache.
//!
//! ```text
//! request ─ AudioRequest ─┐
//! index ─── Source ───────┴─ decide ─► Raw(reason) │ Transcode(Plan) ─► bytes ─► worker ─┐
//!                                              verified output ◄─ Checker ◄─ Ogg Opus ◄──┘
//! ```
//!
//! The only output format is Opus in Ogg. Of the lossy formats that most players support, it needs
//! the fewest bytes for the same quality, and its encoder has a permissive licence.
//!
//! Units and limits: times are in milliseconds, rates in bits or kilobits per second, as each name
//! states. [`Limits`] bounds the length of tracks that are transcoded. [`packets`] parses the
//! tables of an MP4 file in memory. [`Checker`] verifies a worker's output incrementally, page by
//! page. Errors: [`MalformedPlan`] is the fault of the sender, [`StreamViolation`] of the worker,
//! [`Malformed`] of the file. Threads: none. Sources: RFC 3533 (Ogg), RFC 6716 and 7845 (Opus, Opus
//! in Ogg).

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

/// Sample rate of the output, the only one that Ogg Opus uses.
pub const SAMPLE_RATE_HZ: u32 = 48_000;
/// Media type of the output (RFC 7845 §9).
pub const MEDIA_TYPE: &str = "audio/ogg; codecs=opus";
/// File name extension of the output, and name of its format in requests.
pub const SUFFIX: &str = "opus";

#[cfg(test)]
mod tests;
