//! Known vulnerabilities of the crates in the lock files, from a copy of RustSec's advisory
//! database in the folder `advisories`.
//!
//! `cargo xtask test` reads the copy, not the database on the network. So a commit gets the same
//! verdict every day, even on a machine without a network. The copy's date is printed with the
//! verdict. `cargo xtask advisories --from CHECKOUT` renews the copy; CONTRIBUTING.md says when to
//! renew it. The copy has the id, package, kind, versions and title of each advisory, but not the
//! description.
//!
//! ```text
//! # RustSec advisory-db 2026-08-21 1a2b3c4d
//! RUSTSEC-2024-0332 <tab> h2 <tab> vulnerability <tab> ^0.3.26;>=0.4.4 <tab>  <tab> title
//!       id              package      kind               patched              unaffected
//! ```

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use semver::{Version, VersionReq};
use serde::Deserialize;
use toolkit::command::output;
use toolkit::stop::{Stop, at};

/// Path of the copy of the database, relative to the checkout.
const LIST: &str = "crates/tools/xtask/src/advisories/list.tsv";

/// All lock files of the checkout.
const LOCKS: &[&str] = &["Cargo.lock", "fuzz/Cargo.lock"];

/// Advisory of the database. It is one line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Advisory {
    id: String,
    package: String,
    kind: String,
    /// Versions in which the flaw is fixed. `unaffected` has the versions that never had the flaw.
    patched: Vec<VersionReq>,
    unaffected: Vec<VersionReq>,
    title: String,
}

impl Advisory {
    fn concerns(&self, package: &Package) -> bool {
        let mut safe = self.patched.iter().chain(&self.unaffected);
        self.package == package.name && !safe.any(|versions| versions.matches(&package.version))
    }

    /// Returns whether the advisory makes the check fail. Only vulnerabilities and unsound code do;
    /// notices, and advisories about unmaintained crates, are only printed.
    fn is_failure(&self) -> bool {
        matches!(self.kind.as_str(), "vulnerability" | "unsound")
    }

    fn parse(line: &str) -> Option<Advisory> {
        let mut fields = line.split('\t');
        let mut next = || fields.next().map(str::to_owned);
        let versions = |list: String| {
            let list = list.split(';').filter(|one| !one.is_empty());
            list.map(|one| VersionReq::parse(one).ok()).collect()
        };
        let advisory = Advisory {
            id: next()?,
            package: next()?,
            kind: next()?,
            patched: next().and_then(versions)?,
            unaffected: next().and_then(versions)?,
            title: next()?,
        };
        next().is_none().then_some(advisory)
    }
}

impl fmt::Display for Advisory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = |list: &[VersionReq]| {
            let list: Vec<_> = list.iter().map(VersionReq::to_string).collect();
            list.join(";")
        };
        let (patched, unaffected) = (versions(&self.patched), versions(&self.unaffected));
        let Advisory {
            id,
            package,
            kind,
            title,
            ..
        } = self;
        write!(
            f,
            "{id}\t{package}\t{kind}\t{patched}\t{unaffected}\t{title}"
        )
    }
}

/// One package of a lock file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: Version,
}

/// Checks every package of the lock files, prints the findings, and returns the number of those
/// that make the check fail.
///
/// # Errors
/// When the list, a lock file or `deny.toml` cannot be read.
pub(crate) fn check(root: &Path) -> Result<usize, Stop> {
    let text = read(&root.join(LIST))?;
    let (head, list) = parse_list(&text)?;
    let mut packages = BTreeSet::new();
    for lock in LOCKS {
        packages.extend(parse_lock(&read(&root.join(lock))?)?);
    }
    let ignored = ignored(&read(&root.join("deny.toml"))?)?;
    let findings = findings(&list, &packages, &ignored);
    for (package, advisory) in &findings {
        let (name, version) = (&package.name, &package.version);
        eprintln!("xtask: {name} {version}: {advisory}");
    }
    eprintln!(
        "xtask: {} packages checked against {head}; CONTRIBUTING.md says how to update {LIST}",
        packages.len()
    );
    let failures = findings.iter().filter(|(_, found)| found.is_failure());
    Ok(failures.count())
}

/// Replaces the list by the advisories in a checkout of RustSec's advisory-db.
///
/// # Errors
/// When `checkout` is not a git checkout, or an advisory in it cannot be read.
pub(crate) fn renew(root: &Path, checkout: &Path) -> Result<(), Stop> {
    let mut git = Command::new("git");
    git.arg("-C").arg(checkout);
    git.args(["log", "-1", "--format=%cs %h"]);
    let mut list = format!("# RustSec advisory-db {}\n", output(&mut git)?.trim());
    for path in documents(&checkout.join("crates"))? {
        let advisory = parse_document(&read(&path)?).map_err(|why| {
            Stop::host(format!("{}: {why}", path.display()))
                .hint("the database may have a newer format")
        })?;
        if let Some(advisory) = advisory {
            writeln!(list, "{advisory}").expect("writing to a string cannot fail");
        }
    }
    let path = root.join(LIST);
    fs::write(&path, list).map_err(at(&path))
}

fn read(path: &Path) -> Result<String, Stop> {
    fs::read_to_string(path).map_err(at(path))
}

/// Returns the paths of the advisory documents below `crates`, sorted.
fn documents(crates: &Path) -> Result<BTreeSet<PathBuf>, Stop> {
    let mut documents = BTreeSet::new();
    for package in fs::read_dir(crates).map_err(at(crates))? {
        let folder = package.map_err(at(crates))?.path();
        for document in fs::read_dir(&folder).map_err(at(&folder))? {
            documents.insert(document.map_err(at(&folder))?.path());
        }
    }
    Ok(documents)
}

/// Parses the list into its first line, without the comment sign, and its advisories.
fn parse_list(text: &str) -> Result<(&str, Vec<Advisory>), Stop> {
    let broken =
        |line: &str| Stop::findings(format!("{LIST}: this line is not an advisory: {line}"));
    let (head, rest) = text.split_once('\n').ok_or_else(|| broken(text))?;
    let head = head.strip_prefix("# ").ok_or_else(|| broken(head))?;
    let list = rest
        .lines()
        .map(|line| Advisory::parse(line).ok_or_else(|| broken(line)));
    Ok((head, list.collect::<Result<_, _>>()?))
}

fn parse_lock(text: &str) -> Result<Vec<Package>, Stop> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Package>,
    }
    let lock: Result<Lock, _> = toml::from_str(text);
    lock.map(|lock| lock.package)
        .map_err(|err| Stop::findings(format!("lock file: {err}")))
}

/// Returns the advisories that `deny.toml` accepts, each with its reason. `cargo deny` reads the
/// same table.
fn ignored(deny: &str) -> Result<BTreeMap<String, String>, Stop> {
    #[derive(Default, Deserialize)]
    struct Accepted {
        id: String,
        reason: String,
    }
    #[derive(Default, Deserialize)]
    struct Advisories {
        #[serde(default)]
        ignore: Vec<Accepted>,
    }
    #[derive(Deserialize)]
    struct Deny {
        #[serde(default)]
        advisories: Advisories,
    }
    let deny: Deny =
        toml::from_str(deny).map_err(|err| Stop::findings(format!("deny.toml: {err}")))?;
    let accepted = deny.advisories.ignore.into_iter();
    Ok(accepted.map(|one| (one.id, one.reason)).collect())
}

fn findings<'a>(
    list: &'a [Advisory],
    packages: &'a BTreeSet<Package>,
    ignored: &BTreeMap<String, String>,
) -> Vec<(&'a Package, &'a Advisory)> {
    let mut findings = Vec::new();
    for package in packages {
        let concerned = list.iter().filter(|advisory| advisory.concerns(package));
        findings.extend(
            concerned
                .filter(|advisory| !ignored.contains_key(&advisory.id))
                .map(|advisory| (package, advisory)),
        );
    }
    findings
}

/// Parses one document of the database: a TOML table in a Markdown fence, then prose. Returns
/// `None` for a withdrawn advisory.
fn parse_document(text: &str) -> Result<Option<Advisory>, String> {
    #[derive(Deserialize)]
    struct Facts {
        id: String,
        package: String,
        informational: Option<String>,
        withdrawn: Option<String>,
    }
    #[derive(Deserialize)]
    struct Versions {
        patched: Vec<VersionReq>,
        #[serde(default)]
        unaffected: Vec<VersionReq>,
    }
    #[derive(Deserialize)]
    struct Document {
        advisory: Facts,
        versions: Versions,
    }
    let fenced = text
        .strip_prefix("```toml\n")
        .ok_or("the file does not begin with a block of TOML")?;
    let (table, prose) = fenced
        .split_once("\n```")
        .ok_or("the end of the block of TOML is missing")?;
    let document: Document = toml::from_str(table).map_err(|err| err.to_string())?;
    let Document { advisory, versions } = document;
    if advisory.withdrawn.is_some() {
        return Ok(None);
    }
    let title = prose.lines().find_map(|line| line.strip_prefix("# "));
    Ok(Some(Advisory {
        id: advisory.id,
        package: advisory.package,
        kind: advisory
            .informational
            .unwrap_or_else(|| "vulnerability".to_owned()),
        patched: versions.patched,
        unaffected: versions.unaffected,
        title: title.ok_or("no title")?.replace('\t', " "),
    }))
}
