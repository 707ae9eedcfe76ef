use std::time::{Duration, Instant};

use super::Changes;

const SETTLE: Duration = Duration::from_secs(3);

/// Records `changes`, each with its time in seconds and its folder. Checks which folders can be
/// scanned at the time `second`, and how many seconds later the next folder can be scanned.
fn check(changes: &[(u64, &str)], second: u64, expected: (&[&str], Option<u64>)) {
    let start = Instant::now();
    let at = |second| start + Duration::from_secs(second);
    let mut noted = Changes::new(4);
    for &(second, folder) in changes {
        noted.note(folder.as_bytes(), at(second));
    }
    let quiet = noted.take_quiet(at(second), SETTLE);
    let quiet: Vec<_> = quiet
        .iter()
        .map(|folder| String::from_utf8_lossy(folder))
        .collect();
    let next = noted
        .next_quiet(SETTLE)
        .map(|next| (next - at(second)).as_secs());
    assert_eq!(
        (quiet, next),
        (
            expected.0.iter().map(|&folder| folder.into()).collect(),
            expected.1
        )
    );
}

#[test]
fn a_folder_is_quiet_after_its_last_change() {
    check(&[], 9, (&[], None));
    check(&[(0, "Album")], 2, (&[], Some(1)));
    check(&[(0, "Album")], 3, (&["Album"], None));
    check(&[(0, "Album"), (2, "Album")], 4, (&[], Some(1)));
    check(&[(0, "Album"), (2, "Other")], 3, (&["Album"], Some(2)));
}

#[test]
fn discs_wait_for_each_other_and_albums_of_one_artist() {
    check(
        &[(0, "Band/Album/CD1"), (2, "Band/Album/CD2")],
        3,
        (&[], Some(2)),
    );
    check(
        &[(0, "Band/Album/CD1"), (2, "Band/Album/CD2")],
        5,
        (&["Band/Album"], None),
    );
    check(
        &[(0, "Band/Album"), (2, "Band/Album/CD1")],
        3,
        (&[], Some(2)),
    );
    check(
        &[(2, "Band/Album"), (0, "Band/Album/CD1")],
        3,
        (&[], Some(2)),
    );
    check(
        &[(0, "Band/Album"), (2, "Bandits/Album")],
        3,
        (&["Band"], Some(2)),
    );
}

#[test]
fn everything_waits_for_all_and_holds_nothing_back() {
    check(&[(0, ""), (2, "Band/Album")], 3, (&[], Some(2)));
    check(&[(0, ""), (2, "Band/Album")], 5, (&["", "Band"], None));
    check(&[(2, ""), (0, "Band/Album")], 3, (&["Band"], Some(2)));
}

#[test]
fn too_many_folders_are_everything() {
    let many = [(0, "A"), (0, "B"), (0, "C"), (0, "D"), (1, "E")];
    check(&many, 3, (&[], Some(1)));
    check(&many, 4, (&[""], None));
}
