//! `cargo xtask web`: checks, tests and builds the web page with Node. `cargo xtask test` does the
//! same, and compares the result with the files in `web/dist`, which the server embeds.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use toolkit::command::{succeed, timed, unstartable};
use toolkit::stop::{Stop, at};
use toolkit::{cache, node};

use crate::gate::Count;

/// Checks and tests the web page, and builds it into `web/dist`. If `watch` is true, only builds
/// the page, and builds it again after each change until the user ends the command.
///
/// # Errors
/// When Node or its packages are missing, or a check, a test or the build fails.
pub(crate) fn run(root: &Path, watch: bool) -> Result<ExitCode, Stop> {
    let web = node::prepared(root, &cache::folder()?)?;
    if watch {
        let failed = node(&web, &["build.mjs", "--watch"]).exec();
        return Err(Stop::host(format!("exec node: {failed}")));
    }
    timed("check", || check(&web))?;
    let count = timed("test", || unit(&web))?;
    if count.failed != 0 {
        return Err(Stop::findings("tests of the page failed"));
    }
    timed("build", || succeed(&mut node(&web, &["build.mjs"])))?;
    succeed(&mut node(&web, &["budgets.mjs"]))?;
    Ok(ExitCode::SUCCESS)
}

/// Checks and tests the web page, builds it into the cache folder, compares the result with the
/// committed files, and checks the result's sizes against their budgets. Each check counts as one
/// test. Without Node, nothing is checked.
///
/// # Errors
/// When the packages cannot be installed or the tests cannot be started.
pub(crate) fn gate(root: &Path, cache: &Path) -> Result<Count, Stop> {
    if let Some(missing) = node::missing() {
        println!("web: skipped: {missing}");
        return Ok(Count::default());
    }
    let web = node::prepared(root, cache)?;
    let mut count = unit(&web)?;
    let built = cache.join("page-built");
    let folder = built.to_string_lossy();
    let build = || {
        let mut build = node(&web, &["build.mjs", "--out", &folder]);
        build.stderr(Stdio::null());
        succeed(&mut build)?;
        same(&web.join("dist"), &built)
    };
    let budgets = || succeed(&mut node(&web, &["budgets.mjs", &folder]));
    let checks: [&dyn Fn() -> Result<(), Stop>; 3] = [&|| check(&web), &build, &budgets];
    for check in checks {
        match check() {
            Ok(()) => count.passed += 1,
            Err(stop) => {
                eprintln!("{stop}");
                count.failed += 1;
            }
        }
    }
    Ok(count)
}

/// Returns the command that runs Node in the folder `web` with `words` as arguments.
fn node(web: &Path, words: &[&str]) -> Command {
    let mut node = Command::new("node");
    node.args(words).current_dir(web);
    node
}

/// Checks the types of the web page, and runs its linter.
fn check(web: &Path) -> Result<(), Stop> {
    let mut npm = Command::new("npm");
    succeed(npm.args(["run", "--silent", "check"]).current_dir(web))
}

/// Runs the unit tests of the page, and prints their output and a line with their counts.
fn unit(web: &Path) -> Result<Count, Stop> {
    let mut npm = Command::new("npm");
    npm.args(["test", "--silent"])
        .current_dir(web)
        .stdout(Stdio::piped());
    let mut child = npm.spawn().map_err(|err| unstartable(&npm, &err))?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut lines = Vec::new();
    for line in BufReader::new(stdout).lines() {
        lines.push(line.map_err(|err| unstartable(&npm, &err))?);
    }
    let status = child.wait().map_err(|err| unstartable(&npm, &err))?;
    let mut count = counted(&lines);
    if !status.success() {
        lines.iter().for_each(|line| println!("{line}"));
        count.failed = count.failed.max(1);
    }
    let verdict = if count.failed == 0 { "ok" } else { "FAILED" };
    println!(
        "test result: {verdict}. {} passed; {} failed; tests of the page",
        count.passed, count.failed
    );
    Ok(count)
}

/// Returns the counts in the closing lines of `node --test`: `# pass 12`, or `ℹ pass 12` at a
/// terminal.
fn counted(lines: &[String]) -> Count {
    let value = |name: &str| -> u32 {
        let mut lines = lines.iter().rev();
        let found = lines.find_map(|line| {
            let line = line.trim_start_matches(['#', 'ℹ']).trim_start();
            line.strip_prefix(name)?.trim().parse().ok()
        });
        found.unwrap_or(0)
    };
    Count {
        passed: value("pass "),
        failed: value("fail ") + value("cancelled "),
    }
}

/// Returns an error if the committed files differ from those that were built.
fn same(committed: &Path, built: &Path) -> Result<(), Stop> {
    let differing = differing(&files(committed)?, &files(built)?);
    if differing.is_empty() {
        return Ok(());
    }
    let line = format!(
        "these files in web/dist differ from the build of web/src: {}",
        differing.join(", ")
    );
    Err(Stop::findings(line).hint("run cargo xtask web, and commit web/dist"))
}

/// Returns the names of files that are in only one of two folders, or whose bytes differ.
fn differing(
    committed: &BTreeMap<String, Vec<u8>>,
    built: &BTreeMap<String, Vec<u8>>,
) -> Vec<String> {
    let names = committed.keys().chain(built.keys());
    let mut names: Vec<_> = names
        .filter(|name| committed.get(*name) != built.get(*name))
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the content of each file in a folder, by file name.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Stop> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        let bytes = fs::read(&path).map_err(at(&path))?;
        let name = path.file_name().unwrap_or_default();
        files.insert(name.to_string_lossy().into_owned(), bytes);
    }
    Ok(files)
}
