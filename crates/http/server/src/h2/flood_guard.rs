//! Flood guard: decides which deadline applies to a connection, and whether the client abuses the
//! connection.
//!
//! ```text
//!   a response is in preparation ─► no deadline
//!   else, bytes are unwritten, or more will follow ─► Wait::Write, renewed by each step
//!   else, a frame or a head is incomplete ─► Wait::Head: renewed by each request
//!   else ─► Wait::Idle
//! ```
//!
//! A step means that `step_bytes` bytes of bodies were written, or that one whole
//! response was queued.

use reactor::{Deadline, Wait};

use super::limits::Limits;

/// Counters of a client's progress (requests, written responses), and of its abuse of the
/// connection (bytes without progress, unanswered streams).
#[derive(Debug)]
pub(super) struct FloodGuard {
    limits: Limits,
    /// Number of written body bytes that count as one step. The client must accept that many bytes
    /// before the deadline for writing expires.
    step_bytes: u64,
    /// Number of body bytes written since the last step.
    since_step: u64,
    /// Number of steps so far: a step is `step_bytes` written bytes of bodies, or a response that
    /// was queued as a whole.
    steps: u64,
    requests: u64,
    /// Number of bytes received since the last request or the last step, whichever is later (see
    /// `steps`). Bytes of request bodies do not count.
    idle_bytes: usize,
    /// Number of streams that ended without their response, minus the streams that were completed.
    resets: u32,
    /// Event that the server waits for until the armed deadline. `None` until the client's first
    /// bytes arrive.
    armed: Option<Armed>,
}

/// Event that the server waits for until a deadline. Contains the value that a counter had when the
/// deadline was armed. A new deadline is armed only after that counter has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    Nothing,
    /// The server waits until the client accepts bytes. Contains the number of steps.
    Write(u64),
    /// The server waits for the rest of a head or frame. Contains the number of requests, which
    /// grows only with a complete head: single bytes arm no new deadline.
    Head(u64),
    /// The server waits for the next request. Contains the number of steps. A response that was
    /// sent at once is a step; the client then gets the full time again.
    Idle(u64),
}

/// State of a connection, which decides the event to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// True if a response is in preparation.
    pub(super) is_preparing: bool,
    /// True if bytes wait to be written to the client.
    pub(super) sends: bool,
    /// True if a frame, or a head of several frames, is incomplete.
    pub(super) has_partial_input: bool,
}

impl FloodGuard {
    pub(super) fn new(limits: Limits, step_bytes: u64) -> FloodGuard {
        FloodGuard {
            limits,
            step_bytes,
            since_step: 0,
            steps: 0,
            requests: 0,
            idle_bytes: 0,
            resets: 0,
            armed: None,
        }
    }

    /// Records received bytes.
    pub(super) fn note_received(&mut self, bytes: usize) {
        self.armed = self.armed.or(Some(Armed::Nothing));
        self.idle_bytes += bytes;
    }

    /// Records that `bytes` of the received bytes belong to a request body. These bytes no longer
    /// count as idle bytes.
    pub(super) fn note_upload_bytes(&mut self, bytes: usize) {
        self.idle_bytes = self.idle_bytes.saturating_sub(bytes);
    }

    pub(super) fn note_request(&mut self) {
        self.requests += 1;
        self.idle_bytes = 0;
    }

    /// Records that bytes of response bodies were written. Replies to frames such as PING do not
    /// count.
    pub(super) fn note_body_bytes_written(&mut self, bytes: usize) {
        self.since_step += bytes as u64;
        if self.step_bytes <= self.since_step {
            self.step();
        }
    }

    fn step(&mut self) {
        self.since_step = 0;
        self.steps += 1;
        self.idle_bytes = 0;
    }

    /// Records a response that was queued as a whole.
    pub(super) fn note_whole_response(&mut self) {
        self.resets = self.resets.saturating_sub(1);
        self.step();
    }

    /// Records a stream that ended without its response.
    pub(super) fn note_unanswered(&mut self) {
        self.resets += 1;
    }

    /// Returns whether the client sends too many bytes without requests, or whether too many of its
    /// streams end without a response.
    pub(super) fn is_abused(&self) -> bool {
        self.limits.idle_bytes_max < self.idle_bytes || self.limits.resets_max < self.resets
    }

    /// Arms the deadline for the current state. Until the first bytes arrive, the initial deadline
    /// remains.
    pub(super) fn arm_deadline(&mut self, deadline: &Deadline, work: Work) {
        let Some(armed) = self.armed else {
            return;
        };
        let waits = match work {
            Work {
                is_preparing: true, ..
            } => Armed::Nothing,
            Work { sends: true, .. } => Armed::Write(self.steps),
            Work {
                has_partial_input: true,
                ..
            } => Armed::Head(self.requests),
            _ => Armed::Idle(self.steps),
        };
        if waits == armed {
            return;
        }
        match waits {
            Armed::Nothing => deadline.disarm(),
            Armed::Write(_) => deadline.arm(Wait::Write),
            Armed::Head(_) => deadline.arm(Wait::Head),
            Armed::Idle(_) => deadline.arm(Wait::Idle),
        }
        self.armed = Some(waits);
    }
}
