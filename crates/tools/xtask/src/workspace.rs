//! The workspace as cargo describes it: member crates, their dependencies, and the graph of all
//! packages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use toolkit::command::output;
use toolkit::stop::Stop;

/// Member crates and the resolved dependency graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) members: Vec<Member>,
    /// Direct dependencies of each package, without dev-dependencies. The keys and values are names
    /// of packages. A program contains the packages that can be reached along these edges.
    pub(crate) links: BTreeMap<String, BTreeSet<String>>,
}

/// One member crate.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Path of the crate's manifest, relative to the checkout.
    pub(crate) manifest: String,
    pub(crate) imports: Vec<Import>,
    /// Root files of the crate's library and programs, relative to the checkout.
    pub(crate) roots: Vec<String>,
}

/// One dependency in a crate's manifest.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) dev: bool,
}

impl Workspace {
    /// Reads the workspace at `root` from the output of `cargo metadata`.
    ///
    /// # Errors
    /// When cargo refuses the manifests.
    pub(crate) fn read(root: &Path) -> Result<Workspace, Stop> {
        let mut cargo = Command::new(toolkit::build::cargo());
        cargo
            .args(["metadata", "--format-version", "1"])
            .current_dir(root);
        let json = output(&mut cargo)?;
        let metadata: Metadata = serde_json::from_str(&json)
            .map_err(|err| Stop::host(format!("cargo metadata: {err}")))?;
        Ok(metadata.workspace(root))
    }

    /// Returns whether a member crate has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    /// Returns the shortest chain of dependencies from `from` to `to`, if a program built from
    /// `from` contains `to`.
    pub(crate) fn chain(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut parents = BTreeMap::from([(from, from)]);
        let mut queue = VecDeque::from([from]);
        while let Some(name) = queue.pop_front() {
            if name == to {
                break;
            }
            for next in self.links.get(name).into_iter().flatten() {
                parents.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    name
                });
            }
        }
        let mut chain = vec![to.to_owned()];
        let mut at = to;
        while at != from {
            at = parents.get(at)?;
            chain.push(at.to_owned());
        }
        chain.reverse();
        Some(chain)
    }
}

/// The parts of `cargo metadata --format-version 1` that we read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    manifest_path: String,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Kind of the dependency: `dev`, `build`, or null for a normal one.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

impl Metadata {
    fn workspace(self, root: &Path) -> Workspace {
        let names: BTreeMap<_, _> = self
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package.name.as_str()))
            .collect();
        let mut links: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in &self.resolve.nodes {
            let contained = node.deps.iter().filter(|edge| {
                let mut kinds = edge.dep_kinds.iter();
                kinds.any(|edge| edge.kind.as_deref() != Some("dev"))
            });
            let contained = contained.map(|edge| names[edge.pkg.as_str()].to_owned());
            let name = names[node.id.as_str()].to_owned();
            links.entry(name).or_default().extend(contained);
        }
        let members = self
            .packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
            .map(|package| package.member(root))
            .collect();
        Workspace { members, links }
    }
}

impl Package {
    fn member(&self, root: &Path) -> Member {
        let imports = self.dependencies.iter().map(|dependency| Import {
            name: dependency.name.clone(),
            dev: dependency.kind.as_deref() == Some("dev"),
        });
        let relative = |path: &str| {
            let path = Path::new(path).strip_prefix(root).ok()?;
            Some(path.to_string_lossy().into_owned())
        };
        let roots = self.targets.iter().filter_map(|target| {
            let shipped = target
                .kind
                .iter()
                .any(|kind| kind == "lib" || kind == "bin");
            relative(&target.src_path).filter(|_| shipped)
        });
        Member {
            name: self.name.clone(),
            manifest: relative(&self.manifest_path).expect("members are in the checkout"),
            imports: imports.collect(),
            roots: roots.collect(),
        }
    }
}
