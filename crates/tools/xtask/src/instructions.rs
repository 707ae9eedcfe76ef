//! Check of instruction counts. Counts the instructions of each operation of the crate
//! `operations`, and compares the counts with the recorded ones.
//!
//! ```text
//! operations NAME n  ─ cachegrind ─► a ─┐
//! operations NAME 2n ─ cachegrind ─► b ─┴─► (b − a) / n ─► lab/instructions.tsv, ± 5 %
//! ```
//!
//! Times differ from run to run and from machine to machine; instruction counts do not. But
//! instruction counts depend on the compiler. If the recorded counts come from another compiler,
//! differences are printed, but the check does not fail.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use toolkit::build::Build;
use toolkit::command::{output, unstartable};
use toolkit::debian;
use toolkit::stop::{Stop, at, program};

/// File with the recorded counts, relative to the checkout.
const RECORD: &str = "lab/instructions.tsv";

/// Maximum growth of a count, in per mille of the recorded count. Two runs of the same program have
/// equal counts. But the path of the checkout and the names of functions decide how the compiler
/// divides a crate into codegen units, and the division changes the generated code: renames alone
/// have changed a count by 2.3 %.
const GROWTH_PER_MILLE_MAX: u64 = 50;

/// Start of the record's line with the name of the compiler.
const COMPILER: &str = "# ";

/// Recorded instruction counts, by operation, and the compiler that built the measured program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Record {
    compiler: String,
    /// Number of instructions of one repetition, by name of the operation.
    counts: BTreeMap<String, u64>,
}

/// Counts the instructions of every operation, and fails if a count has grown by more than 5 %. If
/// `bless` is set, records the counts instead. Without valgrind, prints a message and checks
/// nothing.
///
/// # Errors
/// When a count has grown, when operations and record differ, or when the program does not build.
pub(crate) fn check(build: &Build, bless: bool) -> Result<(), Stop> {
    if let Err(stop) = debian::ensure(&["valgrind"]) {
        eprintln!("{stop}");
    }
    if output(Command::new("valgrind").arg("--version")).is_err() {
        eprintln!(
            "{}: instructions are not counted: valgrind is not installed",
            program()
        );
        return Ok(());
    }
    let counted = count(&build.program("operations")?, build.root())?;
    let path = build.root().join(RECORD);
    if bless {
        return fs::write(&path, counted.text()).map_err(at(&path));
    }
    let recorded = Record::parse(&fs::read_to_string(&path).map_err(at(&path))?);
    let findings = recorded.compare(&counted);
    if recorded.compiler != counted.compiler {
        eprintln!(
            "{}: {RECORD} was recorded with {}, and this compiler is {}: the counts are shown, but not compared",
            program(),
            recorded.compiler,
            counted.compiler
        );
        findings.iter().for_each(|finding| eprintln!("{finding}"));
        return Ok(());
    }
    if findings.is_empty() {
        return Ok(());
    }
    Err(Stop::findings(findings.join("\n")).hint(
        "find the cause of the difference; to accept the new counts, run cargo xtask test \
         instructions --bless, and say why in the commit",
    ))
}

/// Counts the instructions of every operation that `program` lists.
fn count(program: &Path, root: &Path) -> Result<Record, Stop> {
    let version = output(Command::new("rustc").arg("--version").current_dir(root))?;
    let mut record = Record {
        compiler: version.trim().to_owned(),
        ..Record::default()
    };
    for line in output(&mut Command::new(program))?.lines() {
        let parsed = line.split_once(' ').and_then(|(name, count)| {
            let count: u64 = count.parse().ok()?;
            Some((name, count))
        });
        let (name, count) =
            parsed.ok_or_else(|| Stop::findings(format!("operations printed {line}")))?;
        // Both runs execute at the same time, to use two cores if there are two.
        let once = start(program, name, count)?;
        let twice = start(program, name, 2 * count)?;
        let (once, twice) = (once.finish()?, twice.finish()?);
        let each = twice.saturating_sub(once) / count;
        eprintln!("{:>10} {name}", each);
        record.counts.insert(name.to_owned(), each);
    }
    Ok(record)
}

/// Run of one operation under cachegrind.
struct Run {
    command: Command,
    child: std::process::Child,
}

fn start(program: &Path, name: &str, count: u64) -> Result<Run, Stop> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=cachegrind", "--cache-sim=no", "--branch-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(program)
        .args([name, &count.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn().map_err(|err| unstartable(&command, &err))?;
    Ok(Run { command, child })
}

impl Run {
    /// Waits until the program exits, and returns the number of instructions that it executed.
    fn finish(self) -> Result<u64, Stop> {
        let ended = self.child.wait_with_output();
        let ended = ended.map_err(|err| unstartable(&self.command, &err))?;
        let report = String::from_utf8_lossy(&ended.stderr);
        instructions(&report)
            .filter(|_| ended.status.success())
            .ok_or_else(|| Stop::findings(format!("{:?}: {report}", self.command)))
    }
}

/// Parses the line `==1== I   refs:      7,124,183` of cachegrind's report.
fn instructions(report: &str) -> Option<u64> {
    let mut lines = report.lines();
    let count = lines.find_map(|line| line.split_once("refs:"))?.1;
    count.trim().replace(',', "").parse().ok()
}

impl Record {
    fn parse(text: &str) -> Record {
        let mut record = Record::default();
        for line in text.lines() {
            if let Some(compiler) = line.strip_prefix(COMPILER) {
                record.compiler = compiler.to_owned();
            } else if let Some((name, count)) = line.split_once('\t') {
                // A malformed count becomes 0, which is reported as a finding.
                let count = count.parse().unwrap_or(0);
                record.counts.insert(name.to_owned(), count);
            }
        }
        record
    }

    fn text(&self) -> String {
        let rows = self.counts.iter();
        let rows: String = rows
            .map(|(name, count)| format!("{name}\t{count}\n"))
            .collect();
        format!("{COMPILER}{}\n{rows}", self.compiler)
    }

    /// Returns a message for each count that has grown too much, or that is in only one of the two
    /// records.
    fn compare(&self, counted: &Record) -> Vec<String> {
        let mut findings = Vec::new();
        for (name, now) in &counted.counts {
            let Some(before) = self.counts.get(name) else {
                findings.push(format!(
                    "{name}: {now} instructions, but the record has no entry of this name"
                ));
                continue;
            };
            if before * (1000 + GROWTH_PER_MILLE_MAX) < now * 1000 {
                findings.push(format!("{name}: {now} instructions, {before} recorded"));
            }
        }
        let gone = self.counts.keys();
        let gone = gone.filter(|name| !counted.counts.contains_key(*name));
        findings.extend(
            gone.map(|name| format!("{name}: this operation is recorded, but no longer exists")),
        );
        findings
    }
}
