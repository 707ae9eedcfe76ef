//! Changes through the journal, and their way back.

use expect_test::expect;

use super::{ACCEPT, SYN, Tree, applied, namespace, take_back};
use crate::journal::{Folder, Phase, State};
use crate::revert::{Origin, origin};
use crate::{Obstacle, OnConflict};

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
    expect!["/proc/sys/net/core/somaxconn is 9999, but tune had changed it from 128 to 4096: another program has changed it since"]
        .assert_eq(&outcome.texts());
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
fn a_setting_that_is_gone_is_given_up_only_by_force() {
    let tree = tree("gone");
    let folder = applied(&tree);
    std::fs::remove_file(tree.data().join(SYN)).expect("a file of our own");
    let outcome = take_back(&tree, &folder, OnConflict::Stop);
    assert_eq!((outcome.restored, outcome.left), (0, 2));
    assert_eq!(outcome.conflicts[0].obstacle, Obstacle::Absent);
    expect![
        "/proc/sys/net/ipv4/tcp_max_syn_backlog: does not exist here; tune had changed this setting from 512 to 4096"
    ]
    .assert_eq(&outcome.texts());
    let outcome = take_back(&tree, &folder, OnConflict::Overwrite);
    assert_eq!((outcome.restored, outcome.left), (2, 0));
    assert_eq!(tree.text(ACCEPT), "128\n");
}

#[test]
fn a_refusal_of_the_kernel_keeps_no_other_setting_and_is_tried_again() {
    let tree = tree("refused");
    let folder = applied(&tree);
    // A directory can be opened, but refuses to be read.
    let path = tree.data().join(SYN);
    std::fs::remove_file(&path).expect("a file of our own");
    std::fs::create_dir(&path).expect("a directory of our own");
    let outcome = take_back(&tree, &folder, OnConflict::Skip);
    assert_eq!((outcome.restored, outcome.left), (1, 1));
    assert_eq!(outcome.conflicts[0].obstacle, Obstacle::Refused);
    assert!(outcome.is_worth_another_try());
    assert_eq!(tree.text(ACCEPT), "128\n");
    std::fs::remove_dir(&path).expect("a directory of our own");
    tree.put(SYN, "4096\n");
    let outcome = take_back(&tree, &folder, OnConflict::Skip);
    assert_eq!((outcome.restored, outcome.left), (1, 0));
    assert!(!outcome.is_worth_another_try());
    assert_eq!(tree.text(SYN), "512\n");
}

/// A change of the number of queues resets other settings of the card.
#[test]
fn the_value_just_before_the_write_is_the_one_that_comes_back() {
    let tree = tree("fresh");
    // The plan was made while both values were smaller.
    tree.put(ACCEPT, "256\n");
    tree.put(SYN, "4096\n");
    let folder = applied(&tree);
    let outcome = take_back(&tree, &folder, OnConflict::Stop);
    assert_eq!((outcome.restored, outcome.left), (1, 0));
    assert_eq!(
        (tree.text(ACCEPT), tree.text(SYN)),
        ("256\n".into(), "4096\n".into())
    );
}

#[test]
fn a_journal_that_is_too_long_is_refused() {
    let tree = tree("long");
    let folder = applied(&tree);
    folder.require_room().expect("the journal has two changes");
    let path = tree.data().join("tune/journal");
    let file = std::fs::File::options().write(true).open(&path);
    let file = file.expect("a file of our own");
    file.set_len(2 << 20).expect("a file with a hole");
    let err = folder.require_room().expect_err("it is long").to_string();
    assert!(
        err.contains("has little room left, because it contains many earlier changes"),
        "{err}"
    );
    file.set_len((4 << 20) + 1).expect("a file with a hole");
    let err = folder.state().expect_err("it is too long").to_string();
    assert!(err.contains("is longer than 4194304 bytes"), "{err}");
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
    assert!(err.contains("other users may write to it"), "{err}");
}

/// The server may replace the directory of the journal, because the data directory is its own.
#[test]
fn another_directory_in_its_place_gets_no_line() {
    let tree = tree("replaced");
    let folder = applied(&tree);
    let (ours, moved) = (tree.data().join("tune"), tree.data().join("moved"));
    std::fs::rename(&ours, &moved).expect("a directory of our own");
    std::os::unix::fs::symlink(tree.data().join("proc"), &ours).expect("a directory of our own");
    let outcome = take_back(&tree, &folder, OnConflict::Stop);
    assert_eq!((outcome.restored, outcome.left), (2, 0));
    assert!(tree.text("moved/journal").contains("restored"));
    assert!(!tree.data().join("proc/journal").exists());
    drop(folder);
    let err = Folder::lock(tree.data()).expect_err("it is a link");
    assert!(err.to_string().contains("cannot open"), "{err}");
}

#[test]
fn two_tunes_at_once_are_refused() {
    let tree = tree("lock");
    let _held = applied(&tree);
    let err = Folder::lock(tree.data())
        .expect_err("it is locked")
        .to_string();
    assert!(err.contains("another pelton tune is using"), "{err}");
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
