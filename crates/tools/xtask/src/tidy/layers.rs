//! Rules about dependencies: the layer of each crate, and the interfaces that layers without I/O
//! must not use.

use toolkit::cache::C_CODECS;

use super::tree::{Finding, Rule, Tree};
use crate::workspace::{Import, Member};

/// All crates with their layers. A crate imports only from layers with lower numbers.
const LAYERS: &[(&str, u8)] = &[
    ("cgi", 1),
    ("http1", 1),
    ("http2", 1),
    ("openmetrics", 1),
    ("read-at", 1),
    ("sandbox-protocol", 1),
    ("image-plan", 1),
    ("resp", 1),
    ("audio-plan", 1),
    ("tags", 1),
    ("catalog", 2),
    ("host-checks", 2),
    ("keyspace", 2),
    ("script", 2),
    ("audio", 3),
    ("microvm", 3),
    ("sandbox", 3),
    ("codec", 3),
    ("host", 3),
    ("pixel", 3),
    ("reactor", 3),
    ("report", 3),
    ("toolkit", 3),
    ("wall-clock", 3),
    ("host-tune", 4),
    ("mediagen", 4),
    ("profile", 4),
    ("store", 4),
    ("server", 4),
    ("web-assets", 4),
    ("scan", 4),
    ("library-api", 4),
    ("variants", 4),
    ("conversion", 4),
    ("config", 5),
    ("conform", 5),
    ("functions", 5),
    ("lab", 5),
    ("library-mounts", 5),
    ("operations", 5),
    ("ops", 5),
    ("pelton", 5),
    ("upkeep", 5),
    ("worker", 5),
    ("xtask", 5),
];

/// Allowed imports between crates of the same layer, as importer and imported crate. A request
/// starts a conversion, and a conversion makes a variant, so `server` imports `conversion`, and
/// `conversion` imports `variants`. The program `pelton` is assembled from crates of its own layer.
const STEPS: &[(&str, &str)] = &[
    ("image-plan", "read-at"),
    ("tags", "read-at"),
    ("server", "conversion"),
    ("server", "variants"),
    ("conversion", "variants"),
    ("functions", "config"),
    ("library-mounts", "config"),
    ("ops", "config"),
    ("pelton", "config"),
    ("pelton", "functions"),
    ("pelton", "library-mounts"),
    ("pelton", "ops"),
    ("pelton", "upkeep"),
    ("reactor", "wall-clock"),
    ("report", "wall-clock"),
    ("sandbox", "microvm"),
    ("upkeep", "config"),
    ("upkeep", "library-mounts"),
];

/// Crate of test code that several crates share. Any crate may have it as a dev-dependency. Only
/// [`TEST_PROGRAM`], which is itself a test, may have it as a normal dependency.
const TESTKIT: &str = "testkit";
const TEST_PROGRAM: &str = "conform";

/// Highest layer whose crates must not use clocks, files, sockets or threads.
const PURE_LAYER_MAX: u8 = 2;

/// Rust paths that layers without I/O must not use. An entry matches one or more consecutive
/// segments of a path: `Instant::now` also matches `std::time::Instant::now`.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "Instant::now",
    "SystemTime::now",
    "thread::spawn",
    "thread::scope",
    "thread::Builder",
];

/// The only crates that may contain `unsafe`.
const UNSAFE: &[&str] = &[
    "audio", "sandbox", "microvm", "codec", "host", "pixel", "reactor",
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "layer",
        cure: "move the shared part into a layer above both crates, or let layer 5 wire them together; a new crate \
               gets its row in crates/tools/xtask/src/tidy/layers.rs and in docs/ARCHITECTURE.md",
        check: layer,
    },
    Rule {
        name: "codec-apart",
        cure: "the server must not link a C codec: do the work in `worker`, and exchange a job and its reply with it",
        check: codec_apart,
    },
    Rule {
        name: "pure",
        cure: "layers 1 and 2 do no I/O and read no clock: take bytes, a trait or `now` as an argument",
        check: pure,
    },
    Rule {
        name: "forbid-unsafe",
        cure: "write #![forbid(unsafe_code)] below the crate's documentation; only these crates may \
               contain unsafe code: audio, codec, host, microvm, pixel, reactor and sandbox",
        check: forbid_unsafe,
    },
    Rule {
        name: "manifest",
        cure: "versions are in the root manifest only: write `name.workspace = true` here, and remove from the root the \
               dependencies that no crate uses",
        check: manifest,
    },
];

fn number(name: &str) -> Option<u8> {
    let row = LAYERS.iter().find(|(member, _)| *member == name);
    row.map(|(_, layer)| *layer)
}

fn manifest_finding(member: &Member, what: String) -> Finding {
    Finding {
        path: member.manifest.clone(),
        line: 0,
        what,
    }
}

fn layer(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &tree.workspace.members {
        if member.name != TESTKIT && number(&member.name).is_none() {
            findings.push(manifest_finding(
                member,
                format!("the crate {} has no layer", member.name),
            ));
        }
        let ours = member
            .imports
            .iter()
            .filter(|import| tree.workspace.has(&import.name));
        let wrong = ours.filter_map(|import| wrong_import(member, import));
        findings.extend(wrong.map(|what| manifest_finding(member, what)));
    }
    findings
}

fn wrong_import(member: &Member, import: &Import) -> Option<String> {
    let Member { name, .. } = member;
    if import.name == TESTKIT {
        return (!import.dev && name != TEST_PROGRAM)
            .then(|| format!("{name} imports {TESTKIT} outside its tests"));
    }
    // `testkit` counts as layer 5, so that it may import every library.
    let from = if name == TESTKIT { 5 } else { number(name)? };
    let to = number(&import.name)?;
    if STEPS.contains(&(name, &import.name)) {
        return None;
    }
    (from <= to).then(|| format!("{name} (layer {from}) imports {} (layer {to})", import.name))
}

fn codec_apart(tree: &Tree) -> Vec<Finding> {
    let Some(server) = tree
        .workspace
        .members
        .iter()
        .find(|member| member.name == "pelton")
    else {
        return Vec::new();
    };
    let banned = ["codec", "audio", "opusic-sys"].iter().chain(C_CODECS);
    let chains = banned.filter_map(|name| tree.workspace.chain("pelton", name));
    chains
        .map(|chain| manifest_finding(server, format!("links {}", chain.join(" → "))))
        .collect()
}

fn pure(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let layer = file.crate_name().and_then(number);
        if layer.is_none_or(|layer| PURE_LAYER_MAX < layer) {
            continue;
        }
        for path in &source.paths {
            if let Some(banned) = IMPURE.iter().find(|banned| within(&path.text, banned)) {
                findings.push(file.finding(path.line, format!("uses {banned}")));
            }
        }
    }
    findings
}

/// Returns whether `path` contains the names of `part` as consecutive whole names.
fn within(path: &str, part: &str) -> bool {
    format!("::{path}::").contains(&format!("::{part}::"))
}

fn forbid_unsafe(tree: &Tree) -> Vec<Finding> {
    let members = tree.workspace.members.iter();
    let safe = members.filter(|member| !UNSAFE.contains(&member.name.as_str()));
    let roots = tree.roots(safe).into_iter();
    let silent = roots.filter(|(_, source)| {
        let mut attributes = source.attributes.iter();
        !attributes
            .any(|attribute| attribute.name == "forbid" && attribute.arguments == "unsafe_code")
    });
    silent
        .map(|(file, _)| file.finding(0, "the crate does not forbid unsafe code"))
        .collect()
}

fn manifest(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        if file.path == "Cargo.toml" {
            let unused = declared(&file.text).filter(|(_, name)| {
                let mut imports = tree
                    .workspace
                    .members
                    .iter()
                    .flat_map(|member| &member.imports);
                imports.all(|import| import.name != *name)
            });
            findings.extend(
                unused.map(|(line, name)| file.finding(line, format!("no crate uses {name}"))),
            );
        } else if file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml") {
            let lines = (1..).zip(file.text.lines());
            let versions = lines.filter(|(_, line)| line.contains("version = \""));
            findings.extend(
                versions.map(|(line, _)| {
                    file.finding(line, "this dependency has a version of its own")
                }),
            );
        }
    }
    findings
}

/// Returns the names under `[workspace.dependencies]`, each with its line number.
fn declared(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(manifest.lines());
    lines
        .skip_while(|(_, line)| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|(_, line)| !line.starts_with('['))
        .filter_map(|(line, text)| Some((line, text.split_once('=')?.0.trim())))
}
