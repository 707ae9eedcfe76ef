//! Track that is sent to clients while a worker still transcodes it.
//!
//! ```text
//! worker ─ writes ─► memory file ─ complete pages with valid checksums ─► a copy ─► player
//! ```
//!
//! The worker writes the memory file from its beginning, and a memory file has a hole wherever
//! nothing was written. So all bytes before the first hole have been written. Of these bytes, only
//! complete Ogg pages that [`Checker`] accepts are sent. Pages are copied before they are checked,
//! since the worker may still write to them. When the job is done, the file is sealed and checked
//! as a whole, and the remaining bytes are read from the file.
//!
//! Threads: the thread that runs the job and the cores that send the track share a [`Growing`]. The
//! one lock is held while at most [`POLL_BYTES_MAX`] bytes are read and checked.

use parking_lot::{Mutex, MutexGuard};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use audio_plan::{Checker, Plan};
use reactor::Ended;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use tokio::time::{Sleep, sleep};

use crate::chunks::CHUNK_BYTES;

/// Interval between polls of the memory file that the worker writes.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of bytes that are copied and checked per poll.
const POLL_BYTES_MAX: usize = 64 << 10;

/// Track that clients may receive while a worker still transcodes it.
#[derive(Debug)]
pub struct Growing {
    /// Memory file that the worker writes.
    file: File,
    /// Copy of the checked bytes. Only this process can write to the copy.
    copy: File,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    checker: Checker,
    copied_bytes: u64,
    end: End,
}

impl State {
    /// Returns the number of bytes, from the start of the track, that may be sent.
    fn sendable_bytes(&self) -> u64 {
        match self.end {
            End::Whole(bytes) => bytes,
            End::Open | End::Failed => self.copied_bytes,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// The transcode has finished. The file is sealed and checked, and has this length in bytes.
    Whole(u64),
    Failed,
}

impl Growing {
    /// Returns a new track. A worker will transcode it by `plan` and write it into `file`, which
    /// must be empty.
    ///
    /// # Errors
    /// If the host does not allow another memory file.
    pub fn new(file: File, plan: &Plan) -> io::Result<Growing> {
        let copy = memfd_create("heard", MemfdFlags::CLOEXEC)?;
        Ok(Growing {
            file,
            copy: File::from(copy),
            state: Mutex::new(State {
                checker: Checker::new(plan),
                copied_bytes: 0,
                end: End::Open,
            }),
        })
    }

    /// Records the end of the transcode. `bytes` is the length of the sealed and checked file, or
    /// `None` if the transcode failed.
    pub fn end(&self, bytes: Option<u64>) {
        let mut state = self.lock();
        state.end = match bytes {
            Some(bytes) if state.copied_bytes <= bytes => End::Whole(bytes),
            _ => End::Failed,
        };
    }

    /// Checks new pages of the file and returns the number of bytes that may be sent.
    pub fn check_progress(&self) -> u64 {
        let mut state = self.lock();
        if state.end == End::Open {
            self.read_on(&mut state);
        }
        state.sendable_bytes()
    }

    fn read_on(&self, state: &mut State) {
        let begin = state.copied_bytes;
        // The call fails if `begin` is the end of the file.
        let Ok(hole) = seek(&self.file, SeekFrom::Hole(begin)) else {
            return;
        };
        let mut piece = vec![0; POLL_BYTES_MAX.min(hole.saturating_sub(begin) as usize)];
        if self.file.read_exact_at(&mut piece, begin).is_err() {
            return;
        }
        let mut checked_bytes = 0;
        let mut believed = state.checker.clone();
        loop {
            let mut checker = believed.clone();
            match checker.take_page(&piece[checked_bytes..]) {
                // All complete pages are checked, or the last bytes of the next page are not yet
                // written.
                Ok(0) | Err(_) => break,
                Ok(bytes) => {
                    checked_bytes += bytes;
                    believed = checker;
                }
            }
        }
        // If memory for the copy is lacking, the next poll tries again. When the job is done, the
        // complete track is sent from the worker's file instead.
        if self
            .copy
            .write_all_at(&piece[..checked_bytes], begin)
            .is_ok()
        {
            state.checker = believed;
            state.copied_bytes += checked_bytes as u64;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Reader that returns the pieces of a track for one client.
#[derive(Debug)]
pub struct Pieces {
    growing: Arc<Growing>,
    at: u64,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Pieces {
    /// Returns a reader that begins at the start of the track.
    pub fn new(growing: Arc<Growing>) -> Pieces {
        Pieces {
            growing,
            at: 0,
            pause: None,
        }
    }

    /// Returns the next piece and whether it is the last piece. A piece has at most `bytes_max`
    /// bytes and at most [`CHUNK_BYTES`]. The last piece may be empty.
    ///
    /// # Errors
    /// [`Ended::File`] if the transcode fails.
    pub fn poll_next(
        &mut self,
        bytes_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<(Vec<u8>, bool), Ended>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            self.growing.check_progress();
            let (copied, believed, end) = {
                let state = self.growing.lock();
                (state.copied_bytes, state.sendable_bytes(), state.end)
            };
            let (file, there) = match copied <= self.at {
                true => (&self.growing.file, believed),
                false => (&self.growing.copy, copied),
            };
            let length = (there - self.at).min(CHUNK_BYTES.min(bytes_max) as u64);
            let is_last = end == End::Whole(self.at + length);
            if length == 0 && !is_last {
                if end == End::Failed {
                    let why = io::Error::other(
                        "transcoding failed after a part of the track had been sent",
                    );
                    return Poll::Ready(Err(Ended::File(why)));
                }
                self.pause = Some(Box::pin(sleep(POLL_INTERVAL)));
                continue;
            }
            let mut piece = vec![0; length as usize];
            let read = file.read_exact_at(&mut piece, self.at);
            read.map_err(Ended::File)?;
            self.at += length;
            return Poll::Ready(Ok((piece, is_last)));
        }
    }
}

#[cfg(test)]
mod tests;
