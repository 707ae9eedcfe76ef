//! Snapshots of large values that change while they are written.

use bytes::{Bytes, BytesMut};
use resp::{Out, Proto};

use crate::rdb::{LoadOptions, Loader, Options};
use crate::{Keyspace, Limits, Outcome, Session};

const NOW_MS: u64 = 1_700_000_000_000;
const BUDGET: usize = 10_000;
/// Number of elements of a large collection.
const ELEMENTS: usize = if cfg!(miri) { 200 } else { 4_000 };
/// Number of bytes by which the elements are lengthened. Under Miri there are fewer elements, so
/// only longer ones exceed the 64 KiB above which a snapshot writes a collection in parts.
const PADDING_BYTES: usize = if cfg!(miri) { 350 } else { 0 };
/// Length of the strings that are blobs, or large elements of collections.
const BLOB_BYTES: usize = if cfg!(miri) { 20_000 } else { 100_000 };

fn run(keyspace: &mut Keyspace, session: &mut Session, line: &str) -> Bytes {
    let args = resp::split_line(line.as_bytes()).expect("sound");
    run_words(keyspace, session, &args)
}

fn run_words(keyspace: &mut Keyspace, session: &mut Session, args: &[Bytes]) -> Bytes {
    let mut out = Out::new(Proto::Resp2);
    if let Outcome::Exec(commands) = keyspace.execute(session, args, NOW_MS, &mut out) {
        for args in commands {
            keyspace.execute(session, &args, NOW_MS, &mut out);
        }
        session.exec_done();
    }
    out.to_bytes()
}

fn run_in(keyspace: &mut Keyspace, line: &str) -> Bytes {
    run(keyspace, &mut Session::new(), line)
}

fn digest(keyspace: &mut Keyspace) -> Bytes {
    let mut out = Out::new(Proto::Resp2);
    let words = ["debug", "digest"].map(Bytes::from);
    assert!(keyspace.debug(&Session::new(), &words, &mut out));
    out.to_bytes()
}

/// Returns the name of an element, lengthened by [`PADDING_BYTES`].
fn long_name(kind: &str, number: usize) -> String {
    format!("{kind}{}{number:020}", "0".repeat(PADDING_BYTES))
}

/// Returns a store that has, in two databases, small keys and collections that a snapshot writes
/// over many calls of `write_snapshot_part`.
fn filled() -> Keyspace {
    let mut keyspace = Keyspace::new(Limits::default(), 1);
    let mut session = Session::new();
    for db in 0..2 {
        run(&mut keyspace, &mut session, &format!("SELECT {db}"));
        let mut add = |command: [&'static str; 2], words: Vec<String>| {
            let mut args = command.map(Bytes::from).to_vec();
            args.extend(words.into_iter().map(Bytes::from));
            run_words(&mut keyspace, &mut session, &args);
        };
        for number in 0..ELEMENTS {
            add(["RPUSH", "list"], vec![long_name("element", number)]);
            add(["SADD", "set"], vec![long_name("member", number)]);
            let field = vec![format!("field{number}"), long_name("value", number)];
            add(["HSET", "hash"], field);
            let member = vec![number.to_string(), long_name("member", number)];
            add(["ZADD", "zset"], member);
        }
        let blob = "b".repeat(BLOB_BYTES);
        add(["SET", "blob"], vec![blob.clone()]);
        let fields = ["blob", &blob, "tagged", "t"].map(str::to_owned);
        add(["HSET", "hash"], fields.to_vec());
        add(["RPUSH", "list"], vec![blob, "last".to_owned()]);
        run(&mut keyspace, &mut session, "PEXPIRE set 100000");
        for number in 0..50 {
            run(
                &mut keyspace,
                &mut session,
                &format!("SET small{number} value{number}"),
            );
        }
    }
    keyspace
}

fn begin(keyspace: &mut Keyspace) {
    assert!(keyspace.start_snapshot(Options {
        version: 10,
        compress: false,
        aof_base: false,
        now_ms: NOW_MS,
    }));
}

fn load(file: &[u8]) -> Keyspace {
    let mut keyspace = Keyspace::new(Limits::default(), 2);
    let mut loader = Loader::new(LoadOptions {
        now_ms: NOW_MS,
        check_crc: true,
        skip_expired: true,
    });
    let whole = loader.feed(&mut keyspace, &mut BytesMut::from(file));
    assert!(whole.expect("sound"), "the file ended early");
    keyspace
}

/// Returns a random command on the data of [`filled`].
fn any_command(rng: &mut fastrand::Rng) -> String {
    // The last hundred numbers do not belong to an element.
    let number = rng.usize(..ELEMENTS + 100);
    let at = rng.usize(..2 * ELEMENTS) as i64 - ELEMENTS as i64;
    let member = || long_name("member", number);
    let small = rng.usize(..60);
    let names = ["list", "set", "hash", "zset", "blob", "small3", "other"];
    let (name, target) = (names[rng.usize(..7)], names[rng.usize(..7)]);
    match rng.usize(..40) {
        0..3 => format!("HSET hash field{number} changed"),
        3..5 => format!("HDEL hash field{number} blob"),
        5 => format!("HINCRBY hash count{small} 1"),
        6..8 => format!("SADD set {} new{number}", member()),
        8..10 => format!("SREM set {}", member()),
        10..13 => format!("ZADD zset {at} {} 1 new{number}", member()),
        13 => format!("ZREM zset {}", member()),
        14 => format!("ZREMRANGEBYRANK zset {small} {}", small + 30),
        15 => format!("LPUSH list new{number}"),
        16 => format!("RPUSH list new{number}"),
        17 => "LPOP list 3".to_owned(),
        18 => "RPOP list 2".to_owned(),
        19 => format!("LSET list {at} changed"),
        20 => format!(
            "LINSERT list BEFORE {} inserted",
            long_name("element", number)
        ),
        21 => format!("LREM list 1 {}", long_name("element", number)),
        22 => format!("LTRIM list 5 -{}", small + 1),
        23..26 => format!("SET small{small} other"),
        26..28 => format!("DEL small{small}"),
        28 => format!("APPEND blob {number}"),
        29 => format!("SETRANGE blob {number} x"),
        30 => format!("DEL {name}"),
        31 => format!("RENAME {name} {target}"),
        32 => format!("MOVE {name} 1"),
        33 => format!("COPY {name} {target} REPLACE"),
        34 => format!("SET {name} value"),
        35 => format!("PEXPIRE {name} 50000"),
        36 => "SPOP set 5000".to_owned(),
        37 => format!("SUNIONSTORE {target} set"),
        38 => "ZREMRANGEBYRANK zset 0 -1".to_owned(),
        _ => ["SWAPDB 0 1", "FLUSHDB", "SWAPDB 0 5", "SELECT 0"][rng.usize(..4)].to_owned(),
    }
}

#[test]
fn a_snapshot_equals_the_data_at_its_start() {
    const SEEDS: u64 = if cfg!(miri) { 1 } else { 12 };
    for seed in 0..SEEDS {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut keyspace = filled();
        let expected = digest(&mut keyspace);
        let mut session = Session::new();
        // If few commands run between two parts of the snapshot, most data is written before it
        // changes. If many commands run, all data changes before it is written.
        let commands_a_turn = [1, 3, 30][rng.usize(..3)];
        let mut file = Vec::new();
        begin(&mut keyspace);
        loop {
            for _ in 0..rng.usize(..=commands_a_turn) {
                run(&mut keyspace, &mut session, &any_command(&mut rng));
            }
            if keyspace.write_snapshot_part(BUDGET, &mut file) {
                break;
            }
        }
        assert_eq!(digest(&mut load(&file)), expected, "seed {seed}");
        assert_eq!(keyspace.snapshot_waiting_bytes(), 0);
        // The snapshot leaves no state behind: the next snapshot equals the current data.
        let expected = digest(&mut keyspace);
        let mut file = Vec::new();
        begin(&mut keyspace);
        while !keyspace.write_snapshot_part(BUDGET, &mut file) {}
        assert_eq!(digest(&mut load(&file)), expected, "seed {seed}, after it");
    }
}

/// Checks the content of a snapshot during which keys change. Keys that are removed during the
/// snapshot are in it, even if all keys are removed. Keys that are added during the snapshot are
/// not in it.
#[test]
fn keys_removed_during_a_snapshot_are_in_it() {
    const KEYS: usize = if cfg!(miri) { 400 } else { 5_000 };
    for keys_after in [0, 50] {
        let mut keyspace = Keyspace::new(Limits::default(), 1);
        for number in 0..KEYS {
            run_in(&mut keyspace, &format!("SET key{number} value"));
        }
        let expected = digest(&mut keyspace);
        let mut file = Vec::new();
        begin(&mut keyspace);
        keyspace.write_snapshot_part(BUDGET, &mut file);
        for number in 0..KEYS {
            run_in(&mut keyspace, &format!("DEL key{number}"));
        }
        for number in 0..keys_after {
            run_in(&mut keyspace, &format!("SET later{number} value"));
        }
        while !keyspace.write_snapshot_part(BUDGET, &mut file) {}
        assert_eq!(digest(&mut load(&file)), expected, "{keys_after} after it");
    }
}

#[test]
fn a_cancelled_snapshot_guards_nothing() {
    let mut keyspace = filled();
    begin(&mut keyspace);
    keyspace.write_snapshot_part(BUDGET, &mut Vec::new());
    for line in ["HSET hash f v", "ZADD zset 1 m", "LPUSH list e", "DEL set"] {
        run_in(&mut keyspace, line);
    }
    keyspace.cancel_snapshot();
    while !keyspace.write_snapshot_part(BUDGET, &mut Vec::new()) {}
    let expected = digest(&mut keyspace);
    let mut file = Vec::new();
    begin(&mut keyspace);
    while !keyspace.write_snapshot_part(BUDGET, &mut file) {}
    assert_eq!(digest(&mut load(&file)), expected);
}

/// A change of a collection copies only the changed elements, before and while the snapshot writes
/// the collection.
#[test]
fn a_change_of_a_large_value_copies_only_changed_elements() {
    // End and step of the numbers of parts that are written before the changes. Each repetition
    // creates all data anew, so there are fewer under Miri.
    const TURNS: (usize, usize) = if cfg!(miri) { (40, 13) } else { (100, 7) };
    let changes = [
        "HSET hash field7 changed".to_owned(),
        format!("SREM set {}", long_name("member", 7)),
        format!("ZADD zset 70 {}", long_name("member", 7)),
        "LPUSH list first".to_owned(),
        "HSET hash field7 again".to_owned(),
    ];
    for turns in (0..TURNS.0).step_by(TURNS.1) {
        let mut keyspace = filled();
        begin(&mut keyspace);
        for _ in 0..turns {
            keyspace.write_snapshot_part(BUDGET, &mut Vec::new());
        }
        for line in &changes {
            let before = keyspace.snapshot_waiting_bytes();
            run_in(&mut keyspace, line);
            let kept = keyspace.snapshot_waiting_bytes() - before;
            assert!(
                kept < 300 + PADDING_BYTES,
                "{line} after {turns} turns: {kept} bytes"
            );
        }
    }
}
