//! What an HTTP/2 connection waits for, and whether its client is worth waiting for.
//!
//! ```text
//!   an answer is in the making ─► nothing is armed
//!   else, something handed over is not written, or more is to be ─► Wait::Write, anew with each part written
//!   else ─► Wait::Idle
//! ```

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use reactor::{Conn, Wait};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Limits;
use super::body::Queued;
use crate::core::{Core, elapsed_us};
use crate::metrics::{Protocol, Served};

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
    turns: Arc<Semaphore>,
    /// What is armed, once the client has said anything.
    armed: Cell<Option<Armed>>,
    /// Bodies that wait until less of them waits to be written.
    waiting: RefCell<Vec<Waker>>,
    /// Bytes that came since a request or since anything was taken.
    idle_bytes: Cell<usize>,
    /// Streams given up by the client, less those it took.
    resets: Cell<u32>,
    /// The drain was announced, or the connection is being left.
    drained: Cell<bool>,
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
    /// The reactor drains. Said once.
    Drain,
    /// It has been waited for long enough, or its place is needed.
    Leave,
}

impl Pulse {
    pub(super) fn new(conn: Conn<()>, limits: Limits) -> Pulse {
        Pulse {
            conn,
            limits,
            making: Cell::new(0),
            sending: Cell::new(0),
            queued: Arc::default(),
            written: Cell::new(0),
            turns: Arc::new(Semaphore::new(limits.making_max)),
            armed: Cell::new(None),
            waiting: RefCell::default(),
            idle_bytes: Cell::new(0),
            resets: Cell::new(0),
            drained: Cell::new(false),
            left: Cell::new(false),
            text: Cell::default(),
        }
    }

    /// Runs the connection until it is over or something is to be done about it.
    pub(super) async fn run(
        &self,
        mut served: Pin<&mut impl Future<Output = hyper::Result<()>>>,
        mut drain: Pin<&mut impl Future<Output = ()>>,
    ) -> Turn {
        let turns = poll_fn(|context| {
            if let Poll::Ready(ended) = served.as_mut().poll(context) {
                tracing::debug!(peer = %self.conn.peer, ?ended, "HTTP/2 connection over");
                return Poll::Ready(Turn::Over);
            }
            self.settle();
            self.wake_waiting();
            if !self.drained.get() && drain.as_mut().poll(context).is_ready() {
                self.drained.set(true);
                return Poll::Ready(Turn::Drain);
            }
            Poll::Pending
        });
        let ended = self.conn.deadline.within(turns).await;
        ended.unwrap_or(Turn::Leave)
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
            Armed::Nothing => self.conn.deadline.disarm(),
            Armed::Write(_) => self.conn.deadline.arm(Wait::Write),
            Armed::Idle => self.conn.deadline.arm(Wait::Idle),
        }
        self.armed.set(Some(waits));
    }
}

/// One stream, from its request's head to the end of its answer. Counts itself when it ends.
pub(super) struct Stream {
    pub(super) pulse: Rc<Pulse>,
    core: Rc<Core>,
    begun: Instant,
    state: State,
    answered: Option<(u16, Served)>,
    body_bytes: u64,
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
        pulse.idle_bytes.set(0);
        Stream {
            pulse: Rc::clone(pulse),
            core: Rc::clone(core),
            begun: Instant::now(),
            state: State::Making,
            answered: None,
            body_bytes: 0,
        }
    }

    /// Its answer is there.
    pub(super) fn answered(&mut self, status: u16, served: Served) {
        self.answered = Some((status, served));
        self.enter(State::Sending);
    }

    /// So many bytes of the body were handed over.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.body_bytes += bytes as u64;
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
        if let Some((status, served)) = self.answered {
            let metrics = self.core.service.metrics.core(self.core.reactor.index());
            metrics.answered(status, served, self.body_bytes, elapsed_us(self.begun));
            metrics.spoke(Protocol::Http2);
        }
    }
}
