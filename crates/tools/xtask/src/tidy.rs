//! Rules of this repository that neither the compiler nor clippy checks. Each rule is a row of a
//! table: a name, a check, and advice on how to fix a finding.

mod circles;
mod layers;
mod names;
mod page;
mod prose;
mod shape;
mod source;
#[cfg(test)]
mod tests;
mod tree;
mod words;

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use toolkit::command::output;
use toolkit::stop::{Stop, at};

use crate::workspace::Workspace;
pub(crate) use tree::is_test;
use tree::{Finding, Rule, Tree, TreeFile};

/// All rules, grouped by the part of the tree that they check.
const RULES: &[&[Rule]] = &[
    layers::RULES,
    circles::RULES,
    shape::RULES,
    words::RULES,
    names::RULES,
    page::RULES,
    prose::RULES,
];

/// Checks all rules, prints the findings, and returns their number.
///
/// # Errors
/// When the checkout cannot be read.
pub(crate) fn run(root: &Path) -> Result<usize, Stop> {
    let tree = read(root)?;
    let mut count = 0;
    for rule in RULES.iter().copied().flatten() {
        let findings = (rule.check)(&tree);
        for Finding { path, line, what } in &findings {
            let line = if *line == 0 {
                String::new()
            } else {
                format!(":{line}")
            };
            println!("{path}{line}: {}: {what}", rule.name);
        }
        if !findings.is_empty() {
            println!("    cure: {}", rule.cure);
        }
        count += findings.len();
    }
    let rules: usize = RULES.iter().map(|group| group.len()).sum();
    eprintln!(
        "xtask: tidy: {count} findings by {rules} rules in {} files",
        tree.files.len()
    );
    Ok(count)
}

/// Returns the path and text of every Rust file that git tracks, and of every new Rust file that
/// git does not ignore.
///
/// # Errors
/// When the checkout cannot be read.
pub(crate) fn rust_files(root: &Path) -> Result<Vec<(String, String)>, Stop> {
    let mut files = Vec::new();
    for (path, bytes) in contents(root)? {
        if path.ends_with(".rs") {
            let text = String::from_utf8(bytes)
                .map_err(|_| Stop::findings(format!("{path}: not UTF-8")))?;
            files.push((path, text));
        }
    }
    Ok(files)
}

fn read(root: &Path) -> Result<Tree, Stop> {
    let files = contents(root)?.into_iter();
    let files = files.map(|(path, bytes)| TreeFile::new(&path, bytes));
    Ok(Tree {
        files: files.collect(),
        workspace: Workspace::read(root)?,
    })
}

/// Reads every file that git tracks, and every new file that git does not ignore.
fn contents(root: &Path) -> Result<Vec<(String, Vec<u8>)>, Stop> {
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = output(git.current_dir(root)).map_err(Stop::on_host)?;
    let mut files = Vec::new();
    for path in listed.split_terminator('\0') {
        let whole = root.join(path);
        match fs::read(&whole) {
            Ok(bytes) => files.push((path.to_owned(), bytes)),
            // The file was removed, and the removal is not committed yet.
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            Err(err) => return Err(at(&whole)(err)),
        }
    }
    Ok(files)
}
