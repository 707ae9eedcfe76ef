//! Rules about the language of comments: plain sentences with the usual terms. See `docs/STYLE.md`
//! and `docs/GLOSSARY.md`.

use super::tree::{Finding, Rule, Tree, TreeFile, is_test};
use crate::prose::messages_in;

/// Maximum width of a comment line, in columns.
const COMMENT_COLUMNS_MAX: usize = 100;

/// First words that a doc must not have. A type's doc begins with a noun phrase, a function's with
/// a verb.
const STARTS: &[&str] = &["What", "Whether", "How", "Where", "Who", "Whoever"];

/// Words that are hard to understand in comments, each with advice for a plain sentence.
const WORDS: &[(&str, &str)] = &[
    (
        "told",
        "say which value is passed, sent, reported or logged",
    ),
    ("whoever", "name the client, caller, user or thread"),
    ("somebody", "name the client, caller, user or thread"),
    (
        "nobody",
        "write \"no client\", \"no caller\" or \"no thread\"",
    ),
    ("is no", "write \"is not a …\" or \"there is no …\""),
];

/// Documents that quote such words in order to advise against them.
const ADVISERS: &[&str] = &["docs/GLOSSARY.md", "docs/STYLE.md"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "doc-start",
        cure: "begin a type's doc with a noun phrase, a function's with a verb, a flag's with `True if`",
        check: doc_start,
    },
    Rule {
        name: "plain-word",
        cure: "say it plainly, with subject, verb and object; docs/GLOSSARY.md has the terms",
        check: plain_word,
    },
    Rule {
        name: "plain-document",
        cure: "say it plainly, with subject, verb and object; docs/GLOSSARY.md has the terms",
        check: plain_document,
    },
    Rule {
        name: "plain-message",
        cure: "say it plainly, with subject, verb and object; docs/GLOSSARY.md has the terms",
        check: plain_message,
    },
    Rule {
        name: "comment-width",
        cure: "break comment lines at 100 columns",
        check: comment_width,
    },
];

/// Returns the comment lines of a source file, each as a line number and the text with its slashes.
fn comments(file: &TreeFile) -> Vec<(usize, &str)> {
    if file.source.is_none() {
        return Vec::new();
    }
    let lines = (1..).zip(file.text.lines());
    lines
        .filter(|(_, line)| line.trim_start().starts_with("//"))
        .collect()
}

/// Calls `check` for each comment line, and passes it the previous line too if that is a comment.
/// Returns the findings.
fn each_comment(tree: &Tree, check: impl Fn(Option<&str>, &str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let mut before: Option<(usize, &str)> = None;
        for (line, text) in comments(file) {
            let previous = before.filter(|(number, _)| number + 1 == line);
            if let Some(what) = check(previous.map(|(_, text)| text), text) {
                findings.push(file.finding(line, what));
            }
            before = Some((line, text));
        }
    }
    findings
}

fn doc_start(tree: &Tree) -> Vec<Finding> {
    each_comment(tree, |before, text| {
        let doc = text.trim_start().strip_prefix("///")?;
        let is_first = before.is_none_or(|before| !before.trim_start().starts_with("///"));
        let word = doc.split_whitespace().next()?;
        (is_first && STARTS.contains(&word)).then(|| format!("begins with {word}"))
    })
}

fn plain_word(tree: &Tree) -> Vec<Finding> {
    each_comment(tree, unplain)
}

/// Finds [`WORDS`] in Markdown files, outside blocks of code.
fn plain_document(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        if !file.path.ends_with(".md") || ADVISERS.contains(&&file.path[..]) {
            continue;
        }
        let mut is_code = false;
        let mut before = None;
        for (line, text) in (1..).zip(file.text.lines()) {
            if text.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code && let Some(what) = unplain(before, text) {
                findings.push(file.finding(line, what));
            }
            before = Some(text);
        }
    }
    findings
}

/// Finds [`WORDS`] in the messages of Rust files that are not tests.
fn plain_message(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.sources().filter(|(file, _)| !is_test(&file.path)) {
        for (line, text) in messages_in(&file.text).unwrap_or_default() {
            if let Some(what) = unplain(None, &text) {
                findings.push(file.finding(line, what));
            }
        }
    }
    findings
}

/// Returns a message if a comment line contains one of [`WORDS`]. `before` is the previous line, if
/// it is a comment too.
pub(super) fn unplain(before: Option<&str>, text: &str) -> Option<String> {
    let continues = before.is_some_and(|before| before.ends_with("there"));
    let text = plain_text(text);
    let text = if continues {
        text.replacen("is no", "", 1)
    } else {
        text
    };
    let (word, cure) = WORDS.iter().find(|(word, _)| has_word(&text, word))?;
    Some(format!("says `{word}`: {cure}"))
}

/// Returns the comment in lower case, without code between backticks. Also removes the phrases
/// "there is no" and "is no longer", which are allowed although they contain a flagged word.
fn plain_text(text: &str) -> String {
    let spans = text.split('`').enumerate();
    let prose = spans.filter(|(index, _)| index % 2 == 0);
    let prose: String = prose.map(|(_, span)| span).collect();
    let prose = prose.to_lowercase();
    prose.replace("there is no", "").replace("is no longer", "")
}

/// Returns whether `text` contains `word` as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let is_end = |letter: Option<char>| {
            letter.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
        };
        is_end(text[..at].chars().next_back()) && is_end(text[at + word.len()..].chars().next())
    })
}

fn comment_width(tree: &Tree) -> Vec<Finding> {
    each_comment(tree, |_, text| {
        let columns = text.chars().count();
        let has_link = text.contains("://");
        (COMMENT_COLUMNS_MAX < columns && !has_link).then(|| format!("has {columns} columns"))
    })
}
