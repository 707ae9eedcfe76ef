//! Messages between the server and a cell: one job out, one reply back. Bytes only; descriptors travel beside them.
//!
//! Principal types: [`Job`], sent with two descriptors (the original, read-only; the reply's memfd), and
//! [`AllegedReply`], which becomes a [`Reply`] only by [`AllegedReply::verify`]. A program that is kept speaks records
//! instead: [`request_head`] and [`AnswerRecord`]. What a pool and its zygote tell each other is in [`control`].
//!
//! ```text
//! server ── Job ─────────────────────────► cell
//!           header 64 bytes, plan ≤ 512 bytes, original fd, answer fd
//! server ◄───────────────────────── Reply ─ cell
//!           header 64 bytes, detail ≤ 256 bytes
//! ```
//!
//! Units and limits: integers are little-endian and of explicit width; sizes in bytes or pixels, times in milli- or
//! microseconds. Each message fits one `SOCK_SEQPACKET` packet of at most [`MESSAGE_BYTES_MAX`].
//! Errors: a malformed message is the sender's fault. For a reply that is the worker, whose word is only an allegation.

#![forbid(unsafe_code)]

pub mod control;
mod message;
mod record;
#[cfg(test)]
mod tests;

pub use message::{
    AllegedReply, DETAIL_BYTES_MAX, Expect, JOB_HEADER_BYTES, Job, JobLimits, Lie,
    MESSAGE_BYTES_MAX, Malformed, PLAN_BYTES_MAX, REPLY_HEADER_BYTES, Reply, Status,
};
pub use record::{ANSWER_HEAD_BYTES, AnswerRecord, Excess, REQUEST_HEAD_BYTES, request_head};
