//! Server process that a benchmark starts, waits for, measures and stops.

#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use toolkit::stop::Stop;

use crate::SharedFlags;
use crate::client::{self, Response};
use crate::usage::{self, Tree};

/// Maximum time to wait for a server's first response, and for its exit after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time to wait until better variants have replaced the provisional variants. Several
/// hundred megapixels must be encoded as AVIF at speed 6.
const IMPROVING_TIME_MAX: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(20);
/// Time without CPU time after which a server counts as quiet: ten ticks of the clock by which the
/// kernel accounts CPU time.
const QUIET: Duration = Duration::from_millis(100);
/// Interval between readiness checks of a starting server. It limits the resolution of measured
/// start times.
const START_POLL: Duration = Duration::from_millis(1);

/// Server process that is stopped on drop.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts `program` and waits until a request for `target` gets status 200. The program must
    /// listen on `address`.
    ///
    /// # Errors
    /// Returns an error if the program does not start or does not respond in time.
    pub(crate) fn start(
        program: Command,
        address: SocketAddr,
        target: &str,
    ) -> Result<Server, Stop> {
        Server::start_until(program, address, |address| {
            client::get(address, target, "*/*").is_ok_and(|response| response.status == 200)
        })
    }

    /// Starts `program` and waits until `is_ready` returns true for the address.
    ///
    /// # Errors
    /// The same errors as [`Server::start`].
    pub(crate) fn start_until(
        mut program: Command,
        address: SocketAddr,
        is_ready: impl Fn(SocketAddr) -> bool,
    ) -> Result<Server, Stop> {
        let program = program
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = program
            .spawn()
            .map_err(|err| usage::unstartable(program, &err))?;
        let mut server = Server { child, address };
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if is_ready(address) {
                return Ok(server);
            }
            let ended = server.child.try_wait();
            if let Some(status) = ended.map_err(|err| usage::unstartable(program, &err))? {
                let line = format!("{} ended: {status}", usage::words(program));
                return Err(Stop::host(line));
            }
            thread::sleep(START_POLL);
        }
        Err(Stop::host(format!(
            "{} does not respond",
            usage::words(program)
        )))
    }

    /// Starts Pelton with the corpus as its library folder and `data` as its data folder. If
    /// `under` is not empty, it is a command that runs Pelton, such as `taskset`. `settings` are
    /// flags of Pelton.
    ///
    /// # Errors
    /// The same errors as [`Server::start`].
    pub(crate) fn pelton(
        under: &[&str],
        given: &SharedFlags,
        data: &Path,
        settings: &[&str],
    ) -> Result<Server, Stop> {
        let address = free_address()?;
        let pelton = given.pelton()?;
        let mut program = match under {
            [] => Command::new(pelton),
            [first, rest @ ..] => {
                let mut program = Command::new(first);
                program.args(rest).arg(pelton);
                program
            }
        };
        program
            .arg("serve")
            .arg(&given.corpus)
            .arg("--data")
            .arg(data);
        program
            .args(["--listen", &address.to_string()])
            .args(settings);
        Server::start(program, address, "/-/ready")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a GET request and returns its response.
    ///
    /// # Errors
    /// Returns an error if the status is not 200.
    pub(crate) fn get(&self, target: &str, accept: &str) -> Result<Response, Stop> {
        let response = client::get(self.address, target, accept)?;
        if response.status != 200 {
            return Err(Stop::findings(format!("GET {target}: {}", response.status)));
        }
        Ok(response)
    }

    /// Returns the CPU time that the server and all its children have used so far.
    ///
    /// # Errors
    /// Returns an error if the server has exited.
    pub(crate) fn cpu_us(&self) -> Result<u64, Stop> {
        Tree::cpu_us(self.pid())
    }

    /// Waits until the server and its children use no CPU time any more, for servers that do not
    /// tell whether they work.
    ///
    /// # Errors
    /// Returns an error if this takes too long.
    pub(crate) fn wait_quiet(&self) -> Result<(), Stop> {
        let deadline = Instant::now() + PATIENCE;
        let mut before_us = self.cpu_us()?;
        while Instant::now() < deadline {
            thread::sleep(QUIET);
            let now_us = self.cpu_us()?;
            if now_us == before_us {
                return Ok(());
            }
            before_us = now_us;
        }
        Err(Stop::findings(
            "the server still used CPU time at the end of the time limit",
        ))
    }

    /// Waits until no conversion runs or is queued, including background conversions to better
    /// variants.
    ///
    /// # Errors
    /// Returns an error if this takes too long, or if Pelton's metrics do not have the expected
    /// names.
    pub(crate) fn wait_idle(&self) -> Result<(), Stop> {
        let deadline = Instant::now() + IMPROVING_TIME_MAX;
        let mut idle = 0;
        while Instant::now() < deadline {
            let text = self.get("/-/metrics", "*/*")?.body;
            let text = String::from_utf8_lossy(&text);
            let busy: Option<f64> = [
                "conversions_waiting",
                "conversions_running",
                "improvements_waiting",
            ]
            .iter()
            .map(|name| metric(&text, &format!("pelton_{name}")))
            .sum();
            let busy = busy.ok_or_else(|| {
                Stop::findings("a metric of conversions or improvements is missing")
            })?;
            idle = if busy == 0.0 { idle + 1 } else { 0 };
            // No metric counts a job while it moves from the queue to a worker. So the server
            // counts as idle only if it appears idle 5 times in a row.
            if idle == 5 {
                return Ok(());
            }
            thread::sleep(POLL);
        }
        Err(Stop::findings(
            "the server was still converting pictures when the time limit expired",
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(err) = end(&mut self.child) {
            eprintln!("lab: cannot stop server {}: {err}", self.child.id());
        }
    }
}

/// Stops a process by SIGTERM, and by SIGKILL if it does not exit in time.
fn end(child: &mut Child) -> io::Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    let pid = i32::try_from(child.id()).expect("Linux counts processes in 22 bits");
    // A child that has exited but was not waited for still accepts signals, so `kill` does not
    // fail.
    kill(Pid::from_raw(pid), Signal::SIGTERM)?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(POLL);
    }
    child.kill()?;
    child.wait().map(drop)
}

/// Returns a loopback address with a free port. If another program binds the address before our
/// server does, the server's start fails.
pub(crate) fn free_address() -> Result<SocketAddr, Stop> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map_err(|err| Stop::host(format!("cannot listen on the loopback: {err}")))
}

/// Returns the value of the metric `name`, which has no labels.
fn metric(text: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines.find(|(metric, _)| *metric == name)?;
    value.parse().ok()
}
