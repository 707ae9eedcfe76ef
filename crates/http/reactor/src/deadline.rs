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

use crate::clock::TICK_MS;
use crate::{Core, Counters, Limits};

/// What connections get in drain that wait for a request: one may be under way.
pub(crate) const DRAIN_GRACE_MS: u64 = TICK_MS;

/// What a connection waits for, and so which limit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Wait {
    /// The first byte after accept. May be ended as `Idle` may.
    FirstByte,
    /// The end of a TLS handshake.
    Handshake,
    /// The rest of a request's head.
    Head,
    /// More of a request's body; see [`Deadline::body_came`].
    Body,
    /// The next request. Such a connection may be ended at any time to make room, and soon in drain.
    Idle,
    /// Room in the socket for more of the answer.
    Write,
    /// The client's end, after ours.
    Linger,
}

impl Wait {
    /// How many kinds there are.
    pub const COUNT: usize = 7;
    /// Every kind, in order.
    pub const ALL: [Wait; Wait::COUNT] = [
        Wait::FirstByte,
        Wait::Handshake,
        Wait::Head,
        Wait::Body,
        Wait::Idle,
        Wait::Write,
        Wait::Linger,
    ];

    fn limit_ms(self, limits: &Limits) -> u64 {
        match self {
            Wait::FirstByte => limits.first_byte_ms,
            Wait::Handshake => limits.handshake_ms,
            Wait::Head => limits.head_ms,
            Wait::Body => limits.body_ms,
            Wait::Idle => limits.idle_ms,
            Wait::Write => limits.write_stall_ms,
            Wait::Linger => limits.linger_ms,
        }
    }

    /// A short name for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Wait::FirstByte => "first_byte",
            Wait::Handshake => "handshake",
            Wait::Head => "head",
            Wait::Body => "body",
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
    /// Without a request, and another connection needed the place. Counted.
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
    /// Bytes of a body that came since [`Wait::Body`] was armed.
    came: Cell<u64>,
}

#[derive(Debug)]
struct Entry {
    /// `None`: for nothing from outside, and then nothing is due.
    wait: Cell<Option<Wait>>,
    due_ms: Cell<u64>,
    evicted: Cell<bool>,
    /// Bytes of an answer in memory that wait for room.
    queued_bytes: Cell<u64>,
    waker: RefCell<Option<Waker>>,
}

impl Deadline {
    pub(crate) fn new(core: &Core) -> Deadline {
        let entry = Rc::new(Entry {
            wait: Cell::new(None),
            due_ms: Cell::new(u64::MAX),
            evicted: Cell::new(false),
            queued_bytes: Cell::new(0),
            waker: RefCell::new(None),
        });
        let deadline = Deadline {
            core: core.clone(),
            index: core.table().insert(Rc::clone(&entry)),
            entry,
            came: Cell::new(0),
        };
        deadline.arm(Wait::FirstByte);
        deadline
    }

    /// Starts waiting for `wait`, with that limit's time from now on.
    pub fn arm(&self, wait: Wait) {
        let wait_ms = match wait {
            Wait::FirstByte | Wait::Handshake | Wait::Idle if self.core.is_draining() => {
                DRAIN_GRACE_MS
            }
            _ => wait.limit_ms(self.core.limits()),
        };
        self.entry.wait.set(Some(wait));
        self.came.set(0);
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

    /// So many bytes of a body have come: once they are what `body_bytes_per_s_min` asks for, its time begins anew.
    pub fn body_came(&self, bytes: usize) {
        let came = self.came.get() + bytes as u64;
        self.came.set(came);
        if self.is_armed(Wait::Body) && self.core.limits().body_window_bytes() <= came {
            self.arm(Wait::Body);
        }
    }

    /// Our end of the connection is closed: begins to drop what its client still sends.
    #[must_use]
    pub fn linger(&self) -> Linger<'_> {
        let limits = self.core.limits();
        self.arm(Wait::Linger);
        Linger {
            deadline: self,
            until_ms: self.core.clock().now_ms() + TICK_MS + limits.linger_ms_max,
            bytes_left: limits.linger_bytes_max,
        }
    }

    /// Whether another connection needs the place, so that the next answer should be the last.
    #[must_use]
    pub fn is_evicted(&self) -> bool {
        self.entry.evicted.get()
    }

    /// Says how much of an answer in memory waits for room; [`Conn`](crate::Conn) does for what it writes.
    pub fn set_queued(&self, bytes: usize) {
        self.entry.queued_bytes.set(bytes as u64);
    }

    /// Whether that is what it is armed for.
    #[must_use]
    pub fn is_armed(&self, wait: Wait) -> bool {
        self.entry.wait.get() == Some(wait)
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
        self.within_while(work, || false).await
    }

    /// As [`Deadline::within`], but when the time is over and `goes_on` says so, it begins anew.
    ///
    /// # Errors
    /// As [`Deadline::within`].
    pub async fn within_while<T>(
        &self,
        work: impl Future<Output = T>,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<T, Ended> {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            if let Some(ended) = self.ended(&mut goes_on) {
                return Poll::Ready(Err(ended));
            }
            self.entry.wake_with(context.waker());
            Poll::Pending
        })
        .await
    }

    fn ended(&self, goes_on: &mut impl FnMut() -> bool) -> Option<Ended> {
        let wait = self.entry.wait.get()?;
        if self.entry.evicted.get() && self.entry.awaits_request() {
            return Some(Ended::Evicted);
        }
        if self.entry.due_ms.get() <= self.core.clock().now_ms() {
            if wait == Wait::Idle && self.core.is_draining() {
                return Some(Ended::Drained);
            }
            if goes_on() {
                self.arm(wait);
                return None;
            }
            self.core.counters().timed_out[wait as usize].count();
            return Some(Ended::TimedOut(wait));
        }
        None
    }
}

/// Bounds of what is dropped behind an answer that was given early: a client that sends goes on reading only once it has sent
/// all, and closing with bytes unread would send a reset, which discards the answer on its way (RFC 9112 §9.6).
#[derive(Debug)]
pub struct Linger<'d> {
    deadline: &'d Deadline,
    until_ms: u64,
    bytes_left: usize,
}

impl Linger<'_> {
    /// Bounds what is dropped to `bytes_max` more bytes, where nothing but a reason is on its way to the client.
    #[must_use]
    pub fn at_most(mut self, bytes_max: usize) -> Self {
        self.bytes_left = self.bytes_left.min(bytes_max);
        self
    }

    /// Notes that so many bytes came, none being the client's end. Returns whether more should be read: each time the client
    /// may be silent for as long again, but not beyond the time that it has in all.
    pub fn came(&mut self, bytes: usize) -> bool {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.deadline.arm(Wait::Linger);
        let due_ms = &self.deadline.entry.due_ms;
        due_ms.set(due_ms.get().min(self.until_ms));
        bytes != 0 && self.bytes_left != 0
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.core.table().remove(self.index);
    }
}

impl Entry {
    /// Whether the connection may be ended to make room: no request of its has begun.
    fn awaits_request(&self) -> bool {
        matches!(
            self.wait.get(),
            Some(Wait::FirstByte | Wait::Handshake | Wait::Idle)
        )
    }

    /// Since when it may be ended to make room; `None` when it may not, or is about to.
    fn evictable_since_ms(&self, limits: &Limits) -> Option<u64> {
        let wait = self.wait.get().filter(|_| self.awaits_request())?;
        (!self.evicted.get()).then(|| self.due_ms.get().saturating_sub(wait.limit_ms(limits)))
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
    /// Connections without a request that the last search found, and since when, the oldest at the end.
    oldest: RefCell<Vec<(u64, usize)>>,
    /// Searches since the last tick.
    searches: Cell<u32>,
}

/// Connections that one search finds: it looks at all there are, so this shares its cost among as many evictions.
const EVICT_BATCH: usize = 256;
/// Searches a tick: bounds the work of accept when all connections are busy.
const SEARCHES_MAX: u32 = 64;

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

    /// Wakes every connection whose time is over, and counts what each waits for.
    pub(crate) fn sweep(&self, now_ms: u64, counters: &Counters) {
        self.searches.set(0);
        let mut waiting = [0; Wait::COUNT];
        let (mut working, mut queued_bytes) = (0, 0);
        for entry in self.entries.borrow().iter().flatten() {
            match entry.wait.get() {
                Some(wait) => waiting[wait as usize] += 1,
                None => working += 1,
            }
            queued_bytes += entry.queued_bytes.get();
            if entry.due_ms.get() <= now_ms {
                entry.wake();
            }
        }
        for (counter, count) in counters.waiting.iter().zip(waiting) {
            counter.set(count);
        }
        counters.working.set(working);
        counters.queued_bytes.set(queued_bytes);
    }

    /// Gives connections without a request until `due_ms`: one may be under way, and its answer says that it is the last.
    pub(crate) fn drain(&self, due_ms: u64) {
        for entry in self.entries.borrow().iter().flatten() {
            if entry.awaits_request() {
                entry.due_ms.set(entry.due_ms.get().min(due_ms));
            }
        }
    }

    /// Ends the connection that has been without a request longest, if any is.
    pub(crate) fn evict(&self, limits: &Limits) -> bool {
        loop {
            let oldest = self.oldest.borrow_mut().pop();
            if let Some((since_ms, index)) = oldest {
                if let Some(entry) = &self.entries.borrow()[index]
                    && entry.evictable_since_ms(limits) == Some(since_ms)
                {
                    entry.evicted.set(true);
                    entry.wake();
                    return true;
                }
            } else if self.searches.get() == SEARCHES_MAX || !self.search(limits) {
                return false;
            }
        }
    }

    /// Finds the connections that have been without a request longest; `false` when there are none.
    fn search(&self, limits: &Limits) -> bool {
        self.searches.set(self.searches.get() + 1);
        let entries = self.entries.borrow();
        let oldest = &mut *self.oldest.borrow_mut();
        oldest.extend(entries.iter().enumerate().filter_map(|(index, entry)| {
            let since_ms = entry.as_ref()?.evictable_since_ms(limits)?;
            Some((since_ms, index))
        }));
        if EVICT_BATCH < oldest.len() {
            oldest.select_nth_unstable(EVICT_BATCH - 1);
            oldest.truncate(EVICT_BATCH);
        }
        oldest.sort_unstable_by(|a, b| b.cmp(a));
        !oldest.is_empty()
    }
}

#[cfg(test)]
mod tests;
