//! `conform store`: the test suite of Redis 7.0 against `pelton store`. The suite consists of test
//! files, which it calls units. A unit is not run if it needs commands that the store does not
//! implement. Most units run in the suite's external mode, against a server that already runs.
//! Units that start servers themselves start ours in place of redis-server.
//!
//! The suite comes from Debian's source package. It is unpacked in the cache and never committed.
//! Each unit gets a new server. `store_skip.txt` lists the tests that are skipped, with the reason
//! above the names.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use toolkit::build::Build;
use toolkit::command::{output, succeed, timed};
use toolkit::debian;
use toolkit::stop::{EXIT_FINDINGS, Stop, at};

/// Upstream name and version of Debian's source package. The package's folder has the same name.
const SUITE: &str = "redis-7.0.15";
const SKIPPED: &str = include_str!("store_skip.txt");

/// Units (test files of the Redis test suite) that run in the suite's external mode. The store
/// implements the commands that they test.
const UNITS: &[&str] = &[
    "type/string",
    "type/incr",
    "type/hash",
    "type/list",
    "type/list-2",
    "type/list-3",
    "type/set",
    "type/zset",
    "type/stream",
    "type/stream-cgroups",
    "keyspace",
    "expire",
    "scan",
    "multi",
    "pubsub",
    "bitops",
    "bitfield",
    "sort",
    "dump",
    "protocol",
    "introspection",
    "introspection-2",
    "info-command",
    "slowlog",
    "latency-monitor",
    "pause",
    "lazyfree",
    "other",
    "quit",
    "scripting",
    "functions",
    "violations",
];

/// Units that start servers themselves, because the servers need particular files or settings.
const STARTING: &[&str] = &[
    "unit/aofrw",
    "unit/auth",
    "unit/info",
    "unit/limits",
    "unit/obuf-limits",
    "integration/aof",
];

/// Script that the units in [`STARTING`] run in place of redis-server. The suite expects the
/// process id in the output as soon as the server serves or has ended.
const START: &str = r#"#!/bin/bash
port=$(awk '$1 == "port" { port = $2 } END { print port }' "$1")
(
    for _ in {1..1000}; do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
        kill -0 $$ 2>/dev/null || break
        sleep 0.01
    done
    echo "* Server initialized"
    echo "Ready to accept connections"
    echo " PID: $$"
) &
exec "$PELTON" store "$@"
"#;

/// Minimum share of passed tests among those run, in per cent.
const PASS_PCT_MIN: usize = 95;

/// Number of tests of Redis's own suite that Redis 7.4.1 passes in external mode. This number
/// counts as 100 % when our result on the whole suite is printed.
const REDIS_PASSES: usize = 2_181;

/// Results of one unit: the number of passed tests, and the names of the failed ones.
struct Counted {
    passed: usize,
    failed: Vec<String>,
    /// True if the unit did not end in time.
    hung: bool,
}

/// Runs all units, or those in `named`, and prints the results of each.
///
/// # Errors
/// When the suite or the server cannot be installed or built, or does not run.
pub(crate) fn run(root: PathBuf, named: &[OsString]) -> Result<ExitCode, Stop> {
    let mut build = Build::open(root)?;
    debian::ensure(&["tcl", "redis-tools", "dpkg-dev"])?;
    let server = build.server()?;
    let suite = unpacked(build.cache())?;
    let folder = std::env::temp_dir().join(format!("pelton-conform-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let skips = folder.join("skips");
    let names = SKIPPED.lines().filter(|line| is_name(line));
    let names: String = names.map(|name| format!("{name}\n")).collect();
    fs::write(&skips, names).map_err(at(&skips))?;
    let (mut passed, mut failed, mut external) = (0, 0, 0);
    for unit in UNITS.iter().chain(STARTING) {
        if !named.is_empty() && !named.iter().any(|name| name.as_os_str() == *unit) {
            continue;
        }
        let counted = if STARTING.contains(unit) {
            run_starting(unit, &server, &suite, &skips)?
        } else {
            let counted = run_unit(unit, &server, &suite, &skips)?;
            external += counted.passed;
            counted
        };
        passed += counted.passed;
        failed += counted.failed.len() + usize::from(counted.hung);
        let end = if counted.hung {
            ", and the test unit timed out"
        } else {
            ""
        };
        println!(
            "{unit}: {} passed, {} failed{end}",
            counted.passed,
            counted.failed.len()
        );
        for name in &counted.failed {
            println!("    {name}");
        }
    }
    fs::remove_dir_all(&folder).map_err(at(&folder))?;
    let rate = 100.0 * passed as f64 / (passed + failed).max(1) as f64;
    let skipped = SKIPPED.lines().filter(|line| is_name(line)).count();
    println!(
        "total: {passed} passed, {failed} failed, {rate:.1} %; {skipped} tests skipped by name"
    );
    if named.is_empty() {
        println!("{}", share(passed, external, &left_out(&suite)?));
    }
    Ok(match PASS_PCT_MIN * (passed + failed) <= 100 * passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(EXIT_FINDINGS),
    })
}

/// Formats the number of tests that our store passes, in per cent of the number that Redis passes,
/// and the names of the units that are not run.
fn share(passed: usize, external: usize, left_out: &[String]) -> String {
    let percent = |part: usize| 100.0 * part as f64 / REDIS_PASSES as f64;
    format!(
        "Redis 7.4.1 passes {REDIS_PASSES} tests in external mode; Pelton passes {passed} of these \
         tests, {:.1} %\n{} of the passed tests start servers of their own, and may not test Pelton; \
         without them, Pelton passes {external}, {:.1} %\n{} units were not run: {}",
        percent(passed),
        passed - external,
        percent(external),
        left_out.len(),
        left_out.join(" ")
    )
}

/// Returns the names of all units of the suite that are not run, sorted. A name is the path of the
/// test file below `tests`, without the extension.
fn left_out(suite: &Path) -> Result<Vec<String>, Stop> {
    let tests = suite.join("tests");
    let mut names = Vec::new();
    for part in ["unit", "unit/type", "unit/cluster", "integration"] {
        let folder = tests.join(part);
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            if path.extension().is_some_and(|extension| extension == "tcl")
                && let Some(stem) = path.file_stem()
            {
                names.push(format!("{part}/{}", stem.to_string_lossy()));
            }
        }
    }
    names.retain(|name| {
        let unit = name.strip_prefix("unit/").unwrap_or(name);
        !UNITS.contains(&unit) && !STARTING.contains(&name.as_str())
    });
    names.sort_unstable();
    Ok(names)
}

/// Returns whether a line of the skip list names a test. Other lines are empty, or comments with
/// the reason for a skip.
fn is_name(line: &str) -> bool {
    !line.starts_with('#') && !line.is_empty()
}

/// Running store for one test. On drop, the process is killed and its data folder is removed.
pub(crate) struct Served {
    child: Child,
    port: String,
    data: PathBuf,
}

impl Served {
    /// Starts a store without save points, with `directives` as additional arguments.
    pub(crate) fn start(server: &Path, directives: &[&str]) -> Result<Served, Stop> {
        let port = free_port()?;
        let data = std::env::temp_dir().join(format!("pelton-conform-{port}"));
        let child = Command::new(server)
            .args(["store", "--save", "", "--port", &port, "--dir"])
            .arg(&data)
            .args(directives)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Stop::host(format!("{}: {error}", server.display())))?;
        let served = Served { child, port, data };
        wait_for(&served.port)?;
        Ok(served)
    }

    pub(crate) fn port(&self) -> &str {
        &self.port
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait().map(drop)) {
            eprintln!("conform: cannot stop the server: {error}");
        }
        if let Err(error) = fs::remove_dir_all(&self.data) {
            eprintln!("conform: {}: {error}", self.data.display());
        }
    }
}

fn run_unit(unit: &str, server: &Path, suite: &Path, skips: &Path) -> Result<Counted, Stop> {
    let served = Served::start(
        server,
        // The suite is that of Redis 7.0, in which sets are never listpacks. So listpacks, which
        // Redis uses for sets since 7.2, are switched off for sets. A server that the suite itself
        // starts permits changes of protected settings, so ours permits them too.
        &[
            "--set-max-listpack-entries",
            "0",
            "--enable-protected-configs",
            "yes",
        ],
    )?;
    let mut suite = suite_command(&format!("unit/{unit}"), suite, skips);
    suite.args(["--host", "127.0.0.1", "--port", served.port()]);
    counted(suite.args(["--tags", "-needs:repl -needs:debug"]))
}

fn run_starting(unit: &str, server: &Path, suite: &Path, skips: &Path) -> Result<Counted, Stop> {
    let programs = suite.join("src");
    let start = programs.join("redis-server");
    fs::write(&start, START).map_err(at(&start))?;
    fs::set_permissions(&start, Permissions::from_mode(0o755)).map_err(at(&start))?;
    for tool in ["redis-cli", "redis-check-aof"] {
        let link = programs.join(tool);
        if !link.exists() {
            symlink(Path::new("/usr/bin").join(tool), &link).map_err(at(&link))?;
        }
    }
    let mut suite = suite_command(unit, suite, skips);
    counted(
        suite
            .env("PELTON", server)
            .args(["--clients", "1", "--tags", "-needs:repl -repl"]),
    )
}

fn suite_command(unit: &str, suite: &Path, skips: &Path) -> Command {
    let mut command = Command::new("tclsh");
    command
        .args(["tests/test_helper.tcl", "--single", unit])
        .args(["--durable", "--ignore-encoding", "--timeout", "180"])
        .arg("--skipfile")
        .arg(skips)
        .current_dir(suite);
    command
}

fn counted(suite: &mut Command) -> Result<Counted, Stop> {
    let output = suite.output();
    let output = output.map_err(|error| Stop::host(format!("tclsh: {error}")))?;
    Ok(count(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses the suite's report, which has one coloured line per test.
fn count(report: &str) -> Counted {
    let plain = |line: &str| {
        line.replace("\u{1b}[0;31;49m", "")
            .replace("\u{1b}[0;32;49m", "")
            .replace("\u{1b}[0m", "")
    };
    let lines: Vec<String> = report.lines().map(plain).collect();
    let failed = lines
        .iter()
        .filter(|line| line.starts_with("[err]") || line.starts_with("[exception]"));
    Counted {
        passed: lines.iter().filter(|line| line.starts_with("[ok]")).count(),
        failed: failed.cloned().collect(),
        hung: lines.iter().any(|line| line.starts_with("[TIMEOUT]")),
    }
}

fn free_port() -> Result<String, Stop> {
    let bound =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = bound.map_err(|error| Stop::host(format!("cannot find a free port: {error}")))?;
    Ok(address.port().to_string())
}

fn wait_for(port: &str) -> Result<(), Stop> {
    for _ in 0..100 {
        if std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_ok() {
            return Ok(());
        }
        sleep(Duration::from_millis(50));
    }
    Err(Stop::host(format!(
        "the store does not listen on port {port}"
    )))
}

/// Returns the suite's folder. If it is missing, the suite is downloaded from the mirror of this
/// machine's Debian packages.
fn unpacked(cache: &Path) -> Result<PathBuf, Stop> {
    let suite = cache.join(SUITE);
    if suite.join("tests/test_helper.tcl").is_file() {
        return Ok(suite);
    }
    let folder = cache.join("redis-source");
    for part in ["lists/partial", "archives/partial", "parts"] {
        let part = folder.join(part);
        fs::create_dir_all(&part).map_err(at(&part))?;
    }
    let parts = folder.join("parts");
    let sources = parts.join("debian.sources");
    fs::write(&sources, source_entries()?).map_err(at(&sources))?;
    let apt_get = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        for (option, value) in [
            ("Dir::Etc::sourcelist", Path::new("/dev/null")),
            ("Dir::Etc::sourceparts", &parts),
            ("Dir::State::lists", &folder.join("lists")),
            ("Dir::Cache", &folder),
        ] {
            command
                .arg("-o")
                .arg(format!("{option}={}", value.display()));
        }
        command
            .args(words)
            .current_dir(&folder)
            .stdout(Stdio::null());
        command
    };
    timed("download Redis's source package", || {
        succeed(&mut apt_get(&["update"]))?;
        succeed(&mut apt_get(&["source", "--download-only", "redis"]))
    })?;
    let archive = folder.join(format!("{}.orig.tar.gz", SUITE.replace('-', "_")));
    output(
        Command::new("tar")
            .arg("xzf")
            .arg(&archive)
            .arg("-C")
            .arg(cache),
    )?;
    Ok(suite)
}

/// Returns this machine's list of apt sources, in which each entry for binary packages is changed
/// to an entry for source packages.
fn source_entries() -> Result<String, Stop> {
    let file = Path::new("/etc/apt/sources.list.d/debian.sources");
    let text = fs::read_to_string(file).map_err(at(file))?;
    let lines = text.lines().map(|line| match line.trim() {
        "Types: deb" => "Types: deb-src\n".to_owned(),
        _ => format!("{line}\n"),
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests;
