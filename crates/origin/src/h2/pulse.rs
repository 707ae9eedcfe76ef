//! What an HTTP/2 connection waits for, and whether its client is worth waiting for.
//!
//! ```text
//!   an answer is in the making ─► nothing is armed
//!   else, something handed over is not written, or more is to be ─► Wait::Write, anew with each part written
//!   else ─► Wait::Idle
//! ```

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use http::request::Parts;
use http1::Method;
use reactor::{Conn, Wait};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body::Queued;
use super::{Limits, translate};
use crate::access::Said;
use crate::answer::Answer;
use crate::clock::unix_ms;
use crate::core::{Core, elapsed_us};
use crate::metrics::{Answered, Protocol};
use crate::request_id::RequestId;
use crate::trace::TraceId;

/// What a connection's streams share.
pub(super) struct Pulse {
    conn: Conn<()>,
    limits: Limits,
    /// Answers in the making.
    making: Cell<usize>,
    /// Bodies not yet handed over whole.
    sending: Cell<usize>,
    queued: Arc<Queued>,
    /// Parts that were written when last looked at.
    written: Cell<usize>,
    /// What the client had acknowledged when last asked.
    acked_bytes: Cell<u64>,
    turns: Arc<Semaphore>,
    /// What is armed, once the client has said anything.
    armed: Cell<Option<Armed>>,
    /// Bodies that wait until less of them waits to be written.
    waiting: RefCell<Vec<Waker>>,
    /// Bytes that came since a request or since anything was taken.
    idle_bytes: Cell<usize>,
    /// Streams given up by the client, less those it took.
    resets: Cell<u32>,
    /// Streams so far, and how many there may be.
    requests: Cell<u32>,
    requests_max: u32,
    /// [`Turn::Last`] was said.
    is_last: Cell<bool>,
    left: Cell<bool>,
    /// Where a head is put into words.
    text: Cell<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Armed {
    Nothing,
    /// Since so many parts were written.
    Write(usize),
    Idle,
}

/// Why [`Pulse::run`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The connection is over.
    Over,
    /// No more streams are to be opened: the reactor drains, there were enough, or another configuration holds. Said once.
    Last,
    /// It has been waited for long enough, or its place is needed.
    Leave,
}

impl Pulse {
    pub(super) fn new(conn: Conn<()>, limits: Limits, requests_max: u32) -> Pulse {
        Pulse {
            conn,
            limits,
            making: Cell::new(0),
            sending: Cell::new(0),
            queued: Arc::default(),
            written: Cell::new(0),
            acked_bytes: Cell::new(0),
            turns: Arc::new(Semaphore::new(limits.making_max)),
            armed: Cell::new(None),
            waiting: RefCell::default(),
            idle_bytes: Cell::new(0),
            resets: Cell::new(0),
            requests: Cell::new(0),
            requests_max,
            is_last: Cell::new(false),
            left: Cell::new(false),
            text: Cell::default(),
        }
    }

    /// Runs the connection until it is over or something is to be done about it.
    pub(super) async fn run(
        &self,
        mut served: Pin<&mut impl Future<Output = hyper::Result<()>>>,
        mut drain: Pin<&mut impl Future<Output = ()>>,
        acked: impl Fn() -> io::Result<u64>,
    ) -> Turn {
        let turns = poll_fn(|context| {
            if let Poll::Ready(ended) = served.as_mut().poll(context) {
                tracing::debug!(peer = %self.conn.peer, ?ended, "HTTP/2 connection over");
                return Poll::Ready(Turn::Over);
            }
            self.settle();
            self.wake_waiting();
            let mut is_last = || {
                self.requests_max <= self.requests.get() || drain.as_mut().poll(context).is_ready()
            };
            if !self.is_last.get() && is_last() {
                self.is_last.set(true);
                return Poll::Ready(Turn::Last);
            }
            Poll::Pending
        });
        // A part that is not written whole yet may be on its way all the same. What was acknowledged is compared with the
        // last time it was asked for, so a connection gets the time of one wait more than it should, once.
        let keeps_pace = || {
            self.conn.deadline.is_armed(Wait::Write)
                && acked().is_ok_and(|acked| {
                    let before = self.acked_bytes.replace(acked);
                    self.conn.core.limits().write_window_bytes() <= acked.saturating_sub(before)
                })
        };
        let ended = self.conn.deadline.within_while(turns, keeps_pace).await;
        ended.unwrap_or(Turn::Leave)
    }

    /// Whether it waits for a client that does not take its answers.
    pub(super) fn is_stuck(&self) -> bool {
        self.conn.deadline.is_armed(Wait::Write)
    }

    /// Runs a connection that was told to end, for as long as [`Wait::Linger`] allows.
    pub(super) async fn leave(&self, served: Pin<&mut impl Future<Output = hyper::Result<()>>>) {
        self.left.set(true);
        self.conn.deadline.arm(Wait::Linger);
        // How the client takes its leave changes nothing any more.
        drop(self.conn.deadline.within(served).await);
    }

    pub(super) fn listener(&self) -> usize {
        self.conn.listener
    }

    pub(super) fn peer(&self) -> IpAddr {
        self.conn.peer.ip()
    }

    pub(super) fn queued(&self) -> &Arc<Queued> {
        &self.queued
    }

    /// Waits for one of the turns to make an answer.
    pub(super) async fn turn(&self) -> OwnedSemaphorePermit {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        turn.expect("turns are never closed")
    }

    /// Waits until more of files may be read.
    pub(super) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        let waiting = &mut *self.waiting.borrow_mut();
        if !waiting.iter().any(|it| it.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
        Poll::Pending
    }

    fn has_room(&self) -> bool {
        self.queued.own_bytes.load(Relaxed) < self.limits.buffer_bytes_max
    }

    fn wake_waiting(&self) {
        if self.has_room() {
            self.waiting.borrow_mut().drain(..).for_each(Waker::wake);
        }
    }

    /// An empty buffer, used before if one is at hand.
    pub(super) fn take_text(&self) -> Vec<u8> {
        let mut text = self.text.take();
        text.clear();
        text
    }

    pub(super) fn give_back(&self, text: Vec<u8>) {
        self.text.set(text);
    }

    /// So many bytes came from the client.
    pub(super) fn came(&self, bytes: usize) {
        if bytes != 0 && self.armed.get().is_none() {
            self.armed.set(Some(Armed::Nothing));
        }
        self.idle_bytes.set(self.idle_bytes.get() + bytes);
    }

    /// So many of them were a body's.
    pub(super) fn expected(&self, bytes: usize) {
        let idle_bytes = self.idle_bytes.get();
        self.idle_bytes.set(idle_bytes.saturating_sub(bytes));
    }

    /// Whether what the client sends is mostly noise, or requests it does not want.
    pub(super) fn is_abused(&self) -> bool {
        self.limits.idle_bytes_max < self.idle_bytes.get()
            || self.limits.resets_max < self.resets.get()
    }

    /// Arms what is now waited for. Until the first bytes that is what was armed before.
    fn settle(&self) {
        let Some(armed) = self.armed.get() else {
            return;
        };
        if self.left.get() {
            return;
        }
        let written = self.queued.written.load(Relaxed);
        if self.written.replace(written) != written {
            self.idle_bytes.set(0);
        }
        let deadline = &self.conn.deadline;
        deadline.set_queued(self.queued.own_bytes.load(Relaxed));
        let unsent = self.sending.get() != 0 || self.queued.parts.load(Relaxed) != 0;
        let waits = match () {
            () if self.making.get() != 0 => Armed::Nothing,
            () if unsent => Armed::Write(written),
            () => Armed::Idle,
        };
        if waits == armed {
            return;
        }
        match waits {
            Armed::Nothing => deadline.disarm(),
            Armed::Write(_) => deadline.arm(Wait::Write),
            Armed::Idle => deadline.arm(Wait::Idle),
        }
        self.armed.set(Some(waits));
    }
}

/// One stream, from its request's head to the end of its answer. Counts and logs itself when it ends.
pub(super) struct Stream {
    pub(super) pulse: Rc<Pulse>,
    core: Rc<Core>,
    begun: Instant,
    state: State,
    /// What was asked for, and what the access log says of it; empty when that is off.
    method: Method,
    asked: Vec<u8>,
    /// Where that is logged, the trace it belongs to.
    trace: Option<TraceId>,
    /// The answer, of whose body so much counts as was handed over.
    answered: Option<(Answered, RequestId)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Making,
    Sending,
    HandedOver,
}

impl Stream {
    pub(super) fn open(core: &Rc<Core>, pulse: &Rc<Pulse>) -> Stream {
        pulse.making.set(pulse.making.get() + 1);
        pulse.requests.set(pulse.requests.get().saturating_add(1));
        pulse.idle_bytes.set(0);
        Stream {
            pulse: Rc::clone(pulse),
            core: Rc::clone(core),
            begun: Instant::now(),
            state: State::Making,
            method: Method::Other,
            asked: Vec::new(),
            trace: None,
            answered: None,
        }
    }

    /// What its request asks for, whether or not it is refused.
    pub(super) fn asks(&mut self, head: &Parts) {
        self.method = translate::method(head);
        if let Some(access) = &self.core.service.access {
            let mut asked = translate::asked(head, self.pulse.peer());
            asked.target = self.core.service.mounts.loggable(asked.target);
            asked.write(access.field_bytes_max(), &mut self.asked);
            self.trace = asked.traceparent.as_ref().map(TraceId::of);
        }
    }

    /// Has its answer say which span of a trace it is.
    pub(super) fn tell_trace(&self, answer: &mut Answer) {
        if let Some(trace) = self.trace {
            trace.tell(answer, &self.core);
        }
    }

    /// Its answer is there.
    pub(super) fn answered(&mut self, answer: &Answer) {
        let answered = Answered {
            method: self.method,
            status: answer.status,
            served: answer.served,
            body_bytes: 0,
        };
        let id = answer.request_id;
        let id = id.unwrap_or_else(|| self.core.next_request_id());
        self.answered = Some((answered, id));
        self.enter(State::Sending);
    }

    /// So many bytes of the body were handed over.
    pub(super) fn sent(&mut self, bytes: usize) {
        let (answered, _) = self.answered.as_mut().expect("a body is an answer's");
        answered.body_bytes += bytes as u64;
    }

    /// Nothing is left to be handed over.
    pub(super) fn handed_over(&mut self) {
        self.enter(State::HandedOver);
    }

    fn enter(&mut self, state: State) {
        let count = |state| match state {
            State::Making => Some(&self.pulse.making),
            State::Sending => Some(&self.pulse.sending),
            State::HandedOver => None,
        };
        if let Some(left) = count(self.state) {
            left.set(left.get() - 1);
        }
        if let Some(entered) = count(state) {
            entered.set(entered.get() + 1);
        }
        self.state = state;
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let resets = self.pulse.resets.get();
        self.pulse.resets.set(match self.state {
            State::HandedOver => resets.saturating_sub(1),
            State::Making | State::Sending => resets + 1,
        });
        self.enter(State::HandedOver);
        self.pulse.settle();
        let Some((answered, id)) = &self.answered else {
            return;
        };
        let duration_us = elapsed_us(self.begun);
        let core = self.core.reactor.index();
        let service = &self.core.service;
        let metrics = service.metrics.core(core);
        metrics.answered(answered, duration_us);
        metrics.spoke(Protocol::Http2);
        if let Some(access) = &service.access {
            let said = Said::to(answered, *id, duration_us, unix_ms());
            access.add(core, &self.asked, &said);
        }
    }
}
