//! Flood guard: decides what a client is waited for, and whether it is worth waiting for.
//!
//! ```text
//!   a response is in preparation ─► nothing is armed
//!   else, bytes are unwritten, or more will follow ─► Wait::Write, renewed by each step
//!   else, a frame or a head is incomplete ─► Wait::Head, renewed by each request
//!   else ─► Wait::Idle
//! ```

use reactor::{Deadline, Wait};

use super::Limits;

/// Counters by which a connection is judged.
#[derive(Debug)]
pub(super) struct FloodGuard {
    limits: Limits,
    /// Bytes of bodies per step: what the client must read within one wait.
    step_bytes: u64,
    /// Bytes since the last step.
    since_step: u64,
    /// Number of steps, and of responses handed over whole.
    steps: u64,
    /// Number of requests.
    requests: u64,
    /// Bytes received since the last request or step.
    idle_bytes: usize,
    /// Streams reset by the client, minus the streams it completed.
    resets: u32,
    /// Armed wait, after the first bytes of the client.
    armed: Option<Armed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    Nothing,
    /// Armed at this number of steps.
    Write(u64),
    /// Armed at this number of requests: a client that sends single bytes gets no extra time.
    Head(u64),
    /// Armed at this number of steps: responses that left at once are a sign of life too.
    Idle(u64),
}

/// State of a connection's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// True if a response is in preparation.
    pub(super) makes: bool,
    /// True if bytes wait for the client.
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
    pub(super) fn came(&mut self, bytes: usize) {
        self.armed = self.armed.or(Some(Armed::Nothing));
        self.idle_bytes += bytes;
    }

    /// Records that some of the received bytes belong to a body.
    pub(super) fn expected(&mut self, bytes: usize) {
        self.idle_bytes = self.idle_bytes.saturating_sub(bytes);
    }

    /// Records a request.
    pub(super) fn asked(&mut self) {
        self.requests += 1;
        self.idle_bytes = 0;
    }

    /// Records written bytes of bodies. Responses to noise do not count.
    pub(super) fn took(&mut self, bytes: usize) {
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

    /// Records a response that was handed over whole.
    pub(super) fn note_whole_response(&mut self) {
        self.resets = self.resets.saturating_sub(1);
        self.step();
    }

    /// Records a stream that ended without its response.
    pub(super) fn note_unanswered(&mut self) {
        self.resets += 1;
    }

    /// Returns whether the client mostly sends noise, or requests that it then resets.
    pub(super) fn is_abused(&self) -> bool {
        self.limits.idle_bytes_max < self.idle_bytes || self.limits.resets_max < self.resets
    }

    /// Arms the wait for the current state. Before the first bytes the initial wait stays.
    pub(super) fn settle(&mut self, deadline: &Deadline, work: Work) {
        let Some(armed) = self.armed else {
            return;
        };
        let waits = match work {
            Work { makes: true, .. } => Armed::Nothing,
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
