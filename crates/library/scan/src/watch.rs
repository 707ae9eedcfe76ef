//! Two ways to see that a library changes: the kernel tells, or we look again.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::ignore::MARKS;
use crate::walk::{Tree, Walked, is_below, kind};
use crate::{Progress, ScanError};

/// Bytes of events that are fetched at once.
const EVENTS_BYTES: usize = 16 << 10;

/// How changes are seen, for whoever wants to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Not at all: somebody chose so.
    #[default]
    Off,
    /// The kernel tells of each, in this many folders.
    Told {
        /// Watches that this takes of what `fs.inotify.max_user_watches` allows.
        folders: usize,
    },
    /// By looking again.
    Looking {
        /// How often.
        every: Duration,
        /// Why the kernel does not tell.
        why: String,
    },
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Watch::Off => f.write_str("off"),
            Watch::Told { folders } => write!(f, "inotify, {folders} folders"),
            Watch::Looking { every, why } => {
                write!(f, "looking every {} s: {why}", every.as_secs())
            }
        }
    }
}

/// Why the kernel's word is not to be had, or not any more.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It said so, in words for the operator.
    Host(String),
    /// There were more changes than it remembers.
    Overflow,
    /// The library cannot be walked.
    Scan(ScanError),
}

/// Folders whose changes the kernel tells.
#[derive(Debug)]
pub(crate) struct Watches {
    kernel: OwnedFd,
    watches_max: usize,
    paths: HashMap<i32, Vec<u8>>,
    watches: BTreeMap<Vec<u8>, i32>,
}

impl Watches {
    /// Watches the whole library.
    pub(crate) fn open(
        tree: &Tree<'_>,
        watches_max: usize,
        progress: &Progress,
    ) -> Result<Watches, Refused> {
        let kernel = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(
            |err| match err {
                Errno::MFILE => {
                    Refused::Host("fs.inotify.max_user_instances is reached".to_owned())
                }
                other => Refused::Host(format!("inotify: {}", std::io::Error::from(other))),
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

    /// Becomes readable when something changes.
    pub(crate) fn kernel(&self) -> BorrowedFd<'_> {
        self.kernel.as_fd()
    }

    /// Hands the folder of every change so far to `changed`.
    pub(crate) fn changes(
        &mut self,
        tree: &Tree<'_>,
        progress: &Progress,
        changed: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Refused> {
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
                    return Err(Refused::Host(format!(
                        "inotify: {}",
                        std::io::Error::from(err)
                    )));
                }
            };
            let events = event.events();
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                return Err(Refused::Overflow);
            }
            if events.contains(ReadFlags::IGNORED) {
                // Unless the path has another watch by now.
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
            let path = crate::walk::join(folder, name.to_bytes());
            if !events.contains(ReadFlags::ISDIR) {
                if kind(name.to_bytes()).is_some() {
                    changed(folder);
                }
                if MARKS.contains(&name.to_bytes()) {
                    // Folders may belong to the library now that did not before.
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

    /// Watches a folder and all below it. Each is listed again once it is watched: what came in between is found then.
    fn follow(
        &mut self,
        top: &[u8],
        tree: &Tree<'_>,
        progress: &Progress,
        changed: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Refused> {
        loop {
            let Walked { mut folders, .. } = tree
                .walk(&[top.to_vec()], progress)
                .map_err(Refused::Scan)?;
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

    fn add(&mut self, tree: &Tree<'_>, folder: Vec<u8>) -> Result<(), Refused> {
        if self.watches_max <= self.watches.len() {
            return Err(Refused::Host(format!(
                "more than {} folders",
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
        // The call takes a path alone, and would follow links on it: what it gets is the folder that is open.
        let added = tree.open(&folder).and_then(|opened| {
            let opened = opened.ok_or(Errno::NOENT)?;
            let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
            inotify::add_watch(&self.kernel, path, flags)
        });
        match added {
            Ok(watch) => {
                // A folder that was moved keeps its watch.
                if let Some(before) = self.paths.insert(watch, folder.clone()) {
                    self.watches.remove(&before);
                }
                self.watches.insert(folder, watch);
                Ok(())
            }
            // Whoever is refused by a folder cannot read its files either; the scan tells so.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {
                self.watches.insert(folder, NO_WATCH);
                Ok(())
            }
            Err(Errno::NOSPC) => Err(Refused::Host(
                "fs.inotify.max_user_watches is reached".to_owned(),
            )),
            Err(err) => Err(Refused::Host(format!(
                "inotify: {}",
                std::io::Error::from(err)
            ))),
        }
    }

    /// Stops watching a folder that moved away, and all below it.
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
                // The kernel has forgotten it first: the folder was removed.
                assert_eq!(err, Errno::INVAL, "a watch of ours");
            }
        }
    }
}

/// Stands for a folder that the kernel refused; none of its numbers is negative.
const NO_WATCH: i32 = -1;

/// File systems of other machines, or of programs, whose changes the kernel need not see.
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

/// The name of a file system that changes behind the kernel's back.
pub(crate) fn remote(root: BorrowedFd<'_>) -> Option<&'static str> {
    let kind = rustix::fs::fstatfs(root).ok()?.f_type as u64 & 0xffff_ffff;
    let found = REMOTE.iter().find(|(known, _)| *known == kind);
    found.map(|(_, name)| *name)
}

/// What was there when we last looked.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    last: Option<Walked>,
}

impl Looks {
    /// Looks again, and hands the folder of every change to `changed`: the root's, where there was nothing to compare to.
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
