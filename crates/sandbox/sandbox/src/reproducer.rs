//! Reproducers: files that record failed jobs whose cell is at fault. A recorded job can be run
//! again.
//!
//! There is one file per job. Only the file's owner can read it, because it contains data of
//! clients:
//!
//! ```text
//! pelton job 1
//! runs worker                            or `runs program NAME`
//! backend process
//! original-blake3 HEX
//! size-px 500 750                        0 0 if the output is not a picture
//! limits ANSWER-BYTES MEMORY-BYTES CPU-MS WALL-MS
//! parts PLAN-BYTES ORIGINAL-BYTES
//! ended crashed: died by signal 11
//!                                        an empty line, then plan and original
//! ```

use crate::error::{Failure, FailureKind};
use crate::memfd::reopen;
use crate::pool::{Finished, Pool, Task};
use crate::posture::Backend;
use crate::service::Service;
use crate::sync::UNPOISONED;
use rustix::fs::{MemfdFlags, memfd_create};
use sandbox_protocol::{JobLimits, PLAN_BYTES_MAX};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const FIRST_LINE: &str = "pelton job 1";
const EXTENSION: &str = "job";
/// Maximum length of a file's head (the lines before plan and original), in bytes. The longest line
/// is the failure's detail, whose length is limited.
const HEAD_BYTES_MAX: u64 = 16 << 10;

/// Folder of reproducers (files of failed jobs), with limits on their number and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReproducerFolder {
    /// Path of the folder, which must exist. Reproducers stay there until the operator removes
    /// them.
    pub folder: PathBuf,
    /// Maximum number of files in the folder. When the folder has this many files, no further job
    /// is saved.
    pub files_max: u32,
    /// Maximum size of all files together, in bytes.
    pub bytes_max: u64,
}

/// Lock that a thread holds while it checks the size of the folder and writes a file.
static WRITE_LOCK: Mutex<()> = Mutex::new(());

impl ReproducerFolder {
    /// Saves the job to a file. Returns the job's failure, and adds the file's name to its detail.
    /// If no file was written, adds the reason instead. `runs` says what ran the job, `worker` or
    /// `program NAME`, and is written to the file's line `runs`.
    pub(crate) fn keep(
        &self,
        runs: &str,
        backend: Backend,
        task: &Task<'_>,
        mut failure: Failure,
    ) -> Failure {
        let appended = match self.kept(runs, backend, task, &failure) {
            Ok(path) => write!(failure.detail, "; reproducer: {}", path.display()),
            Err(err) => write!(failure.detail, "; no reproducer was written: {err}"),
        };
        appended.expect("writing to a string cannot fail");
        failure
    }

    fn kept(
        &self,
        runs: &str,
        backend: Backend,
        task: &Task<'_>,
        failure: &Failure,
    ) -> io::Result<PathBuf> {
        let mut original = Vec::new();
        let file = File::from(reopen(task.original)?);
        let bytes_max = self.bytes_max;
        let read = file.take(bytes_max + 1).read_to_end(&mut original)?;
        if bytes_max < read as u64 {
            return Err(io::Error::other(format!(
                "the original is larger than {bytes_max} bytes"
            )));
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(task.plan).update(&original);
        let name = &hasher.finalize().to_hex()[..16];
        let path = self.folder.join(format!("{name}.{EXTENSION}"));
        let (width, height) = task.size_px.unwrap_or((0, 0));
        let head = format!(
            "{FIRST_LINE}\nruns {runs}\nbackend {backend}\noriginal-blake3 {}\nsize-px {width} {height}\n\
             limits {} {} {} {}\nparts {} {}\nended {}\n\n",
            blake3::hash(&original).to_hex(),
            task.limits.output_bytes_max,
            task.limits.memory_bytes_max,
            task.limits.cpu_ms_max,
            task.wall_ms_max,
            task.plan.len(),
            original.len(),
            ended(failure).escape_debug(),
        );
        let _alone = WRITE_LOCK.lock().expect(UNPOISONED);
        if path.exists() {
            return Ok(path);
        }
        let bytes = head.len() + task.plan.len() + original.len();
        self.room(bytes as u64)?;
        let part = path.with_extension("part");
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&part)?;
        let parts = [head.as_bytes(), task.plan, &original];
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        match written.and_then(|()| fs::rename(&part, &path)) {
            Ok(()) => Ok(path),
            Err(err) => {
                fs::remove_file(&part)?;
                Err(err)
            }
        }
    }

    /// Checks that the folder has room for one more file of `bytes` bytes.
    fn room(&self, bytes: u64) -> io::Result<()> {
        let (mut files, mut sum) = (1_u32, bytes);
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            if path.extension().is_some_and(|ext| ext == EXTENSION) {
                files += 1;
                sum += entry.metadata()?.len();
            }
        }
        if files <= self.files_max && sum <= self.bytes_max {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(io::Error::other(format!("{folder} is full")))
    }
}

/// Returns whether a job with this failure is saved: true if the cell is at fault.
pub(crate) fn is_cell_fault(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Unencodable
        | FailureKind::Crashed
        | FailureKind::ProtocolViolation
        | FailureKind::TimedOut => true,
        FailureKind::Undecodable
        | FailureKind::Unsupported
        | FailureKind::TooLarge
        | FailureKind::Host
        | FailureKind::Cancelled => false,
    }
}

/// Returns the message of a failure without the leading `cell: `.
fn ended(failure: &Failure) -> String {
    let text = failure.to_string();
    text.strip_prefix("cell: ").unwrap_or(&text).to_owned()
}

/// Failed job that was saved to a file, so that it can be run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reproducer {
    /// Name of the program that ran the job; `None` for the worker.
    pub program: Option<String>,
    /// Kind of sandbox that ran the job.
    pub backend: Backend,
    /// Message of the job's failure, with control characters escaped.
    pub ended: String,
    /// BLAKE3 hash of the original, in hexadecimal digits.
    pub original_blake3: String,
    /// Original: a picture, or the environment and the input of a program.
    pub original: Vec<u8>,
    plan: Vec<u8>,
    size_px: Option<(u32, u32)>,
    limits: JobLimits,
    wall_ms_max: u32,
}

impl Reproducer {
    /// Reads a reproducer from the file that a pool wrote.
    pub fn read(path: &Path) -> io::Result<Reproducer> {
        let file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        let mut lines = BufReader::new(file);
        let mut head = String::new();
        while !head.ends_with("\n\n") {
            let left = HEAD_BYTES_MAX.saturating_sub(head.len() as u64);
            if (&mut lines).take(left).read_line(&mut head)? == 0 {
                return Err(malformed(
                    "no empty line follows the head; the file may be truncated",
                ));
            }
        }
        let mut fields = head.lines();
        if fields.next() != Some(FIRST_LINE) {
            return Err(malformed(&format!("the first line is not {FIRST_LINE:?}")));
        }
        let mut field = |name: &'static str| {
            let line = fields.next();
            let value = line.and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
            value.map(str::to_owned).ok_or_else(|| malformed(name))
        };
        let program = program(&field("runs")?)?;
        let backend = match field("backend")?.as_str() {
            "process" => Backend::Process,
            "kvm" => Backend::Kvm,
            _ => return Err(malformed("backend")),
        };
        let original_blake3 = field("original-blake3")?;
        let [width, height] = numbers(&field("size-px")?)?;
        let [output_bytes_max, memory_bytes_max, cpu_ms_max, wall_ms_max] =
            numbers(&field("limits")?)?;
        let [plan_bytes, original_bytes] = numbers(&field("parts")?)?;
        let ended = field("ended")?;
        let parts_bytes = file_bytes.saturating_sub(head.len() as u64);
        if plan_bytes.checked_add(original_bytes) != Some(parts_bytes)
            || (PLAN_BYTES_MAX as u64) < plan_bytes
        {
            return Err(malformed("parts"));
        }
        let mut plan = vec![0; plan_bytes as usize];
        lines.read_exact(&mut plan)?;
        let mut original = Vec::new();
        lines.read_to_end(&mut original)?;
        if blake3::hash(&original).to_hex().as_str() != original_blake3 {
            return Err(malformed("original-blake3"));
        }
        let small = |number: u64| u32::try_from(number).map_err(|_| malformed("a number"));
        let size_px = (small(width)?, small(height)?);
        Ok(Reproducer {
            program,
            backend,
            ended,
            original_blake3,
            original,
            plan,
            size_px: Some(size_px).filter(|size| *size != (0, 0)),
            limits: JobLimits {
                output_bytes_max,
                memory_bytes_max,
                cpu_ms_max: small(cpu_ms_max)?,
            },
            wall_ms_max: small(wall_ms_max)?,
        })
    }

    /// Runs the job again in `pool`, which must run the same worker or program. Pass a `service` if
    /// the job had one.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub fn replay(
        &self,
        pool: &Pool,
        service: Option<&mut dyn Service>,
    ) -> Result<Finished, Failure> {
        let host = |err: io::Error| Failure::host("cannot copy the original", err);
        let memory = memfd_create("original", MemfdFlags::CLOEXEC);
        let mut original = File::from(memory.map_err(|errno| host(errno.into()))?);
        original.write_all(&self.original).map_err(host)?;
        let task = Task {
            original: original.as_fd(),
            plan: &self.plan,
            size_px: self.size_px,
            limits: self.limits,
            wall_ms_max: self.wall_ms_max,
            idle: false,
        };
        pool.run_with(task, service)
    }

    /// Returns whether `failure` is the same as the saved failure.
    #[must_use]
    pub fn is_same(&self, failure: &Failure) -> bool {
        ended(failure).escape_debug().to_string() == self.ended
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not a reproducer: {what}"),
    )
}

/// Returns the program's name from the line `runs`, or `None` if the line names the worker.
fn program(runs: &str) -> io::Result<Option<String>> {
    if runs == "worker" {
        return Ok(None);
    }
    let name = runs.strip_prefix("program ");
    let name = name.ok_or_else(|| malformed("runs"))?;
    Ok(Some(name.to_owned()))
}

fn numbers<const COUNT: usize>(text: &str) -> io::Result<[u64; COUNT]> {
    let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| malformed("a number"))
}
