//! Rules about the length of functions, parameter lists and files.

use super::source::{Function, Source};
use super::tree::{Finding, Rule, Tree};

/// Maximum length of a function, in lines, so that a function fits on a screen.
const FUNCTION_LINES_MAX: usize = 70;
const PARAMETERS_MAX: usize = 5;
/// Maximum share of functions that may exceed the maximum length with a stated reason, in per cent.
const EXCUSED_PCT_MAX: usize = 2;
const FILE_LINES_MAX: usize = 1000;
/// Number of lines at the top of a long file in which the reason for its length must be.
const HEAD_LINES: usize = 40;
const MAIN_LINES_MAX: usize = 200;
/// Start of a comment that excuses a length; the reason follows.
const EXCUSE: &str = "tidy: long because ";

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "long-function",
        cure: "split the function into smaller ones; if it is a list, say so: `// tidy: long because …`",
        check: long_function,
    },
    Rule {
        name: "excuses",
        cure: "split some of the functions that say `tidy: long because`",
        check: excuses,
    },
    Rule {
        name: "many-parameters",
        cure: "put parameters that belong together into a struct",
        check: many_parameters,
    },
    Rule {
        name: "long-file",
        cure: "split the file by topic; if it is a list or one unit, say so in its first lines: `// tidy: long because …`",
        check: long_file,
    },
    Rule {
        name: "long-main",
        cure: "main.rs may only parse the command line and call the command, in one match; move the rest into modules",
        check: long_main,
    },
    Rule {
        name: "lib-logic",
        cure: "lib.rs may contain only the crate's documentation, modules and re-exports; move the code into a module",
        check: lib_logic,
    },
];

impl Function {
    fn lines(&self) -> usize {
        self.end + 1 - self.line
    }

    /// Returns whether the function is too long. Tests are lists of expectations, and may have any
    /// length.
    fn is_long(&self) -> bool {
        !self.test && FUNCTION_LINES_MAX < self.lines()
    }
}

/// Returns whether a comment excuses the length of the item on the lines `first` to `last`. An
/// excuse begins with [`EXCUSE`], and is in the item or on the line above the item.
fn excused(source: &Source, first: usize, last: usize) -> bool {
    let within = first.saturating_sub(1)..=last;
    let mut comments = source.comments.iter();
    comments.any(|comment| within.contains(&comment.line) && comment.text.starts_with(EXCUSE))
}

fn long_function(tree: &Tree) -> Vec<Finding> {
    tree.each_source(|source| {
        let long = source
            .functions
            .iter()
            .filter(|function| function.is_long());
        let silent = long.filter(|function| !excused(source, function.top, function.end));
        silent
            .map(|function| {
                let Function { line, name, .. } = function;
                (*line, format!("`{name}` has {} lines", function.lines()))
            })
            .collect()
    })
}

fn excuses(tree: &Tree) -> Vec<Finding> {
    let functions = tree.sources().flat_map(|(_, source)| &source.functions);
    let (mut all, mut long) = (0, 0);
    for function in functions.filter(|function| !function.test) {
        all += 1;
        long += usize::from(function.is_long());
    }
    if long * 100 <= all * EXCUSED_PCT_MAX {
        return Vec::new();
    }
    let what = format!("{long} of {all} functions are longer than {FUNCTION_LINES_MAX} lines");
    let path = "crates".to_owned();
    vec![Finding {
        path,
        line: 0,
        what,
    }]
}

fn many_parameters(tree: &Tree) -> Vec<Finding> {
    tree.each_source(|source| {
        let ours = source
            .functions
            .iter()
            .filter(|function| !function.is_prescribed);
        let many = ours.filter(|function| PARAMETERS_MAX < function.parameters);
        many.map(|function| {
            let Function {
                line,
                name,
                parameters,
                ..
            } = function;
            (*line, format!("`{name}` takes {parameters} parameters"))
        })
        .collect()
    })
}

fn long_file(tree: &Tree) -> Vec<Finding> {
    let long = tree.sources().filter_map(|(file, source)| {
        let lines = file.text.lines().count();
        let silent = FILE_LINES_MAX < lines && !excused(source, 1, HEAD_LINES);
        silent.then(|| file.finding(0, format!("has {lines} lines")))
    });
    long.collect()
}

fn long_main(tree: &Tree) -> Vec<Finding> {
    let mains = tree
        .files
        .iter()
        .filter(|file| file.path.ends_with("/src/main.rs"));
    let long = mains.filter_map(|file| {
        let lines = file.text.lines().count();
        (MAIN_LINES_MAX < lines).then(|| file.finding(0, format!("has {lines} lines")))
    });
    long.collect()
}

fn lib_logic(tree: &Tree) -> Vec<Finding> {
    let libs = tree
        .sources()
        .filter(|(file, _)| file.path.ends_with("/src/lib.rs"));
    libs.flat_map(|(file, source)| {
        let logic = source.logic.iter();
        logic.map(|item| file.finding(item.line, format!("contains `{}`", item.text)))
    })
    .collect()
}
