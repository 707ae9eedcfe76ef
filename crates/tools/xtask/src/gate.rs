//! `cargo xtask test`: runs the gate (the checks that must pass before a merge), and counts the
//! tests that passed and failed. A failed step does not stop the steps after it.

#[cfg(test)]
mod tests;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use toolkit::build::{self, Build};
use toolkit::command::{succeed, timed, unstartable};
use toolkit::stop::{EXIT_FINDINGS, Stop};
use toolkit::{debian, tools};

use crate::workspace::Workspace;
use crate::{advisories, codecs, conform, instructions, tidy, web};

/// One step of the gate. A step without tests to count, such as a lint, counts as one test.
struct Step {
    name: &'static str,
    /// True if the step compiles the server or reads the worker's executable. The worker is then
    /// built before the step.
    compiles: bool,
    run: fn(&Gate) -> Result<Count, Stop>,
}

/// All steps, in the order in which they run. Cheap steps run first, because they find most of the
/// errors.
const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        compiles: false,
        run: fmt,
    },
    Step {
        name: "tidy",
        compiles: false,
        run: tidy,
    },
    Step {
        name: "typos",
        compiles: false,
        run: typos,
    },
    Step {
        name: "advisories",
        compiles: false,
        run: advisories,
    },
    Step {
        name: "web",
        compiles: false,
        run: web,
    },
    Step {
        name: "codecs",
        compiles: true,
        run: codecs,
    },
    Step {
        name: "clippy",
        compiles: true,
        run: clippy,
    },
    Step {
        name: "unit",
        compiles: true,
        run: unit,
    },
    Step {
        name: "page",
        compiles: true,
        run: page,
    },
    Step {
        name: "instructions",
        compiles: false,
        run: instructions,
    },
    Step {
        name: "conform",
        compiles: false,
        run: conform,
    },
    Step {
        name: "deny",
        compiles: false,
        run: deny,
    },
];

struct Gate {
    build: Build,
    /// Crate whose tests run; `None` runs the tests of all crates.
    package: Option<String>,
    bless: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

impl Count {
    const PASS: Count = Count {
        passed: 1,
        failed: 0,
    };
    const FAIL: Count = Count {
        passed: 0,
        failed: 1,
    };
}

/// Runs all steps, or the step called `name`, or the tests of the crate called `name`.
///
/// # Errors
/// When there is no step or crate of that name.
pub(crate) fn run(build: Build, name: Option<&str>, bless: bool) -> Result<ExitCode, Stop> {
    let package = match name {
        Some(name) if Workspace::read(build.root())?.has(name) => Some(name),
        _ => None,
    };
    let wanted = if package.is_some() {
        Some("unit")
    } else {
        name
    };
    let steps = STEPS
        .iter()
        .filter(|step| wanted.is_none_or(|name| name == step.name));
    let steps: Vec<_> = steps.collect();
    if steps.is_empty() {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        return Err(Stop::usage(format!(
            "no step and no crate is called {}",
            name.unwrap_or("")
        ))
        .hint(format!("the steps are {}", names.join(", "))));
    }
    let package = package.map(str::to_owned);
    let mut gate = Gate {
        build,
        package,
        bless,
    };
    let mut rows = Vec::new();
    let mut worker = Count::PASS;
    if steps.iter().any(|step| step.compiles) {
        worker = judge(gate.build.worker().map(|_| Count::PASS));
    }
    for step in steps {
        let start = Instant::now();
        let count = if step.compiles && worker == Count::FAIL {
            Count::FAIL
        } else {
            judge(timed(step.name, || (step.run)(&gate)))
        };
        rows.push((step.name, count, start.elapsed().as_secs_f64()));
    }
    Ok(summary(&rows))
}

/// Returns the numbers of passed and failed tests of a step. If the step could not run, prints its
/// error, and counts the step as one failed test.
fn judge(result: Result<Count, Stop>) -> Count {
    result.unwrap_or_else(|stop| {
        eprintln!("{stop}");
        Count::FAIL
    })
}

fn summary(rows: &[(&str, Count, f64)]) -> ExitCode {
    let mut total = Count::default();
    for (name, count, seconds) in rows {
        println!(
            "{name:<12}{:>6} passed {:>4} failed {seconds:>8.1} s",
            count.passed, count.failed
        );
        total.passed += count.passed;
        total.failed += count.failed;
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    match total.failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FINDINGS),
    }
}

fn fmt(gate: &Gate) -> Result<Count, Stop> {
    let mut cargo = Command::new(build::cargo());
    cargo
        .args(["fmt", "--all", "--check"])
        .current_dir(gate.build.root());
    succeed(&mut cargo).map(|()| Count::PASS)
}

fn tidy(gate: &Gate) -> Result<Count, Stop> {
    let findings = tidy::run(gate.build.root())?;
    Ok(if findings == 0 {
        Count::PASS
    } else {
        Count::FAIL
    })
}

/// Checks the spelling; `typos.toml` lists the words that typos does not know.
fn typos(gate: &Gate) -> Result<Count, Stop> {
    let mut check = Command::new(tools::typos(gate.build.cache())?);
    check.arg("--format=brief").current_dir(gate.build.root());
    succeed(&mut check).map(|()| Count::PASS)
}

fn advisories(gate: &Gate) -> Result<Count, Stop> {
    let findings = advisories::check(gate.build.root())?;
    Ok(if findings == 0 {
        Count::PASS
    } else {
        Count::FAIL
    })
}

/// Checks, tests and builds the web page, and compares the result with the committed files.
fn web(gate: &Gate) -> Result<Count, Stop> {
    web::gate(gate.build.root(), gate.build.cache())
}

/// Checks that no C function with a known flaw is linked into the worker.
fn codecs(gate: &Gate) -> Result<Count, Stop> {
    codecs::check(&gate.build.program_path("worker")).map(|()| Count::PASS)
}

fn clippy(gate: &Gate) -> Result<Count, Stop> {
    let mut cargo = gate.build.cargo("clippy");
    cargo.args(["--workspace", "--all-targets", "--", "--deny", "warnings"]);
    succeed(&mut cargo).map(|()| Count::PASS)
}

/// Runs unit, integration and documentation tests.
fn unit(gate: &Gate) -> Result<Count, Stop> {
    debian::ensure(debian::TESTS)?;
    let mut cargo = gate.build.cargo("test");
    cargo.arg("--no-fail-fast");
    match &gate.package {
        Some(package) => cargo.args(["--package", package]),
        None => cargo.arg("--workspace"),
    };
    if gate.bless {
        cargo.env("UPDATE_EXPECT", "1");
    }
    counted(&mut cargo)
}

/// Runs a command, prints its output, and returns the numbers of passed and failed tests, summed
/// over all test binaries that the command runs.
fn counted(command: &mut Command) -> Result<Count, Stop> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|err| unstartable(command, &err))?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut count = Count::default();
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|err| unstartable(command, &err))?;
        println!("{line}");
        if let Some(one) = result_line(&line) {
            count.passed += one.passed;
            count.failed += one.failed;
        }
    }
    let status = child.wait().map_err(|err| unstartable(command, &err))?;
    if !status.success() && count.failed == 0 {
        // A crate did not compile, or a test process ended before it printed its counts.
        count.failed = 1;
    }
    Ok(count)
}

/// Parses `test result: ok. 12 passed; 0 failed; …`, the last line that each test binary prints.
fn result_line(line: &str) -> Option<Count> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut counts = counts.split("; ");
    let mut next = |word| counts.next()?.strip_suffix(word)?.trim_end().parse().ok();
    Some(Count {
        passed: next("passed")?,
        failed: next("failed")?,
    })
}

/// Tests the web page in a browser, with a few journeys of the suite `cargo xtask conform page`.
fn page(gate: &Gate) -> Result<Count, Stop> {
    debian::ensure(debian::TESTS)?;
    counted(&mut conform::page(&gate.build)?)
}

/// Checks that cache hits, store commands and tag readers do not need more instructions than
/// recorded.
fn instructions(gate: &Gate) -> Result<Count, Stop> {
    instructions::check(&gate.build, gate.bless).map(|()| Count::PASS)
}

/// Runs the suites `cargo xtask conform http1`, with fewer mutations than by default, and
/// `cargo xtask conform iiif`.
fn conform(gate: &Gate) -> Result<Count, Stop> {
    conform::gate(&gate.build).map(|()| Count::PASS)
}

/// Checks the licences and sources of all dependencies, and that none is banned. Advisories have a
/// step of their own, which needs no network.
fn deny(gate: &Gate) -> Result<Count, Stop> {
    let mut check = Command::new(tools::cargo_deny(gate.build.cache())?);
    check
        .args(["--all-features", "check", "bans", "licenses", "sources"])
        .current_dir(gate.build.root());
    succeed(&mut check).map(|()| Count::PASS)
}
