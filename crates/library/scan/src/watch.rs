//! Detection of changes in a library, with inotify or by polling.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::file::kind;
use crate::ignore::IGNORE_FILES;
use crate::path::{is_below, join};
use crate::walk::{Tree, Walked};
use crate::{Progress, ScanError};

/// Size in bytes of the buffer into which one system call writes inotify events.
const EVENTS_BYTES: usize = 16 << 10;

/// Method by which changes are currently detected, for displays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Changes are not detected, because the configuration disables the detection.
    #[default]
    Off,
    /// Changes are detected with inotify.
    Inotify {
        /// Number of watched folders. Each needs one of the watches that
        /// `fs.inotify.max_user_watches` allows.
        folders: usize,
    },
    /// Changes are detected by polling.
    Polling {
        /// Interval between polls.
        every: Duration,
        /// Reason why inotify is not used.
        why: String,
    },
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Watch::Off => f.write_str("off"),
            Watch::Inotify { folders } => write!(f, "inotify, {folders} folders"),
            Watch::Polling { every, why } => {
                write!(f, "polling the library every {} s: {why}", every.as_secs())
            }
        }
    }
}

/// Reason why changes in the library can no longer be detected, or why they never could.
#[derive(Debug)]
pub(crate) enum WatchError {
    /// The host does not allow the use of inotify. The message is for the operator.
    Host(String),
    /// The queue of inotify events in the kernel has overflowed, so some changes are unknown.
    Overflow,
    /// The files of the library cannot be listed.
    Scan(ScanError),
}

/// Folders of the library that are watched with inotify.
#[derive(Debug)]
pub(crate) struct Watches {
    kernel: OwnedFd,
    watches_max: usize,
    paths: HashMap<i32, Vec<u8>>,
    watches: BTreeMap<Vec<u8>, i32>,
}

impl Watches {
    /// Starts to watch all folders of the library.
    pub(crate) fn open(
        tree: &Tree<'_>,
        watches_max: usize,
        progress: &Progress,
    ) -> Result<Watches, WatchError> {
        let kernel = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(
            |err| match err {
                Errno::MFILE => {
                    WatchError::Host("fs.inotify.max_user_instances is reached".to_owned())
                }
                other => WatchError::Host(format!("inotify: {}", std::io::Error::from(other))),
            },
        )?;
        let mut watches = Watches {
            kernel,
            watches_max,
            paths: HashMap::new(),
            watches: BTreeMap::new(),
        };
        watches.follow(b"", tree, progress, &mut |_| ())?;
        Ok(watches)
    }

    pub(crate) fn len(&self) -> usize {
        self.watches.len()
    }

    /// Returns the inotify descriptor. It becomes readable when a watched folder changes.
    pub(crate) fn kernel(&self) -> BorrowedFd<'_> {
        self.kernel.as_fd()
    }

    /// Reads all pending events and calls `changed` with the folder of each event.
    pub(crate) fn changes(
        &mut self,
        tree: &Tree<'_>,
        progress: &Progress,
        changed: &mut dyn FnMut(&[u8]),
    ) -> Result<(), WatchError> {
        let mut new = Vec::new();
        let mut gone = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut reader = inotify::Reader::new(&self.kernel, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(err) => {
                    return Err(WatchError::Host(format!(
                        "inotify: {}",
                        std::io::Error::from(err)
                    )));
                }
            };
            let events = event.events();
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                return Err(WatchError::Overflow);
            }
            if events.contains(ReadFlags::IGNORED) {
                // The kernel has removed this watch. Its path may have a newer watch, which must be
                // kept.
                if let Some(path) = self.paths.remove(&event.wd())
                    && self.watches.get(&path) == Some(&event.wd())
                {
                    self.watches.remove(&path);
                }
                continue;
            }
            let (Some(folder), Some(name)) = (self.paths.get(&event.wd()), event.file_name())
            else {
                continue;
            };
            let path = join(folder, name.to_bytes());
            if !events.contains(ReadFlags::ISDIR) {
                if kind(name.to_bytes()).is_some() {
                    changed(folder);
                }
                if IGNORE_FILES.contains(&name.to_bytes()) {
                    // The changed file (`.nomedia` or `.ndignore`) may exclude fewer folders than
                    // before. Folders that it no longer excludes need a watch now.
                    new.push(folder.clone());
                    changed(folder);
                }
            } else if tree.enters(&path) {
                if events.intersects(ReadFlags::MOVED_FROM) {
                    gone.push(path.clone());
                }
                if events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                    new.push(path.clone());
                }
                changed(&path);
            }
        }
        for path in gone {
            self.forget(&path);
        }
        for path in new {
            self.follow(&path, tree, progress, changed)?;
        }
        Ok(())
    }

    /// Watches a folder and its subfolders. Lists the folders again after the watches are set, to
    /// find subfolders that were created after the first listing.
    fn follow(
        &mut self,
        top: &[u8],
        tree: &Tree<'_>,
        progress: &Progress,
        changed: &mut dyn FnMut(&[u8]),
    ) -> Result<(), WatchError> {
        loop {
            let Walked { mut folders, .. } = tree
                .walk(&[top.to_vec()], progress)
                .map_err(WatchError::Scan)?;
            folders.retain(|folder| !self.watches.contains_key(folder));
            if folders.is_empty() {
                return Ok(());
            }
            for folder in folders {
                changed(&folder);
                self.add(tree, folder)?;
            }
        }
    }

    fn add(&mut self, tree: &Tree<'_>, folder: Vec<u8>) -> Result<(), WatchError> {
        if self.watches_max <= self.watches.len() {
            return Err(WatchError::Host(format!(
                "the library has more folders than the limit of {} inotify watches",
                self.watches_max
            )));
        }
        let flags = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVE
            | WatchFlags::DELETE
            | WatchFlags::ONLYDIR
            | WatchFlags::EXCL_UNLINK;
        // `add_watch` takes a path and follows its symbolic links. A path in `/proc` refers to the
        // open folder, which `Tree::open` has checked.
        let added = tree.open(&folder).and_then(|opened| {
            let opened = opened.ok_or(Errno::NOENT)?;
            let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
            inotify::add_watch(&self.kernel, path, flags)
        });
        match added {
            Ok(watch) => {
                // A moved folder keeps its watch descriptor, so the entry for its previous path is
                // removed.
                if let Some(before) = self.paths.insert(watch, folder.clone()) {
                    self.watches.remove(&before);
                }
                self.watches.insert(folder, watch);
                Ok(())
            }
            // The folder does not exist any more or cannot be opened. A scan reports that.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {
                self.watches.insert(folder, NO_WATCH);
                Ok(())
            }
            Err(Errno::NOSPC) => Err(WatchError::Host(
                "fs.inotify.max_user_watches is reached".to_owned(),
            )),
            Err(err) => Err(WatchError::Host(format!(
                "inotify: {}",
                std::io::Error::from(err)
            ))),
        }
    }

    /// Stops watching a folder that was moved away, and its subfolders.
    fn forget(&mut self, top: &[u8]) {
        let below = self.watches.range(top.to_vec()..);
        let below = below.take_while(|(path, _)| path.starts_with(top));
        let below = below.filter(|(path, _)| is_below(path, top));
        let below: Vec<(Vec<u8>, i32)> =
            below.map(|(path, watch)| (path.clone(), *watch)).collect();
        for (path, watch) in below {
            self.watches.remove(&path);
            if self.paths.remove(&watch).is_some()
                && let Err(err) = inotify::remove_watch(&self.kernel, watch)
            {
                // The folder was removed, which has also removed its watch.
                assert_eq!(
                    err,
                    Errno::INVAL,
                    "removing a watch fails only if its folder is gone"
                );
            }
        }
    }
}

/// Value that replaces the watch descriptor of a folder that cannot be watched. Real descriptors
/// are never negative.
const NO_WATCH: i32 = -1;

/// Magic numbers of network and FUSE file systems, in which files may change without inotify
/// events.
const REMOTE: &[(u64, &str)] = &[
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
];

/// Returns the name of the root's file system if this is a file system in which files may change
/// without inotify events.
pub(crate) fn remote(root: BorrowedFd<'_>) -> Option<&'static str> {
    let kind = rustix::fs::fstatfs(root).ok()?.f_type as u64 & 0xffff_ffff;
    let found = REMOTE.iter().find(|(known, _)| *known == kind);
    found.map(|(_, name)| *name)
}

/// Detector of changes by polling, which compares the files of the library with those of the
/// previous poll.
#[derive(Debug, Default)]
pub(crate) struct Poller {
    last: Option<Walked>,
}

impl Poller {
    /// Polls the library, and calls `changed` with each folder in which files have changed since
    /// the previous poll. The first poll calls `changed` with the root.
    pub(crate) fn changes(
        &mut self,
        tree: &Tree<'_>,
        progress: &Progress,
        changed: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ScanError> {
        let next = tree.walk(&[Vec::new()], progress)?;
        match &self.last {
            Some(last) => last.differences(&next, changed),
            None => changed(b""),
        }
        self.last = Some(next);
        Ok(())
    }
}
