//! Whether a client is worth waiting for, and what for.
//!
//! ```text
//!   an answer is in the making ─► nothing is armed
//!   else, something is not written, or more is to be ─► Wait::Write, anew with each step of it
//!   else, a frame or a head has begun ─► Wait::Head, anew with each request
//!   else ─► Wait::Idle
//! ```

use reactor::{Deadline, Wait};

use super::Limits;

/// What a connection is judged by.
#[derive(Debug)]
pub(super) struct Pulse {
    limits: Limits,
    /// Bytes of bodies that make a step: what the client must take in the time of one wait.
    step_bytes: u64,
    /// Those since the last step.
    since_step: u64,
    /// Steps, and answers handed over whole.
    steps: u64,
    /// Requests that came.
    requests: u64,
    /// Bytes that came since a request or a step.
    idle_bytes: usize,
    /// Streams given up by the client, less those it took.
    resets: u32,
    /// What is armed, once the client has said anything.
    armed: Option<Armed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    Nothing,
    /// Since so many steps.
    Write(u64),
    /// Since so many requests: who sends the next one byte by byte gets no more time for it.
    Head(u64),
    /// Since so many steps: answers that left at once were a sign of life, too.
    Idle(u64),
}

/// What a connection is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// Something is in the making.
    pub(super) makes: bool,
    /// Something waits for the client.
    pub(super) sends: bool,
    /// A frame, or a head of several, has begun and is not whole.
    pub(super) has_begun: bool,
}

impl Pulse {
    pub(super) fn new(limits: Limits, step_bytes: u64) -> Pulse {
        Pulse {
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

    /// So many bytes came.
    pub(super) fn came(&mut self, bytes: usize) {
        self.armed = self.armed.or(Some(Armed::Nothing));
        self.idle_bytes += bytes;
    }

    /// So many of them were a body's.
    pub(super) fn expected(&mut self, bytes: usize) {
        self.idle_bytes = self.idle_bytes.saturating_sub(bytes);
    }

    /// A request came.
    pub(super) fn asked(&mut self) {
        self.requests += 1;
        self.idle_bytes = 0;
    }

    /// So many bytes of bodies were written. What answers noise is no step.
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

    /// An answer was handed over whole.
    pub(super) fn took_whole(&mut self) {
        self.resets = self.resets.saturating_sub(1);
        self.step();
    }

    /// A stream ended without its answer.
    pub(super) fn gave_up(&mut self) {
        self.resets += 1;
    }

    /// Whether what the client sends is mostly noise, or requests it does not want.
    pub(super) fn is_abused(&self) -> bool {
        self.limits.idle_bytes_max < self.idle_bytes || self.limits.resets_max < self.resets
    }

    /// Arms what is now waited for. Until the first bytes that is what was armed before.
    pub(super) fn settle(&mut self, deadline: &Deadline, work: Work) {
        let Some(armed) = self.armed else {
            return;
        };
        let waits = match work {
            Work { makes: true, .. } => Armed::Nothing,
            Work { sends: true, .. } => Armed::Write(self.steps),
            Work {
                has_begun: true, ..
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
