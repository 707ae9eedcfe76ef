//! `pelton store` on a full disk, simulated by the limit on file sizes. A write beyond the limit
//! fails partway, as on a full disk. The limit needs no privileges, and it can be lifted.

use std::io::{BufRead, Write};
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

use crate::harness::{eventually, signal};
use crate::store::{Dir, Store, ask};

const ALWAYS: [&str; 6] = [
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--save",
    "",
];

/// Returns a command that runs the program. If `room` is set, no file of the program may exceed
/// this number of bytes. A write beyond the limit fails, but raises no signal.
fn program(room: Option<u64>) -> Command {
    let mut program = Command::new("sh");
    // The shell counts in units of 512 bytes.
    let limit = room.map_or(String::new(), |bytes| {
        format!("ulimit -S -f {};", bytes / 512)
    });
    program
        .arg("-c")
        .arg(format!("trap '' XFSZ; {limit} exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_pelton"));
    program
}

/// Limits the files of a running store to `bytes`, or removes the limit.
fn set_room(store: &Store, bytes: Option<u64>) {
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    let pid = Pid::from_raw(store.child.id() as i32);
    prlimit(pid, Resource::Fsize, limit).expect("the child of this process");
}

fn increment_bytes(dir: &Dir) -> u64 {
    let path = dir.0.join("appendonlydir/appendonly.aof.1.incr.aof");
    std::fs::metadata(path).expect("a journal").len()
}

#[test]
fn a_full_disk_refuses_changes_and_answers_everything_else() {
    let dir = Dir::new("full");
    let store = Store::start_with(program(None), &dir.0, &ALWAYS);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "INCR n").expect("a reply"), ":1");
    set_room(&store, Some(increment_bytes(&dir) + 7));

    // In one batch, the write is refused and the reads are answered.
    let batch = "GET n\r\nINCR n\r\nECHO behind\r\n";
    client
        .get_mut()
        .write_all(batch.as_bytes())
        .expect("it reads");
    let replies = ["$1", "1", "-MISCONF", "$6", "behind"].map(|expected| {
        let mut reply = String::new();
        client.read_line(&mut reply).expect("a reply");
        assert!(reply.starts_with(expected), "{expected}: {reply}");
        reply
    });
    let refusal = "-MISCONF Errors writing to the AOF file: File too large (os error 27); \
                   the change is in memory and is written when the disk accepts it\r\n";
    assert_eq!(replies[2], refusal);

    let mut other = store.client();
    assert_eq!(ask(&mut other, "STRLEN n").expect("a reply"), ":1");
    for command in ["SET n 9", "PING"] {
        let refused = ask(&mut other, command).expect("a reply");
        let expected = "-MISCONF Errors writing to the AOF file: File too large (os error 27)";
        assert_eq!(refused, expected);
    }
    let info = ask(&mut other, "INFO persistence").expect("a reply");
    assert!(info.starts_with('$'), "{info}");

    set_room(&store, None);
    let number = eventually("it takes changes again", || {
        let reply = ask(&mut client, "INCR n").expect("a reply");
        (!reply.starts_with('-')).then_some(reply)
    });
    assert_eq!(number, ":3");
    store.kill();
    let store = Store::start(&dir.0, &ALWAYS);
    let found = ask(&mut store.client(), "INCRBY n 0").expect("a reply");
    assert_eq!(found, ":3");
}

#[test]
fn a_store_that_died_on_a_full_disk_starts_there() {
    let dir = Dir::new("died");
    let store = Store::start_with(program(None), &dir.0, &ALWAYS);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "INCR n").expect("a reply"), ":1");
    set_room(&store, Some(increment_bytes(&dir) + 7));
    let refused = ask(&mut client, "INCR n").expect("a reply");
    assert!(refused.starts_with("-MISCONF "), "{refused}");
    store.kill();

    let store = Store::start_with(program(Some(0)), &dir.0, &ALWAYS);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "STRLEN n").expect("a reply"), ":1");
    let refused = ask(&mut client, "INCR n").expect("a reply");
    assert!(refused.starts_with("-MISCONF "), "{refused}");
    set_room(&store, None);
    eventually("it takes changes", || {
        let reply = ask(&mut client, "SET n 7").expect("a reply");
        (reply == "+OK").then_some(())
    });
    store.kill();
    let store = Store::start(&dir.0, &ALWAYS);
    let found = ask(&mut store.client(), "INCRBY n 0").expect("a reply");
    assert_eq!(found, ":7");
}

#[test]
fn a_journal_for_which_there_is_no_room_is_started_later() {
    let dir = Dir::new("no-room");
    let snapshots = ["--save", "3600 1"];
    let store = Store::start(&dir.0, &snapshots);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "SET n 1").expect("a reply"), "+OK");
    assert_eq!(ask(&mut client, "SAVE").expect("a reply"), "+OK");
    store.kill();

    let store = Store::start_with(program(Some(0)), &dir.0, &ALWAYS);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "STRLEN n").expect("a reply"), ":1");
    let refused = ask(&mut client, "INCR n").expect("a reply");
    assert!(refused.starts_with("-MISCONF "), "{refused}");
    set_room(&store, None);
    let number = eventually("it takes changes", || {
        let reply = ask(&mut client, "INCR n").expect("a reply");
        (!reply.starts_with('-')).then_some(reply)
    });
    assert_eq!(number, ":2");
    store.kill();
    let store = Store::start(&dir.0, &ALWAYS);
    let found = ask(&mut store.client(), "INCRBY n 0").expect("a reply");
    assert_eq!(found, ":2");
}

#[test]
fn a_store_that_ends_without_its_last_changes_says_so() {
    let dir = Dir::new("lost");
    let mut store = Store::start_with(program(None), &dir.0, &ALWAYS);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "INCR n").expect("a reply"), ":1");
    set_room(&store, Some(increment_bytes(&dir) + 7));
    let refused = ask(&mut client, "INCR n").expect("a reply");
    assert!(refused.starts_with("-MISCONF "), "{refused}");
    signal(store.child.id(), Signal::TERM);
    assert_eq!(store.child.wait().expect("it ends").code(), Some(3));
}
