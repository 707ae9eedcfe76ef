//! The journal while the server runs: commands become bytes on the core, bytes become a file on a thread.
//!
//! ```text
//! core    commands ─► pending ─┐ once a turn, when the last batch is done
//! thread                       └─► write, and sync where the setting says ─► Progress ─► who waits replies
//! ```
//!
//! What one turn's connections changed goes out in one batch; while a batch is on its way the next one fills, so the
//! slower the disk, the larger the batches. A failed write is taken back and tried again each second; a failed sync
//! ends the server, since nobody knows what is on the disk after one.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::config::Fsync;

/// How often a file is synced that is synced by time, and a write that failed is tried again.
const SECOND: Duration = Duration::from_secs(1);

/// The journal as the core sees it.
#[derive(Debug)]
pub(crate) struct Journal {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
    progress: Arc<Progress>,
    /// Bytes of commands that no batch has taken.
    pending: Vec<u8>,
    /// The database that the last command in the file was for.
    db: Option<usize>,
    /// Batches that were begun; the one that fills has the next number.
    batches: u64,
    fsync: Fsync,
}

/// How far the thread is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Batches that are in the file, and on the disk where they were to be.
    done: AtomicU64,
    /// Bytes in all files.
    bytes: AtomicU64,
    /// Told when `done` grows.
    advanced: Notify,
    /// Writing fails at the moment.
    failing: AtomicBool,
    /// Why, in words.
    fault: Mutex<String>,
    /// A sync failed: nothing more is promised.
    broken: AtomicBool,
    /// The server ends, so a write that fails is not tried again.
    ending: AtomicBool,
}

enum Order {
    Append {
        bytes: Vec<u8>,
        batch: u64,
        fsync: Fsync,
    },
    /// Goes on in another file, which the caller has listed in the manifest.
    Rotate { file: File },
}

impl Journal {
    /// Goes on at the end of `file`, which holds `bytes` bytes together with those before it.
    pub(crate) fn start(file: File, bytes: u64, fsync: Fsync) -> io::Result<Journal> {
        let (orders, inbox) = channel();
        let progress = Arc::new(Progress::default());
        progress.bytes.store(bytes, Ordering::Relaxed);
        let len = file.metadata()?.len();
        let mut writer = Writer {
            file,
            len,
            unsynced: false,
            timed: false,
            synced_at: Instant::now(),
            progress: Arc::clone(&progress),
        };
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(&inbox))?;
        Ok(Journal {
            orders,
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

    /// Appends what one command or transaction changed; more than one change is wrapped so that all or none is
    /// replayed.
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

    /// What a reply to commands so far has to wait for, if for anything.
    pub(crate) fn commit(&self, bytes_max: usize) -> Option<Commit> {
        let batch = match self.pending.is_empty() {
            true => self.batches,
            false => self.batches + 1,
        };
        let waits = self.fsync == Fsync::Always || bytes_max < self.pending.len();
        let commit = Commit {
            progress: Arc::clone(&self.progress),
            batch,
        };
        (waits && !commit.is_done()).then_some(commit)
    }

    /// Sends what has come together; what to wait for before it is called again.
    pub(crate) fn send(&mut self) -> Option<Commit> {
        if self.pending.is_empty() {
            return None;
        }
        self.batches += 1;
        let bytes = std::mem::take(&mut self.pending);
        self.order(Order::Append {
            bytes,
            batch: self.batches,
            fsync: self.fsync,
        });
        Some(Commit {
            progress: Arc::clone(&self.progress),
            batch: self.batches,
        })
    }

    /// Has the thread write what there is, and keeps this one waiting.
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

    /// Goes on in `file`, behind everything that was appended so far.
    pub(crate) fn rotate(&mut self, file: File) {
        drop(self.send());
        // A file is replayed from its begin, where no database is selected.
        self.db = None;
        self.order(Order::Rotate { file });
    }

    /// The files together are so large now: a rewrite replaced what was before.
    pub(crate) fn set_bytes(&self, bytes: u64) {
        self.progress.bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.progress.bytes.load(Ordering::Relaxed) + self.pending.len() as u64
    }

    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Why nothing can be written at the moment, if so.
    pub(crate) fn fault(&self) -> Option<String> {
        let failing = self.progress.failing.load(Ordering::Acquire);
        failing.then(|| {
            self.progress
                .fault
                .lock()
                .expect("nobody panics with it")
                .clone()
        })
    }

    /// Whether a sync failed, after which the server cannot go on.
    pub(crate) fn is_broken(&self) -> bool {
        self.progress.broken.load(Ordering::Acquire)
    }

    fn order(&self, order: Order) {
        // The thread ends after a failed sync; what it is told then is not promised to anybody.
        drop(self.orders.send(order));
    }
}

impl Drop for Journal {
    /// Writes and syncs the rest.
    fn drop(&mut self) {
        drop(self.send());
        self.progress.ending.store(true, Ordering::Release);
        let (closed, _) = channel();
        drop(std::mem::replace(&mut self.orders, closed));
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the journal's thread panicked");
        }
    }
}

/// Waits for a batch.
#[derive(Debug)]
pub(crate) struct Commit {
    progress: Arc<Progress>,
    batch: u64,
}

impl Commit {
    fn is_done(&self) -> bool {
        self.batch <= self.progress.done.load(Ordering::Acquire)
    }

    /// Until the batch is where its setting wants it; for ever when that fails. Cancel-safe.
    pub(crate) async fn wait(self) {
        loop {
            let advanced = self.progress.advanced.notified();
            let mut advanced = std::pin::pin!(advanced);
            // From here on no news is missed.
            advanced.as_mut().enable();
            if self.is_done() {
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

/// The thread's side.
struct Writer {
    file: File,
    /// Bytes of the file that are whole batches.
    len: u64,
    unsynced: bool,
    /// What is unsynced is to be synced within a second.
    timed: bool,
    synced_at: Instant,
    progress: Arc<Progress>,
}

impl Writer {
    fn run(&mut self, inbox: &Receiver<Order>) {
        loop {
            let order = match self.unsynced && self.timed {
                true => inbox.recv_timeout(SECOND.saturating_sub(self.synced_at.elapsed())),
                false => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let synced = match order {
                Ok(Order::Append {
                    bytes,
                    batch,
                    fsync,
                }) => self.append(&bytes, batch, fsync),
                Ok(Order::Rotate { file }) => self.rotate(file),
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => {
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

    /// The error is that of a sync; one of a write is tried again until it works.
    fn append(&mut self, bytes: &[u8], batch: u64, fsync: Fsync) -> io::Result<()> {
        while let Err(error) = self.file.write_all(bytes) {
            tracing::error!(%error, "the journal cannot be written; trying again in a second");
            *self.progress.fault.lock().expect("nobody panics with it") = error.to_string();
            self.progress.failing.store(true, Ordering::Release);
            if self.progress.ending.load(Ordering::Acquire) {
                return Err(error);
            }
            std::thread::sleep(SECOND);
            // A part of the batch may be there.
            if let Err(error) = self.file.set_len(self.len) {
                tracing::error!(%error, "the journal's torn end cannot be cut off");
            }
        }
        self.progress.failing.store(false, Ordering::Release);
        self.len += bytes.len() as u64;
        self.unsynced = true;
        self.timed = fsync != Fsync::No;
        let due = match fsync {
            Fsync::Always => true,
            Fsync::EverySecond => SECOND <= self.synced_at.elapsed(),
            Fsync::No => false,
        };
        if due {
            self.sync()?;
        }
        self.progress
            .bytes
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.progress.done.store(batch, Ordering::Release);
        self.progress.advanced.notify_waiters();
        Ok(())
    }

    fn rotate(&mut self, file: File) -> io::Result<()> {
        self.sync()?;
        self.len = file.metadata()?.len();
        self.file = file;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.unsynced {
            self.file.sync_data()?;
            self.unsynced = false;
        }
        self.synced_at = Instant::now();
        Ok(())
    }

    fn give_up(&self, error: &io::Error) {
        tracing::error!(%error, "the journal cannot be synced: the server stops, since nobody knows what is on the disk");
        *self.progress.fault.lock().expect("nobody panics with it") = error.to_string();
        self.progress.failing.store(true, Ordering::Release);
        self.progress.broken.store(true, Ordering::Release);
        self.progress.advanced.notify_waiters();
    }
}

/// Opens a journal file for appending, and makes its name last.
pub(crate) fn open_for_append(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).append(true).open(path)?;
    sync_parent(path)?;
    Ok(file)
}

/// Opens a new journal file, whatever a rewrite that failed has left under its name.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = open_for_append(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// Makes the names in a file's directory last.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    File::open(parent)?.sync_all()
}

/// Replaces a file as a whole: written beside its name, synced, renamed.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    sync_parent(path)
}
