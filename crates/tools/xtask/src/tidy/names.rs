//! Rules about names that say nothing, and about files that do not belong in the repository.

use super::tree::{Finding, Rule, Tree};

/// Words that say nothing in the names of files and types, and attract code that belongs elsewhere.
const LEFTOVERS: &[&str] = &["utils", "helpers", "common", "misc", "manager", "processor"];
/// Maximum size of a file, in bytes. A picture for a test needs only a few thousand bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "name",
        cure: "name the file or type after its content or its task",
        check: name,
    },
    Rule {
        name: "weight",
        cure: "make the file smaller, or let a command generate or download it",
        check: weight,
    },
    Rule {
        name: "syntax",
        cure: "keep text that is not Rust in files with another extension",
        check: syntax,
    },
];

fn name(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let mut parts = file.path.trim_end_matches(".rs").split('/');
        if let Some(part) = parts.find(|part| part.split('_').any(|word| LEFTOVERS.contains(&word)))
        {
            findings.push(file.finding(0, format!("is called {part}")));
        }
        for named in &source.types {
            if words(&named.text)
                .iter()
                .any(|word| LEFTOVERS.contains(&word.as_str()))
            {
                findings.push(file.finding(named.line, format!("a type is called {}", named.text)));
            }
        }
    }
    findings
}

/// Splits a name in camel case into words, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        if letter.is_uppercase() || words.is_empty() {
            words.push(String::new());
        }
        let word = words.last_mut().expect("a word was started above");
        word.extend(letter.to_lowercase());
    }
    words
}

fn weight(tree: &Tree) -> Vec<Finding> {
    let heavy = tree.files.iter().filter(|file| FILE_BYTES_MAX < file.bytes);
    heavy
        .map(|file| file.finding(0, format!("has {} KiB", file.bytes / 1024)))
        .collect()
}

fn syntax(tree: &Tree) -> Vec<Finding> {
    let broken = tree.files.iter().filter_map(|file| {
        let fault = file.source.as_ref()?.as_ref().err()?;
        Some(file.finding(0, fault.clone()))
    });
    broken.collect()
}
