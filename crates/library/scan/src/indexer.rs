//! Indexer: the thread that keeps the index of a library up to date while the server runs.

use parking_lot::{Mutex, MutexGuard, RwLock};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use catalog::Catalog;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tags::Splits;

use crate::root::open_root;
use crate::scan::hidden;
use crate::settle::Changes;
use crate::walk::Tree;
use crate::watch::{Poller, Watch, WatchError, Watches, remote};
use crate::{
    Index, Limits, LoadedIndex, Progress, ProgressSnapshot, Report, ScanError, ScanRequest, load,
    scan,
};

#[cfg(test)]
mod tests;

/// Parameters of a [`LibraryIndexer`].
#[derive(Clone, Debug)]
pub struct Setup {
    /// Root folder of the library.
    pub root: PathBuf,
    /// Folder that contains the index.
    pub folder: PathBuf,
    /// Data directory of Pelton. If it is inside the root folder, it is excluded from the library.
    pub hidden: PathBuf,
    /// Separators at which tags are split into several names.
    pub splits: Splits,
    /// Settings for the detection of changes in the library.
    pub watching: Watching,
    /// Limits of each scan.
    pub limits: Limits,
}

/// Settings for the detection of changes in the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watching {
    /// Method by which changes are detected.
    pub means: WatchMode,
    /// Time without changes after which a folder is scanned, so that an album is complete when it
    /// appears.
    pub settle: Duration,
    /// Interval at which the library is polled for changes, if inotify is not used.
    pub poll_interval: Duration,
    /// Interval between scans of the whole library, which run even if no change was detected. Zero
    /// disables them.
    pub rescan: Duration,
}

/// Configured method by which changes in the library are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// Use inotify or, if inotify is not available, polling.
    Auto,
    /// Use polling.
    Polling,
    /// Do not detect changes.
    Off,
}

/// State of a [`LibraryIndexer`] at one moment, for displays.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Progress of the scan that is running, if any.
    pub snapshot: Option<ProgressSnapshot>,
    /// Method by which changes are currently detected.
    pub watch: Watch,
    /// Number of changed folders that are not scanned yet, because they may still be changing.
    pub unsettled: usize,
    /// Number of completed scans.
    pub scans: u64,
    /// Report of the last completed scan, if there was one.
    pub report: Option<Arc<Report>>,
    /// Time at which the last completed scan ended, if there was one.
    pub ended: Option<SystemTime>,
    /// Reason why the latest scan failed, or `None` if it succeeded.
    pub failed: Option<String>,
}

/// Indexer of a library, with the thread that keeps the index up to date. The catalog and the
/// status have one lock each, which is held only to copy or swap a few fields.
#[derive(Debug)]
pub struct LibraryIndexer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    setup: Setup,
    catalog: RwLock<Arc<Index>>,
    generation: AtomicU64,
    status: Mutex<Status>,
    /// Progress of the running scan or, if none is running, of the next scan.
    progress: Mutex<Arc<Progress>>,
    /// Folders whose scan was requested. An empty path stands for the whole library.
    requested: Mutex<Vec<Vec<u8>>>,
    stopping: AtomicBool,
    wake: OwnedFd,
}

impl LibraryIndexer {
    /// Loads the index and starts the thread that keeps it up to date.
    ///
    /// # Errors
    /// If the host does not allow another thread or event descriptor.
    pub fn start(setup: Setup) -> Result<LibraryIndexer, ScanError> {
        let refused = |doing| {
            let folder = setup.folder.clone();
            move |err: io::Error| ScanError::host(doing, &folder, err)
        };
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = wake.map_err(|err| {
            refused("cannot create an eventfd for the index in the folder")(err.into())
        })?;
        let last = match load(&setup.folder) {
            Ok(last) => last,
            // The first scan builds a new index, or reports why that is not possible.
            Err(err) => {
                tracing::warn!(%err, "cannot read the stored index; scanning the whole library");
                None
            }
        };
        let shared = Arc::new(Shared {
            generation: AtomicU64::new(u64::from(last.is_some())),
            catalog: RwLock::new(match &last {
                Some(last) => Arc::clone(last.catalog()),
                None => Arc::new(Catalog::empty()),
            }),
            status: Mutex::default(),
            progress: Mutex::default(),
            requested: Mutex::new(vec![Vec::new()]),
            stopping: AtomicBool::new(false),
            wake,
            setup: setup.clone(),
        });
        let its = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("scan".to_owned())
            .spawn(move || its.run(last));
        Ok(LibraryIndexer {
            shared,
            thread: Mutex::new(Some(thread.map_err(refused(
                "cannot start the thread that scans the library; the folder of the index is",
            ))?)),
        })
    }

    /// Returns the current catalog. If no index could be loaded at the start, the catalog is empty
    /// until the first scan ends.
    #[must_use]
    pub fn catalog(&self) -> Arc<Index> {
        let catalog = self.shared.catalog.read();
        Arc::clone(&catalog)
    }

    /// Returns a number that increases whenever a new catalog is published.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    /// Requests a scan of these folders, relative to the root, and of their subfolders. The whole
    /// library is scanned if the list is empty, or if more than `folders_max` folders are requested
    /// in total.
    pub fn ask(&self, folders: Vec<Vec<u8>>) {
        let mut requested = self.shared.requested();
        match folders.is_empty()
            || self.shared.setup.limits.folders_max < requested.len() + folders.len()
        {
            true => *requested = vec![Vec::new()],
            false => requested.extend(folders),
        }
        drop(requested);
        self.shared.wake();
    }

    /// Cancels the running scan, if any, and the scans that were requested since it started. The
    /// index is not changed. The next scan of the whole library finds the changes that the index
    /// lacks.
    pub fn cancel(&self) {
        let progress = self.shared.progress();
        if progress.snapshot().is_scanning() {
            self.shared.requested().clear();
            progress.cancel();
        }
    }

    /// Returns the current state, for displays.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.status(|status| status.clone())
    }

    /// Cancels the running scan, if any, and waits until the thread has ended.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.shared.progress().cancel();
        self.shared.wake();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            thread.join().expect("the scan thread does not panic");
        }
    }
}

impl Drop for LibraryIndexer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Method by which changes are detected (none, inotify or polling), and the state of that method.
#[derive(Debug)]
enum ChangeSource {
    Closed,
    Inotify(Watches),
    Polling { poller: Poller, next: Instant },
}

impl Shared {
    fn run(&self, mut last: Option<LoadedIndex>) {
        let mut changes = Changes::new(self.setup.limits.folders_max);
        let mut change_source = self.start_watching();
        let (mut rescanned, mut retry, mut failures) = (Instant::now(), None, 0);
        while !self.stopping.load(Ordering::Acquire) {
            let now = Instant::now();
            let Watching {
                settle,
                poll_interval,
                rescan,
                ..
            } = self.setup.watching;
            let due = (!rescan.is_zero()).then(|| rescanned + rescan);
            let is_due = [due, retry].into_iter().flatten().any(|due| due <= now);
            let mut quiet = changes.take_quiet(now, settle);
            // The status is updated before the wait below, which may last a day.
            self.status(|status| status.unsettled = changes.len());
            quiet.append(&mut self.requested());
            if is_due || quiet.iter().any(Vec::is_empty) {
                rescanned = now;
                quiet = vec![Vec::new()];
            }
            if !quiet.is_empty() {
                // After a failure, the whole library is scanned again after a delay, since an
                // operator must usually remove the cause first. The delay doubles with each
                // failure, up to 1,024 times the poll interval.
                let only = if failures == 0 { &quiet[..] } else { &[] };
                failures = if self.scan(&mut last, only) {
                    0
                } else {
                    failures + 1
                };
                let patience = poll_interval.saturating_mul(1 << failures.min(10));
                retry = (failures != 0).then(|| now + patience);
            }
            self.wait(&change_source, [changes.next_quiet(settle), due, retry]);
            self.detect_changes(&mut change_source, &mut changes);
        }
    }

    /// Blocks until the first of these events: one of `moments`, the next poll for changes, an
    /// inotify event, or a call of [`Shared::wake`].
    fn wait(&self, change_source: &ChangeSource, moments: [Option<Instant>; 3]) {
        let next_poll = match change_source {
            ChangeSource::Polling { next, .. } => Some(*next),
            ChangeSource::Closed | ChangeSource::Inotify(_) => None,
        };
        let until = moments.into_iter().chain([next_poll]).flatten().min();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // One millisecond is added, since `poll` may round the time down to milliseconds. Otherwise
        // the loop would spin during the last fraction of a millisecond.
        let left = left.map(|left| Timespec::try_from(left + Duration::from_millis(1)));
        let left = left.map(|left| left.expect("the settings allow no time as long as a century"));
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        if let ChangeSource::Inotify(watches) = change_source {
            fds.push(PollFd::from_borrowed_fd(watches.kernel(), PollFlags::IN));
        }
        // An interrupted call is not repeated, since the caller checks all events after every
        // return.
        if let Err(err) = poll(&mut fds, left.as_ref()) {
            assert_eq!(
                err,
                rustix::io::Errno::INTR,
                "poll of valid descriptors fails only when interrupted"
            );
        }
        let mut rung = [0; 8];
        match rustix::io::read(&self.wake, &mut rung) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => {}
            Err(err) => unreachable!("eventfd refused: {err}"),
        }
    }

    /// Detects changes of the library and records them in `changes`.
    fn detect_changes(&self, change_source: &mut ChangeSource, changes: &mut Changes) {
        let now = Instant::now();
        let mut note = |folder: &[u8]| changes.note(folder, now);
        let seen = self.on_tree(|tree, progress| match change_source {
            ChangeSource::Closed => Ok(()),
            ChangeSource::Inotify(watches) => watches.changes(tree, progress, &mut note),
            ChangeSource::Polling { poller, next } => {
                if *next <= now {
                    poller
                        .changes(tree, progress, &mut note)
                        .map_err(WatchError::Scan)?;
                }
                Ok(())
            }
        });
        match seen {
            Ok(()) => {}
            Err(WatchError::Overflow) => {
                tracing::info!("the inotify queue overflowed; scanning the whole library");
                changes.note_all(now);
                *change_source = self.start_watching();
            }
            Err(WatchError::Host(why)) => {
                changes.note_all(now);
                *change_source = self.poll(why);
            }
            Err(WatchError::Scan(ScanError::Cancelled)) => {}
            Err(WatchError::Scan(err)) => {
                tracing::warn!(%err, "cannot detect changes in the library")
            }
        }
        if let ChangeSource::Polling { next, .. } = change_source
            && *next <= now
        {
            // While changed folders wait to be scanned, the next poll happens after at most the
            // time `settle`, to detect whether they are still changing.
            let Watching {
                poll_interval,
                settle,
                ..
            } = self.setup.watching;
            *next = now
                + if changes.len() == 0 {
                    poll_interval
                } else {
                    poll_interval.min(settle)
                };
        }
        let folders = match change_source {
            ChangeSource::Inotify(watches) => Some(watches.len()),
            ChangeSource::Closed | ChangeSource::Polling { .. } => None,
        };
        self.status(|status| {
            if let (Watch::Inotify { folders }, Some(now)) = (&mut status.watch, folders) {
                *folders = now;
            }
        });
    }

    /// Starts the configured method of detecting changes. If inotify cannot be used, starts polling
    /// and records the reason.
    fn start_watching(&self) -> ChangeSource {
        let watching = self.setup.watching;
        match watching.means {
            WatchMode::Off => {
                self.status(|status| status.watch = Watch::Off);
                return ChangeSource::Closed;
            }
            WatchMode::Polling => return self.poll("the configuration selects polling".to_owned()),
            WatchMode::Auto => {}
        }
        let opened = self.on_tree(|tree, progress| match remote(tree.root) {
            Some(name) => Err(WatchError::Host(format!(
                "inotify does not report all changes on the file system {name}"
            ))),
            None => Watches::open(tree, self.setup.limits.watches_max, progress),
        });
        match opened {
            Ok(watches) => {
                let folders = watches.len();
                tracing::info!(folders, "watching the library for changes");
                self.status(|status| status.watch = Watch::Inotify { folders });
                ChangeSource::Inotify(watches)
            }
            Err(WatchError::Host(why)) => self.poll(why),
            Err(WatchError::Overflow) => self.poll("the inotify queue overflowed".to_owned()),
            Err(WatchError::Scan(err)) => self.poll(err.to_string()),
        }
    }

    /// Starts to detect changes by polling. `why` is the reason why inotify is not used, for the
    /// status.
    fn poll(&self, why: String) -> ChangeSource {
        let every = self.setup.watching.poll_interval;
        let watch = Watch::Polling { every, why };
        match self.setup.watching.means {
            WatchMode::Auto => {
                tracing::warn!(%watch, "cannot watch the library with inotify; polling the library instead")
            }
            WatchMode::Polling | WatchMode::Off => {
                tracing::info!(%watch, "watching the library for changes")
            }
        }
        self.status(|status| status.watch = watch);
        let mut poller = Poller::default();
        // An error is ignored here. If it persists, the following scan reports it.
        let looked = self.on_tree(|tree, progress| {
            poller
                .changes(tree, progress, &mut |_| ())
                .map_err(WatchError::Scan)
        });
        if looked.is_err() {
            poller = Poller::default();
        }
        ChangeSource::Polling {
            poller,
            next: Instant::now() + every,
        }
    }

    /// Scans the folders in `only`, or the whole library if the list is empty. Publishes the new
    /// catalog if the index has changed. Returns false if the scan failed, but not if it was
    /// cancelled.
    fn scan(&self, last: &mut Option<LoadedIndex>, only: &[Vec<u8>]) -> bool {
        let progress = self.progress();
        let order = ScanRequest {
            root: &self.setup.root,
            folder: &self.setup.folder,
            hidden: &self.setup.hidden,
            splits: &self.setup.splits,
            limits: &self.setup.limits,
            only: if only.iter().any(Vec::is_empty) {
                &[]
            } else {
                only
            },
            full: false,
        };
        let scanned = scan(&order, last.as_ref(), &progress);
        *self.progress.lock() = Arc::default();
        match scanned {
            Ok((index, mut report)) => {
                if let Some(before) = self.status(|status| status.report.clone()) {
                    report.keep_faults(&before.faults, order.only);
                }
                tracing::info!(
                    files = report.files,
                    opened = report.opened,
                    gone = report.gone,
                    unreadable = report.faults.len(),
                    written = report.written,
                    "scan completed"
                );
                self.publish(index.catalog());
                *last = Some(index);
                self.status(|status| {
                    status.scans += 1;
                    status.report = Some(Arc::new(report));
                    status.ended = Some(SystemTime::now());
                    status.failed = None;
                });
                true
            }
            Err(err @ ScanError::Cancelled) => {
                tracing::info!("scan cancelled; the index of the last scan stays in use");
                self.status(|status| status.failed = Some(err.to_string()));
                true
            }
            Err(err) => {
                let cause = std::error::Error::source(&err).map(|source| format!(": {source}"));
                let failed = format!("{err}{}", cause.unwrap_or_else(String::new));
                tracing::error!(err = %failed, "scan failed; the index of the last scan stays in use");
                self.status(|status| status.failed = Some(failed));
                false
            }
        }
    }

    /// Publishes a catalog, unless it is published already.
    fn publish(&self, catalog: &Arc<Index>) {
        let mut held = self.catalog.write();
        if Arc::ptr_eq(&held, catalog) {
            return;
        }
        let last = std::mem::replace(&mut *held, Arc::clone(catalog));
        // The lock is released before the previous catalog is freed, since freeing a large catalog
        // takes milliseconds.
        drop(held);
        drop(last);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Opens the root folder of the library, and calls `then` with the [`Tree`] of this folder and
    /// with the progress of the scan.
    fn on_tree<T>(
        &self,
        then: impl FnOnce(&Tree<'_>, &Progress) -> Result<T, WatchError>,
    ) -> Result<T, WatchError> {
        let root = open_root(&self.setup.root).map_err(WatchError::Scan)?;
        let hidden = hidden(&self.setup.root, &self.setup.hidden);
        let tree = Tree {
            root: root.as_fd(),
            hidden: &hidden,
            limits: &self.setup.limits,
        };
        then(&tree, &self.progress())
    }

    fn requested(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.requested.lock()
    }

    fn progress(&self) -> Arc<Progress> {
        let progress = self.progress.lock();
        Arc::clone(&progress)
    }

    fn status<T>(&self, then: impl FnOnce(&mut Status) -> T) -> T {
        let snapshot = self.progress().snapshot();
        let mut status = self.status.lock();
        status.snapshot = snapshot.is_scanning().then_some(snapshot);
        then(&mut status)
    }

    fn wake(&self) {
        // If the event counter is at its maximum, `write` returns `AGAIN`. The thread wakes in this
        // case, too.
        match rustix::io::write(&self.wake, &1_u64.to_ne_bytes()) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => {}
            Err(err) => unreachable!("eventfd refused: {err}"),
        }
    }
}
