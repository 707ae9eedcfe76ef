//! Components of the server that several commands start, built from the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Config, components};
use functions::Programs;
use reactor::{Counters, DirLock, LockError, Sharing};
use report::Error;
use server::Service;
use server::gate::Users;
use server::mount::{Mount, Mounts};
use variants::shared_index::Store;

use crate::worker;

/// Starts a pool of cells that runs up to `jobs` jobs at the same time.
pub(crate) fn pool(config: &Config, jobs: usize) -> Result<sandbox::Pool, Error> {
    let crashes = components::crashes(config)?;
    let started = sandbox::Pool::start(worker::ELF, components::cell_limits(config, jobs));
    let pool = started.map_err(|err| components::cell_error(&err))?;
    Ok(pool.keep_reproducers(crashes))
}

/// Starts the pool of cells for three kinds of jobs: conversions for requests, background
/// conversions, and transcodes. Each kind has its own threads. Every thread may hold one cell, so
/// the pool has one cell per thread.
pub(crate) fn conversions(config: &Config) -> Result<Arc<sandbox::Pool>, Error> {
    let jobs = 2 * components::concurrency(config)? + components::transcodes(config)?;
    pool(config, jobs).map(Arc::new)
}

/// Opens the library and its variants, with `store` as their shared index, if any. `cores` are the
/// counters of the serving cores, and `mounts` handle the paths outside the library.
pub(crate) fn service(
    config: &Config,
    pool: Arc<sandbox::Pool>,
    cores: Arc<[Counters]>,
    mounts: Mounts,
    store: Option<Arc<dyn Store>>,
) -> Result<Arc<Service>, Error> {
    let concurrency = components::concurrency(config)?;
    let settings = components::settings(config, concurrency)?;
    Service::open(settings, pool, cores, mounts, store).map_err(|err| {
        Error::host(err.to_string()).hint("pelton check reports problems of the configuration")
    })
}

/// Locks a directory against other processes until the returned lock is dropped. `what` is the
/// beginning of the error message. If the host refuses to lock, logs a warning and returns `None`.
pub(crate) fn hold(dir: &Path, sharing: Sharing, what: &str) -> Result<Option<DirLock>, Error> {
    match DirLock::take(dir, sharing) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Held(holder)) => {
            let what = format!("{what}: {} is in use by process {holder}", dir.display());
            Err(Error::host(what).hint(
                "give each server a directory of its own, or end the process that uses this \
                 directory",
            ))
        }
        Err(LockError::Host(path, err)) => {
            unlocked(&path, &err);
            Ok(None)
        }
    }
}

/// Starts a thread that locks the directory once the predecessor, which still holds the lock, has
/// ended. The new lock lasts until this process ends.
pub(crate) fn hold_after_predecessor(dir: PathBuf, sharing: Sharing, what: &'static str) {
    let wait = move || match DirLock::wait(&dir, sharing) {
        Ok(mut lock) => {
            lock.sign(what);
            std::mem::forget(lock);
        }
        Err(LockError::Held(_)) => unreachable!("`DirLock::wait` waits for the holder"),
        Err(LockError::Host(path, err)) => unlocked(&path, &err),
    };
    let started = std::thread::Builder::new()
        .name("lock".to_owned())
        .spawn(wait);
    if let Err(err) = started {
        tracing::warn!(%err, "cannot lock the data directory: nothing prevents another server \
                              from using the same directory");
    }
}

fn unlocked(path: &Path, err: &std::io::Error) {
    let path = path.display();
    tracing::warn!(%path, %err, "cannot lock a directory: nothing prevents another server from \
                                 using the same directory");
}

/// The mounts, which handle all paths outside the library, and the users that may log in.
pub(crate) struct Handlers {
    pub(crate) programs: Arc<Programs>,
    /// Mounts that are not programs. A reload of the configuration does not change them.
    pub(crate) others: Vec<(String, Arc<dyn Mount>)>,
    /// Users that may log in, if any. A reload of the configuration does not change them.
    pub(crate) users: Option<Arc<dyn Users>>,
}

impl Handlers {
    /// Returns all mounts, with the users, in the type that the service takes.
    pub(crate) fn mounts(&self) -> Mounts {
        let mounts = Mounts::new([self.others.clone(), self.programs.mounts()].concat());
        mounts.with_users(self.users.clone())
    }

    /// Applies another configuration to the programs.
    ///
    /// # Errors
    /// If a new program cannot be started; see [`Programs::apply`].
    pub(crate) fn reload(&self, config: &Config) -> Result<(), Error> {
        self.programs.apply(config)
    }
}
