//! Changes through the journal, and their way back.

use expect_test::expect;

use super::{ACCEPT, SYN, Tree, applied, namespace, take_back};
use crate::OnConflict;
use crate::journal::{Folder, Phase, State};
use crate::revert::{Origin, origin};

fn tree(test: &str) -> Tree {
    Tree::new(test, &[(ACCEPT, "128\n"), (SYN, "512\n")])
}

#[test]
fn revert_restores_every_value() {
    let tree = tree("revert");
    let folder = applied(&tree);
    assert_eq!(
        (tree.text(ACCEPT), tree.text(SYN)),
        ("4096\n".into(), "4096\n".into())
    );
    let outcome = take_back(&tree, &folder, OnConflict::Stop);
    assert_eq!((outcome.restored, outcome.left), (2, 0));
    assert_eq!(
        (tree.text(ACCEPT), tree.text(SYN)),
        ("128\n".into(), "512\n".into())
    );
    let again = take_back(&tree, &folder, OnConflict::Stop);
    assert_eq!((again.restored, again.left), (0, 0));
}

#[test]
fn a_value_of_another_program_stops_the_revert_at_it() {
    let tree = tree("conflict");
    let folder = applied(&tree);
    tree.put(ACCEPT, "9999\n");
    // Backwards: the second change is taken back first.
    let outcome = take_back(&tree, &folder, OnConflict::Stop);
    assert_eq!((outcome.restored, outcome.left), (1, 1));
    expect!["/proc/sys/net/core/somaxconn is 9999, but 4096 was applied over 128: another program has changed it since"]
        .assert_eq(&outcome.conflicts.join("\n"));
    assert_eq!(
        (tree.text(ACCEPT), tree.text(SYN)),
        ("9999\n".into(), "512\n".into())
    );
    let outcome = take_back(&tree, &folder, OnConflict::Overwrite);
    assert_eq!((outcome.restored, outcome.left), (1, 0));
    assert_eq!(tree.text(ACCEPT), "128\n");
}

#[test]
fn a_stop_leaves_the_earlier_changes_and_a_skip_does_not() {
    let tree = tree("skip");
    let folder = applied(&tree);
    tree.put(SYN, "9999\n");
    let outcome = take_back(&tree, &folder, OnConflict::Stop);
    assert_eq!((outcome.restored, outcome.left), (0, 2));
    assert_eq!(tree.text(ACCEPT), "4096\n");
    let outcome = take_back(&tree, &folder, OnConflict::Skip);
    assert_eq!((outcome.restored, outcome.left), (1, 1));
    assert_eq!(
        (tree.text(ACCEPT), tree.text(SYN)),
        ("128\n".into(), "9999\n".into())
    );
}

#[test]
fn a_line_that_was_cut_off_is_no_step() {
    let tree = tree("cut");
    drop(applied(&tree));
    let whole = tree.text("tune/journal");
    let cut = &whole[..whole.len() - 3];
    let state = State::parse(cut).expect("whole lines").expect("a begin");
    assert_eq!((state.phase, state.items.len()), (Phase::Incomplete, 2));
    tree.put("tune/journal", cut);
    let folder = Folder::lock(tree.data()).expect("a directory of our own");
    let outcome = take_back(&tree, &folder, OnConflict::Stop);
    assert_eq!(
        (outcome.restored, tree.text(ACCEPT)),
        (2, "128\n".to_owned())
    );
}

#[test]
fn damaged_lines_and_foreign_settings_are_refused() {
    let tree = tree("damaged");
    drop(applied(&tree));
    let whole = tree.text("tune/journal");
    assert_eq!(State::parse(&whole.replacen("session", "x", 1)), Err(1));
    for other in ["kernel/core_pattern", "net/core/../../kernel/core_pattern"] {
        let foreign = whole.replacen("net/core/somaxconn", other, 1);
        assert_eq!(State::parse(&foreign), Err(2), "{other}");
    }
}

#[test]
fn a_journal_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = tree("shared");
    let folder = applied(&tree);
    let path = tree.data().join("tune/journal");
    let shared = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(path, shared).expect("a file of our own");
    let err = folder.state().expect_err("others may write it").to_string();
    assert!(err.contains("others may write it"), "{err}");
}

#[test]
fn two_tunes_at_once_are_refused() {
    let tree = tree("lock");
    let _held = applied(&tree);
    let err = Folder::lock(tree.data())
        .expect_err("it is locked")
        .to_string();
    assert!(err.contains("another pelton tune works on"), "{err}");
}

#[test]
fn a_restart_and_another_namespace_are_noticed() {
    let tree = tree("boot");
    let folder = applied(&tree);
    let state = folder.state().expect("it is whole").expect("it exists");
    let mut later = namespace("net:[1]");
    assert_eq!(origin(&state, &later), Origin::Same);
    assert_eq!(
        origin(&state, &namespace("net:[2]")),
        Origin::OtherNamespace
    );
    later.boot = "boot-2".to_owned();
    assert_eq!(origin(&state, &later), Origin::OtherBoot);
}
