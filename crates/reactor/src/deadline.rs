//! Deadlines that cost two stores: no timer, no clock read, no system call.
//!
//! Every connection of a core has an entry in the core's table: what it waits for and when that is due. The tick looks
//! at all of them, wakes the tasks of those that are due, and the woken task finds its own entry due. At 10,000
//! connections a sweep reads 10,000 words twice a second, less than arming one timer a request.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::Core;
use crate::clock::TICK_MS;

/// What a connection waits for, and so which limit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Wait {
    /// The first byte after accept.
    FirstByte,
    /// The end of a TLS handshake.
    Handshake,
    /// The rest of a request.
    Head,
    /// The next request. Such a connection may be ended at any time: in drain, and to make room.
    Idle,
    /// Room in the socket for more of the answer.
    Write,
    /// The client's end, after ours.
    Linger,
}

impl Wait {
    /// How many kinds there are.
    pub const COUNT: usize = 6;
    /// Every kind, in order.
    pub const ALL: [Wait; Wait::COUNT] = [
        Wait::FirstByte,
        Wait::Handshake,
        Wait::Head,
        Wait::Idle,
        Wait::Write,
        Wait::Linger,
    ];

    /// A short name for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Wait::FirstByte => "first_byte",
            Wait::Handshake => "handshake",
            Wait::Head => "head",
            Wait::Idle => "idle",
            Wait::Write => "write",
            Wait::Linger => "linger",
        }
    }
}

/// Why a connection is over. None of these is a fault of the server but `File` and `ShortFile`.
#[derive(Debug)]
pub enum Ended {
    /// The wait took longer than its limit. Counted.
    TimedOut(Wait),
    /// Idle, and another connection needed the place. Counted.
    Evicted,
    /// Idle, and the reactor drains.
    Drained,
    /// The socket failed; mostly the client went away.
    Socket(io::Error),
    /// Reading the file failed.
    File(io::Error),
    /// The file ended before its announced length: the answer cannot be completed and the connection not re-used.
    ShortFile {
        /// Bytes that were announced and are not there.
        missing_bytes: u64,
    },
}

/// The due time of one connection. Dropping it takes the connection off the core's table.
#[derive(Debug)]
pub struct Deadline {
    core: Core,
    index: usize,
    entry: Rc<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// `None`: for nothing from outside, and then nothing is due.
    wait: Cell<Option<Wait>>,
    due_ms: Cell<u64>,
    evicted: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Deadline {
    pub(crate) fn new(core: &Core) -> Deadline {
        let entry = Rc::new(Entry {
            wait: Cell::new(None),
            due_ms: Cell::new(u64::MAX),
            evicted: Cell::new(false),
            waker: RefCell::new(None),
        });
        let deadline = Deadline {
            core: core.clone(),
            index: core.table().insert(Rc::clone(&entry)),
            entry,
        };
        deadline.arm(Wait::FirstByte);
        deadline
    }

    /// Starts waiting for `wait`, with that limit's time from now on.
    pub fn arm(&self, wait: Wait) {
        let limits = self.core.limits();
        let wait_ms = match wait {
            Wait::FirstByte => limits.first_byte_ms,
            Wait::Handshake => limits.handshake_ms,
            Wait::Head => limits.head_ms,
            Wait::Idle => limits.idle_ms,
            Wait::Write => limits.write_stall_ms,
            Wait::Linger => limits.linger_ms,
        };
        self.entry.wait.set(Some(wait));
        // The clock may be a whole tick behind; without the extra tick the deadline could fire early.
        let due_ms = self.core.clock().now_ms() + TICK_MS;
        self.entry.due_ms.set(due_ms.saturating_add(wait_ms));
    }

    /// Something is about to be read; unless armed for more, that is the next request.
    pub fn read_begun(&self) {
        if let None | Some(Wait::Write) = self.entry.wait.get() {
            self.arm(Wait::Idle);
        }
    }

    /// Bytes have come: what waited for a request now waits for the rest of its head.
    pub fn request_begun(&self) {
        if let Some(Wait::FirstByte | Wait::Idle) = self.entry.wait.get() {
            self.arm(Wait::Head);
        }
    }

    /// Waits for nothing from outside, as while an answer is being made: no deadline, no eviction, no end in drain.
    pub fn disarm(&self) {
        self.entry.wait.set(None);
        self.entry.due_ms.set(u64::MAX);
    }

    /// Runs `work` until it is done or the deadline ends it. Work that is ready wins over a deadline that is due.
    ///
    /// Dropping the future drops `work`, nothing else.
    ///
    /// # Errors
    /// [`Ended::TimedOut`], [`Ended::Evicted`] or [`Ended::Drained`].
    pub async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, Ended> {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            if let Some(ended) = self.ended() {
                return Poll::Ready(Err(ended));
            }
            self.entry.wake_with(context.waker());
            Poll::Pending
        })
        .await
    }

    fn ended(&self) -> Option<Ended> {
        let wait = self.entry.wait.get()?;
        if self.entry.due_ms.get() <= self.core.clock().now_ms() {
            self.core.counters().timed_out[wait as usize].count();
            return Some(Ended::TimedOut(wait));
        }
        if !self.entry.is_idle() {
            return None;
        }
        if self.entry.evicted.get() {
            return Some(Ended::Evicted);
        }
        self.core.is_draining().then_some(Ended::Drained)
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.core.table().remove(self.index);
    }
}

impl Entry {
    fn is_idle(&self) -> bool {
        self.wait.get() == Some(Wait::Idle)
    }

    fn wake_with(&self, waker: &Waker) {
        let mut stored = self.waker.borrow_mut();
        // A connection is one task, so after the first time this is a comparison.
        if !stored.as_ref().is_some_and(|old| old.will_wake(waker)) {
            *stored = Some(waker.clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }
}

/// The deadlines of one core's connections.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: RefCell<Vec<Option<Rc<Entry>>>>,
    free: RefCell<Vec<usize>>,
    /// Where the search for an idle connection goes on.
    hand: Cell<usize>,
}

/// Entries looked at to find an idle connection: bounds the work of one accept when all are busy.
const EVICT_SEARCH: usize = 64;

impl Table {
    fn insert(&self, entry: Rc<Entry>) -> usize {
        let mut entries = self.entries.borrow_mut();
        if let Some(index) = self.free.borrow_mut().pop() {
            entries[index] = Some(entry);
            return index;
        }
        entries.push(Some(entry));
        entries.len() - 1
    }

    fn remove(&self, index: usize) {
        let entry = self.entries.borrow_mut()[index].take();
        self.free.borrow_mut().push(index);
        // Its waker may hold the last reference to a task; that is dropped here, with nothing borrowed.
        drop(entry);
    }

    /// Wakes every connection whose time is over.
    pub(crate) fn sweep(&self, now_ms: u64) {
        for entry in self.entries.borrow().iter().flatten() {
            if entry.due_ms.get() <= now_ms {
                entry.wake();
            }
        }
    }

    /// Wakes idle connections, which then find the core draining, and gives new ones until `due_ms`: their first
    /// request may be under way.
    pub(crate) fn drain(&self, due_ms: u64) {
        for entry in self.entries.borrow().iter().flatten() {
            if entry.is_idle() {
                entry.wake();
            } else if let Some(Wait::FirstByte | Wait::Handshake) = entry.wait.get() {
                entry.due_ms.set(entry.due_ms.get().min(due_ms));
            }
        }
    }

    /// Ends one idle connection, if a short search finds any.
    pub(crate) fn evict(&self) -> bool {
        let entries = self.entries.borrow();
        for _ in 0..entries.len().min(EVICT_SEARCH) {
            let index = self.hand.get() % entries.len();
            self.hand.set(index + 1);
            let Some(entry) = &entries[index] else {
                continue;
            };
            if entry.is_idle() && !entry.evicted.get() {
                entry.evicted.set(true);
                entry.wake();
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
