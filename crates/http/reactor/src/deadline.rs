//! Deadlines of connections. Setting a deadline costs two memory writes, and no timer, clock read
//! or system call.
//!
//! Every connection of a core has an entry in the core's table: the kind of its wait and the due
//! time. The tick scans all entries and wakes the tasks whose entries are due. A woken task then
//! finds that its own entry is due. For 10,000 connections, the tick reads 10,000 entries twice a
//! second. This costs less than one timer per request.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::clock::TICK_MS;
use crate::{Core, Counters, Limits};

/// Time for which a connection without a request stays open after the drain has started. A request
/// may already be on its way.
pub(crate) const DRAIN_GRACE_MS: u64 = TICK_MS;

/// Event that a connection waits for. Each kind of event has its own time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Wait {
    /// The first byte after accept. A connection in this state may be evicted.
    FirstByte,
    /// The end of a TLS handshake.
    Handshake,
    /// The rest of a request's head.
    Head,
    /// More of a request's body; see [`Deadline::note_body_bytes`].
    Body,
    /// The next request. A connection that waits for its next request may be evicted at any time,
    /// and is closed soon after the drain has started.
    Idle,
    /// Room in the socket for more of the response.
    Write,
    /// The client's close of the connection, after the server closed its side.
    Linger,
}

impl Wait {
    /// Number of kinds of wait.
    pub const COUNT: usize = 7;
    /// Every kind of wait, in order of declaration.
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

    /// Returns a short name for metrics.
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

/// Reason why a connection is over. Only `File` and `ShortFile` are faults of the server.
#[derive(Debug)]
pub enum Ended {
    /// The event that the connection waited for did not occur in time. Counted in
    /// [`Counters::timed_out`].
    TimedOut(Wait),
    /// The connection had no request and was evicted to make room. Counted in
    /// [`Counters::evicted`].
    Evicted,
    /// The connection was idle while the reactor drained.
    Drained,
    /// The socket failed, in most cases because the client left.
    Socket(io::Error),
    /// Reading the file failed.
    File(io::Error),
    /// The file ended before its announced length: the response cannot be completed, nor the
    /// connection reused.
    ShortFile {
        /// Number of announced bytes that the file lacks.
        missing_bytes: u64,
    },
}

/// Due time of one connection. Dropping it removes the connection from the core's table.
#[derive(Debug)]
pub struct Deadline {
    core: Core,
    index: usize,
    entry: Rc<Entry>,
    /// Bytes of a body received since [`Wait::Body`] was armed.
    received: Cell<u64>,
}

#[derive(Debug)]
struct Entry {
    /// Event that the connection waits for. `None` if the connection does not wait for its client;
    /// it then has no deadline.
    wait: Cell<Option<Wait>>,
    due_ms: Cell<u64>,
    evicted: Cell<bool>,
    /// Bytes of a response in memory that wait for room in the socket.
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
            received: Cell::new(0),
        };
        deadline.arm(Wait::FirstByte);
        deadline
    }

    /// Arms the deadline for `wait`, due after the limit of that kind of wait.
    pub fn arm(&self, wait: Wait) {
        let wait_ms = match wait {
            Wait::FirstByte | Wait::Handshake | Wait::Idle if self.core.is_draining() => {
                DRAIN_GRACE_MS
            }
            _ => wait.limit_ms(self.core.limits()),
        };
        self.entry.wait.set(Some(wait));
        self.received.set(0);
        // Adds one tick, because the clock may be up to one tick behind. Otherwise the deadline
        // could fire early.
        let due_ms = self.core.clock().now_ms() + TICK_MS;
        self.entry.due_ms.set(due_ms.saturating_add(wait_ms));
    }

    /// Notes that a read is about to start. Arms [`Wait::Idle`] if no wait is armed, or if
    /// [`Wait::Write`] is armed.
    pub fn note_read_start(&self) {
        if let None | Some(Wait::Write) = self.entry.wait.get() {
            self.arm(Wait::Idle);
        }
    }

    /// Notes that bytes arrived. If the connection waited for a request, arms [`Wait::Head`]: the
    /// connection now waits for the rest of the request's head.
    pub fn note_request_start(&self) {
        if let Some(Wait::FirstByte | Wait::Idle) = self.entry.wait.get() {
            self.arm(Wait::Head);
        }
    }

    /// Notes that `bytes` of a body arrived. Arms [`Wait::Body`] again once the received bytes meet
    /// the rate `body_bytes_per_s_min`.
    pub fn note_body_bytes(&self, bytes: usize) {
        let received = self.received.get() + bytes as u64;
        self.received.set(received);
        if self.is_armed(Wait::Body) && self.core.limits().body_window_bytes() <= received {
            self.arm(Wait::Body);
        }
    }

    /// Arms [`Wait::Linger`]. Returns the limits on the bytes that the client may still send after
    /// the server has closed its side.
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

    /// Returns whether the connection was chosen for eviction. If it was, its next response should
    /// be its last.
    #[must_use]
    pub fn is_evicted(&self) -> bool {
        self.entry.evicted.get()
    }

    /// Sets the number of response bytes in memory that wait for room in the socket.
    /// [`Conn`](crate::Conn) calls this for its own writes.
    pub fn set_queued(&self, bytes: usize) {
        self.entry.queued_bytes.set(bytes as u64);
    }

    /// Returns whether the deadline is armed for `wait`.
    #[must_use]
    pub fn is_armed(&self, wait: Wait) -> bool {
        self.entry.wait.get() == Some(wait)
    }

    /// Disarms the deadline, for example while a response is prepared: until it is armed again, the
    /// connection neither times out nor is evicted or closed by draining.
    pub fn disarm(&self) {
        self.entry.wait.set(None);
        self.entry.due_ms.set(u64::MAX);
    }

    /// Runs `work` until it is done or the deadline is due. If both happen at the same time,
    /// returns the result of `work`.
    ///
    /// Dropping the future drops `work` and has no other effect.
    ///
    /// # Errors
    /// [`Ended::TimedOut`], [`Ended::Evicted`] or [`Ended::Drained`].
    pub async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, Ended> {
        self.within_while(work, || false).await
    }

    /// Runs `work` as [`Deadline::within`] does. If the deadline is due, calls `should_rearm`. If
    /// that function returns true, arms the deadline again and continues.
    ///
    /// # Errors
    /// As [`Deadline::within`].
    pub async fn within_while<T>(
        &self,
        work: impl Future<Output = T>,
        mut should_rearm: impl FnMut() -> bool,
    ) -> Result<T, Ended> {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            if let Some(ended) = self.ended(&mut should_rearm) {
                return Poll::Ready(Err(ended));
            }
            self.entry.wake_with(context.waker());
            Poll::Pending
        })
        .await
    }

    fn ended(&self, should_rearm: &mut impl FnMut() -> bool) -> Option<Ended> {
        let wait = self.entry.wait.get()?;
        if self.entry.evicted.get() && self.entry.awaits_request() {
            return Some(Ended::Evicted);
        }
        if self.entry.due_ms.get() <= self.core.clock().now_ms() {
            if wait == Wait::Idle && self.core.is_draining() {
                return Some(Ended::Drained);
            }
            if should_rearm() {
                self.arm(wait);
                return None;
            }
            self.core.counters().timed_out[wait as usize].count();
            return Some(Ended::TimedOut(wait));
        }
        None
    }
}

/// Limits on the bytes that are read and dropped after an early response, which is sent before the
/// whole request has arrived. The server continues to read for two reasons. Some clients read a
/// response only after they have sent their whole request. And closing a socket with unread bytes
/// sends a reset, which discards the response in flight (RFC 9112 §9.6).
#[derive(Debug)]
pub struct Linger<'d> {
    deadline: &'d Deadline,
    until_ms: u64,
    bytes_left: usize,
}

impl Linger<'_> {
    /// Lowers the limit to `bytes_max` more bytes. This is meant for a client that violated the
    /// protocol: only the error response must still reach the client.
    #[must_use]
    pub fn at_most(mut self, bytes_max: usize) -> Self {
        self.bytes_left = self.bytes_left.min(bytes_max);
        self
    }

    /// Notes that `bytes` arrived; 0 means that the client closed its side. Returns whether to
    /// continue reading. After each call, the client may be silent for `linger_ms` again, but the
    /// total time is at most `linger_ms_max`.
    pub fn received(&mut self, bytes: usize) -> bool {
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
    /// Returns whether the connection may be evicted because no request has started.
    fn awaits_request(&self) -> bool {
        matches!(
            self.wait.get(),
            Some(Wait::FirstByte | Wait::Handshake | Wait::Idle)
        )
    }

    /// Returns the time at which the connection began to wait for a request. Returns `None` if the
    /// connection may not be evicted, or if it is already marked for eviction.
    fn evictable_since_ms(&self, limits: &Limits) -> Option<u64> {
        let wait = self.wait.get().filter(|_| self.awaits_request())?;
        (!self.evicted.get()).then(|| self.due_ms.get().saturating_sub(wait.limit_ms(limits)))
    }

    fn wake_with(&self, waker: &Waker) {
        let mut stored = self.waker.borrow_mut();
        // One task serves the connection, so the waker stays the same after the first call.
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

/// Table of the deadlines of one core's connections.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: RefCell<Vec<Option<Rc<Entry>>>>,
    free: RefCell<Vec<usize>>,
    /// Remaining results of the last search: connections that wait for a request and may be
    /// evicted. Each element holds the time at which the wait for a request began, and the
    /// connection's index. The connection that has waited longest comes last.
    oldest: RefCell<Vec<(u64, usize)>>,
    /// Number of searches of the table since the last tick.
    searches: Cell<u32>,
}

/// Maximum number of evictable connections that one search of the table collects. Since a search
/// scans the whole table, it collects many connections, which spreads its cost over many evictions.
const EVICT_BATCH: usize = 256;
/// Maximum number of searches of the table per tick. Bounds the work of accept when all connections
/// are busy.
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
        // The entry's waker may hold the last reference to a task. Dropping that task may call this
        // table again. So the entry is dropped here, where no `RefCell` of the table is borrowed.
        drop(entry);
    }

    /// Wakes every connection whose deadline is due, and counts the connections per kind of wait.
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

    /// Lowers the due time of connections without a request to `due_ms`. A request that arrives
    /// before that time is still served. Its response announces that the connection will be closed.
    pub(crate) fn drain(&self, due_ms: u64) {
        for entry in self.entries.borrow().iter().flatten() {
            if entry.awaits_request() {
                entry.due_ms.set(entry.due_ms.get().min(due_ms));
            }
        }
    }

    /// Evicts the connection that has waited longest for a request. Returns whether such a
    /// connection existed.
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

    /// Finds the connections that have waited longest for a request. Returns whether any were
    /// found.
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
