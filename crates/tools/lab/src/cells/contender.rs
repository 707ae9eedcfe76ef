//! Contenders that run jobs: plain worker processes, or a pool of cells.

use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use image_plan::Plan;
use sandbox::{Backend, Limits, Pool, Task};
use sandbox_protocol::JobLimits;
use serde::Deserialize;
use toolkit::stop::{Stop, at};

use crate::converter::hex;
use crate::usage;

/// Settings of one pool, from the definition. Settings that the definition omits have the server's
/// defaults.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Setting {
    pub(super) name: String,
    backend: Way,
    #[serde(default = "yes")]
    hugepages: bool,
    #[serde(default = "yes")]
    request_hugepages: bool,
    #[serde(default = "yes")]
    ephemeral: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Way {
    Process,
    Kvm,
}

impl Way {
    /// Returns the backend's name in the server's configuration.
    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Process => "process",
            Way::Kvm => "kvm",
        }
    }
}

fn yes() -> bool {
    true
}

impl Setting {
    /// Returns whether this process may run microVMs on this host.
    pub(super) fn machines() -> bool {
        File::options()
            .read(true)
            .write(true)
            .open("/dev/kvm")
            .inspect_err(|err| {
                eprintln!("lab: microVMs are left out, because /dev/kvm cannot be opened: {err}")
            })
            .is_ok()
    }

    pub(super) fn needs_machine(&self) -> bool {
        self.backend == Way::Kvm
    }

    pub(super) fn limits(&self, concurrency: u32) -> Limits {
        Limits {
            concurrency,
            hugepages: self.hugepages,
            request_hugepages: self.request_hugepages,
            ephemeral: self.ephemeral,
            backend: match self.backend {
                Way::Process => Backend::Process,
                Way::Kvm => Backend::Kvm,
            },
            max_request_time_ms: 60_000,
            // The zygote (the process that is forked for each job) is never replaced. The exit of a
            // zygote would hide the CPU time of its children. The start of a new zygote would count
            // as CPU time of one contender only.
            jobs_per_zygote: u32::MAX,
            ..Limits::default()
        }
    }

    pub(super) fn start(&self, elf: &[u8], concurrency: u32) -> Result<Pool, Stop> {
        let pool = Pool::start(elf, self.limits(concurrency));
        pool.map_err(|err| Stop::host(format!("{}: {err}", self.name)))
    }
}

/// Job that all contenders run.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) original: PathBuf,
    pub(super) plan: Plan,
}

impl Work {
    pub(super) fn in_cell(&self, pool: &Pool) -> Result<sandbox::Finished, Stop> {
        let original = File::open(&self.original).map_err(at(&self.original))?;
        let plan = self.plan.to_bytes();
        let size = self.plan.target;
        let finished = pool.run(Task {
            original: original.as_fd(),
            plan: &plan,
            size_px: Some((size.width_px, size.height_px)),
            limits: LIMITS,
            wall_ms_max: 60_000,
            idle: false,
        });
        finished.map_err(|failure| Stop::findings(failure.to_string()))
    }
}

pub(super) const LIMITS: JobLimits = JobLimits {
    output_bytes_max: 64 << 20,
    memory_bytes_max: 1 << 30,
    cpu_ms_max: 60_000,
};

/// Contender of the comparison, which can run jobs on any number of threads.
#[derive(Clone)]
pub(super) enum Contender {
    Plain(Arc<Plain>),
    Cells(Arc<Pool>),
}

impl Contender {
    /// Runs the job and returns its complete output.
    pub(super) fn respond(&self, work: &Work) -> Result<Vec<u8>, Stop> {
        match self {
            Contender::Plain(plain) => plain.respond(),
            Contender::Cells(pool) => {
                let finished = work.in_cell(pool)?;
                let mut bytes = vec![0; finished.output_bytes as usize];
                let read = finished.body.read_exact_at(&mut bytes, 0);
                read.map_err(|err| Stop::host(format!("cannot read the result: {err}")))?;
                Ok(bytes)
            }
        }
    }
}

/// Worker processes without a cell, one per concurrent request.
pub(super) struct Plain {
    idle: Mutex<Vec<Follower>>,
    /// Number of bytes that are requested from the kernel and returned to it for each job, as in a
    /// cell that is wiped.
    fresh_bytes: usize,
}

struct Follower {
    process: Child,
    asks: ChildStdin,
    answers: ChildStdout,
}

impl Plain {
    pub(super) fn start(
        worker: &Path,
        work: &Work,
        processes: usize,
        fresh_bytes: usize,
    ) -> Result<Plain, Stop> {
        let follower = |_| {
            let mut command = Command::new(worker);
            command
                .arg("follow")
                .arg(hex(&work.plan))
                .arg(&work.original);
            let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut process = piped
                .spawn()
                .map_err(|err| usage::unstartable(&command, &err))?;
            let asks = process.stdin.take().expect("stdin and stdout are piped");
            let answers = process.stdout.take().expect("stdin and stdout are piped");
            Ok(Follower {
                process,
                asks,
                answers,
            })
        };
        let idle: Result<_, Stop> = (0..processes).map(follower).collect();
        Ok(Plain {
            idle: Mutex::new(idle?),
            fresh_bytes,
        })
    }

    fn respond(&self) -> Result<Vec<u8>, Stop> {
        if 0 < self.fresh_bytes {
            let taken = sandbox::fresh_memory(self.fresh_bytes);
            taken.map_err(|err| Stop::host(err.to_string()))?;
        }
        let idle = || self.idle.lock();
        let mut follower = idle().pop().ok_or_else(|| {
            Stop::findings("more requests run at the same time than there are worker processes")
        })?;
        let response = follower.respond();
        let response = response.map_err(|err| Stop::findings(format!("worker follow: {err}")))?;
        idle().push(follower);
        Ok(response)
    }
}

impl Follower {
    fn respond(&mut self) -> io::Result<Vec<u8>> {
        self.asks.write_all(b".")?;
        let mut length = [0; 8];
        self.answers.read_exact(&mut length)?;
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        self.answers.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Err(err) = self.process.kill().and_then(|()| self.process.wait()) {
            eprintln!("lab: cannot end worker {}: {err}", self.process.id());
        }
    }
}
