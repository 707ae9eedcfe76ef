//! Messages between the server and a cell, which is a sandboxed process or microVM. The server
//! sends a job, and the cell sends one reply. The crate encodes and decodes the bytes of messages;
//! it does not send file descriptors.
//!
//! Principal types: [`Job`] and [`AllegedReply`]. Two descriptors accompany a job: the original,
//! read-only, and the memfd for the output. [`AllegedReply::verify`] checks a reply and returns it
//! as a [`Reply`]. A persistent program exchanges records instead: [`request_head`] and
//! [`OutputRecord`]. Messages between a pool and its zygote are in [`control`].
//!
//! ```text
//! server ── Job ─────────────────────────► cell
//!           header 64 bytes, plan ≤ 512 bytes, original fd, output fd
//! server ◄───────────────────────── Reply ─ cell
//!           header 64 bytes, detail ≤ 256 bytes
//! ```
//!
//! Units and limits: integers are little-endian and of explicit width; sizes are in bytes or
//! pixels, times in milliseconds or microseconds. Each message fits one `SOCK_SEQPACKET` packet of
//! at most [`MESSAGE_BYTES_MAX`].
//!
//! Errors: a malformed message is the sender's fault. The sender of a reply is the worker, which is
//! not trusted.

#![forbid(unsafe_code)]

pub mod control;
mod message;
mod record;
#[cfg(test)]
mod tests;

pub use message::{
    AllegedReply, DETAIL_BYTES_MAX, ENVIRONMENT_BYTES_MAX, Expect, JOB_HEADER_BYTES, Job,
    JobLimits, MESSAGE_BYTES_MAX, Malformed, PLAN_BYTES_MAX, REPLY_HEADER_BYTES, Reply, Status,
    Violation,
};
pub use record::{ANSWER_HEAD_BYTES, Excess, OutputRecord, REQUEST_HEAD_BYTES, request_head};
