//! Output of the log. All threads queue their lines in memory and continue; one thread writes the
//! lines.
//!
//! ```text
//! any thread ── whole lines ─► waiting ─┐ swapped with an empty buffer
//! thread `log`                          └─► write, which may block for ever
//! ```
//!
//! A pipe without a reader, a stopped terminal or a hanging disk blocks this one thread only. Once
//! [`WAITING_BYTES_MAX`] bytes are waiting, further lines are dropped and counted. When the output
//! accepts bytes again, a line reports the number of dropped lines.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io::{self, Write};

use std::thread;
use std::time::{Duration, Instant};

/// Maximum total size, in bytes, of the lines that wait to be written.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Maximum size of one write in bytes. It is small, so that [`Outlet::finish`] sees progress.
const WRITE_BYTES_MAX: usize = 4 << 10;
/// Time without progress of the output after which the ending process no longer waits for the
/// output.
const PATIENCE: Duration = Duration::from_secs(1);

/// Function that opens the output for the next write.
type Sink = Box<dyn FnMut() -> Box<dyn Write> + Send>;

/// Queue of lines that wait to be written.
pub(super) struct Outlet {
    queue: Mutex<Queue>,
    changed: Condvar,
}

struct Queue {
    waiting: Vec<u8>,
    sink: Option<Sink>,
    has_thread: bool,
    is_writing: bool,
    /// Number of bytes written since the start.
    written: u64,
    /// Number of lines dropped since the last successful write.
    lost: u64,
}

impl Outlet {
    pub(super) const fn new() -> Outlet {
        Outlet {
            queue: Mutex::new(Queue {
                waiting: Vec::new(),
                sink: None,
                has_thread: false,
                is_writing: false,
                written: 0,
                lost: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Sets an output other than stderr. Must be called before [`Outlet::begin`].
    pub(super) fn set_sink(&self, sink: Sink) {
        self.lock().sink = Some(sink);
    }

    /// Starts the thread that writes lines, if it does not run yet. Until then, lines wait in
    /// memory.
    pub(super) fn begin(&'static self) -> io::Result<()> {
        let mut queue = self.lock();
        if !queue.has_thread {
            let mut sink = queue
                .sink
                .take()
                .unwrap_or_else(|| Box::new(|| Box::new(io::stderr())));
            thread::Builder::new()
                .name("log".to_owned())
                .spawn(move || self.write(&mut sink))?;
            queue.has_thread = true;
        }
        Ok(())
    }

    /// Queues a whole line, or drops it if too many bytes are waiting. Never waits for the output.
    pub(super) fn push(&self, line: &[u8]) {
        let mut queue = self.lock();
        if WAITING_BYTES_MAX < queue.waiting.len() + line.len() {
            queue.lost += 1;
            return;
        }
        queue.waiting.extend_from_slice(line);
        drop(queue);
        self.changed.notify_all();
    }

    /// Drops the waiting lines, because another process writes them.
    pub(super) fn forget(&self) {
        self.lock().waiting.clear();
    }

    /// Waits until all lines are written, or until the output has accepted no bytes for
    /// [`PATIENCE`].
    pub(super) fn finish(&'static self) {
        if self.begin().is_err() {
            // The log's thread could not be started, so this thread writes the lines itself. It
            // blocks while the reader of stderr is slow.
            let waiting = std::mem::take(&mut self.lock().waiting);
            self.write_to(&mut io::stderr(), &waiting);
            return;
        }
        let mut queue = self.lock();
        let (mut written_before, mut since) = (queue.written, Instant::now());
        while !queue.waiting.is_empty() || queue.is_writing {
            let left = PATIENCE.saturating_sub(since.elapsed());
            if left.is_zero() {
                return;
            }
            self.changed.wait_for(&mut queue, left);
            if queue.written != written_before {
                (written_before, since) = (queue.written, Instant::now());
            }
        }
    }

    /// Waits until the log's thread has written all lines, at most `limit`. The calling thread may
    /// hold the lock of the queue, so the wait for the lock is limited as well.
    pub(super) fn finish_within(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let Some(mut queue) = self.queue.try_lock_until(until) else {
            return;
        };
        while queue.has_thread && (!queue.waiting.is_empty() || queue.is_writing) {
            if self.changed.wait_until(&mut queue, until).timed_out() {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// Writes lines as they are queued, and never returns. This is the body of the log's thread.
    fn write(&self, sink: &mut Sink) {
        let mut taken = Vec::new();
        loop {
            let mut queue = self.lock();
            queue.is_writing = false;
            self.changed.notify_all();
            while queue.waiting.is_empty() {
                self.changed.wait(&mut queue);
            }
            std::mem::swap(&mut queue.waiting, &mut taken);
            queue.is_writing = true;
            drop(queue);
            let is_written = self.write_to(&mut *sink(), &taken);
            let lines = taken.iter().filter(|byte| **byte == b'\n').count() as u64;
            taken.clear();
            let mut queue = self.lock();
            let lost = match is_written {
                true => std::mem::take(&mut queue.lost),
                false => {
                    queue.lost += lines;
                    0
                }
            };
            drop(queue);
            if 0 < lost {
                tracing::warn!(lines = lost, "log lines could not be written and are lost");
            }
        }
    }

    /// Writes `bytes` in pieces and counts them. Returns whether all bytes were written.
    fn write_to(&self, out: &mut dyn Write, bytes: &[u8]) -> bool {
        for piece in bytes.chunks(WRITE_BYTES_MAX) {
            if out.write_all(piece).is_err() {
                return false;
            }
            self.lock().written += piece.len() as u64;
            self.changed.notify_all();
        }
        out.flush().is_ok()
    }
}

/// Writer that queues each line.
#[derive(Clone, Copy)]
pub(super) struct Handover(pub(super) &'static Outlet);

impl Write for Handover {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
