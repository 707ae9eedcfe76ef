//! Server under test: `pelton serve`, started as a child process.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::process::Signal;
use serde_json::Value;

use super::processes::{is_alive, signal};
use super::wait::eventually;
use super::{Client, Home, Metrics, Response};

/// Returns a command that runs `pelton` with an empty environment.
pub(crate) fn pelton<A: AsRef<OsStr>>(home: &Home, words: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command
        .args(words)
        .current_dir(home.directory())
        .env_clear();
    command
}

/// Process of `pelton serve`. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Process that serves: the child at first, and another process after an upgrade.
    pid: u32,
    address: SocketAddr,
    log: Log,
}

/// Lines that the server has written to stderr so far.
#[derive(Debug)]
struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves the library of `home` with these additional flags, on a port that the kernel chooses.
    pub(crate) fn start(home: &Home, flags: &[&str]) -> Server {
        let mut command = pelton(home, ["serve", "--listen", "127.0.0.1:0"]);
        command.arg(home.library()).args(flags);
        if !flags.contains(&"--data") {
            command.arg("--data").arg(home.data());
        }
        Server::run(&mut command)
    }

    /// Serves like [`Server::start`] without background conversions, so that all conversions result
    /// from requests.
    pub(crate) fn plain(home: &Home, flags: &[&str]) -> Server {
        Server::start(home, &[&["--improve", "false"], flags].concat())
    }

    /// Runs a command that starts a server, and waits until it has logged its address.
    pub(crate) fn run(command: &mut Command) -> Server {
        Server::spawn(command.stdin(Stdio::null()))
    }

    /// Runs a command as [`Server::run`] does, but leaves the command's standard input unchanged.
    pub(crate) fn spawn(command: &mut Command) -> Server {
        let command = command.stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stderr = child.stderr.take().expect("stderr was asked for");
        let log = Log::read(stderr);
        let address = eventually("the server says where it serves", || {
            let ended = child.try_wait().expect("the server is our child");
            assert_eq!(ended, None, "the server ended: {:#?}", log.lines());
            log.lines().iter().find_map(|line| address(line))
        });
        Server {
            pid: child.id(),
            child,
            address,
            log,
        }
    }

    /// Starts a handover to a new process, and waits until the old process has ended.
    pub(crate) fn upgrade(&mut self) {
        const MESSAGE: &str =
            "a new process has taken over: this process finishes its open requests";
        let old = self.pid;
        signal(old, Signal::USR2);
        self.pid = eventually("a new process takes over", || {
            let lines = self.log.lines();
            let mut events = lines.iter().rev().filter_map(|line| event(line));
            let last = events.find(|event| event["message"] == MESSAGE)?;
            let pid = last["pid"].as_u64().expect("a number");
            Some(pid as u32).filter(|pid| *pid != self.pid)
        });
        if old == self.child.id() {
            let status = self.ended();
            assert_eq!(status.code(), Some(0), "{:#?}", self.log.lines());
        } else {
            eventually("the old process ends", || (!is_alive(old)).then_some(()));
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns all HTTP addresses of the server, in the order of the log. There must be at least
    /// two.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        // The server logs each address in a line of its own. `spawn` has waited only for the first
        // line.
        eventually("the server says where else it serves", || {
            let lines = self.log.lines();
            let found: Vec<_> = lines.iter().filter_map(|line| address(line)).collect();
            (1 < found.len()).then_some(found)
        })
    }

    /// Returns the HTTPS address of the server.
    pub(crate) fn secure_address(&self) -> SocketAddr {
        eventually("the server says where it speaks HTTPS", || {
            let lines = self.log.lines();
            lines
                .iter()
                .find_map(|line| address_after(line, "https://"))
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the log contains an event with this level and message. Returns the number of
    /// these events.
    pub(crate) fn logged(&self, level: &str, message: &str) -> usize {
        eventually("the event is logged", || {
            let lines = self.log.lines();
            let events = lines.iter().filter_map(|line| event(line));
            let lines =
                events.filter(|event| event["level"] == level && event["message"] == message);
            Some(lines.count()).filter(|count| *count != 0)
        })
    }

    /// Returns the last event of this level with this message.
    pub(crate) fn event(&self, level: &str, message: &str) -> Value {
        self.logged(level, message);
        let lines = self.log.lines();
        let mut events = lines.iter().rev().filter_map(|line| event(line));
        let last = events.find(|event| event["level"] == level && event["message"] == message);
        last.expect("it was logged")
    }

    /// Returns whether any line of the log contains `part`.
    pub(crate) fn has_logged(&self, part: &str) -> bool {
        self.log.lines().iter().any(|line| line.contains(part))
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// Sends a request on a new connection, and returns the response. `fields` are lines, each with
    /// its CRLF.
    pub(crate) fn send(&self, method: &str, target: &str, fields: &str) -> Response {
        let mut client = self.connect();
        client.request(method, target, fields);
        if method == "HEAD" {
            client.head()
        } else {
            client.response()
        }
    }

    /// Sends a GET with the mandatory fields only.
    pub(crate) fn get(&self, target: &str) -> Response {
        self.send("GET", target, "")
    }

    /// Sends a GET with this Accept field.
    pub(crate) fn get_as(&self, target: &str, accept: &str) -> Response {
        self.send("GET", target, &format!("accept: {accept}\r\n"))
    }

    pub(crate) fn metrics(&self) -> Metrics {
        Metrics::parse(self.get("/-/metrics").text())
    }

    /// Returns the server's resident memory in bytes: the current value if `name` is `VmRSS`, or
    /// the peak if `name` is `VmHWM`.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let amount = line
            .expect("the kernel says so")
            .trim_matches([':', '\t', ' ']);
        let kib = amount.strip_suffix(" kB").expect("in KiB");
        kib.parse::<u64>().expect("a number") << 10
    }

    /// Returns the CPU time of the server so far, in the kernel's ticks of 10 ms.
    pub(crate) fn cpu_ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        let stat = stat.expect("the server runs");
        // The name of the process may contain any character, so the fields start after the last
        // parenthesis: the state, ten others, utime, stime.
        let (_, after_name) = stat.rsplit_once(") ").expect("the kernel says so");
        let ticks = after_name.split(' ').skip(11).take(2);
        ticks
            .map(|ticks| ticks.parse::<u64>().expect("a number"))
            .sum()
    }

    /// Returns the number of bytes that the server has read from files and sockets so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        let counts = fs::read_to_string(format!("/proc/{}/io", self.pid()));
        let counts = counts.expect("the server runs");
        let read = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
        read.expect("the kernel says so").parse().expect("a number")
    }

    /// Sends SIGTERM, upon which the server finishes open requests and exits.
    pub(crate) fn ask_to_stop(&self) {
        signal(self.pid(), Signal::TERM);
    }

    /// Waits until the server ends by itself. Its log can still be read.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        eventually("the server ends", || {
            self.child.try_wait().expect("the server is our child")
        })
    }

    /// Stops the server, and checks that it exits with 0.
    pub(crate) fn stop(mut self) {
        self.ask_to_stop();
        if self.pid != self.child.id() {
            return eventually("the server ends", || (!is_alive(self.pid)).then_some(()));
        }
        let status = self.ended();
        assert_eq!(status.code(), Some(0), "{:#?}", self.log.lines());
    }

    /// Kills the server by SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the server is our child");
        self.child.wait().expect("the server is our child");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Kills the child and, after an upgrade, the process that serves. The thread that reads the
        // log then ends, too. So none of them outlives the test, even if the test has failed.
        if self.pid != self.child.id() && is_alive(self.pid) {
            signal(self.pid, Signal::KILL);
        }
        if let Ok(None) = self.child.try_wait() {
            self.child.kill().expect("the server is our child");
            self.child.wait().expect("the server is our child");
        }
        let reader = self.log.reader.take().expect("taken here only");
        let read = reader.join();
        if thread::panicking() {
            eprintln!("the server's log: {:#?}", self.log.lines());
        } else {
            read.expect("the log was read to its end");
        }
    }
}

impl Log {
    fn read(stderr: ChildStderr) -> Log {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&lines);
        let reader = thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                let line = line.expect("the log is text");
                read.lock().expect("nobody panics with it").push(line);
            }
        });
        Log {
            lines,
            reader: Some(reader),
        }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("nobody panics with it").clone()
    }
}

/// Parses a line of the log. The log is JSON if stderr is not a terminal.
fn event(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok()
}

/// Returns the address in a line of the log that announces an HTTP address.
fn address(line: &str) -> Option<SocketAddr> {
    address_after(line, "http://")
}

fn address_after(line: &str, scheme: &str) -> Option<SocketAddr> {
    let event = event(line)?;
    let message = event["message"].as_str()?;
    let (_, url) = message.rsplit_once(scheme)?;
    url.trim_end_matches('/').parse().ok()
}
