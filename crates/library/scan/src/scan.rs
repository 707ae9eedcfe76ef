use std::collections::HashSet;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use catalog::{Content, Draft, Entry};
use rustix::fs::stat;
use tags::{Reader, Splits};

use crate::file::FoundFile;
use crate::path::tops;
use crate::plan::{Plan, plan};
use crate::progress::Phase;
use crate::read::{Read, Root, read, read_cached};
use crate::read_order::ExtentOffset;
use crate::root::open_root;
use crate::threads::{cores, in_threads};
use crate::walk::{ExcludedFolder, Tree, Walked};
use crate::{Fault, Index, Limits, LoadedIndex, Progress, Report, ScanError, index, read_order};

/// Parameters of a scan.
#[derive(Clone, Copy, Debug)]
pub struct ScanRequest<'a> {
    /// Root folder of the library.
    pub root: &'a Path,
    /// Folder that contains the index.
    pub folder: &'a Path,
    /// Data directory of Pelton. If it is inside the root folder, it is excluded from the library.
    pub hidden: &'a Path,
    /// Separators at which tags are split into several names.
    pub splits: &'a Splits,
    /// Limits of the scan.
    pub limits: &'a Limits,
    /// Folders to scan with their subfolders, relative to the root. All other files are copied from
    /// the last index. An empty list stands for the whole library.
    pub only: &'a [Vec<u8>],
    /// True for a full scan, which opens all files even if they have not changed.
    pub full: bool,
}

/// Scans a library and replaces its index if files have changed. Returns the current index.
///
/// # Errors
/// [`ScanError`] if no index can be made. The last index is kept in this case.
pub fn scan(
    order: &ScanRequest<'_>,
    last: Option<&LoadedIndex>,
    progress: &Progress,
) -> Result<(LoadedIndex, Report), ScanError> {
    let start = Instant::now();
    progress.enter(Phase::Walking);
    let root = open_root(order.root)?;
    let hidden = hidden(order.root, order.hidden);
    let tree = Tree {
        root: root.as_fd(),
        hidden: &hidden,
        limits: order.limits,
    };
    let tops = tops(order.only);
    let (last, mut walked) = load_and_walk(order, last, &tree, &tops, progress)?;
    let known = last.as_ref().map(|last| &**last.catalog());
    if !order.only.is_empty() {
        match known {
            Some(last) => walked.add_outside(&tops, last),
            // There is no last index from which the files outside the requested folders could be
            // copied, so the whole library is scanned.
            None => walked = tree.walk(&[Vec::new()], progress)?,
        }
    }
    let plan = plan(&walked.seen, known);
    let mut report = Report {
        files: walked.seen.len() as u64,
        links: walked.links,
        faults: std::mem::take(&mut walked.faults),
        walk: start.elapsed(),
        kept: plan.kept.len() as u64,
        moved: plan.moved.len() as u64,
        gone: plan.gone,
        ..Report::default()
    };
    if let Some(last) = &last
        && plan.is_empty()
        && last.catalog().has_splits(order.splits)
    {
        report.remember(last.catalog());
        return Ok((last.clone(), report));
    }
    let paths = root_paths(order.root);
    let reading = Reading {
        root: Root {
            folder: root.as_fd(),
            paths: &paths,
        },
        seen: &walked.seen,
        limits: order.limits,
        progress,
        splits: order.splits,
    };
    let drafts = reading.drafts(&plan, known, &mut report)?;
    report.read = start.elapsed() - report.walk;
    progress.enter(Phase::Building);
    let index = write(order, drafts, last, &mut report)?;
    report.remember(index.catalog());
    report.build = start.elapsed() - report.walk - report.read;
    Ok((index, report))
}

/// Lists the files in the folders `tops`. At the same time, loads the last index from its file if
/// `last` is `None` or outdated. For a full scan, returns no last index.
fn load_and_walk(
    order: &ScanRequest<'_>,
    last: Option<&LoadedIndex>,
    tree: &Tree<'_>,
    tops: &[Vec<u8>],
    progress: &Progress,
) -> Result<(Option<LoadedIndex>, Walked), ScanError> {
    let (last, walked) = thread::scope(|scope| {
        let last = scope.spawn(|| match last {
            _ if order.full => Ok(None),
            Some(last) if last.is_current(order.folder) => Ok(Some(last.clone())),
            _ => index::load(order.folder),
        });
        let walked = tree.walk(tops, progress);
        (last.join().expect("loading does not panic"), walked)
    });
    Ok((last?, walked?))
}

/// Builds an index from drafts, one per file. Writes the index to the disk if it differs from the
/// last index.
fn write(
    order: &ScanRequest<'_>,
    drafts: Vec<Draft>,
    last: Option<LoadedIndex>,
    report: &mut Report,
) -> Result<LoadedIndex, ScanError> {
    let library = Draft::gather(drafts, order.splits);
    let (rows, words) = thread::scope(|scope| {
        let words = scope.spawn(|| library.words());
        let rows = library.rows();
        (rows, words.join().expect("finding words does not panic"))
    });
    let bytes = library.finish(rows, words);
    let same = last.filter(|last| last.catalog().bytes() == bytes);
    report.written = same.is_none();
    thread::scope(|scope| {
        // Freeing the names of many files takes time, so another thread does it during the write.
        scope.spawn(|| drop(library));
        match same {
            Some(same) => Ok(same),
            None => index::replace(order.folder, bytes),
        }
    })
}

/// Returns the absolute paths by which playlists may refer to the root folder: the configured one,
/// and the one without symbolic links.
fn root_paths(root: &Path) -> Vec<Vec<u8>> {
    let real = root.canonicalize().ok();
    let given = root.is_absolute().then(|| root.to_owned());
    let paths = [given, real].into_iter().flatten();
    let mut paths: Vec<Vec<u8>> = paths
        .map(|path| {
            let path = path.as_os_str().as_bytes();
            let end = path.iter().rposition(|byte| *byte != b'/');
            path[..end.map_or(0, |end| end + 1)].to_vec()
        })
        .collect();
    paths.dedup();
    paths
}

/// Returns device and inode of the data directory `data` and, if it is inside the root folder, its
/// path relative to the root. The result is empty if the directory does not exist.
pub(crate) fn hidden(root: &Path, data: &Path) -> ExcludedFolder {
    let path = || {
        let (root, data) = (root.canonicalize().ok()?, data.canonicalize().ok()?);
        let below = data.strip_prefix(&root).ok()?;
        Some(below.as_os_str().as_bytes().to_vec())
    };
    let found = stat(data).ok();
    ExcludedFolder {
        path: path(),
        identity: found.map(|found| (found.st_dev, found.st_ino)),
    }
}

/// Values for files, each with the position of its file in `Walked::seen`.
type Numbered<T> = Vec<(usize, T)>;

/// Parameters that all reader threads share.
#[derive(Clone, Copy)]
struct Reading<'a> {
    root: Root<'a>,
    seen: &'a [FoundFile],
    limits: &'a Limits,
    progress: &'a Progress,
    splits: &'a Splits,
}

impl Reading<'_> {
    /// Returns a draft of the index entry of each file. The draft of an unchanged file is made from
    /// the last index; other files are read.
    fn drafts(
        &self,
        plan: &Plan,
        last: Option<&Index>,
        report: &mut Report,
    ) -> Result<Vec<Draft>, ScanError> {
        let seen = self.seen;
        let mut to_read = plan.to_read.clone();
        let threads = self.limits.readers.min(cores());
        let known: Vec<(usize, u32)> = plan.kept.iter().chain(&plan.moved).copied().collect();
        let known = in_threads(threads, known, |(number, row)| {
            let entry = last.and_then(|last| last.entry(row)).ok_or(number)?;
            let path = seen[number].path.clone();
            Ok(Draft::new(Entry { path, ..entry }, self.splits))
        });
        let mut drafts = Vec::with_capacity(seen.len());
        for known in known {
            match known {
                Ok(draft) => drafts.push(draft),
                Err(number) => to_read.push(number),
            }
        }
        report.opened = to_read.len() as u64;
        self.progress.start_reading(report.opened);
        read_order::by_inode(seen, &mut to_read);
        let devices = to_read.iter().map(|&number| seen[number].stat.device);
        report.rotating = devices
            .collect::<HashSet<_>>()
            .into_iter()
            .any(read_order::rotates);
        let readers = match report.rotating {
            true => self.limits.readers_rotating,
            false => self.limits.readers,
        };
        report.readers = readers.min(cores()).min(to_read.len()).max(1);
        let mut all = Vec::new();
        if report.rotating {
            // Files in the page cache need no seek. The others are read in the order of their
            // positions on the disk.
            let (warm, cold) = self.read_cached(&to_read, report);
            all = warm;
            (to_read, report.read_order) = read_order::by_extent(seen, cold);
        }
        all.extend(self.read_all(&to_read, report));
        let mut entries = Vec::with_capacity(all.len());
        for (number, read) in all {
            report.reads += read.reads;
            report.bytes += read.bytes;
            let FoundFile { path, stat, .. } = &seen[number];
            let path = path.clone();
            report.note_tags(&path, &read.content);
            match read.content {
                Ok(content) => entries.push(Entry {
                    path,
                    stat: *stat,
                    content,
                }),
                Err(reason) => report.faults.push(Fault { path, reason }),
            }
        }
        drafts.extend(in_threads(threads, entries, |entry| {
            Draft::new(entry, self.splits)
        }));
        match self.progress.is_cancelled() {
            true => Err(ScanError::Cancelled),
            false => Ok(drafts),
        }
    }

    /// Reads the files on several threads, in the given order.
    fn read_all(&self, to_read: &[usize], report: &Report) -> Numbered<Read> {
        self.each(to_read, report, |number, reader| {
            let read = self.one(number, reader);
            self.progress.add_read(1);
            (number, read)
        })
    }

    /// Reads the files that are in the page cache. Returns their contents, and the positions of the
    /// other files on the disk.
    fn read_cached(
        &self,
        to_read: &[usize],
        report: &Report,
    ) -> (Numbered<Read>, Numbered<ExtentOffset>) {
        let tried = self.each(to_read, report, |number, reader| {
            let seen = &self.seen[number];
            let is_small = seen.stat.size <= self.limits.file_bytes_max;
            let read = is_small.then(|| read_cached(self.root, seen, reader));
            (number, read.flatten())
        });
        let (mut warm, mut cold) = (Vec::with_capacity(tried.len()), Vec::new());
        for (number, read) in tried {
            match read {
                Some(Ok(read)) => {
                    self.progress.add_read(1);
                    warm.push((number, read));
                }
                Some(Err(place)) => cold.push((number, place)),
                // The file is too large or cannot be opened. Later, `read_all` records the reason.
                None => cold.push((number, Ok(None))),
            }
        }
        (warm, cold)
    }

    /// Calls `work` for each file, on several threads. Each thread takes the next file of the list
    /// as soon as it is free, so that the head of a rotating disk moves in one direction. The
    /// results are in no particular order.
    fn each<T: Send>(
        &self,
        to_read: &[usize],
        report: &Report,
        work: impl Fn(usize, &mut Reader) -> T + Sync,
    ) -> Vec<T> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut reader = Reader::new(tags::Limits::default());
            let mut done = Vec::with_capacity(to_read.len() / report.readers + 1);
            while !self.progress.is_cancelled() {
                let Some(&number) = to_read.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                done.push(work(number, &mut reader));
            }
            done
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..report.readers).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                done.extend(other.join().expect("reading does not panic"));
            }
            done
        })
    }

    fn one(&self, number: usize, reader: &mut Reader) -> Read {
        let seen = &self.seen[number];
        if self.limits.file_bytes_max < seen.stat.size {
            return Read {
                content: Ok(Content::Unreadable(
                    "the file is larger than the limit allows".to_owned(),
                )),
                reads: 0,
                bytes: 0,
            };
        }
        read(self.root, seen, reader)
    }
}
