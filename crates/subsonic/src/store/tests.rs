//! The journal through crashes, kills and other processes' hands.

use std::fs;
use std::path::PathBuf;

use super::{Change, State, Store};
use crate::ids::Id;
use catalog::TrackId;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("pelton-users-{name}-{}", std::process::id()));
        Folder(path)
    }

    fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it was made");
    }
}

fn user(name: &str) -> Change {
    Change::User {
        name: name.to_owned(),
        password: "sealed".to_owned(),
        admin: false,
        at_ms: 1,
    }
}

fn play(number: u64, at_ms: i64) -> Change {
    Change::Play {
        user: "a".to_owned(),
        id: Id::Track(TrackId(number)),
        at_ms,
    }
}

fn change(store: &Store, changes: Vec<Change>) {
    let changed = store.change(|_| Ok::<_, ()>(changes));
    changed.expect("the disk takes it").expect("nobody objects");
}

fn state(store: &Store) -> State {
    store.read(State::clone).expect("it can be read")
}

#[test]
fn a_tail_that_a_crash_left_is_cut_wherever_it_was_cut() {
    let folder = Folder::new("tail");
    let store = Store::open(&folder.0).expect("a folder");
    change(&store, vec![user("a")]);
    let before = state(&store);
    let whole_bytes = fs::metadata(folder.journal()).expect("it is there").len();
    change(&store, vec![play(1, 10), play(2, 11)]);
    drop(store);
    let all = fs::read(folder.journal()).expect("it is there");
    for cut in whole_bytes as usize..all.len() {
        fs::write(folder.journal(), &all[..cut]).expect("it is ours");
        let store = Store::open(&folder.0).expect("what is whole is read");
        assert_eq!(state(&store), before, "cut at {cut}");
        change(&store, vec![play(3, 12)]);
        let after = state(&store);
        drop(store);
        let store = Store::open(&folder.0).expect("it is whole again");
        assert_eq!(state(&store), after, "cut at {cut}");
    }
    // One wrong bit, and the record does not count.
    let mut broken = all.clone();
    *broken.last_mut().expect("a byte") ^= 1;
    fs::write(folder.journal(), &broken).expect("it is ours");
    assert_eq!(state(&Store::open(&folder.0).expect("open")), before);
}

#[test]
fn two_processes_see_each_others_changes() {
    let folder = Folder::new("two");
    let first = Store::open(&folder.0).expect("a folder");
    let second = Store::open(&folder.0).expect("a folder");
    change(&first, vec![user("a")]);
    change(&second, vec![user("b")]);
    change(&first, vec![play(1, 5)]);
    assert_eq!(state(&first), state(&second));
    assert_eq!(state(&first).users.len(), 2);
    assert!(
        second
            .secret()
            .open_sealed("a", &first.secret().seal("a", "sesame"))
            .is_some()
    );
}

#[test]
fn history_is_left_behind_and_the_state_stays() {
    let folder = Folder::new("history");
    let store = Store::open(&folder.0).expect("a folder");
    let other = Store::open(&folder.0).expect("a folder");
    change(&store, vec![user("a")]);
    for round in 0..40 {
        change(
            &store,
            (0..1000)
                .map(|at| play(at % 7, round * 1000 + at as i64))
                .collect(),
        );
    }
    let bytes = fs::metadata(folder.journal()).expect("it is there").len();
    assert!(bytes < 2_500_000, "{bytes} bytes after 40,000 plays");
    assert_eq!(state(&store), state(&other));
    assert_eq!(state(&Store::open(&folder.0).expect("open")), state(&store));
    let plays: u32 = state(&store).users["a"]
        .plays
        .values()
        .map(|plays| plays.count)
        .sum();
    assert_eq!(plays, 40_000);
}

#[test]
fn secrets_are_their_owners() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("secret");
    let store = Store::open(&folder.0).expect("a folder");
    let sealed = store.secret().seal("a", "sesame");
    assert_ne!(sealed, store.secret().seal("a", "sesame"));
    assert_eq!(
        store.secret().open_sealed("a", &sealed).as_deref(),
        Some("sesame")
    );
    assert_eq!(store.secret().open_sealed("b", &sealed), None);
    assert_eq!(store.secret().open_sealed("a", &sealed[2..]), None);
    let mode = fs::metadata(folder.0.join("key"))
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
