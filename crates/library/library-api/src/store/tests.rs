//! Tests of the journal after crashes and damage, and with other processes that write to it.

use std::fs;
use std::path::PathBuf;

use super::{Change, Damage, State, Store};
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
    // A record with one wrong bit is not applied.
    let mut broken = all.clone();
    *broken.last_mut().expect("a byte") ^= 1;
    fs::write(folder.journal(), &broken).expect("it is ours");
    assert_eq!(state(&Store::open(&folder.0).expect("open")), before);
}

/// Appends each change as a record of its own, and returns the offset of each record.
fn records(folder: &Folder, changes: Vec<Change>) -> Vec<usize> {
    let store = Store::open(&folder.0).expect("a folder");
    change(&store, Vec::new());
    let length = || fs::metadata(folder.journal()).expect("it is there").len() as usize;
    let append = |one| {
        let begin = length();
        change(&store, vec![one]);
        begin
    };
    changes.into_iter().map(append).collect()
}

fn names(state: &State) -> Vec<&str> {
    state.users.keys().map(String::as_str).collect()
}

#[test]
fn a_wrong_bit_anywhere_costs_one_record_and_reading_writes_nothing() {
    let folder = Folder::new("bits");
    let begins = records(&folder, ["a", "b", "c"].map(user).into());
    let whole = fs::read(folder.journal()).expect("it is there");
    for at in begins[1]..begins[2] {
        for bit in 0..8 {
            let mut broken = whole.clone();
            broken[at] ^= 1 << bit;
            fs::write(folder.journal(), &broken).expect("it is ours");
            let store = Store::open(&folder.0).expect("the rest is read");
            assert_eq!(names(&state(&store)), ["a", "c"], "byte {at}, bit {bit}");
            assert_eq!(store.damage().parts, 1, "byte {at}, bit {bit}");
            let length = (begins[2] - begins[1]) as u64;
            assert_eq!(store.damage().bytes, length, "byte {at}, bit {bit}");
        }
    }
    let broken = fs::read(folder.journal()).expect("it is there");
    let store = Store::open(&folder.0).expect("the rest is read");
    assert_eq!(fs::read(folder.journal()).expect("it is there"), broken);
    assert!(!folder.0.join("journal.bad").exists());
    // The next writer keeps the damaged file, and continues with a journal without damage.
    change(&store, vec![user("d")]);
    let kept = fs::read(folder.0.join("journal.bad")).expect("it is kept");
    assert_eq!(kept, broken);
    let again = Store::open(&folder.0).expect("it is whole again");
    assert_eq!(names(&state(&again)), ["a", "c", "d"]);
    assert_eq!(again.damage(), Damage::default());
}

#[test]
fn a_wrong_bit_in_the_head_of_the_file_costs_no_record() {
    let folder = Folder::new("begin");
    records(&folder, ["a", "b"].map(user).into());
    let whole = fs::read(folder.journal()).expect("it is there");
    for bit in 0..64 {
        let mut broken = whole.clone();
        broken[bit / 8] ^= 1 << (bit % 8);
        fs::write(folder.journal(), &broken).expect("it is ours");
        let store = Store::open(&folder.0).expect("the records are read");
        assert_eq!(names(&state(&store)), ["a", "b"], "bit {bit}");
        let damage = Damage { parts: 1, bytes: 8 };
        assert_eq!(store.damage(), damage, "bit {bit}");
        change(&store, vec![play(1, 10)]);
        let kept = folder.0.join("journal.bad");
        assert_eq!(fs::read(&kept).expect("it is kept"), broken, "bit {bit}");
        fs::remove_file(&kept).expect("it is ours");
        let again = Store::open(&folder.0).expect("it is whole again");
        assert_eq!(again.damage(), Damage::default(), "bit {bit}");
    }
    // A journal in the format of another version is refused and left unchanged.
    let mut later = whole.clone();
    later[7] = b'2';
    fs::write(folder.journal(), &later).expect("it is ours");
    Store::open(&folder.0).expect_err("it is of another version");
    assert_eq!(fs::read(folder.journal()).expect("it is there"), later);
}

/// Text of a user in the form of a journal record. Because text contains no zero byte, the length
/// field of the forged record exceeds the maximum length of a record, so readers do not accept the
/// record.
#[test]
fn what_users_write_does_not_pass_for_a_record() {
    let folder = Folder::new("forged");
    const LENGTH: usize = 0x0101_0101;
    let mut json =
        br#"[{"change":"user","name":"eve","password":"","admin":true,"at_ms":1}"#.to_vec();
    json.resize(LENGTH - 1, b' ');
    json.push(b']');
    let mut forged = (LENGTH as u32).to_le_bytes().to_vec();
    forged.extend(&blake3::hash(&json).as_bytes()[..8]);
    forged.extend(&json);
    records(&folder, vec![user("a")]);
    let mut bytes = fs::read(folder.journal()).expect("it is there");
    bytes.push(b'x');
    bytes.extend(forged);
    fs::write(folder.journal(), &bytes).expect("it is ours");
    let store = Store::open(&folder.0).expect("the rest is read");
    assert_eq!(names(&state(&store)), ["a"]);
}

#[test]
fn every_damaged_journal_is_kept_up_to_a_bound() {
    let folder = Folder::new("kept");
    for round in 0..12 {
        let store = Store::open(&folder.0).expect("a folder");
        change(&store, vec![user("a")]);
        change(&store, vec![user("b")]);
        drop(store);
        let mut broken = fs::read(folder.journal()).expect("it is there");
        broken[40] = round;
        fs::write(folder.journal(), &broken).expect("it is ours");
        let store = Store::open(&folder.0).expect("the rest is read");
        change(&store, vec![user("c")]);
        let number = match round {
            0 => "journal.bad".to_owned(),
            round => format!("journal.bad-{}", round.min(9)),
        };
        let kept = fs::read(folder.0.join(&number)).expect("it is kept");
        assert_eq!(kept, broken, "{number}");
    }
    let files = fs::read_dir(&folder.0).expect("a folder").count();
    assert_eq!(files, 11, "the journal, and ten damaged ones");
}

#[test]
fn a_change_of_a_later_version_is_skipped_and_not_cut() {
    let folder = Folder::new("later");
    let begins = records(&folder, ["a", "b"].map(user).into());
    let whole = fs::read(folder.journal()).expect("it is there");
    let json = br#"[{"change":"of_next_year","user":"a"}]"#;
    let mut later = (json.len() as u32).to_le_bytes().to_vec();
    later.extend(&blake3::hash(json).as_bytes()[..8]);
    later.extend(json);
    for at in [begins[0], begins[1], whole.len()] {
        let bytes = [&whole[..at], &later, &whole[at..]].concat();
        fs::write(folder.journal(), &bytes).expect("it is ours");
        let store = Store::open(&folder.0).expect("the rest is read");
        assert_eq!(names(&state(&store)), ["a", "b"], "at {at}");
        assert_eq!(store.damage().bytes, later.len() as u64, "at {at}");
        change(&store, vec![play(1, 10)]);
        let kept = folder.0.join("journal.bad");
        assert_eq!(fs::read(&kept).expect("it is kept"), bytes, "at {at}");
        fs::remove_file(&kept).expect("it is ours");
        assert_eq!(
            names(&state(&Store::open(&folder.0).expect("open"))),
            ["a", "b"]
        );
    }
}

#[test]
fn what_is_a_users_stays_when_the_record_of_the_user_is_lost() {
    let folder = Folder::new("orphan");
    let begins = records(&folder, vec![user("a"), play(1, 10), user("b")]);
    let mut broken = fs::read(folder.journal()).expect("it is there");
    broken[begins[1] - 1] ^= 1;
    fs::write(folder.journal(), &broken).expect("it is ours");
    for round in 0..2 {
        let store = Store::open(&folder.0).expect("the rest is read");
        let state = state(&store);
        let first = Id::Track(TrackId(1));
        assert_eq!(state.users["a"].plays[&first].count, 1, "round {round}");
        assert_eq!(state.users["a"].password, "", "nobody gets in with it");
        change(&store, vec![play(2, 11 + round)]);
    }
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
    let sealed = first.seal("a", "sesame").expect("a key");
    assert!(
        second
            .secret()
            .expect("it can be read")
            .expect("it is there")
            .open_sealed("a", &sealed)
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
    assert!(store.secret().expect("it can be read").is_none());
    change(&store, Vec::new());
    let seal = || store.seal("a", "sesame").expect("a key");
    let sealed = seal();
    assert_ne!(sealed, seal());
    let secret = store.secret().expect("it can be read").expect("a key");
    assert_eq!(secret.open_sealed("a", &sealed).as_deref(), Some("sesame"));
    assert_eq!(secret.open_sealed("b", &sealed), None);
    assert_eq!(secret.open_sealed("a", &sealed[2..]), None);
    let mode = fs::metadata(folder.0.join("key"))
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
