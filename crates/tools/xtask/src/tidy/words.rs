//! Rules about the text of comments and attributes, and about code left in by mistake.

use super::source::{Mention, Source};
use super::tree::{Finding, Rule, Tree};

/// Minimum number of words in a crate's documentation, which says what the crate is and is not.
const CRATE_DOC_WORDS_MIN: usize = 12;
/// Minimum number of words in a SAFETY comment, which proves that a call is sound. The shortest is
/// "takes numbers only", for a call without preconditions.
const SAFETY_WORDS_MIN: usize = 3;
/// Phrases that would fit in the SAFETY comment of any call, and so prove nothing.
const RITUALS: &[&str] = &[
    "valid parameters",
    "valid arguments",
    "this is safe",
    "is safe here",
    "safe to call",
    "trust me",
];
/// Marks of unfinished work in comments.
const UNFINISHED: &[&str] = &["FIXME", "TODO", "XXX", "HACK"];
/// Macros for temporary use, which must not be committed.
const PASSING: &[&str] = &["dbg", "todo", "unimplemented"];
/// Folders at the root of a developer's machine. No file may name a path in one of them.
const MACHINE_FOLDERS: &[&str] = &["home", "root", "work", "Users"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "crate-doc",
        cure: "begin lib.rs or main.rs with `//!`: what the crate is and is not, its principal type, units, errors",
        check: crate_doc,
    },
    Rule {
        name: "safety",
        cure: "write a SAFETY comment that names the obligation, the line or event that fulfils it, and the change that would break it",
        check: safety,
    },
    Rule {
        name: "unfinished",
        cure: "finish the work, or file an issue and remove the mark",
        check: unfinished,
    },
    Rule {
        name: "passing",
        cure: "remove this macro; in an unreachable branch, write `panic!` or `unreachable!` with the reason",
        check: passing,
    },
    Rule {
        name: "allow-reason",
        cure: "write #[allow(…, reason = \"…\")], or better `expect`",
        check: allow_reason,
    },
    Rule {
        name: "ignored-test",
        cure: "fix the test or delete it",
        check: ignored_test,
    },
    Rule {
        name: "machine-path",
        cure: "paths come from arguments, the environment or the manifest's folder; examples use /srv or relative ones",
        check: machine_path,
    },
];

fn crate_doc(tree: &Tree) -> Vec<Finding> {
    let roots = tree.roots(tree.workspace.members.iter()).into_iter();
    let poor = roots
        .filter(|(_, source)| source.crate_doc.split_whitespace().count() < CRATE_DOC_WORDS_MIN);
    poor.map(|(file, _)| file.finding(0, "the file does not begin with documentation of the crate"))
        .collect()
}

fn safety(tree: &Tree) -> Vec<Finding> {
    tree.each_source(|source| {
        let proofs = proofs(source).into_iter();
        let rituals = proofs.filter(|proof| {
            let text = proof.text.to_lowercase();
            text.split_whitespace().count() < SAFETY_WORDS_MIN
                || RITUALS.iter().any(|ritual| text.contains(ritual))
        });
        rituals
            .map(|proof| (proof.line, format!("proves nothing: {}", proof.text)))
            .collect()
    })
}

/// Returns the text of each SAFETY comment, joined over all of its lines.
fn proofs(source: &Source) -> Vec<Mention> {
    let mut proofs: Vec<Mention> = Vec::new();
    let mut next_line = 0;
    for comment in &source.comments {
        if let Some(text) = comment.text.strip_prefix("SAFETY:") {
            let text = text.trim().to_owned();
            proofs.push(Mention {
                line: comment.line,
                text,
            });
        } else if comment.line == next_line
            && let Some(proof) = proofs.last_mut()
        {
            proof.text.push(' ');
            proof.text.push_str(&comment.text);
        } else {
            continue;
        }
        next_line = comment.line + 1;
    }
    proofs
}

fn unfinished(tree: &Tree) -> Vec<Finding> {
    tree.each_source(|source| {
        let comments = source.comments.iter();
        let marked = comments.filter_map(|comment| {
            let mut words = comment.text.split(|letter: char| !letter.is_alphanumeric());
            let mark = words.find(|word| UNFINISHED.contains(word))?;
            Some((comment.line, format!("says {mark}")))
        });
        marked.collect()
    })
}

fn passing(tree: &Tree) -> Vec<Finding> {
    tree.each_source(|source| {
        let macros = source.macros.iter();
        let passing = macros.filter(|called| PASSING.contains(&called.text.as_str()));
        passing
            .map(|called| (called.line, format!("calls {}!", called.text)))
            .collect()
    })
}

fn allow_reason(tree: &Tree) -> Vec<Finding> {
    tree.each_source(|source| {
        let attributes = source.attributes.iter();
        let silent = attributes.filter(|attribute| {
            matches!(attribute.name.as_str(), "allow" | "expect")
                && !attribute.arguments.contains("reason =")
        });
        silent
            .map(|attribute| {
                (
                    attribute.line,
                    format!(
                        "the attribute {}({}) states no reason",
                        attribute.name, attribute.arguments
                    ),
                )
            })
            .collect()
    })
}

fn ignored_test(tree: &Tree) -> Vec<Finding> {
    tree.each_source(|source| {
        let attributes = source.attributes.iter();
        let ignored = attributes.filter(|attribute| attribute.name == "ignore");
        ignored
            .map(|attribute| (attribute.line, "a test is marked with #[ignore]".to_owned()))
            .collect()
    })
}

fn machine_path(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (line, text) in (1..).zip(file.text.lines()) {
            let mut folders = MACHINE_FOLDERS.iter();
            if let Some(folder) = folders.find(|folder| starts_path(text, &format!("/{folder}/"))) {
                findings.push(file.finding(
                    line,
                    format!("the line contains an absolute path in the folder /{folder}"),
                ));
            }
        }
    }
    findings
}

/// Returns whether `text` contains `root` at the start of a path, not in the middle of one.
fn starts_path(text: &str, root: &str) -> bool {
    text.match_indices(root).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|letter| !letter.is_alphanumeric() && !"._-~*})/>$".contains(letter))
    })
}
