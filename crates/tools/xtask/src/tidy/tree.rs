//! Input and output of the rules: the files of the checkout with their syntax, and the findings.

use std::path::Path;

use super::source::Source;
use crate::workspace::{Member, Workspace};

/// A rule: its name, advice on how to fix a finding (`cure`), and a check that returns all
/// findings.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) cure: &'static str,
    pub(super) check: fn(&Tree) -> Vec<Finding>,
}

/// Violation of a rule: the line of a file that breaks the rule, and a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) path: String,
    /// Line, counted from one; zero when the finding is about the whole file.
    pub(super) line: usize,
    pub(super) what: String,
}

/// Input of the rules: the workspace and its files.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) workspace: Workspace,
    pub(super) files: Vec<TreeFile>,
}

/// File that git tracks, or a new one that git does not ignore.
#[derive(Debug)]
pub(super) struct TreeFile {
    /// Path relative to the checkout.
    pub(super) path: String,
    pub(super) bytes: u64,
    /// Content of the file; empty if it is not UTF-8.
    pub(super) text: String,
    /// Syntax of a Rust file, or the parser's error if the file is not valid Rust. `None` for other
    /// files.
    pub(super) source: Option<Result<Source, String>>,
}

impl TreeFile {
    pub(super) fn new(path: &str, contents: Vec<u8>) -> TreeFile {
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
    pub(super) fn crate_name(&self) -> Option<&str> {
        let mut parts = self.path.strip_prefix("crates/")?.split('/');
        let (_system, name) = (parts.next()?, parts.next()?);
        parts.next().map(|_| name)
    }

    pub(super) fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
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
    pub(super) fn sources(&self) -> impl Iterator<Item = (&TreeFile, &Source)> {
        self.files
            .iter()
            .filter_map(|file| Some((file, file.source.as_ref()?.as_ref().ok()?)))
    }

    /// Applies `check` to every Rust file, and returns its findings. A finding of `check` is a line
    /// number and a message.
    pub(super) fn each_source(
        &self,
        check: impl Fn(&Source) -> Vec<(usize, String)>,
    ) -> Vec<Finding> {
        let found = self.sources().flat_map(|(file, source)| {
            let found = check(source).into_iter();
            found.map(|(line, what)| file.finding(line, what))
        });
        found.collect()
    }

    /// Returns the root file of every library and program of the crates `members`. Test programs
    /// are left out, because they are test code.
    pub(super) fn roots<'a>(
        &'a self,
        members: impl Iterator<Item = &'a Member>,
    ) -> Vec<(&'a TreeFile, &'a Source)> {
        let roots: Vec<_> = members.flat_map(|member| &member.roots).collect();
        self.sources()
            .filter(|(file, _)| !is_test(&file.path) && roots.contains(&&file.path))
            .collect()
    }
}
