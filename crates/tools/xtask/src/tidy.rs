//! Rules of this repository that neither the compiler nor clippy checks. Each is a row of a table:
//! a name, a check, and a cure.

mod layers;
mod names;
mod prose;
mod shape;
mod source;
#[cfg(test)]
mod tests;
mod words;

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use toolkit::command::output;
use toolkit::stop::{Stop, at};

use crate::workspace::{Member, Workspace};
use source::Source;

/// One rule.
struct Rule {
    name: &'static str,
    cure: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// All rules, grouped by the part of the tree that they check.
const RULES: &[&[Rule]] = &[
    layers::RULES,
    shape::RULES,
    words::RULES,
    names::RULES,
    prose::RULES,
];

/// Place in a file that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// Line, counted from one; zero when the finding is about the whole file.
    line: usize,
    what: String,
}

/// Input of the rules: the workspace and its files.
#[derive(Debug, Default)]
struct Tree {
    workspace: Workspace,
    files: Vec<TreeFile>,
}

/// One file that git tracks, or would track.
#[derive(Debug)]
struct TreeFile {
    /// Path relative to the checkout.
    path: String,
    bytes: u64,
    /// Content of the file; empty if it is not UTF-8.
    text: String,
    /// Syntax of a Rust file, or the parser's error; `None` for other files.
    source: Option<Result<Source, String>>,
}

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

/// Returns the path and text of every Rust file that git tracks, or would track.
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

/// Reads every file that git tracks, or would track.
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

impl TreeFile {
    fn new(path: &str, contents: Vec<u8>) -> TreeFile {
        let bytes = contents.len() as u64;
        let text = String::from_utf8(contents).unwrap_or_else(|_| String::new());
        let rust = Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "rs");
        TreeFile {
            path: path.to_owned(),
            bytes,
            source: rust.then(|| Source::parse(&text, is_test(path))),
            text,
        }
    }

    /// Returns the name of the file's crate: the third part of `crates/SYSTEM/CRATE/…`.
    fn crate_name(&self) -> Option<&str> {
        let mut parts = self.path.strip_prefix("crates/")?.split('/');
        let (_system, name) = (parts.next()?, parts.next()?);
        parts.next().map(|_| name)
    }

    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        let path = self.path.clone();
        Finding {
            path,
            line,
            what: what.into(),
        }
    }
}

/// Returns whether the whole file at `path` is test code.
pub(crate) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|folder| folder == "tests")
}

impl Tree {
    /// Returns every Rust file that could be parsed, with its syntax.
    fn sources(&self) -> impl Iterator<Item = (&TreeFile, &Source)> {
        self.files
            .iter()
            .filter_map(|file| Some((file, file.source.as_ref()?.as_ref().ok()?)))
    }

    /// Returns the findings of a check that needs one Rust file at a time.
    fn each_source(&self, check: impl Fn(&Source) -> Vec<(usize, String)>) -> Vec<Finding> {
        let found = self.sources().flat_map(|(file, source)| {
            let found = check(source).into_iter();
            found.map(|(line, what)| file.finding(line, what))
        });
        found.collect()
    }

    /// Returns the root file of every library and program of these crates. Programs for tests are
    /// left out, as test code.
    fn roots<'a>(
        &'a self,
        members: impl Iterator<Item = &'a Member>,
    ) -> Vec<(&'a TreeFile, &'a Source)> {
        let roots: Vec<_> = members.flat_map(|member| &member.roots).collect();
        self.sources()
            .filter(|(file, _)| !is_test(&file.path) && roots.contains(&&file.path))
            .collect()
    }
}
