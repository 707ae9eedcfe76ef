//! Listing of all files of a library. Only files with a known extension need a `statx` call.

use std::cmp::Ordering;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, OFlags, RawDir, fstat};
use rustix::io::Errno;

use crate::file::{FoundFile, kind, unread_format};
use crate::ignore::{self, Declared, Rules};
use crate::path::{folder, is_below, join};
use crate::root::{open_below, stat};
use crate::{Fault, Index, Limits, Progress, ScanError};

/// Size in bytes of the buffer into which one system call writes directory entries.
const ENTRIES_BYTES: usize = 32 << 10;

/// Library whose files are listed, with limits and the folder that is excluded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) root: BorrowedFd<'a>,
    /// Data directory of Pelton, which does not belong to the library.
    pub(crate) hidden: &'a ExcludedFolder,
    pub(crate) limits: &'a Limits,
}

/// Folder that is excluded from the library, even if it can be reached by several paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExcludedFolder {
    /// Path relative to the root of the library, if the folder is inside the root.
    pub(crate) path: Option<Vec<u8>>,
    /// Device and inode number, if the folder exists.
    pub(crate) identity: Option<(u64, u64)>,
}

/// Result of listing a library. The files are sorted by path.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) seen: Vec<FoundFile>,
    pub(crate) folders: Vec<Vec<u8>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) links: u64,
}

impl Tree<'_> {
    /// Lists the files in the folders `tops` and in their subfolders. An empty path stands for the
    /// root.
    pub(crate) fn walk(&self, tops: &[Vec<u8>], progress: &Progress) -> Result<Walked, ScanError> {
        let mut walked = Walked::default();
        let mut buffer = vec![MaybeUninit::uninit(); ENTRIES_BYTES];
        let tops = tops.iter();
        let tops = tops.filter_map(|top| Some((top.clone(), self.rules_above(top)?)));
        let mut folders: Vec<(Vec<u8>, Rules)> = tops.collect();
        while let Some((path, rules)) = folders.pop() {
            if progress.is_cancelled() {
                return Err(ScanError::Cancelled);
            }
            let before = walked.seen.len();
            let read = self.open(&path).and_then(|folder| match folder {
                Some(folder) => {
                    let place = (&path[..], &rules);
                    self.read_folder(&folder, place, &mut buffer, &mut folders, &mut walked)?;
                    Ok(true)
                }
                None => Ok(false),
            });
            match read {
                Ok(true) => walked.folders.push(path),
                Ok(false) => {}
                // A requested folder may have been removed. Its files then count as removed.
                Err(Errno::NOENT) if !path.is_empty() => {}
                Err(err) => {
                    let reason = format!("the folder cannot be read: {}", io::Error::from(err));
                    walked.faults.push(Fault { path, reason });
                }
            }
            let depth = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
            while let Some((path, _)) =
                folders.pop_if(|(path, _)| self.limits.depth_max <= depth(path))
            {
                let reason = "the folder is nested deeper than the limit allows".to_owned();
                walked.faults.push(Fault { path, reason });
            }
            if self.limits.files_max < walked.seen.len() + walked.faults.len() {
                return Err(ScanError::TooManyFiles);
            }
            progress.add_walked((walked.seen.len() - before) as u64);
        }
        walked.seen.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(walked)
    }

    /// Returns whether a folder may belong to the library: its path contains no name that begins
    /// with a dot, and it is not the data directory.
    pub(crate) fn enters(&self, folder: &[u8]) -> bool {
        let mut names = folder.split(|&byte| byte == b'/');
        !names.any(|name| name.starts_with(b".")) && self.hidden.path.as_deref() != Some(folder)
    }

    /// Opens a folder of the library. Returns `None` if it is the data directory.
    pub(crate) fn open(&self, folder: &[u8]) -> rustix::io::Result<Option<OwnedFd>> {
        let opened = open_below(self.root, folder, OFlags::DIRECTORY)?;
        let Some(hidden) = self.hidden.identity else {
            return Ok(Some(opened));
        };
        let stat = fstat(&opened)?;
        Ok(((stat.st_dev, stat.st_ino) != hidden).then_some(opened))
    }

    /// Returns the exclusion rules that the parents of the folder `path` set. Returns `None` if
    /// `path` itself is excluded.
    fn rules_above(&self, path: &[u8]) -> Option<Rules> {
        let mut rules = Rules::default();
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let folders = ends.map(|(end, _)| &path[..end]).chain([path]);
        let mut above: &[u8] = b"";
        for folder in folders.filter(|folder| !folder.is_empty()) {
            if !self.enters(folder) {
                return None;
            }
            // A folder that cannot be read sets no rules. A scan of the whole library reports such
            // a folder.
            let opened = self.open(above);
            if let Ok(None) = opened {
                return None;
            }
            if let Ok(Some(opened)) = opened {
                let mut declared = Declared::Nothing;
                for name in ignore::IGNORE_FILES {
                    if stat(&opened, name).is_ok() && declared.load(&opened, name).is_err() {
                        declared = Declared::Nothing;
                    }
                }
                rules = rules.below(above, declared)?;
            }
            if rules.excludes(folder, true) {
                return None;
            }
            above = folder;
        }
        Some(rules)
    }

    fn read_folder(
        &self,
        folder: &OwnedFd,
        (path, rules): (&[u8], &Rules),
        buffer: &mut [MaybeUninit<u8>],
        folders: &mut Vec<(Vec<u8>, Rules)>,
        walked: &mut Walked,
    ) -> rustix::io::Result<()> {
        let before = (walked.seen.len(), walked.faults.len());
        let mut declared = Declared::Nothing;
        let (mut below_it, mut unread) = (Vec::new(), Vec::new());
        let mut entries = RawDir::new(folder, buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            // Hidden files are not in the library; `.nomedia` and `.ndignore` exclude other files.
            if name.starts_with(b".") {
                if let Err(err) = declared.load(folder, name) {
                    let (path, err) = (join(path, name), io::Error::from(err));
                    let reason = format!("cannot read the ignore file, so it has no effect: {err}");
                    walked.faults.push(Fault { path, reason });
                }
                continue;
            }
            let below = join(path, name);
            match entry.file_type() {
                FileType::Directory if !self.enters(&below) => {}
                FileType::Directory => below_it.push(below),
                FileType::Symlink => walked.links += 1,
                FileType::RegularFile | FileType::Unknown => {
                    let Some(kind) = kind(name) else {
                        // An entry whose type the file system does not report may be a folder.
                        if entry.file_type() == FileType::Unknown
                            && open_below(folder.as_fd(), name, OFlags::DIRECTORY).is_ok()
                        {
                            below_it.push(below);
                        } else {
                            unread.extend(named_fault(below));
                        }
                        continue;
                    };
                    let path = below;
                    match stat(folder, name) {
                        Ok(stat) => walked.seen.push(FoundFile { path, stat, kind }),
                        Err(err) => {
                            let reason = io::Error::from(err).to_string();
                            walked.faults.push(Fault { path, reason });
                        }
                    }
                }
                _ => {}
            }
        }
        let Some(rules) = rules.below(path, declared) else {
            walked.seen.truncate(before.0);
            walked.faults.truncate(before.1);
            return Ok(());
        };
        if !rules.is_empty() {
            let kept = walked.seen.split_off(before.0).into_iter();
            walked
                .seen
                .extend(kept.filter(|seen| !rules.excludes(&seen.path, false)));
            below_it.retain(|folder| !rules.excludes(folder, true));
            unread.retain(|fault| !rules.excludes(&fault.path, false));
        }
        walked.faults.append(&mut unread);
        folders.extend(below_it.into_iter().map(|folder| (folder, rules.clone())));
        Ok(())
    }
}

impl Walked {
    /// Adds the files of the last index that are outside the folders `tops`.
    pub(crate) fn add_outside(&mut self, tops: &[Vec<u8>], last: &Index) {
        let known = (0..last.counts().files).filter_map(|row| last.file(row));
        let outside = known.filter(|(path, _)| !tops.iter().any(|top| is_below(path, top)));
        self.seen.extend(outside.filter_map(|(path, stat)| {
            let kind = kind(&path)?;
            Some(FoundFile { path, stat, kind })
        }));
        self.seen.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    /// Compares the result of this walk with that of the later walk `next`. Calls `changed` with
    /// the folder of each file that was added, removed or changed.
    pub(crate) fn differences(&self, next: &Walked, changed: &mut dyn FnMut(&[u8])) {
        let (mut before, mut after) = (&self.seen[..], &next.seen[..]);
        loop {
            let order = match (before.first(), after.first()) {
                (Some(old), Some(new)) => old.path.cmp(&new.path),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return,
            };
            match order {
                Ordering::Less => changed(folder(&before[0].path)),
                Ordering::Equal if before[0].stat == after[0].stat => {}
                Ordering::Equal | Ordering::Greater => changed(folder(&after[0].path)),
            }
            before = &before[usize::from(order.is_le())..];
            after = &after[usize::from(order.is_ge())..];
        }
    }
}

/// Returns a fault for the report if the file has the extension of a music format that Pelton
/// cannot read.
fn named_fault(path: Vec<u8>) -> Option<Fault> {
    let reason = format!(
        "the music format {} is not supported",
        unread_format(&path)?
    );
    Some(Fault { path, reason })
}
