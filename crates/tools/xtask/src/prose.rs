//! Lists of comments and messages in the source, for readers who judge their language.
//!
//! `cargo xtask prose-sample` prints random comment blocks, each with the code below it. `cargo
//! xtask messages` prints every string of several words that users may read: help, log lines,
//! errors, metric descriptions.

use std::path::Path;
use std::process::ExitCode;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use toolkit::stop::Stop;

use crate::tidy;

/// Maximum number of lines of code shown below a comment.
const CODE_LINES_MAX: usize = 6;
/// Minimum number of words of a message. A string with fewer words is a name or a format.
const MESSAGE_WORDS_MIN: usize = 3;
/// Methods and macros whose text is a comment on the code: it states why they cannot fail, and is
/// printed only by a bug.
const ASSERTIONS: [&str; 9] = [
    "expect",
    "unreachable",
    "panic",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
];

/// Methods that search for a text, or replace it. The text is not printed.
const SEARCHES: [&str; 10] = [
    "contains",
    "ends_with",
    "matches",
    "replace",
    "replacen",
    "rsplit_once",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// Consecutive comment lines and the code below them.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    /// Number of the first comment line, counted from one.
    line: usize,
    comment: String,
    code: String,
}

/// Prints `count` comment blocks from all Rust files that git tracks, chosen at random by `seed`.
///
/// # Errors
/// When the checkout cannot be read.
pub(crate) fn sample(root: &Path, seed: u64, count: usize) -> Result<ExitCode, Stop> {
    let mut all = Vec::new();
    for (path, text) in tidy::rust_files(root)? {
        all.extend(blocks(&text).into_iter().map(|block| (path.clone(), block)));
    }
    let total = all.len();
    fastrand::Rng::with_seed(seed).shuffle(&mut all);
    all.truncate(count);
    for (number, (path, block)) in (1..).zip(&all) {
        println!("--- {number} {path}:{}", block.line);
        println!("{}\n{}", block.comment, block.code);
    }
    eprintln!(
        "xtask: printed {} of {total} comment blocks, chosen with seed {seed}",
        all.len()
    );
    Ok(ExitCode::SUCCESS)
}

/// Prints every message in the form `path:line: text`, except the texts of tests and assertions.
///
/// # Errors
/// When the checkout cannot be read, or a file is not Rust.
pub(crate) fn messages(root: &Path) -> Result<ExitCode, Stop> {
    for (path, text) in tidy::rust_files(root)? {
        if tidy::is_test(&path) {
            continue;
        }
        let messages = messages_in(&text);
        let messages = messages.ok_or_else(|| Stop::findings(format!("{path}: not Rust")))?;
        for (line, message) in messages {
            println!("{path}:{line}: {}", message.escape_debug());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the messages of a file, each with its line, or `None` if the file is not Rust.
pub(crate) fn messages_in(text: &str) -> Option<Vec<(usize, String)>> {
    let tokens: TokenStream = text.parse().ok()?;
    let messages = strings(tokens).into_iter();
    // Texts that begin with a hyphen are arguments of programs.
    let messages = messages
        .filter(|(_, message)| MESSAGE_WORDS_MIN <= words(message) && !message.starts_with('-'));
    Some(messages.collect())
}

/// Returns the comment blocks of a file. A comment after code on the same line is not a block.
fn blocks(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let start = at;
        while at < lines.len() && is_comment(lines[at]) {
            at += 1;
        }
        if start < at {
            let code = lines[at..].iter().take(CODE_LINES_MAX);
            let code = code.take_while(|line| !line.trim().is_empty() && !is_comment(line));
            blocks.push(Block {
                line: start + 1,
                comment: lines[start..at].join("\n"),
                code: code.copied().collect::<Vec<_>>().join("\n"),
            });
        } else {
            at += 1;
        }
    }
    blocks
}

/// Returns the string literals in `tokens`, each with its line. Literals in attributes and in
/// inline test code are left out.
fn strings(tokens: TokenStream) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_attribute = false;
    let mut is_test = false;
    let mut is_assertion = false;
    for token in tokens {
        let was_assertion = is_assertion;
        is_assertion = match &token {
            TokenTree::Ident(name) => ASSERTIONS.iter().chain(&SEARCHES).any(|it| name == it),
            TokenTree::Punct(mark) => was_assertion && mark.as_char() == '!',
            _ => false,
        };
        match token {
            TokenTree::Group(group) if is_attribute && group.delimiter() == Delimiter::Bracket => {
                let attribute = group.stream().to_string().replace(' ', "");
                is_test |= attribute == "cfg(test)" || attribute == "test";
                is_attribute = false;
            }
            TokenTree::Group(_) if was_assertion => {}
            TokenTree::Group(group) => {
                if !is_test || group.delimiter() != Delimiter::Brace {
                    found.extend(strings(group.stream()));
                }
                is_test &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Literal(literal) => {
                let line = literal.span().start().line;
                if let Ok(string) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    found.push((line, string.value()));
                }
            }
            TokenTree::Punct(mark) => {
                is_attribute = mark.as_char() == '#' || is_attribute && mark.as_char() == '!';
                is_test &= mark.as_char() != ';';
            }
            TokenTree::Ident(_) => is_attribute = false,
        }
    }
    found
}

/// Counts the words that consist of letters only, without punctuation around them. Paths and
/// placeholders are not counted.
fn words(text: &str) -> usize {
    let words = text.split_whitespace();
    words
        .filter(|word| {
            word.trim_end_matches([',', '.', ':', ';', ')'])
                .trim_start_matches('(')
                .chars()
                .all(|letter| letter.is_alphabetic() || letter == '-' || letter == '\'')
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_its_comment_and_the_code_below() {
        let text = "fn a() {}\n/// One.\n/// Two.\nfn b() {\n}\n\n// Three.\n\nfn c() {} // four\n";
        let found = blocks(text);
        assert_eq!(
            found,
            [
                Block {
                    line: 2,
                    comment: "/// One.\n/// Two.".into(),
                    code: "fn b() {\n}".into(),
                },
                Block {
                    line: 7,
                    comment: "// Three.".into(),
                    code: String::new(),
                },
            ]
        );
    }

    #[test]
    fn strings_of_attributes_tests_assertions_and_searches_are_no_messages() {
        let code = r##"
            fn b() { assert!(is_c, "five"); x.expect("six").replace("seven", ""); }
            #![doc = "head of file"]
            #[expect(lint, reason = "not a message")]
            fn a() { log("one {x}", f("two")); }
            #[cfg(test)]
            mod tests { fn t() { log("three"); } }
            const B: &str = r#"four"#;
        "##;
        let found = strings(code.parse().expect("Rust"));
        assert_eq!(
            found,
            [(5, "one {x}".into()), (5, "two".into()), (8, "four".into())]
        );
    }

    #[test]
    fn names_and_formats_have_no_words() {
        assert_eq!(words("{}: {err}"), 0);
        assert_eq!(words("cannot read {path}: not a file"), 5);
        assert_eq!(words("text/html; charset=utf-8"), 0);
    }
}
