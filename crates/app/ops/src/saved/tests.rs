use super::*;

const NOON_MS: u64 = DAY_MS / 2;

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("pelton-ops-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&path));
    fs::create_dir_all(&path).expect("the temporary directory is writable");
    path
}

#[test]
fn sums_survive_restarts_and_days_end() {
    let data = scratch("restarts");
    let mut first = Saved::open(&data, NOON_MS);
    assert_eq!(first.with(5, NOON_MS).ever_bytes, 5);
    first.write(10, NOON_MS);
    first.write(15, NOON_MS);
    assert!(first.is_kept());
    let next = Saved::open(&data, NOON_MS + 1);
    let sums = next.with(2, NOON_MS + 1);
    assert_eq!((sums.ever_bytes, sums.today_bytes(NOON_MS)), (17, 17));
    assert_eq!(sums.since_unix_ms, NOON_MS);
    let tomorrow = next.with(2, NOON_MS + DAY_MS);
    assert_eq!(tomorrow.ever_bytes, 17);
    assert_eq!(tomorrow.today_bytes(NOON_MS + DAY_MS), 2);
    assert_eq!(sums.today_bytes(NOON_MS + DAY_MS), 0);
    fs::remove_dir_all(data).expect("it was created above");
}

#[test]
fn two_processes_add_to_one_file() {
    let data = scratch("two");
    let (mut old, mut new) = (Saved::open(&data, NOON_MS), Saved::open(&data, NOON_MS));
    old.write(10, NOON_MS);
    new.write(3, NOON_MS);
    old.write(12, NOON_MS);
    assert_eq!(Saved::open(&data, NOON_MS).with(0, NOON_MS).ever_bytes, 15);
    fs::remove_dir_all(data).expect("it was created above");
}

#[test]
fn a_damaged_file_begins_anew_and_a_missing_folder_is_no_error() {
    let data = scratch("damaged");
    fs::create_dir_all(data.join("ops")).expect("it is writable");
    fs::write(data.join("ops/saved"), "12 x").expect("it is writable");
    assert_eq!(Saved::open(&data, NOON_MS).with(1, NOON_MS).ever_bytes, 1);
    let file = data.join("file");
    fs::write(&file, "").expect("it is writable");
    let mut nowhere = Saved::open(&file, NOON_MS);
    nowhere.write(4, NOON_MS);
    assert!(!nowhere.is_kept());
    assert_eq!(nowhere.with(6, NOON_MS).ever_bytes, 6);
    fs::remove_dir_all(data).expect("it was created above");
}
