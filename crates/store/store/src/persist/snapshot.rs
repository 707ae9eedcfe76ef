//! Writes a snapshot file piece by piece.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use keyspace::{Keyspace, rdb};
use tokio::sync::mpsc::Receiver;

use super::journal::sync_parent;
use crate::config::Config;

/// Number of bytes between two syncs of a snapshot file that is being written. A single sync at the
/// end would take long, and would block the AOF's syncs meanwhile.
const SYNC_BYTES: u64 = 8 << 20;

/// Returns the encoding options of a snapshot file or, if `aof_base` is true, of the AOF's base.
pub(crate) fn options(config: &Config, aof_base: bool, now_ms: u64) -> rdb::Options {
    rdb::Options {
        version: config.rdb_version.0 as u16,
        compress: config.rdbcompression,
        aof_base,
        now_ms,
    }
}

/// Piece of the file, or `None` to mark the file as complete.
type Piece = Option<Vec<u8>>;

/// Receives the pieces of a snapshot file, and writes them to a temporary file. Then renames the
/// temporary file to `path`. Returns the file's length.
pub(crate) fn write_file(path: &Path, mut pieces: Receiver<Piece>) -> io::Result<u64> {
    let temporary_path = temporary_path(path);
    let mut next = || pieces.blocking_recv();
    let written = write_pieces(&temporary_path, &mut next).and_then(|len| {
        fs::rename(&temporary_path, path)?;
        sync_parent(path)?;
        Ok(len)
    });
    if written.is_err() {
        // The temporary file, if it exists, is removed to free its space.
        drop(fs::remove_file(&temporary_path));
    }
    written
}

/// Writes a whole snapshot on the calling thread. Used at start-up, before the server accepts
/// clients.
pub(crate) fn write_blocking(
    keyspace: &mut Keyspace,
    path: &Path,
    piece_bytes: usize,
) -> io::Result<u64> {
    let temporary_path = temporary_path(path);
    let mut done = false;
    let mut next = || match done {
        true => Some(None),
        false => {
            let mut piece = Vec::new();
            done = keyspace.write_snapshot_part(piece_bytes, &mut piece);
            Some(Some(piece))
        }
    };
    let len = write_pieces(&temporary_path, &mut next)?;
    fs::rename(&temporary_path, path)?;
    sync_parent(path)?;
    Ok(len)
}

fn temporary_path(path: &Path) -> PathBuf {
    let mut temporary_path = path.as_os_str().to_owned();
    temporary_path.push(format!(".{}.tmp", std::process::id()));
    temporary_path.into()
}

/// Removes the temporary snapshot files whose names begin with `stem` and that belong to processes
/// that ended before their snapshots were complete.
pub(crate) fn remove_unfinished(dir: &Path, stem: &str) {
    // Errors are ignored, since a remaining file only occupies space.
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix(stem)?.strip_suffix(".tmp"))
            .and_then(|rest| rest.rsplit_once('.')?.1.parse::<u32>().ok());
        let is_over = |process: u32| !Path::new(&format!("/proc/{process}")).exists();
        if number.is_some_and(is_over) && fs::remove_file(entry.path()).is_ok() {
            tracing::info!(file = %entry.path().display(), "removed an unfinished snapshot");
        }
    }
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
            None => {
                return Err(io::Error::other(
                    "the snapshot was cancelled before it was complete",
                ));
            }
        }
    }
    file.sync_all()?;
    Ok(len)
}
