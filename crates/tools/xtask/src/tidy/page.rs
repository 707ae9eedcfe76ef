//! Rules about the sources of the web page in `web`: the scripts of the page and of its tests. The
//! step `web` of `cargo xtask test` checks `web/dist`, which is built from these sources.

use super::prose;
use super::tree::{Finding, Rule, Tree, TreeFile};

/// Folders with sources of the page.
const FOLDERS: &[&str] = &["web/src/", "web/test/", "web/e2e/"];
/// Extensions of sources.
const EXTENSIONS: &[&str] = &[".ts", ".tsx", ".mjs"];
/// Maximum width of a line, in columns. JSX elements with many attributes need wide lines.
const COLUMNS_MAX: usize = 160;
const LINES_MAX: usize = 400;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "page-line",
        cure: "break lines at 160 columns",
        check: wide_line,
    },
    Rule {
        name: "page-file",
        cure: "split the file by topic into files of at most 400 lines",
        check: long_file,
    },
    Rule {
        name: "page-word",
        cure: "write a plain sentence with subject, verb and object; docs/GLOSSARY.md lists the \
               terms",
        check: plain_word,
    },
];

fn sources(tree: &Tree) -> impl Iterator<Item = &TreeFile> {
    tree.files.iter().filter(|file| {
        let path = &file.path;
        let is_script = EXTENSIONS.iter().any(|extension| path.ends_with(extension));
        is_script && FOLDERS.iter().any(|folder| path.starts_with(folder))
    })
}

fn wide_line(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in sources(tree) {
        for (line, text) in (1..).zip(file.text.lines()) {
            let columns = text.chars().count();
            if COLUMNS_MAX < columns {
                findings.push(file.finding(line, format!("has {columns} columns")));
            }
        }
    }
    findings
}

fn long_file(tree: &Tree) -> Vec<Finding> {
    let long = sources(tree).filter_map(|file| {
        let lines = file.text.lines().count();
        (LINES_MAX < lines).then(|| file.finding(0, format!("has {lines} lines")))
    });
    long.collect()
}

fn plain_word(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in sources(tree) {
        let mut before = None;
        for (line, text) in (1..).zip(file.text.lines()) {
            let text = comment(text);
            if let Some(what) = text.and_then(|text| prose::unplain(before, text)) {
                findings.push(file.finding(line, what));
            }
            before = text;
        }
    }
    findings
}

/// Returns the line without its indentation if it is a comment line. Comment lines begin with `//`,
/// with `/*`, or with `*` in a comment of several lines.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let starts = ["//", "/*", "* ", "*/"];
    starts
        .iter()
        .any(|start| text.starts_with(start))
        .then_some(text)
}
