//! A snapshot's way into its file: the core encodes a piece a turn, a thread writes.
//!
//! As long as clients ask for something, the core rests between two pieces: a thread that is always busy is one that the
//! kernel lets wait for others of its processor. When nobody asks, it goes on at once.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use keyspace::Keyspace;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::sleep;

use super::journal::sync_parent;
use crate::clock::thread_cpu_time;
use crate::connection::Shared;

/// Pieces that wait for the thread.
const PIECES_MAX: usize = 8;
/// Between two pieces while clients ask.
const REST: Duration = Duration::from_millis(1);
/// The file is synced each time it has grown by so much: to sync all of it at its end would keep the disk from the journal
/// for as long as that takes.
const SYNC_BYTES: u64 = 8 << 20;

/// A piece of the file, or word that it is whole.
type Piece = Option<Vec<u8>>;

/// Writes the snapshot that was begun to `path`, beside its name first. Returns the file's length.
pub(crate) async fn write(shared: &Shared, path: PathBuf) -> io::Result<u64> {
    let (sender, receiver) = channel(PIECES_MAX);
    let writer = spawn_blocking(move || write_file(&path, receiver));
    let work_bytes = shared.limits.snapshot_turn_bytes;
    let mut commands = 0;
    loop {
        let mut piece = Vec::new();
        let (done, drained) = {
            let state = &mut *shared.state.borrow_mut();
            let begun = thread_cpu_time();
            let done = state.keyspace.snapshot_next(work_bytes, &mut piece);
            state.persist.note_turn(thread_cpu_time() - begun);
            (done, state.persist.drained.clone())
        };
        drained.notify_waiters();
        // Without a receiver the writer has failed, and says why below.
        if sender.is_closed() || sender.send(Some(piece)).await.is_err() {
            shared.state.borrow_mut().keyspace.snapshot_cancel();
        }
        if done {
            drop(sender.send(None).await);
            break;
        }
        let before = commands;
        commands = shared.state.borrow().stats.commands;
        match before == commands {
            true => yield_now().await,
            false => sleep(REST).await,
        }
    }
    drop(sender);
    writer
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn write_file(path: &Path, mut pieces: Receiver<Piece>) -> io::Result<u64> {
    let beside = beside(path);
    let mut next = || pieces.blocking_recv();
    let written = write_pieces(&beside, &mut next).and_then(|len| {
        fs::rename(&beside, path)?;
        sync_parent(path)?;
        Ok(len)
    });
    if written.is_err() {
        // What is left of it would only take room; there may be nothing.
        drop(fs::remove_file(&beside));
    }
    written
}

/// Writes a snapshot at once, on the calling thread: at the start, when nobody is served yet.
pub(crate) fn write_blocking(
    keyspace: &mut Keyspace,
    path: &Path,
    piece_bytes: usize,
) -> io::Result<u64> {
    let beside = beside(path);
    let mut done = false;
    let mut next = || match done {
        true => Some(None),
        false => {
            let mut piece = Vec::new();
            done = keyspace.snapshot_next(piece_bytes, &mut piece);
            Some(Some(piece))
        }
    };
    let len = write_pieces(&beside, &mut next)?;
    fs::rename(&beside, path)?;
    sync_parent(path)?;
    Ok(len)
}

fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    beside.into()
}

fn write_pieces(path: &Path, next: &mut dyn FnMut() -> Option<Piece>) -> io::Result<u64> {
    let mut file = File::create(path)?;
    let (mut len, mut synced) = (0, 0);
    loop {
        match next() {
            Some(Some(piece)) => {
                file.write_all(&piece)?;
                len += piece.len() as u64;
                if SYNC_BYTES <= len - synced {
                    file.sync_data()?;
                    synced = len;
                }
            }
            Some(None) => break,
            None => return Err(io::Error::other("the snapshot was abandoned")),
        }
    }
    file.sync_all()?;
    Ok(len)
}
