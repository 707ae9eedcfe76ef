//! A snapshot's way into its file: the core encodes a piece a turn, a thread writes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use keyspace::Keyspace;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{spawn_blocking, yield_now};

use super::journal::sync_parent;
use crate::connection::Shared;

/// Pieces that wait for the thread.
const PIECES_MAX: usize = 8;

/// A piece of the file, or word that it is whole.
type Piece = Option<Vec<u8>>;

/// Writes the snapshot that was begun to `path`, beside its name first. Returns the file's length.
pub(crate) async fn write(shared: &Shared, path: PathBuf) -> io::Result<u64> {
    let (sender, receiver) = channel(PIECES_MAX);
    let writer = spawn_blocking(move || write_file(&path, receiver));
    let budget = shared.limits.snapshot_turn_bytes;
    loop {
        let mut piece = Vec::with_capacity(budget);
        let done = {
            let keyspace = &mut shared.state.borrow_mut().keyspace;
            keyspace.snapshot_next(budget, &mut piece)
        };
        // Without a receiver the writer has failed, and says why below.
        if sender.send(Some(piece)).await.is_err() {
            shared.state.borrow_mut().keyspace.snapshot_cancel();
            break;
        }
        if done {
            drop(sender.send(None).await);
            break;
        }
        yield_now().await;
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
    let mut len = 0;
    loop {
        match next() {
            Some(Some(piece)) => {
                file.write_all(&piece)?;
                len += piece.len() as u64;
            }
            Some(None) => break,
            None => return Err(io::Error::other("the snapshot was abandoned")),
        }
    }
    file.sync_all()?;
    Ok(len)
}
