//! The background work of persistence: snapshots, rewrites of the AOF, and writes of batches to the
//! AOF.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use reactor::blocking;
use tokio::sync::mpsc::channel;
use tokio::task::{spawn_blocking, yield_now};

use super::Job;
use super::journal::{self, Journal};
use super::manifest::Manifest;
use super::paths::Paths;
use super::snapshot;
use crate::effects;
use crate::pace::Pace;
use crate::shared::Shared;
use crate::state::State;

/// Maximum number of encoded pieces of a snapshot that wait for the thread that writes them.
const PIECES_MAX: usize = 8;
/// Runs queued jobs one after the other until the server stops.
pub(crate) async fn run_jobs(shared: Rc<Shared>) {
    let wake = Rc::clone(&shared.state.borrow().persist.wake);
    loop {
        if !shared.state.borrow().persist.queued_jobs.is_empty() {
            await_tag_sweep(&shared).await;
        }
        let job = {
            let state = &mut *shared.state.borrow_mut();
            let now_ms = state.now_ms();
            state
                .persist
                .next_job(&state.config, &mut state.keyspace, now_ms)
        };
        match job {
            Some(Job::Save) => {
                let path = Paths::new(&shared.state.borrow().config).snapshot;
                let written = write_snapshot(&shared, path).await;
                answer_savers(&mut shared.state.borrow_mut(), written);
            }
            Some(Job::Rewrite) => {
                let rewritten = rewrite(&shared).await;
                let state = &mut *shared.state.borrow_mut();
                let now_ms = state.now_ms();
                state.persist.rewrite_done(rewritten, now_ms);
            }
            None if shared.state.borrow().persist.stops => {
                shared.state.borrow().persist.stop.trigger();
                return;
            }
            None => wake.notified().await,
        }
    }
}

/// Writes the snapshot in progress to a file. The core encodes one piece of the file per pass of
/// its event loop, and another thread writes the pieces. Returns the file's length.
async fn write_snapshot(shared: &Shared, path: PathBuf) -> io::Result<u64> {
    let (sender, receiver) = channel(PIECES_MAX);
    let writer = spawn_blocking(move || snapshot::write_file(&path, receiver));
    let work_bytes = shared.limits.snapshot_turn_bytes;
    let mut pace = Pace::default();
    loop {
        let mut piece = Vec::new();
        let done = pace.work(shared, |state| {
            state.keyspace.write_snapshot_part(work_bytes, &mut piece)
        });
        let (is_outdated, drained) = {
            let persist = &mut shared.state.borrow_mut().persist;
            persist.note_turn(pace.last);
            (persist.is_outdated(), persist.drained.clone())
        };
        drained.notify_waiters();
        // If the channel is closed, the writer has failed. The writer's error is returned below.
        if sender.is_closed() || sender.send(Some(piece)).await.is_err() {
            shared.state.borrow_mut().keyspace.cancel_snapshot();
        }
        if done {
            // `None` marks the end of the snapshot. Without it, the writer discards the file.
            if !is_outdated {
                drop(sender.send(None).await);
            }
            break;
        }
        pace.rest(shared).await;
    }
    drop(sender);
    writer
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Records the result of a snapshot, and replies to the clients that waited for it.
fn answer_savers(state: &mut State, written: io::Result<u64>) {
    let now_ms = state.now_ms();
    let done = state.persist.save_done(written, now_ms);
    if done.is_stop_cancelled {
        state.pauses.end(&mut state.clients);
    }
    for key in done.waiters {
        if state.unpark(key).is_some() {
            let out = &mut state.clients[key].out;
            match done.reply {
                Ok(()) => out.ok(),
                Err(text) => out.error(text),
            }
        }
    }
}

/// Waits until all keys whose cache tags were dropped are removed, so that a snapshot starts
/// without them.
async fn await_tag_sweep(shared: &Shared) {
    while !effects::sweep_tagged(&mut shared.state.borrow_mut()) {
        yield_now().await;
    }
}

/// Sends batches of changes to the AOF's writer thread, one after the other.
pub(crate) async fn write_batches(shared: Rc<Shared>) {
    let dirty = Rc::clone(&shared.state.borrow().persist.dirty);
    loop {
        let sent = {
            let mut state = shared.state.borrow_mut();
            state.persist.journal.as_mut().and_then(Journal::send)
        };
        match sent {
            Some(commit) => commit.done().await,
            None => dirty.notified().await,
        }
    }
}

/// Rewrites the AOF. If the AOF was off, the rewrite starts it. If such a rewrite fails, the AOF is
/// stopped again: the manifest does not list its files, so they would never be read.
async fn rewrite(shared: &Shared) -> io::Result<u64> {
    let (before, was_on) = {
        let persist = &shared.state.borrow().persist;
        (persist.manifest.clone(), persist.is_journaling())
    };
    let rewritten = write_new_files(shared, before.clone(), was_on).await;
    if let Err(error) = &rewritten
        && !was_on
    {
        let journal = {
            let state = &mut *shared.state.borrow_mut();
            state.keyspace.set_journaling(false);
            let persist = &mut state.persist;
            persist.manifest = before;
            persist.start_fault = state.config.appendonly.then(|| error.to_string());
            persist.journal.take()
        };
        // The next attempt uses the same file name, so the old writer thread must end first.
        blocking(move || drop(journal)).await;
    }
    rewritten
}

/// Starts a new base of the AOF (a snapshot) and a new increment (later commands) at the same
/// moment. Once the base is complete, both replace the older files. If `appendonly` is off, only a
/// base is written. Returns the base's length.
async fn write_new_files(shared: &Shared, mut manifest: Manifest, was_on: bool) -> io::Result<u64> {
    let paths = Paths::new(&shared.state.borrow().config);
    let increment = manifest.next_increment(&paths.stem);
    manifest.increments.push(increment.clone());
    let file = {
        let (paths, listed) = (paths.clone(), manifest.clone());
        blocking(move || -> io::Result<_> {
            fs::create_dir_all(&paths.journals)?;
            let file = journal::create(&paths.journal(&increment))?;
            // If the rewrite starts an AOF that was off, the manifest lists the increment only
            // after the base is complete: without the base, the increment does not contain all
            // data.
            if was_on {
                journal::replace(&paths.manifest, listed.print().as_bytes())?;
            }
            Ok(file)
        })
        .await?
    };
    await_tag_sweep(shared).await;
    let bytes_before = {
        let state = &mut *shared.state.borrow_mut();
        let now_ms = state.now_ms();
        let (config, keyspace) = (&state.config, &mut state.keyspace);
        let persist = &mut state.persist;
        persist.split_journal(file, &manifest, config, keyspace, now_ms)?
    };
    let mut base = manifest.next_base(&paths.stem);
    // An existing base is never overwritten, because the manifest on disk may name it. An earlier
    // rewrite may have put such a manifest in place, and then failed to sync the directory.
    while paths.journal(&base).exists() {
        base = Manifest {
            base: Some(base),
            ..Manifest::default()
        }
        .next_base(&paths.stem);
    }
    let base_bytes = write_snapshot(shared, paths.journal(&base)).await?;
    // `bytes_before` is `None` if the AOF is turned off. The new increment then gets no commands,
    // and is removed with the older files.
    let last = bytes_before.and_then(|_| manifest.increments.pop());
    let listed = Manifest {
        base: Some(base),
        increments: last.into_iter().collect(),
        history: manifest
            .history
            .into_iter()
            .chain(manifest.base)
            .chain(manifest.increments)
            .collect(),
    };
    let (at, text) = (paths.manifest.clone(), listed.print());
    blocking(move || journal::replace(&at, text.as_bytes())).await?;
    {
        let persist = &mut shared.state.borrow_mut().persist;
        persist.manifest = listed.clone();
        if let Some(journal) = &persist.journal {
            journal.set_bytes(base_bytes + (journal.bytes() - bytes_before.unwrap_or(0)));
        }
    }
    let left = blocking(move || remove_history(&paths, listed)).await;
    shared.state.borrow_mut().persist.manifest = left;
    Ok(base_bytes)
}

/// Removes obsolete files. Files that cannot be removed remain listed in the manifest, and are
/// removed after the next rewrite.
fn remove_history(paths: &Paths, mut manifest: Manifest) -> Manifest {
    let listed = manifest.clone();
    manifest.history.retain(|old| {
        let path = paths.journal(old);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, file = %path.display(), "cannot remove an obsolete AOF file; the removal is tried again after the next rewrite");
                true
            }
            _ => false,
        }
    });
    match journal::replace(&paths.manifest, manifest.print().as_bytes()) {
        Ok(()) => manifest,
        Err(error) => {
            tracing::warn!(
                %error,
                "the AOF manifest cannot be updated and still lists removed files"
            );
            listed
        }
    }
}
