//! Tests on recorded trees of `/proc` and `/sys`: the plan, the journal, and taking changes back.

mod journal;
mod plan;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Namespace, Roots, Setting};
use host_checks::CHECKS;

use crate::Change;
use crate::apply::make;
use crate::journal::{Folder, Record};
use crate::{Goal, OnConflict};

/// Temporary directory with files, deleted when this value is dropped.
struct Tree(PathBuf);

impl Tree {
    fn new(test: &str, files: &[(&str, &str)]) -> Tree {
        let name = format!("pelton-tune-{test}-{}", std::process::id());
        let tree = Tree(std::env::temp_dir().join(name));
        for (path, text) in files {
            tree.put(path, text);
        }
        tree
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        let folder = path.parent().expect("the path has a directory");
        fs::create_dir_all(folder).expect("a writable directory");
        fs::write(path, text).expect("a writable directory");
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).expect("the test wrote the file")
    }

    fn roots(&self) -> Roots {
        Roots {
            proc: self.0.join("proc"),
            sys: self.0.join("sys"),
        }
    }

    fn data(&self) -> &Path {
        &self.0
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("a directory of our own");
    }
}

fn namespace(name: &str) -> Namespace {
    Namespace {
        name: name.to_owned(),
        is_of_host: true,
        boot: "boot-1".to_owned(),
    }
}

fn proc(path: &str) -> Setting {
    Setting::Proc {
        path: path.to_owned(),
    }
}

/// Returns a change of a file below `/proc/sys/net`.
fn change(path: &str, old: &str, new: &str) -> Change {
    let mut checks = CHECKS.iter().flat_map(|group| group.iter());
    Change {
        check: checks
            .find(|check| check.id == "tcp.backlog")
            .expect("a row of the table"),
        setting: proc(&format!("sys/net/{path}")),
        old: old.to_owned(),
        new: new.to_owned(),
    }
}

const ACCEPT: &str = "proc/sys/net/core/somaxconn";
const SYN: &str = "proc/sys/net/ipv4/tcp_max_syn_backlog";

/// Applies two changes on a tree.
fn applied(tree: &Tree) -> Folder {
    let folder = Folder::lock(tree.data()).expect("a directory of our own");
    let begin = Record::Begin {
        session: 1,
        boot: "boot-1".to_owned(),
        namespace: "net:[1]".to_owned(),
        goal: Goal::Throughput,
    };
    let mut journal = folder.begin(&begin).expect("a directory of our own");
    let changes = [
        change("core/somaxconn", "128", "4096"),
        change("ipv4/tcp_max_syn_backlog", "512", "4096"),
    ];
    make(
        &tree.roots(),
        &mut journal,
        &changes,
        Duration::from_secs(60),
    )
    .expect("files of our own");
    folder
}

fn take_back(tree: &Tree, folder: &Folder, on_conflict: OnConflict) -> crate::Outcome {
    crate::revert::take_back(&tree.roots(), folder, None, on_conflict).expect("files of our own")
}
