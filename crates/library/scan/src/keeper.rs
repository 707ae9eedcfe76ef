//! Keeps an index up to date for as long as a server runs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use catalog::Catalog;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tags::Splits;

use crate::scan::{hidden, open_root};
use crate::settle::Changes;
use crate::walk::Tree;
use crate::watch::{Looks, Refused, Watch, Watches, remote};
use crate::{Index, Limits, Order, Progress, Report, ScanError, Standing, load, scan};

#[cfg(test)]
mod tests;

/// A library that is to be kept.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The library.
    pub root: PathBuf,
    /// Where its index is.
    pub folder: PathBuf,
    /// Our own data, should it lie in the library.
    pub hidden: PathBuf,
    /// How names are cut.
    pub splits: Splits,
    /// How changes are seen.
    pub watching: Watching,
    /// What it may use.
    pub limits: Limits,
}

/// How changes are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watching {
    /// By which means.
    pub means: Means,
    /// How long a folder must be quiet before it is read, so that albums appear whole.
    pub settle: Duration,
    /// How often to look where the kernel does not tell.
    pub look: Duration,
    /// How often to scan everything, whatever was seen; zero is never.
    pub rescan: Duration,
}

/// By which means changes are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// The kernel tells; where it cannot, by looking.
    Auto,
    /// By looking.
    Looking,
    /// Not at all.
    Off,
}

/// What a keeper is about.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// How far the scan is that runs, if one does.
    pub standing: Option<Standing>,
    /// How changes are seen.
    pub watch: Watch,
    /// Folders that changed and are not quiet yet.
    pub unsettled: usize,
    /// Scans that came to an end.
    pub scans: u64,
    /// What the last one did.
    pub report: Option<Arc<Report>>,
    /// When it ended.
    pub ended: Option<SystemTime>,
    /// Why the one after that did not come to an end.
    pub failed: Option<String>,
}

/// Keeps an index up to date, in a thread of its own. One lock for the catalog and one for the status, each held for a
/// copy of a few words.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    setup: Setup,
    catalog: RwLock<Arc<Index>>,
    generation: AtomicU64,
    status: Mutex<Status>,
    /// Of the scan that runs, or of the next.
    progress: Mutex<Arc<Progress>>,
    /// Folders that somebody wants scanned; the root, for everything.
    asked: Mutex<Vec<Vec<u8>>>,
    stopping: AtomicBool,
    wake: OwnedFd,
}

impl Keeper {
    /// Takes up the last index, and brings it up to date behind the caller's back.
    ///
    /// # Errors
    /// When the host refuses a thread.
    pub fn start(setup: Setup) -> Result<Keeper, ScanError> {
        let refused = |doing| {
            let folder = setup.folder.clone();
            move |err: io::Error| ScanError::host(doing, &folder, err)
        };
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = wake.map_err(|err| refused("keep the index of")(err.into()))?;
        let last = match load(&setup.folder) {
            Ok(last) => last,
            // A scan makes another, or tells in its turn that it cannot.
            Err(err) => {
                tracing::warn!(%err, "last index cannot be read");
                None
            }
        };
        let shared = Arc::new(Shared {
            generation: AtomicU64::new(u64::from(last.is_some())),
            catalog: RwLock::new(Arc::new(last.unwrap_or_else(Catalog::empty))),
            status: Mutex::default(),
            progress: Mutex::default(),
            asked: Mutex::new(vec![Vec::new()]),
            stopping: AtomicBool::new(false),
            wake,
            setup: setup.clone(),
        });
        let its = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("scan".to_owned())
            .spawn(move || its.keep());
        Ok(Keeper {
            shared,
            thread: Mutex::new(Some(thread.map_err(refused("start a thread for"))?)),
        })
    }

    /// The catalog as it is now; empty before the first scan.
    #[must_use]
    pub fn catalog(&self) -> Arc<Index> {
        let catalog = self.shared.catalog.read();
        Arc::clone(&catalog.unwrap_or_else(PoisonError::into_inner))
    }

    /// Grows with each new index.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    /// Has these folders below the root scanned soon, with all below them; everything, where none is named.
    pub fn ask(&self, folders: Vec<Vec<u8>>) {
        let mut asked = self.shared.asked();
        match folders.is_empty()
            || self.shared.setup.limits.folders_max < asked.len() + folders.len()
        {
            true => *asked = vec![Vec::new()],
            false => asked.extend(folders),
        }
        drop(asked);
        self.shared.wake();
    }

    /// Ends the scan that runs, if one does, without an index, and forgets what was asked for meanwhile. The last index stays;
    /// what it lacks is found by the next scan of everything.
    pub fn cancel(&self) {
        let progress = self.shared.progress();
        if progress.standing().is_scanning() {
            self.shared.asked().clear();
            progress.cancel();
        }
    }

    /// What it is about.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.status(|status| status.clone())
    }

    /// Ends the scan that runs, without an index, and the thread.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.shared.progress().cancel();
        self.shared.wake();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            thread.join().expect("keeping does not panic");
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How the thread sees changes.
#[derive(Debug)]
enum Eyes {
    Closed,
    Told(Watches),
    Looking { looks: Looks, next: Instant },
}

impl Shared {
    fn keep(&self) {
        let mut changes = Changes::new(self.setup.limits.folders_max);
        let mut eyes = self.open_eyes();
        let (mut rescanned, mut retry, mut failures) = (Instant::now(), None, 0);
        while !self.stopping.load(Ordering::Acquire) {
            let now = Instant::now();
            let Watching {
                settle,
                look,
                rescan,
                ..
            } = self.setup.watching;
            let due = (!rescan.is_zero()).then(|| rescanned + rescan);
            let is_due = [due, retry].into_iter().flatten().any(|due| due <= now);
            let mut quiet = changes.take_quiet(now, settle);
            // Nothing may happen for a day after this, so it is told now.
            self.status(|status| status.unsettled = changes.len());
            quiet.append(&mut self.asked());
            if is_due || quiet.iter().any(Vec::is_empty) {
                rescanned = now;
                quiet = vec![Vec::new()];
            }
            if !quiet.is_empty() {
                // What made a scan fail, an operator has to mend: each costs twice the patience of the last.
                let only = if failures == 0 { &quiet[..] } else { &[] };
                failures = if self.scan(only) { 0 } else { failures + 1 };
                let patience = look.saturating_mul(1 << failures.min(10));
                retry = (failures != 0).then(|| now + patience);
            }
            self.wait(&eyes, [changes.next_quiet(settle), due, retry]);
            self.see(&mut eyes, &mut changes);
        }
    }

    /// Sleeps until one of these moments, or something happens.
    fn wait(&self, eyes: &Eyes, moments: [Option<Instant>; 3]) {
        let look = match eyes {
            Eyes::Looking { next, .. } => Some(*next),
            Eyes::Closed | Eyes::Told(_) => None,
        };
        let until = moments.into_iter().chain([look]).flatten().min();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // Rounded up, or the last nanoseconds would be spent in circles.
        let left = left.map(|left| Timespec::try_from(left + Duration::from_millis(1)));
        let left = left.map(|left| left.expect("times of the settings are below a century"));
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        if let Eyes::Told(watches) = eyes {
            fds.push(PollFd::from_borrowed_fd(watches.kernel(), PollFlags::IN));
        }
        // Interrupted or not, whoever called looks what there is to do.
        if let Err(err) = poll(&mut fds, left.as_ref()) {
            assert_eq!(
                err,
                rustix::io::Errno::INTR,
                "descriptors and times of our own"
            );
        }
        let mut rung = [0; 8];
        match rustix::io::read(&self.wake, &mut rung) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => {}
            Err(err) => unreachable!("a counter of our own: {err}"),
        }
    }

    /// Notes what changed.
    fn see(&self, eyes: &mut Eyes, changes: &mut Changes) {
        let now = Instant::now();
        let mut note = |folder: &[u8]| changes.note(folder, now);
        let seen = self.on_tree(|tree, progress| match eyes {
            Eyes::Closed => Ok(()),
            Eyes::Told(watches) => watches.changes(tree, progress, &mut note),
            Eyes::Looking { looks, next } => {
                if *next <= now {
                    looks
                        .changes(tree, progress, &mut note)
                        .map_err(Refused::Scan)?;
                }
                Ok(())
            }
        });
        match seen {
            Ok(()) => {}
            Err(Refused::Overflow) => {
                tracing::info!("more changes than the kernel remembers: everything is scanned");
                changes.note_all(now);
                *eyes = self.open_eyes();
            }
            Err(Refused::Host(why)) => {
                changes.note_all(now);
                *eyes = self.look(why);
            }
            Err(Refused::Scan(ScanError::Cancelled)) => {}
            Err(Refused::Scan(err)) => tracing::warn!(%err, "library cannot be watched"),
        }
        if let Eyes::Looking { next, .. } = eyes
            && *next <= now
        {
            // What changed is looked at again when it might be quiet.
            let Watching { look, settle, .. } = self.setup.watching;
            *next = now
                + if changes.len() == 0 {
                    look
                } else {
                    look.min(settle)
                };
        }
        let folders = match eyes {
            Eyes::Told(watches) => Some(watches.len()),
            Eyes::Closed | Eyes::Looking { .. } => None,
        };
        self.status(|status| {
            if let (Watch::Told { folders }, Some(now)) = (&mut status.watch, folders) {
                *folders = now;
            }
        });
    }

    /// Has the kernel tell of changes, or says why it does not.
    fn open_eyes(&self) -> Eyes {
        let watching = self.setup.watching;
        match watching.means {
            Means::Off => {
                self.status(|status| status.watch = Watch::Off);
                return Eyes::Closed;
            }
            Means::Looking => return self.look("as the settings say".to_owned()),
            Means::Auto => {}
        }
        let opened = self.on_tree(|tree, progress| match remote(tree.root) {
            Some(name) => Err(Refused::Host(format!(
                "the kernel does not see what changes on {name}"
            ))),
            None => Watches::open(tree, self.setup.limits.watches_max, progress),
        });
        match opened {
            Ok(watches) => {
                let folders = watches.len();
                tracing::info!(folders, "watching the library");
                self.status(|status| status.watch = Watch::Told { folders });
                Eyes::Told(watches)
            }
            Err(Refused::Host(why)) => self.look(why),
            Err(Refused::Overflow) => {
                self.look("more changes than the kernel remembers".to_owned())
            }
            Err(Refused::Scan(err)) => self.look(err.to_string()),
        }
    }

    /// Looks for changes now and then, since the kernel does not tell them.
    fn look(&self, why: String) -> Eyes {
        let every = self.setup.watching.look;
        let watch = Watch::Looking { every, why };
        match self.setup.watching.means {
            Means::Auto => {
                tracing::warn!(%watch, "the kernel does not tell what changes in the library")
            }
            Means::Looking | Means::Off => tracing::info!(%watch, "watching the library"),
        }
        self.status(|status| status.watch = watch);
        let mut looks = Looks::default();
        // The scan that follows finds what is there now, or tells why it cannot be found.
        let looked = self.on_tree(|tree, progress| {
            looks
                .changes(tree, progress, &mut |_| ())
                .map_err(Refused::Scan)
        });
        if looked.is_err() {
            looks = Looks::default();
        }
        Eyes::Looking {
            looks,
            next: Instant::now() + every,
        }
    }

    /// Scans these folders, or everything, and hands out the index if it is a new one; says whether that could be done.
    fn scan(&self, only: &[Vec<u8>]) -> bool {
        let progress = self.progress();
        let order = Order {
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
            afresh: false,
        };
        let scanned = scan(&order, &progress).and_then(|report| {
            let is_new = report.written || self.generation.load(Ordering::Acquire) == 0;
            Ok((if is_new { load(order.folder)? } else { None }, report))
        });
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Arc::default();
        match scanned {
            Ok((catalog, mut report)) => {
                if let Some(before) = self.status(|status| status.report.clone()) {
                    report.keep_faults(&before.faults, order.only);
                }
                tracing::info!(
                    files = report.files,
                    opened = report.opened,
                    gone = report.gone,
                    unreadable = report.faults.len(),
                    written = report.written,
                    "scanned"
                );
                if let Some(catalog) = catalog {
                    let mut held = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
                    let last = std::mem::replace(&mut *held, Arc::new(catalog));
                    // Letting go of a large one takes milliseconds.
                    drop(held);
                    drop(last);
                    self.generation.fetch_add(1, Ordering::AcqRel);
                }
                self.status(|status| {
                    status.scans += 1;
                    status.report = Some(Arc::new(report));
                    status.ended = Some(SystemTime::now());
                    status.failed = None;
                });
                true
            }
            Err(err @ ScanError::Cancelled) => {
                tracing::info!("scan cancelled; the last index stays");
                self.status(|status| status.failed = Some(err.to_string()));
                true
            }
            Err(err) => {
                let cause = std::error::Error::source(&err).map(|source| format!(": {source}"));
                let failed = format!("{err}{}", cause.unwrap_or_else(String::new));
                tracing::error!(err = %failed, "scan failed; the last index stays");
                self.status(|status| status.failed = Some(failed));
                false
            }
        }
    }

    /// Gives the library as something to walk.
    fn on_tree<T>(
        &self,
        then: impl FnOnce(&Tree<'_>, &Progress) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let root = open_root(&self.setup.root).map_err(Refused::Scan)?;
        let hidden = hidden(&self.setup.root, &self.setup.hidden);
        let tree = Tree {
            root: root.as_fd(),
            hidden: &hidden,
            limits: &self.setup.limits,
        };
        then(&tree, &self.progress())
    }

    fn asked(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> Arc<Progress> {
        let progress = self.progress.lock();
        Arc::clone(&progress.unwrap_or_else(PoisonError::into_inner))
    }

    fn status<T>(&self, then: impl FnOnce(&mut Status) -> T) -> T {
        let standing = self.progress().standing();
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.standing = standing.is_scanning().then_some(standing);
        then(&mut status)
    }

    fn wake(&self) {
        // A counter that is full wakes as well.
        match rustix::io::write(&self.wake, &1_u64.to_ne_bytes()) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => {}
            Err(err) => unreachable!("a counter of our own: {err}"),
        }
    }
}
