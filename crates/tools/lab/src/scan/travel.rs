//! Distance that a disk's head would travel for a scan of a library that was written in shuffled
//! order.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use super::arm::{self, Arm};
use super::tree;
use crate::table;
use crate::usage::run as run_command;

/// Number of files per folder.
const FOLDER_FILES: usize = 12;

#[derive(Deserialize)]
pub(super) struct Definition {
    files: usize,
    /// Size of each file in bytes.
    bytes: usize,
}

/// Distances in bytes that a disk's head would travel to read the files: in the order of our scan,
/// of inode numbers, and of paths. Each is the sum of the distances between the first extents of
/// successive files. `one_sweep` is the minimum for any order: the distance from the lowest first
/// extent to the highest.
#[derive(Serialize)]
pub(super) struct Travel {
    rotates: Option<bool>,
    files: usize,
    one_sweep: u64,
    ours: u64,
    inode_order: u64,
    path_order: u64,
}

pub(super) fn run(library: &Path, definition: &Definition) -> Result<Travel, Stop> {
    let scratch = tree::beside(library, "travel")?;
    let (root, index, log) = (
        scratch.join("library"),
        scratch.join("index"),
        scratch.join("log"),
    );
    let paths = write_shuffled(&root, definition)?;
    let mut places = HashMap::new();
    let mut inodes = Vec::new();
    for path in &paths {
        let file = File::open(root.join(path)).map_err(at(path))?;
        let extent = host::first_extent(&file).map_err(at(path))?;
        let place = extent.ok_or_else(|| {
            Stop::host("the file system has not yet allocated the first extent of a file")
        })?;
        places.insert(path.clone(), place);
        // Drop the file from the page cache. A scan queries the positions on the disk only of files
        // that are not in the page cache, because reading a cached file moves no disk head.
        file.sync_all().map_err(at(path))?;
        let evicted = nix::fcntl::posix_fadvise(
            &file,
            0,
            0,
            nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED,
        );
        evicted.map_err(|err| at(path)(err.into()))?;
        inodes.push((file.metadata().map_err(at(path))?.ino(), path.clone()));
    }
    inodes.sort_unstable();
    let inodes: Vec<PathBuf> = inodes.into_iter().map(|(_, path)| path).collect();
    let traced = arm::command(Arm::Ours, &root, &index)?;
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-e", "trace=openat,openat2", "-o"])
        .arg(&log);
    strace.arg(traced.get_program()).args(traced.get_args());
    run_command(&mut strace)?;
    let log = fs::read_to_string(&log).map_err(at(&log))?;
    let ours = last_opened(&log, &places);
    if ours.len() != paths.len() {
        let line = format!("the scan opened {} of {} files", ours.len(), paths.len());
        return Err(Stop::findings(line));
    }
    let (first, last) = (places.values().min(), places.values().max());
    let device = fs::metadata(&root).map_err(at(&root))?.dev();
    let travel = Travel {
        rotates: host::rotates(nix::sys::stat::major(device) << 32 | nix::sys::stat::minor(device)),
        files: paths.len(),
        one_sweep: last.zip(first).map_or(0, |(last, first)| last - first),
        ours: distance(&ours, &places),
        inode_order: distance(&inodes, &places),
        path_order: distance(&paths, &places),
    };
    print(&travel);
    Ok(travel)
}

/// Writes the files in shuffled order, and returns their paths in the order of their names.
fn write_shuffled(root: &Path, definition: &Definition) -> Result<Vec<PathBuf>, Stop> {
    let path = |file: usize| {
        PathBuf::from(format!(
            "album-{:05}/{:02}.flac",
            file / FOLDER_FILES,
            file % FOLDER_FILES
        ))
    };
    let paths: Vec<PathBuf> = (0..definition.files).map(path).collect();
    let mut order: Vec<usize> = (0..definition.files).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, (state % (last as u64 + 1)) as usize);
    }
    let content = vec![0x5a; definition.bytes];
    for file in order {
        let path = root.join(&paths[file]);
        let folder = path
            .parent()
            .expect("each file lies in the folder of an album");
        fs::create_dir_all(folder).map_err(at(folder))?;
        fs::write(&path, &content).map_err(at(&path))?;
    }
    // The file system chooses the positions of the files only when it writes the data to the disk,
    // so force the write.
    run_command(Command::new("sync").arg("-f").arg(root))?;
    Ok(paths)
}

/// Returns the files, sorted by the time at which each was last opened. Earlier opens do not count,
/// because a scan may open a file only to query the file's position on the disk.
fn last_opened(log: &str, places: &HashMap<PathBuf, u64>) -> Vec<PathBuf> {
    let opened = log.lines().filter_map(|line| {
        let (_, rest) = line.split_once('"')?;
        let (path, _) = rest.split_once('"')?;
        places
            .contains_key(Path::new(path))
            .then(|| PathBuf::from(path))
    });
    let opened: Vec<PathBuf> = opened.collect();
    let last: HashMap<&PathBuf, usize> = opened.iter().zip(0..).collect();
    let mut in_order: Vec<(usize, &PathBuf)> =
        last.into_iter().map(|(path, at)| (at, path)).collect();
    in_order.sort_unstable();
    in_order.into_iter().map(|(_, path)| path.clone()).collect()
}

fn distance(order: &[PathBuf], places: &HashMap<PathBuf, u64>) -> u64 {
    let pairs = order.windows(2);
    pairs
        .map(|pair| places[&pair[0]].abs_diff(places[&pair[1]]))
        .sum()
}

fn print(travel: &Travel) {
    let row = |name: &str, bytes: u64| {
        let times = bytes as f64 / travel.one_sweep as f64;
        vec![
            name.to_owned(),
            format!("{}", bytes >> 20),
            format!("{times:.2}×"),
        ]
    };
    let rows = [
        row("one sweep", travel.one_sweep),
        row("ours", travel.ours),
        row("inode order", travel.inode_order),
        row("path order", travel.path_order),
    ];
    table::print(
        "Distance that the disk's head moves, by order of reading",
        &["order", "MiB", "relative to one sweep over the disk"],
        &rows,
    );
}
