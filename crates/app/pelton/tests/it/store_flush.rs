//! `pelton store`: data removed by FLUSHALL does not reappear after a crash.

use crate::store::{Dir, Store, ask};

const SAVES: [&str; 4] = ["--save", "3600 1", "--enable-debug-command", "yes"];

/// Kills the store, restarts it, and checks that it has loaded the `expected` number of keys.
fn assert_found(store: Store, dir: &Dir, expected: &str) {
    store.kill();
    let store = Store::start(&dir.0, &SAVES);
    let found = ask(&mut store.client(), "DBSIZE").expect("a reply");
    assert_eq!(found, expected);
}

#[test]
fn a_flush_of_everything_is_on_the_disk_when_it_is_answered() {
    let dir = Dir::new("flush");
    let store = Store::start(&dir.0, &SAVES);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "SET a 1").expect("a reply"), "+OK");
    assert_eq!(ask(&mut client, "SAVE").expect("a reply"), "+OK");
    assert_eq!(ask(&mut client, "FLUSHALL").expect("a reply"), "+OK");
    assert_found(store, &dir, ":0");
}

#[test]
fn a_snapshot_that_is_being_written_does_not_bring_the_data_back() {
    let dir = Dir::new("flush-save");
    let store = Store::start(&dir.0, &SAVES);
    let mut client = store.client();
    let populated = ask(&mut client, "DEBUG POPULATE 300000").expect("a reply");
    assert_eq!(populated, "+OK");
    assert_eq!(
        ask(&mut client, "BGSAVE").expect("a reply"),
        "+Background saving started"
    );
    assert_eq!(ask(&mut client, "FLUSHALL").expect("a reply"), "+OK");
    let mut info = String::new();
    let mut changes = String::new();
    ask(&mut client, "INFO persistence").expect("a reply");
    while !info.starts_with("module_fork_last_cow_size") {
        info.clear();
        std::io::BufRead::read_line(&mut client, &mut info).expect("a reply");
        if info.starts_with("rdb_changes_since_last_save") {
            changes.clone_from(&info);
        }
    }
    assert_eq!(changes, "rdb_changes_since_last_save:0\r\n");
    assert_found(store, &dir, ":0");
}

#[test]
fn a_flush_within_a_transaction_is_on_the_disk_too() {
    let dir = Dir::new("flush-multi");
    let store = Store::start(&dir.0, &SAVES);
    let mut client = store.client();
    for (command, reply) in [
        ("SET a 1", "+OK"),
        ("SAVE", "+OK"),
        ("MULTI", "+OK"),
        ("FLUSHALL", "+QUEUED"),
        ("EXEC", "*1"),
    ] {
        assert_eq!(ask(&mut client, command).expect("a reply"), reply);
    }
    assert_found(store, &dir, ":0");
}
