//! Contenders that read a library. Each runs in its own process and prints the resources that it
//! used.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use scan::{Limits, Progress, Report, ScanRequest};
use serde::{Deserialize, Serialize};
use tags::{ReadAt, Reader, Splits};
use toolkit::stop::{Stop, at};

use crate::usage::unstartable;

/// Number of threads in Musium's scan.
const THREADS: usize = 64;
const REFILL_BYTES: usize = 2_048;

/// Contender: one way to read a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Arm {
    /// Full scan by our scanner
    Ours,
    /// Rescan by our scanner, which reuses the existing index
    Again,
    /// Musium's read pattern: path order, 64 threads, 2,048 bytes at a time
    Musium,
    /// lofty with its defaults, in path order
    Lofty,
}

impl Arm {
    pub(super) fn name(self) -> &'static str {
        match self {
            Arm::Ours => "ours",
            Arm::Again => "again",
            Arm::Musium => "musium",
            Arm::Lofty => "lofty",
        }
    }
}

/// Arguments of `lab read`.
#[derive(clap::Args)]
pub(crate) struct ReadArguments {
    arm: Arm,
    library: PathBuf,
    index: PathBuf,
}

/// Resources that one run used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ResourceUse {
    pub(super) files: u64,
    /// Number of files that were opened.
    pub(super) opened: u64,
    pub(super) cpu_us: u64,
    pub(super) wall_us: u64,
    pub(super) read_bytes: u64,
    /// Wall time of the walk over the folders. `read_us` is the wall time of reading the files, and
    /// `build_us` that of building the index. All three times are 0 for contenders other than our
    /// scanner, which do not measure these phases.
    pub(super) walk_us: u64,
    pub(super) read_us: u64,
    pub(super) build_us: u64,
}

/// Returns the command that runs a contender.
pub(super) fn command(arm: Arm, library: &Path, index: &Path) -> Result<Command, Stop> {
    let own = std::env::current_exe().map_err(at(Path::new("/proc/self/exe")))?;
    let mut command = Command::new(own);
    command.args(["read", arm.name()]).arg(library).arg(index);
    Ok(command)
}

/// Runs a contender in its own process and returns the resources that it used.
pub(super) fn measure(arm: Arm, library: &Path, index: &Path) -> Result<ResourceUse, Stop> {
    let mut command = command(arm, library, index)?;
    let output = command
        .output()
        .map_err(|err| unstartable(&command, &err))?;
    let stdout_text = String::from_utf8_lossy(&output.stdout);
    toml::from_str(&stdout_text).map_err(|err| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        Stop::findings(format!("{}: {err}: {stderr}", arm.name()))
    })
}

/// Reads the library as the chosen contender does, and prints the resources used.
pub(crate) fn read(typed: &ReadArguments) -> Result<(), Stop> {
    let (started, cpu_us, read_bytes) = (Instant::now(), cpu_us(), read_bytes()?);
    let report = match typed.arm {
        Arm::Ours => ours(typed, true)?,
        Arm::Again => ours(typed, false)?,
        Arm::Musium => musium(&typed.library)?,
        Arm::Lofty => lofty(&typed.library)?,
    };
    let used = ResourceUse {
        files: report.files,
        opened: report.opened,
        walk_us: report.walk.as_micros() as u64,
        read_us: report.read.as_micros() as u64,
        build_us: report.build.as_micros() as u64,
        cpu_us: self::cpu_us() - cpu_us,
        wall_us: started.elapsed().as_micros() as u64,
        read_bytes: self::read_bytes()? - read_bytes,
    };
    print!(
        "{}",
        toml::to_string(&used).expect("the struct holds only numbers and strings")
    );
    Ok(())
}

fn ours(typed: &ReadArguments, full: bool) -> Result<Report, Stop> {
    let order = ScanRequest {
        root: &typed.library,
        folder: &typed.index,
        hidden: &typed.index,
        splits: &Splits::default(),
        limits: &Limits::default(),
        only: &[],
        full,
    };
    let scanned = scan::scan(&order, None, &Progress::default());
    let (_, report) = scanned.map_err(|err| Stop::host(format!("scan: {err}")))?;
    Ok(report)
}

/// Returns all files below a folder, sorted by path.
fn paths(library: &Path) -> Result<Vec<PathBuf>, Stop> {
    let (mut folders, mut found) = (vec![library.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let entry = entry.map_err(at(&folder))?;
            let kind = entry.file_type().map_err(at(&folder))?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                // Query the metadata for both contenders, because a scanner reads the modification
                // time of each file before it opens the file.
                let path = entry.path();
                fs::metadata(&path).map_err(at(&path))?;
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn musium(library: &Path) -> Result<Report, Stop> {
    let paths = paths(library)?;
    let next = AtomicUsize::new(0);
    let opened = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut reader = Reader::new(tags::Limits {
                    reads_max: u32::MAX,
                    ..tags::Limits::default()
                });
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Ok(file) = File::open(path) else {
                        continue;
                    };
                    opened.fetch_add(1, Ordering::Relaxed);
                    let Ok(about) = file.metadata() else {
                        continue;
                    };
                    let forward = Forward::new(file);
                    // Ignore errors. The time that is spent on unreadable files is measured too,
                    // and other tests check that the files are readable.
                    if reader.read(&forward, about.len()).is_ok() {
                        std::hint::black_box(&reader);
                    }
                }
            });
        }
    });
    Ok(counted(paths.len(), opened.into_inner()))
}

fn lofty(library: &Path) -> Result<Report, Stop> {
    let paths = paths(library)?;
    for path in &paths {
        // Ignore errors, as for the contender Musium: the time spent on unreadable files is
        // measured too.
        if let Ok(file) = ::lofty::read_from_path(path) {
            std::hint::black_box(&file);
        }
    }
    Ok(counted(paths.len(), paths.len()))
}

/// Returns a report with counts but without times of phases, which only our scanner measures.
fn counted(files: usize, opened: usize) -> Report {
    Report {
        files: files as u64,
        opened: opened as u64,
        ..Report::default()
    }
}

/// File that is read forwards in steps of [`REFILL_BYTES`]. Bytes that are not needed are read too,
/// not skipped by a seek.
struct Forward {
    file: File,
    held: Mutex<Held>,
}

struct Held {
    bytes: [u8; REFILL_BYTES],
    at: u64,
    len: usize,
}

impl Forward {
    fn new(file: File) -> Forward {
        let held = Held {
            bytes: [0; REFILL_BYTES],
            at: 0,
            len: 0,
        };
        Forward {
            file,
            held: Mutex::new(held),
        }
    }
}

impl ReadAt for Forward {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut held = self.held.lock().expect("only one thread takes the lock");
        if offset < held.at {
            (held.at, held.len) = (offset, 0);
        }
        while held.at + held.len as u64 <= offset {
            let next = held.at + held.len as u64;
            let mut bytes = [0; REFILL_BYTES];
            let len = self.file.read_at(&mut bytes, next)?;
            if len == 0 {
                return Ok(0);
            }
            *held = Held {
                bytes,
                at: next,
                len,
            };
        }
        let start = (offset - held.at) as usize;
        let count = buf.len().min(held.len - start);
        buf[..count].copy_from_slice(&held.bytes[start..start + count]);
        Ok(count)
    }
}

pub(super) fn cpu_us() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("getrusage of the own process cannot fail");
    (usage.user_time() + usage.system_time()).num_microseconds() as u64
}

/// Returns the number of bytes that this process has read: `rchar` of proc_pid_io(5).
fn read_bytes() -> Result<u64, Stop> {
    let path = Path::new("/proc/self/io");
    let text = fs::read_to_string(path).map_err(at(path))?;
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    let bytes = line.and_then(|line| line.parse().ok());
    bytes.ok_or_else(|| Stop::host("/proc/self/io: no rchar"))
}
