//! The data on disk: the journal, and when it is written.
//!
//! ```text
//! dir/appendonlydir/NAME.manifest      which of the files below count, in which order
//!                   NAME.1.incr.aof    commands
//! ```

mod journal;
mod load;
mod manifest;

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::rc::Rc;

use bytes::Bytes;
use keyspace::Keyspace;
use tokio::sync::Notify;

use crate::Error;
use crate::config::Config;
use crate::connection::Shared;
use crate::state::State;

use journal::{Commit, Journal};
use load::{Loaded, Places};

/// The journal, if there is one.
#[derive(Debug)]
pub(crate) struct Persist {
    journal: Option<Journal>,
    /// Told when the journal has something to send.
    dirty: Rc<Notify>,
    started_ms: u64,
}

/// A journal that goes on where it was left, or begins.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    bytes: u64,
}

/// Loads the data and opens the journal, if there is to be one.
pub(crate) fn open(
    config: &Config,
    keyspace: &mut Keyspace,
    now_ms: u64,
) -> Result<Option<Opened>, Error> {
    let places = Places::new(config);
    let host = |what: &std::path::Path| {
        let what = what.display().to_string();
        move |error: io::Error| Error::host(format!("{what}: {error}"))
    };
    fs::create_dir_all(&config.dir).map_err(host(config.dir.as_ref()))?;
    let Loaded {
        manifest,
        journal_bytes,
    } = load::load(config, keyspace, now_ms)?;
    if !config.appendonly {
        return Ok(None);
    }
    let mut manifest = manifest.unwrap_or_default();
    fs::create_dir_all(&places.journals).map_err(host(&places.journals))?;
    if manifest.increments.is_empty() {
        let increment = manifest.next_increment(&places.stem);
        manifest.increments.push(increment);
    }
    let last = manifest.increments.last().expect("one was pushed");
    let path = places.journal(last);
    let file = journal::open_for_append(&path).map_err(host(&path))?;
    journal::replace(&places.manifest, manifest.print().as_bytes())
        .map_err(host(&places.manifest))?;
    Ok(Some(Opened {
        file,
        bytes: journal_bytes,
    }))
}

impl Persist {
    pub(crate) fn new(config: &Config, opened: Option<Opened>, now_ms: u64) -> io::Result<Persist> {
        let mut persist = Persist::without_journal(now_ms);
        if let Some(opened) = opened {
            let journal = Journal::start(opened.file, opened.bytes, config.appendfsync)?;
            persist.journal = Some(journal);
        }
        Ok(persist)
    }

    pub(crate) fn without_journal(now_ms: u64) -> Persist {
        Persist {
            journal: None,
            dirty: Rc::new(Notify::new()),
            started_ms: now_ms,
        }
    }

    pub(crate) fn is_journaling(&self) -> bool {
        self.journal.is_some()
    }

    /// Why commands that change data are refused, if they are.
    pub(crate) fn refuses_writes(&self) -> Option<String> {
        let fault = self.journal.as_ref()?.fault()?;
        Some(format!("MISCONF Errors writing to the AOF file: {fault}"))
    }

    /// Takes what one command or transaction changed.
    pub(crate) fn append(&mut self, commands: &[(usize, Vec<Bytes>)]) {
        if let Some(journal) = &mut self.journal {
            journal.append(commands);
            self.dirty.notify_one();
        }
    }

    /// What replies so far have to wait for.
    pub(crate) fn commit(&self, bytes_max: usize) -> Option<Commit> {
        self.journal.as_ref()?.commit(bytes_max)
    }

    pub(crate) fn last_save_ms(&self) -> u64 {
        self.started_ms
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.journal.as_ref().map_or(0, Journal::pending_bytes)
    }

    /// The lines of `INFO persistence`.
    pub(crate) fn describe(&self, changes: u64, mut add: impl FnMut(&str, &dyn Display)) {
        add("loading", &0);
        add("async_loading", &0);
        add("rdb_changes_since_last_save", &changes);
        add("rdb_bgsave_in_progress", &0);
        add("rdb_last_save_time", &(self.started_ms / 1000));
        add("rdb_last_bgsave_status", &"ok");
        add("aof_enabled", &u8::from(self.is_journaling()));
        add("aof_rewrite_in_progress", &0);
        add("aof_rewrite_scheduled", &0);
        add("aof_last_bgrewrite_status", &"ok");
        let write_fails = self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.fault().is_some());
        add(
            "aof_last_write_status",
            &(if write_fails { "err" } else { "ok" }),
        );
        if let Some(journal) = &self.journal {
            add("aof_current_size", &journal.bytes());
            add("aof_buffer_length", &journal.pending_bytes());
        }
    }
}

impl State {
    /// Stops when the disk is lost.
    pub(crate) fn persist_tick(&mut self) {
        if self
            .persist
            .journal
            .as_ref()
            .is_some_and(Journal::is_broken)
        {
            self.stop.trigger();
        }
    }

    /// Takes over what `CONFIG SET` changed about the files.
    pub(crate) fn persist_config(&mut self, before: &Config) -> Result<(), String> {
        if before.appendonly != self.config.appendonly {
            return Err("the journal begins and ends with the server yet".to_owned());
        }
        if before.dir != self.config.dir
            && !fs::metadata(&self.config.dir).is_ok_and(|dir| dir.is_dir())
        {
            return Err(format!("{} is no directory", self.config.dir));
        }
        if let Some(journal) = &mut self.persist.journal {
            journal.set_fsync(self.config.appendfsync);
        }
        Ok(())
    }
}

/// Sends the journal's batches, one after the other.
pub(crate) async fn keep_journal(shared: Rc<Shared>) {
    let dirty = Rc::clone(&shared.state.borrow().persist.dirty);
    loop {
        let sent = {
            let mut state = shared.state.borrow_mut();
            state.persist.journal.as_mut().and_then(Journal::send)
        };
        match sent {
            Some(commit) => commit.wait().await,
            None => dirty.notified().await,
        }
    }
}
