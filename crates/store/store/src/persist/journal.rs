//! The AOF (append-only file) of a running server. The core encodes commands, and a thread writes
//! the bytes to the file.
//!
//! ```text
//! core    commands ─► pending ─┐ once a turn, when the last batch is done
//! thread                       └─► write, and sync per `appendfsync` ─► Progress ─► replies
//! ```
//!
//! The changes that all connections make in one turn (one pass of the core's event loop) form one
//! batch. While a batch is being written, the changes of several turns collect in the next batch.
//! So the slower the disk, the larger the batches.
//!
//! A failed write is retried each second. It may leave a partial batch in the file, which is cut
//! off before the retry: nothing is ever appended after a partial batch. Until a write succeeds, an
//! error replaces each reply that would promise that a change is on disk. All other replies are
//! sent. A failed sync stops the server, because the state of the disk is then unknown.
//!
//! After every few kilobytes of changes, the file contains their checksum, in an annotation that
//! Redis 7 ignores:
//!
//! ```text
//! *3… *3… #SUM:0123456789abcdef     CRC-64 of all bytes since the previous annotation or the start
//! ```
//!
//! So a flipped bit is found when the file is read. The checksums also tell damage from a last
//! command that a crash truncated: no checksum follows a truncated command.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use keyspace::rdb::crc64;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::config::Fsync;

/// Sync interval of `appendfsync everysec`, and delay before a failed write is retried.
const SECOND: Duration = Duration::from_secs(1);

/// A checksum is written each time this many bytes of changes were written. A clean stop also
/// writes the checksum of the remaining bytes.
const SUM_EVERY_BYTES: u64 = 4 << 10;
/// Prefix of a checksum annotation.
const SUM_NAME: &[u8] = b"#SUM:";
/// Length of a checksum annotation, in bytes: prefix, 16 digits and CRLF.
pub(crate) const SUM_LINE_BYTES: usize = SUM_NAME.len() + 16 + 2;

/// Checksum of a file's bytes since the last checksum annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    crc: u64,
    bytes: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.crc = crc64(self.crc, bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Returns the annotation line of this checksum.
    fn line(self) -> String {
        format!("#SUM:{:016x}\r\n", self.crc)
    }

    /// Returns whether `line` is the annotation line that contains this checksum.
    pub(crate) fn matches_line(self, line: &[u8]) -> bool {
        line == self.line().as_bytes()
    }
}

/// Returns whether a line is a checksum annotation.
pub(crate) fn is_sum(line: &[u8]) -> bool {
    line.len() == SUM_LINE_BYTES
        && line.ends_with(b"\r\n")
        && line
            .strip_prefix(SUM_NAME)
            .is_some_and(|rest| rest[..16].iter().all(u8::is_ascii_hexdigit))
}

/// The AOF as the core uses it: encodes commands, and sends batches of them to the writer thread.
#[derive(Debug)]
pub(crate) struct Journal {
    job_sender: Sender<WriterJob>,
    thread: Option<JoinHandle<()>>,
    progress: Arc<Progress>,
    /// Encoded commands that no batch contains yet.
    pending: Vec<u8>,
    /// Database selected by the last command in the file.
    db: Option<usize>,
    /// Number of batches sent. The commands in `pending` will form the batch with the next number.
    batches: u64,
    fsync: Fsync,
}

/// Progress of the thread that writes the AOF; the core reads it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Number of the last batch that is in the file, and synced if `appendfsync` requires it.
    done: AtomicU64,
    /// Total length of the AOF's files, in bytes.
    bytes: AtomicU64,
    /// Notified when `done` grows or writing fails.
    advanced: Notify,
    /// True while writing fails.
    failing: AtomicBool,
    /// Text of the last error.
    fault: Mutex<String>,
    /// True after a failed sync, when the state of the disk is unknown.
    broken: AtomicBool,
    /// True once the server stops. From then on, a failed write is not retried.
    is_stopping: AtomicBool,
    /// The error that kept changes from reaching the disk. The code that runs the server reads it
    /// after the server has stopped.
    loss: Arc<Loss>,
}

/// The error that prevented changes from being written to the AOF before the server stopped, if
/// any.
pub(crate) type Loss = Mutex<Option<String>>;

/// File of the AOF, or a simulated file in tests.
trait Disk: Send + 'static {
    fn len(&self) -> io::Result<u64>;
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    fn cut(&mut self, len: u64) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn len(&self) -> io::Result<u64> {
        self.metadata().map(|file| file.len())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

enum WriterJob {
    Append {
        bytes: Vec<u8>,
        batch: u64,
        fsync: Fsync,
    },
    /// Directs all later appends to `file`, which is empty. The manifest lists this file already.
    Rotate { file: File },
}

impl Journal {
    /// Starts the thread that writes the AOF by appending to `file`. `bytes` is the total length of
    /// all the AOF's files, including `file`.
    pub(crate) fn start(
        file: File,
        bytes: u64,
        fsync: Fsync,
        sum: Sum,
        loss: Arc<Loss>,
    ) -> io::Result<Journal> {
        Journal::start_on(Box::new(file), bytes, fsync, sum, loss)
    }

    fn start_on(
        file: Box<dyn Disk>,
        bytes: u64,
        fsync: Fsync,
        sum: Sum,
        loss: Arc<Loss>,
    ) -> io::Result<Journal> {
        let (job_sender, inbox) = channel();
        let progress = Arc::new(Progress {
            loss,
            ..Progress::default()
        });
        progress.bytes.store(bytes, Ordering::Relaxed);
        let len = file.len()?;
        let mut writer = Writer {
            file,
            len,
            has_partial_batch: false,
            sum,
            is_checksum_written: true,
            unsynced: false,
            has_sync_deadline: false,
            synced_at: Instant::now(),
            progress: Arc::clone(&progress),
        };
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(&inbox))?;
        Ok(Journal {
            job_sender,
            thread: Some(thread),
            progress,
            pending: Vec::new(),
            db: None,
            batches: 0,
            fsync,
        })
    }

    pub(crate) fn set_fsync(&mut self, fsync: Fsync) {
        self.fsync = fsync;
    }

    /// Appends the changes of one command or transaction. Several changes are wrapped in `MULTI`
    /// and `EXEC`, so that all or none are replayed.
    pub(crate) fn append(&mut self, commands: &[(usize, Vec<Bytes>)]) {
        let wrapped = 1 < commands.len();
        if wrapped {
            self.select(commands[0].0);
            encode(&[Bytes::from_static(b"MULTI")], &mut self.pending);
        }
        for (db, args) in commands {
            self.select(*db);
            encode(args, &mut self.pending);
        }
        if wrapped {
            encode(&[Bytes::from_static(b"EXEC")], &mut self.pending);
        }
    }

    fn select(&mut self, db: usize) {
        if self.db != Some(db) {
            let text = Bytes::from(db.to_string());
            encode(&[Bytes::from_static(b"SELECT"), text], &mut self.pending);
            self.db = Some(db);
        }
    }

    /// Returns the write that must finish before the replies to the commands so far are sent;
    /// `None` if the replies need not wait. They must wait under `appendfsync always`, or if more
    /// than `bytes_max` bytes are pending.
    pub(crate) fn commit(&self, bytes_max: usize) -> Option<Commit> {
        let batch = match self.pending.is_empty() {
            true => self.batches,
            false => self.batches + 1,
        };
        let waits = self.promises() || bytes_max < self.pending.len();
        let commit = Commit {
            progress: Arc::clone(&self.progress),
            batch,
        };
        (waits && !commit.is_done()).then_some(commit)
    }

    /// Returns whether a reply promises that the change is on the disk.
    pub(crate) fn promises(&self) -> bool {
        self.fsync == Fsync::Always
    }

    /// Sends the pending bytes to the journal's writer thread as one batch. Returns a handle to
    /// wait for the write, or `None` if no bytes are pending. A caller that waits before the next
    /// call lets later changes collect in one batch.
    pub(crate) fn send(&mut self) -> Option<Commit> {
        if self.pending.is_empty() {
            return None;
        }
        self.batches += 1;
        let bytes = std::mem::take(&mut self.pending);
        self.send_job(WriterJob::Append {
            bytes,
            batch: self.batches,
            fsync: self.fsync,
        });
        Some(Commit {
            progress: Arc::clone(&self.progress),
            batch: self.batches,
        })
    }

    /// Blocks the calling thread until all pending bytes are written.
    pub(crate) fn write_out(&mut self) -> Result<(), String> {
        drop(self.send());
        while self.progress.done.load(Ordering::Acquire) < self.batches {
            if let Some(fault) = self.fault() {
                return Err(fault);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Directs all later appends to `file`.
    pub(crate) fn rotate(&mut self, file: File) {
        drop(self.send());
        // A replay of the new file starts with no database selected, so the first command needs a
        // SELECT.
        self.db = None;
        self.send_job(WriterJob::Rotate { file });
    }

    /// Sets the total length of all files, after a rewrite replaced some of them.
    pub(crate) fn set_bytes(&self, bytes: u64) {
        self.progress.bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.progress.bytes.load(Ordering::Relaxed) + self.pending.len() as u64
    }

    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Returns the error that currently prevents writing, if any.
    pub(crate) fn fault(&self) -> Option<String> {
        let failing = self.progress.failing.load(Ordering::Acquire);
        failing.then(|| self.progress.fault.lock().clone())
    }

    /// Returns whether the writer thread has given up, for example after a failed sync. The server
    /// must then stop.
    pub(crate) fn is_broken(&self) -> bool {
        self.progress.broken.load(Ordering::Acquire)
    }

    fn send_job(&self, job: WriterJob) {
        // Sending fails only if the thread has ended after a failed sync. In that case, no reply
        // promises that these bytes are on disk.
        drop(self.job_sender.send(job));
    }
}

impl Drop for Journal {
    /// Writes and syncs the remaining bytes.
    fn drop(&mut self) {
        drop(self.send());
        self.progress.is_stopping.store(true, Ordering::Release);
        let (closed, _) = channel();
        drop(std::mem::replace(&mut self.job_sender, closed));
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the AOF panicked");
        }
    }
}

/// Handle with which a task waits until a batch is written.
#[derive(Debug)]
pub(crate) struct Commit {
    progress: Arc<Progress>,
    batch: u64,
}

impl Commit {
    fn is_done(&self) -> bool {
        self.batch <= self.progress.done.load(Ordering::Acquire)
    }

    fn is_failing(&self) -> bool {
        self.progress.failing.load(Ordering::Acquire)
    }

    /// Waits until the batch is written, and synced if `appendfsync` requires it, even if writing
    /// fails for a long time. Cancel-safe.
    pub(crate) async fn done(&self) {
        self.until(|| self.is_done()).await;
    }

    /// Waits until the batch is written, and synced if `appendfsync` requires it, or until writing
    /// fails. Returns whether the batch is done. Cancel-safe.
    pub(crate) async fn done_or_failed(&self) -> bool {
        self.until(|| self.is_done() || self.is_failing()).await;
        self.is_done()
    }

    async fn until(&self, holds: impl Fn() -> bool) {
        loop {
            let advanced = self.progress.advanced.notified();
            let mut advanced = std::pin::pin!(advanced);
            // The task registers for notifications before the check, so that no notification is
            // missed.
            advanced.as_mut().enable();
            if holds() {
                return;
            }
            advanced.await;
        }
    }
}

fn encode(args: &[Bytes], to: &mut Vec<u8>) {
    let mut number = itoa::Buffer::new();
    let mut head = |kind: u8, value: usize, to: &mut Vec<u8>| {
        to.push(kind);
        to.extend_from_slice(number.format(value).as_bytes());
        to.extend_from_slice(b"\r\n");
    };
    head(b'*', args.len(), to);
    for arg in args {
        head(b'$', arg.len(), to);
        to.extend_from_slice(arg);
        to.extend_from_slice(b"\r\n");
    }
}

/// State of the thread that writes the AOF.
struct Writer {
    file: Box<dyn Disk>,
    /// Length of the file up to the end of the last complete batch.
    len: u64,
    /// True if a partial batch may follow the last complete batch in the file.
    has_partial_batch: bool,
    /// Checksum of the bytes since the last checksum annotation in the file.
    sum: Sum,
    /// True if this writer has appended nothing since the last checksum annotation.
    is_checksum_written: bool,
    unsynced: bool,
    /// True if unsynced bytes must be synced within a second.
    has_sync_deadline: bool,
    synced_at: Instant,
    progress: Arc<Progress>,
}

impl Writer {
    fn run(&mut self, inbox: &Receiver<WriterJob>) {
        loop {
            let order = match self.unsynced && self.has_sync_deadline {
                true => inbox.recv_timeout(SECOND.saturating_sub(self.synced_at.elapsed())),
                false => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let synced = match order {
                Ok(WriterJob::Append {
                    bytes,
                    batch,
                    fsync,
                }) => self.append(&bytes, batch, fsync),
                Ok(WriterJob::Rotate { file }) => self.rotate(file),
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => {
                    self.write_checksum();
                    if let Err(error) = self.sync() {
                        self.give_up(&error);
                    }
                    return;
                }
            };
            if let Err(error) = synced {
                return self.give_up(&error);
            }
        }
    }

    /// Appends a batch. A failed write is retried until it succeeds or the server stops.
    ///
    /// # Errors
    /// A failed sync, or a failed write while the server stops.
    fn append(&mut self, bytes: &[u8], batch: u64, fsync: Fsync) -> io::Result<()> {
        while let Err(error) = self.write(bytes) {
            self.fail(&error);
            if self.progress.is_stopping.load(Ordering::Acquire) {
                return Err(error);
            }
            std::thread::sleep(SECOND);
        }
        if self.progress.failing.swap(false, Ordering::AcqRel) {
            tracing::info!("the AOF can be written again: commands that change data are accepted");
        }
        self.unsynced = true;
        self.has_sync_deadline = fsync != Fsync::No;
        let due = match fsync {
            Fsync::Always => true,
            Fsync::EverySecond => SECOND <= self.synced_at.elapsed(),
            Fsync::No => false,
        };
        if due {
            self.sync()?;
        }
        self.progress.done.store(batch, Ordering::Release);
        self.progress.advanced.notify_waiters();
        Ok(())
    }

    /// Writes a complete batch after the last complete batch. The partial batch of a failed
    /// attempt, if any, is cut off first.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.has_partial_batch {
            self.file.cut(self.len)?;
        }
        self.has_partial_batch = true;
        self.file.append(bytes)?;
        let mut sum = self.sum;
        sum.add(bytes);
        let is_due = SUM_EVERY_BYTES <= sum.bytes;
        if is_due {
            self.file.append(sum.line().as_bytes())?;
        }
        self.has_partial_batch = false;
        self.is_checksum_written = is_due;
        let written = bytes.len() + if is_due { SUM_LINE_BYTES } else { 0 };
        self.sum = if is_due { Sum::default() } else { sum };
        self.len += written as u64;
        self.progress
            .bytes
            .fetch_add(written as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Writes the checksum of the bytes since the last checksum annotation. If the disk has no room
    /// for the whole annotation, the next start of the server cuts off the partial annotation.
    fn write_checksum(&mut self) {
        if self.is_checksum_written || self.has_partial_batch {
            return;
        }
        match self.file.append(self.sum.line().as_bytes()) {
            Ok(()) => self.unsynced = true,
            Err(error) => tracing::warn!(%error, "cannot write the checksum at the end of the AOF"),
        }
    }

    /// Records a write error, and wakes the tasks whose replies wait for the batch.
    fn fail(&self, error: &io::Error) {
        *self.progress.fault.lock() = error.to_string();
        let was_failing = self.progress.failing.swap(true, Ordering::AcqRel);
        self.progress.advanced.notify_waiters();
        if !was_failing {
            tracing::error!(%error, "the AOF cannot be written: commands that change data are refused, and the write is retried each second");
        }
    }

    fn rotate(&mut self, file: File) -> io::Result<()> {
        self.sync()?;
        self.len = file.len()?;
        self.file = Box::new(file);
        self.sum = Sum::default();
        self.is_checksum_written = true;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.unsynced {
            self.file.sync()?;
            self.unsynced = false;
        }
        self.synced_at = Instant::now();
        Ok(())
    }

    fn give_up(&self, error: &io::Error) {
        tracing::error!(%error, "changes may be missing from the AOF, and its state on disk is unknown: the server stops");
        *self.progress.loss.lock() = Some(error.to_string());
        *self.progress.fault.lock() = error.to_string();
        self.progress.failing.store(true, Ordering::Release);
        self.progress.broken.store(true, Ordering::Release);
        self.progress.advanced.notify_waiters();
    }
}

/// Opens an AOF file for appending, and syncs its directory so that the name survives a crash.
pub(crate) fn open_for_append(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).append(true).open(path)?;
    sync_parent(path)?;
    Ok(file)
}

/// Opens an AOF file and empties it, since a failed rewrite may have left a file of this name.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = open_for_append(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// Syncs the directory of a file, so that names in it survive a crash.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    File::open(parent)?.sync_all()
}

/// Replaces a file atomically: writes a temporary file in the same directory, syncs it and renames
/// it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    if let Err(error) = write() {
        // The temporary file, if it exists, is removed to free its space.
        drop(fs::remove_file(&beside));
        return Err(error);
    }
    sync_parent(path)
}

/// Returns whether a write failed for lack of space. Such a write may succeed later.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
