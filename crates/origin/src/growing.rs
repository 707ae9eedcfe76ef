//! A track that is being made, sent as it grows: nobody waits for its end to hear its beginning.
//!
//! ```text
//! worker ─ writes ─► memory file ─ whole pages that fit, by their checksums ─► believed ─► whoever asked for it
//! ```
//!
//! A memory file has no bytes where nothing was written, and a worker writes from the beginning on, so what lies before the
//! first hole is there. Of that only pages are given out that [`Checker`] believes: the beginning of one that is still being
//! written is none yet. Once the job is done and all of it was read, everything is.
//!
//! Threads: a meeting place of the thread that has it made and of the cores that send it. The one lock is held to read and
//! check [`LOOK_BYTES`] of memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use reactor::Ended;
use rustix::fs::{SeekFrom, seek};
use sound::{Checker, Plan};
use tokio::time::{Sleep, sleep};

use crate::chunks::CHUNK_BYTES;

/// How often it is looked at.
pub(crate) const LOOK_TIME: Duration = Duration::from_millis(50);
/// What is checked at a time.
const LOOK_BYTES: usize = 64 << 10;

/// One track.
#[derive(Debug)]
pub struct Growing {
    file: File,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    checker: Checker,
    believed_bytes: u64,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Whole,
    Failed,
}

impl Growing {
    /// What `plan` makes, written into `file` from now on.
    pub(crate) fn new(file: File, plan: &Plan) -> Growing {
        Growing {
            file,
            state: Mutex::new(State {
                checker: Checker::new(plan),
                believed_bytes: 0,
                end: End::Open,
            }),
        }
    }

    /// It has so many bytes, all of them believed; or nothing more comes.
    pub(crate) fn end(&self, bytes: Option<u64>) {
        let mut state = self.lock();
        match bytes {
            // What was given out already was believed page by page.
            Some(bytes) if state.believed_bytes <= bytes => {
                state.believed_bytes = bytes;
                state.end = End::Whole;
            }
            _ => state.end = End::Failed,
        }
    }

    /// Looks how much more there is, and tells how much is believed.
    pub(crate) fn look(&self) -> u64 {
        let mut state = self.lock();
        if state.end == End::Open {
            self.read_on(&mut state);
        }
        state.believed_bytes
    }

    fn read_on(&self, state: &mut State) {
        let begin = state.believed_bytes;
        // Behind the last byte that there may be, it has no hole; nor is there anything.
        let Ok(hole) = seek(&self.file, SeekFrom::Hole(begin)) else {
            return;
        };
        let mut piece = vec![0; LOOK_BYTES.min(hole.saturating_sub(begin) as usize)];
        if self.file.read_exact_at(&mut piece, begin).is_err() {
            return;
        }
        let mut taken = 0;
        loop {
            let mut checker = state.checker.clone();
            match checker.take_page(&piece[taken..]) {
                // Not whole, or not written to its end.
                Ok(0) | Err(_) => break,
                Ok(bytes) => {
                    taken += bytes;
                    state.checker = checker;
                }
            }
        }
        state.believed_bytes += taken as u64;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One track on its way to one client.
#[derive(Debug)]
pub(crate) struct Pieces {
    growing: Arc<Growing>,
    at: u64,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Pieces {
    pub(crate) fn new(growing: Arc<Growing>) -> Pieces {
        Pieces {
            growing,
            at: 0,
            pause: None,
        }
    }

    /// The next piece, of `bytes_max` and [`CHUNK_BYTES`] at most, and whether it is the last; that may be empty.
    ///
    /// # Errors
    /// [`Ended::File`], when it does not come to its end.
    pub(crate) fn poll_next(
        &mut self,
        bytes_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<(Vec<u8>, bool), Ended>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            let believed = self.growing.look();
            let end = self.growing.lock().end;
            let length = (believed - self.at).min(CHUNK_BYTES.min(bytes_max) as u64);
            let is_last = end == End::Whole && self.at + length == believed;
            if length == 0 && !is_last {
                if end == End::Failed {
                    let why =
                        io::Error::other("a track that was heard already was not made to its end");
                    return Poll::Ready(Err(Ended::File(why)));
                }
                self.pause = Some(Box::pin(sleep(LOOK_TIME)));
                continue;
            }
            let mut piece = vec![0; length as usize];
            let read = self.growing.file.read_exact_at(&mut piece, self.at);
            read.map_err(Ended::File)?;
            self.at += length;
            return Poll::Ready(Ok((piece, is_last)));
        }
    }
}

#[cfg(test)]
mod tests;
