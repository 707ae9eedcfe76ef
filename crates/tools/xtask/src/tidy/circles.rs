//! Rule about circles. A circle is an import cycle: each of its files imports all others, directly
//! or through other files of the circle.
//!
//! The files of a circle can only be understood together. To find circles, the rule builds a graph
//! for each crate. The nodes are the files of the crate. An edge leads from a file to each file
//! that it imports or names by a path. A re-export is not an edge. If a file uses a name that
//! `lib.rs` re-exports, the edge leads to the file that defines the name. Test code, and paths
//! inside macro calls, are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Mention, Source};
use super::tree::{Finding, Rule, Tree, TreeFile};

/// Maximum number of files in a circle.
const CIRCLE_FILES_MAX: usize = 5;

/// Maximum number of re-exports that are followed from a path to the file that defines its name.
const REEXPORTS_MAX: usize = 8;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "circle",
    cure: "remove an import between two of the files: pass the value as an argument, move the shared part into a \
           file that imports neither of them, or implement a type only in its own file",
    check: circles,
}];

/// Files of one crate by module path: `""` is the root, `"pool::slot"` the file `pool/slot.rs`.
type Modules<'a> = BTreeMap<String, (&'a TreeFile, &'a Source)>;

/// Module paths of one circle, sorted.
type Circle = Vec<String>;

/// Edges from each module to the modules that it imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Returns a finding for each circle of more than [`CIRCLE_FILES_MAX`] files.
pub(super) fn circles(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for modules in crates(tree).values() {
        let graph = graph(modules);
        for circle in large(&graph) {
            let (file, _) = modules[&circle[0]];
            findings.push(file.finding(0, message(&graph, &circle)));
        }
    }
    findings
}

fn message(graph: &Graph, circle: &Circle) -> String {
    let names = circle.iter().map(|module| display(module));
    let names: Vec<_> = names.collect();
    let mut what = format!(
        "the file is in an import cycle of {} files: {}",
        circle.len(),
        names.join(", ")
    );
    if let Some((from, to, rest)) = weakest(graph, circle) {
        let (from, to) = (display(from), display(to));
        what += &format!("; without the import of {to} in {from}, {rest} files remain in a cycle");
    }
    what
}

fn display(module: &str) -> &str {
    if module.is_empty() { "crate" } else { module }
}

/// Returns the files of each crate, by crate name.
fn crates(tree: &Tree) -> BTreeMap<&str, Modules<'_>> {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for (file, source) in tree.sources() {
        if let (Some(name), Some(module)) = (file.crate_name(), module(&file.path))
            && !super::tree::is_test(&file.path)
        {
            let modules = crates.entry(name).or_default();
            modules.insert(module, (file, source));
        }
    }
    crates
}

/// Returns the module path of a file in `src`, or `None` for other files. If a crate has a library
/// and a program, the roots of both are one module.
fn module(path: &str) -> Option<String> {
    let mut parts = path.splitn(4, '/').skip(3);
    let inner = parts.next()?.strip_prefix("src/")?.strip_suffix(".rs")?;
    if matches!(inner, "lib" | "main") {
        return Some(String::new());
    }
    Some(inner.trim_end_matches("/mod").replace('/', "::"))
}

fn graph(modules: &Modules<'_>) -> Graph {
    let edges = modules.iter().map(|(module, (_, source))| {
        let imports = source.imports.iter();
        let imports = imports.filter(|import| !import.is_reexport);
        let imports = imports.map(|import| import.path.text.as_str());
        // In a path that is not an import, the last name is an item, so it is cut off, even if a
        // module has the same name.
        let items = source.paths.iter().filter(|path| !is_import(source, path));
        let items = items.filter_map(|path| Some(path.text.rsplit_once("::")?.0));
        let targets = imports
            .chain(items)
            .filter_map(|path| resolve(modules, module, path, REEXPORTS_MAX));
        let targets = targets.filter(|target| target != module).collect();
        (module.clone(), targets)
    });
    edges.collect()
}

fn is_import(source: &Source, path: &Mention) -> bool {
    source.imports.iter().any(|import| import.path == *path)
}

/// Returns the module of this crate, if any, to which `path` leads when it is written in the module
/// `from`. At most `depth` re-exports are followed.
fn resolve(modules: &Modules<'_>, from: &str, path: &str, depth: usize) -> Option<String> {
    let mut rest: Vec<&str> = path.split("::").collect();
    let mut at = match rest[0] {
        "crate" => String::new(),
        "self" | "super" => from.to_owned(),
        first if modules.contains_key(&child(from, first)) => from.to_owned(),
        _ => return None,
    };
    while let Some(&first) = rest.first() {
        match first {
            "crate" | "self" => {}
            "super" => at = at.rsplit_once("::").map_or("", |(at, _)| at).to_owned(),
            name if modules.contains_key(&child(&at, name)) => at = child(&at, name),
            _ => break,
        }
        rest.remove(0);
    }
    let (_, source) = modules.get(&at)?;
    let named = source
        .imports
        .iter()
        .find(|import| rest.first() == Some(&import.name.as_str()) && import.path.text != path);
    match (named, depth.checked_sub(1)) {
        (Some(import), Some(depth)) => {
            let whole = [&[import.path.text.as_str()], &rest[1..]].concat();
            resolve(modules, &at, &whole.join("::"), depth)
        }
        _ => Some(at),
    }
}

fn child(module: &str, name: &str) -> String {
    if module.is_empty() {
        name.to_owned()
    } else {
        format!("{module}::{name}")
    }
}

/// Returns the circles with more than [`CIRCLE_FILES_MAX`] files, the largest first. A circle is a
/// set of modules that all import each other, directly or indirectly.
fn large(graph: &Graph) -> Vec<Circle> {
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    let back = reversed(graph);
    for module in graph.keys() {
        if seen.contains(module) {
            continue;
        }
        // The circle of a file is the set of all files that it reaches and that reach it.
        let there = reached(graph, module);
        let circle: Circle = reached(&back, module)
            .intersection(&there)
            .cloned()
            .collect();
        seen.extend(circle.iter().cloned());
        if CIRCLE_FILES_MAX < circle.len() {
            circles.push(circle);
        }
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

fn reversed(graph: &Graph) -> Graph {
    let mut back = Graph::new();
    for (from, targets) in graph {
        for to in targets {
            back.entry(to.clone()).or_default().insert(from.clone());
        }
    }
    back
}

/// Returns `module` and all modules that a chain of imports from it leads to.
fn reached(graph: &Graph, module: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([module.to_owned()]);
    let mut open = vec![module.to_owned()];
    while let Some(module) = open.pop() {
        for target in graph.get(&module).into_iter().flatten() {
            if found.insert(target.clone()) {
                open.push(target.clone());
            }
        }
    }
    found
}

/// Returns the import (importer and imported module) whose removal makes the largest remaining
/// circle as small as possible. Also returns the size of that circle.
fn weakest<'a>(graph: &'a Graph, circle: &'a Circle) -> Option<(&'a str, &'a str, usize)> {
    let inside = |module: &&String| circle.contains(module);
    let edges = circle.iter().flat_map(|from| {
        let targets = graph[from].iter().filter(inside);
        targets.map(move |to| (from, to))
    });
    let cuts = edges.map(|(from, to)| {
        let mut cut: Graph = circle
            .iter()
            .map(|from| {
                (
                    from.clone(),
                    graph[from].iter().filter(inside).cloned().collect(),
                )
            })
            .collect();
        cut.entry(from.clone()).or_default().remove(to);
        let largest = large(&cut).first().map_or(CIRCLE_FILES_MAX, Vec::len);
        (from.as_str(), to.as_str(), largest)
    });
    cuts.min_by_key(|(_, _, largest)| *largest)
}
