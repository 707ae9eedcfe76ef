use bytes::{Bytes, BytesMut};
use resp::{Out, Proto};

use super::*;
use crate::{Keyspace, Limits, Session};

mod streams;
mod versions;

const NOW_MS: u64 = 1_700_000_000_000;
/// Number of strings, and of elements of each collection, that [`filled`] creates. Under Miri there
/// are just enough for the collections to outgrow their compact encodings, which end at 128
/// elements.
const FILLED: usize = if cfg!(miri) { 140 } else { 300 };

fn run(keyspace: &mut Keyspace, line: &str) -> Bytes {
    let args = resp::split_line(line.as_bytes()).expect("sound");
    run_words(keyspace, &args)
}

fn run_words(keyspace: &mut Keyspace, args: &[Bytes]) -> Bytes {
    let mut out = Out::new(Proto::Resp2);
    keyspace.execute(&mut Session::new(), args, NOW_MS, &mut out);
    out.to_bytes()
}

fn filled() -> Keyspace {
    let mut keyspace = Keyspace::new(Limits::default(), 1);
    for number in 0..FILLED {
        run(
            &mut keyspace,
            &format!("SET s{number} value{number} PX {}", 1000 + number),
        );
        run(&mut keyspace, &format!("RPUSH list {number}"));
        run(&mut keyspace, &format!("SADD set m{number}"));
        run(
            &mut keyspace,
            &format!("HSET hash f{number} {}", "x".repeat(number)),
        );
        run(&mut keyspace, &format!("ZADD zset {number}.5 m{number}"));
    }
    run(&mut keyspace, "SADD ints 1 -5 70000 9000000000");
    run(&mut keyspace, "SET int -123456");
    keyspace
}

fn file(
    keyspace: &mut Keyspace,
    budget_bytes: usize,
    mut between: impl FnMut(&mut Keyspace),
) -> Vec<u8> {
    begin(keyspace);
    let mut file = Vec::new();
    loop {
        between(keyspace);
        if keyspace.write_snapshot_part(budget_bytes, &mut file) {
            return file;
        }
    }
}

fn load(file: &[u8], step: usize) -> Result<Keyspace, Error> {
    let mut keyspace = Keyspace::new(Limits::default(), 2);
    let mut loader = Loader::new(LoadOptions {
        now_ms: NOW_MS,
        check_crc: true,
        skip_expired: true,
    });
    let mut input = BytesMut::new();
    for chunk in file.chunks(step) {
        input.extend_from_slice(chunk);
        if loader.feed(&mut keyspace, &mut input)? {
            return Ok(keyspace);
        }
    }
    panic!("the file ended early");
}

const QUERIES: &[&str] = &[
    "DBSIZE",
    "GET s17",
    "PEXPIRETIME s17",
    "LRANGE list 0 -1",
    "SCARD set",
    "SORT ints",
    "HGET hash f77",
    "HLEN hash",
    "ZRANGE zset 0 -1 WITHSCORES",
    "GET int",
];

#[test]
fn the_checksum_equals_that_of_redis() {
    assert_eq!(crc64(0, b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    assert_eq!(crc64(crc64(0, b"1234"), b"56789"), 0xe9c6_d914_c4b8_d9ca);
}

#[test]
fn a_snapshot_is_of_one_moment() {
    let mut quiet = filled();
    let mut expected: Vec<Bytes> = QUERIES.iter().map(|line| run(&mut quiet, line)).collect();
    let mut busy = filled();
    let mut round = 0;
    let file = file(&mut busy, 500, |keyspace| {
        round += 1;
        run(keyspace, &format!("SET s{} changed", round * 7 % FILLED));
        run(keyspace, &format!("DEL s{}", round * 11 % FILLED));
        run(keyspace, &format!("SET new{round} x"));
        run(keyspace, "LPUSH list more");
        run(keyspace, "ZADD zset -1 less");
        if round == 9 {
            run(keyspace, "SWAPDB 0 3");
        }
        if round == 12 {
            run(keyspace, "FLUSHALL");
        }
    });
    assert!(9 < round);
    let mut loaded = load(&file, 777).expect("sound");
    let found: Vec<Bytes> = QUERIES.iter().map(|line| run(&mut loaded, line)).collect();
    assert_eq!(found, std::mem::take(&mut expected));
}

#[test]
fn files_of_valkey_are_read() {
    let valkey = |head: &[u8]| {
        let mut file = file(&mut filled(), 1 << 20, |_| {});
        file[..9].copy_from_slice(head);
        // Valkey writes the number of keys per cluster slot before the keys.
        file.splice(9..9, [opcode::SLOT_INFO, 1, 2, 0]);
        let end = file.len() - 8;
        let crc = crc64(0, &file[..end]).to_le_bytes();
        file[end..].copy_from_slice(&crc);
        load(&file, file.len())
    };
    let mut loaded = valkey(b"VALKEY080").expect("sound");
    let found: Vec<Bytes> = QUERIES.iter().map(|line| run(&mut loaded, line)).collect();
    let mut reference = filled();
    let expected: Vec<Bytes> = QUERIES
        .iter()
        .map(|line| run(&mut reference, line))
        .collect();
    assert_eq!(found, expected);
    let load = loaded.last_load();
    let keys = loaded.db_figures(0, NOW_MS).0 + loaded.db_figures(3, NOW_MS).0;
    assert_eq!((load.loaded, load.expired), (keys as u64, 0));
    for head in [b"VALKEY081", b"VALKEY011", b"REDIS0080", b"REDISX080"] {
        assert!(valkey(head).is_err(), "{}", head.escape_ascii());
    }
}

#[test]
fn damage_is_refused() {
    let file = file(&mut filled(), 1 << 20, |_| {});
    assert!(load(&file, file.len()).is_ok());
    // Each damaged file is loaded, so there are fewer under Miri.
    const STEP_BYTES: usize = if cfg!(miri) { 1_003 } else { 97 };
    for at in (9..file.len()).step_by(STEP_BYTES) {
        let mut damaged = file.clone();
        damaged[at] ^= 0x20;
        let mut keyspace = Keyspace::new(Limits::default(), 2);
        let mut loader = Loader::new(LoadOptions {
            now_ms: NOW_MS,
            check_crc: true,
            skip_expired: false,
        });
        let mut input = BytesMut::from(&damaged[..]);
        let end = loader.feed(&mut keyspace, &mut input);
        assert!(!matches!(end, Ok(true)), "byte {at}");
    }
}

#[test]
fn a_cancelled_snapshot_leaves_no_state() {
    let mut keyspace = filled();
    let options = Options {
        version: 10,
        compress: false,
        aof_base: false,
        now_ms: NOW_MS,
    };
    assert!(keyspace.start_snapshot(options));
    assert!(!keyspace.start_snapshot(options));
    keyspace.write_snapshot_part(100, &mut Vec::new());
    keyspace.cancel_snapshot();
    let mut rest = Vec::new();
    while !keyspace.write_snapshot_part(100, &mut rest) {}
    let file = file(&mut keyspace, 1 << 20, |_| {});
    let mut loaded = load(&file, 10_000).expect("sound");
    assert_eq!(run(&mut loaded, "DBSIZE"), run(&mut keyspace, "DBSIZE"));
}

/// Number of elements of each collection that [`huge`] creates.
const HUGE_ELEMENTS: usize = if cfg!(miri) { 300 } else { 20_000 };
/// Number of bytes by which all elements but the first ten are lengthened. Under Miri there are
/// fewer elements, so only longer ones exceed the 64 KiB above which a snapshot writes a collection
/// in parts.
const HUGE_PADDING_BYTES: usize = if cfg!(miri) { 250 } else { 0 };
/// Length of the string that [`huge`] creates.
const HUGE_BLOB_BYTES: usize = if cfg!(miri) { 40_000 } else { 300_000 };

/// Returns a store whose snapshot takes more than one call of `write_snapshot_part`.
fn huge() -> Keyspace {
    let mut keyspace = Keyspace::new(Limits::default(), 1);
    let padding = "-".repeat(HUGE_PADDING_BYTES);
    let long = |name: &str, number: usize| match number {
        0..10 => format!("{name}{number}"),
        _ => format!("{name}{number}{padding}"),
    };
    for first in (0..HUGE_ELEMENTS).step_by(100) {
        let mut add = |command: [&'static str; 2], words: &dyn Fn(usize) -> Vec<String>| {
            let mut args = command.map(Bytes::from).to_vec();
            args.extend((first..first + 100).flat_map(words).map(Bytes::from));
            run_words(&mut keyspace, &args);
        };
        add(["RPUSH", "list"], &|number| vec![long("element", number)]);
        add(["SADD", "set"], &|number| vec![long("member", number)]);
        add(["HSET", "hash"], &|number| {
            vec![format!("field{number}"), long("value", number)]
        });
        add(["ZADD", "zset"], &|number| {
            vec![number.to_string(), long("member", number)]
        });
    }
    let blob = Bytes::from(vec![b'b'; HUGE_BLOB_BYTES]);
    run_words(&mut keyspace, &["SET".into(), "blob".into(), blob]);
    run(&mut keyspace, "SET small value TAG one two");
    run(&mut keyspace, "SET other value PX 5000 TAG two");
    keyspace
}

const HUGE_QUERIES: &[&str] = &[
    "DBSIZE",
    "LRANGE list 0 -1",
    "SORT set ALPHA",
    "HLEN hash",
    "HGET hash field19999",
    "ZRANGE zset 0 -1 WITHSCORES",
    "GET blob",
    "TAG GET small",
    "TAG COUNT two",
    "PTTL other",
];

#[test]
fn large_values_are_written_in_parts() {
    const BUDGET: usize = 10_000;
    let mut keyspace = huge();
    let expected: Vec<Bytes> = HUGE_QUERIES
        .iter()
        .map(|line| run(&mut keyspace, line))
        .collect();
    begin(&mut keyspace);
    let mut file = Vec::new();
    let mut parts = 0;
    loop {
        let before = file.len();
        let is_done = keyspace.write_snapshot_part(BUDGET, &mut file);
        parts += 1;
        assert!(
            file.len() - before <= 2 * BUDGET,
            "{} bytes in one turn",
            file.len() - before
        );
        if is_done {
            break;
        }
    }
    assert!(file.len() / BUDGET <= parts);
    let mut loaded = load(&file, 5_000).expect("sound");
    let found: Vec<Bytes> = HUGE_QUERIES
        .iter()
        .map(|line| run(&mut loaded, line))
        .collect();
    assert_eq!(found, expected);
}

fn begin(keyspace: &mut Keyspace) {
    let begun = keyspace.start_snapshot(Options {
        version: 10,
        compress: true,
        aof_base: false,
        now_ms: NOW_MS,
    });
    assert!(begun);
}

#[test]
fn values_that_compress_well_take_as_many_turns() {
    const BUDGET: usize = 10_000;
    // Miri executes the compression of each byte, so there are fewer keys.
    const KEYS: usize = if cfg!(miri) { 60 } else { 2_000 };
    let mut keyspace = Keyspace::new(Limits::default(), 1);
    for number in 0..KEYS {
        let value = "x".repeat(1_000);
        run(&mut keyspace, &format!("SET key{number} {value}"));
    }
    begin(&mut keyspace);
    let mut file = Vec::new();
    let mut turns = 1;
    while !keyspace.write_snapshot_part(BUDGET, &mut file) {
        turns += 1;
    }
    assert!(file.len() < KEYS * 100, "{} bytes", file.len());
    assert!(KEYS * 1_000 / BUDGET <= turns, "{turns} turns");
    let mut loaded = load(&file, 5_000).expect("sound");
    let last = format!("STRLEN key{}", KEYS - 1);
    assert_eq!(run(&mut loaded, &last), ":1000\r\n");
}

#[test]
fn changes_between_turns_are_written_in_parts() {
    // There are fewer keys under Miri, so the snapshot is written in smaller parts.
    const BUDGET: usize = if cfg!(miri) { 1_000 } else { 10_000 };
    const KEYS: usize = if cfg!(miri) { 200 } else { 2_000 };
    let mut keyspace = Keyspace::new(Limits::default(), 1);
    for number in 0..KEYS {
        // A text that LZF can hardly compress.
        let value: String = (0..60)
            .map(|index| format!("{:02x}", (number * 7919 + index * index * 31) % 251))
            .collect();
        run(&mut keyspace, &format!("SET key{number} {value}"));
    }
    let mut quiet = Vec::new();
    begin(&mut keyspace);
    while !keyspace.write_snapshot_part(BUDGET, &mut quiet) {}
    begin(&mut keyspace);
    run(&mut keyspace, "FLUSHALL");
    for number in 0..KEYS {
        run(&mut keyspace, &format!("SET key{number} other"));
    }
    let mut file = Vec::new();
    let mut done = false;
    while !done {
        let before = file.len();
        done = keyspace.write_snapshot_part(BUDGET, &mut file);
        let bytes = file.len() - before;
        assert!(bytes <= 3 * BUDGET, "{bytes} bytes in one turn");
    }
    assert_eq!(file.len(), quiet.len());
    // The same test, but during the snapshot each key is changed by APPEND, instead of all keys
    // being removed by FLUSHALL.
    run(&mut keyspace, "FLUSHALL");
    for number in 0..KEYS {
        run(
            &mut keyspace,
            &format!("SET key{number} {}", "ab-".repeat(20)),
        );
    }
    begin(&mut keyspace);
    for number in 0..KEYS {
        run(&mut keyspace, &format!("APPEND key{number} x"));
    }
    assert!(20 * BUDGET < keyspace.snapshot_waiting_bytes() * 10);
    let mut turns = 1;
    while !keyspace.write_snapshot_part(BUDGET, &mut file) {
        turns += 1;
    }
    assert!(2 < turns, "{turns} turns");
    assert_eq!(keyspace.snapshot_waiting_bytes(), 0);
}

#[test]
fn a_value_that_changes_while_it_is_written_keeps_its_old_state() {
    // Under Miri there is less data, so a part is smaller, and the snapshot still has the parts
    // that the rows below count.
    const BUDGET: usize = if cfg!(miri) { 4_000 } else { 10_000 };
    let mut quiet = huge();
    let expected: Vec<Bytes> = HUGE_QUERIES
        .iter()
        .map(|line| run(&mut quiet, line))
        .collect();
    // Rows: the number of snapshot parts between two changes of values, and a command that runs
    // after the first change.
    for (turns, end) in [
        (1, "FLUSHALL"),
        (3, "SWAPDB 0 1"),
        (20, "PING"),
        (60, "FLUSHALL"),
    ] {
        let mut busy = huge();
        let mut turn = 0;
        let file = file(&mut busy, BUDGET, |keyspace| {
            turn += 1;
            if turn % turns == 0 {
                run(keyspace, "RPUSH list more");
                run(keyspace, "SREM set member1");
                run(keyspace, "SET small other");
            }
            if turn == turns + 1 {
                run(keyspace, "APPEND blob x");
                run(keyspace, "HDEL hash field7");
                run(keyspace, "DEL zset");
                run(keyspace, end);
            }
        });
        let mut loaded = load(&file, 50_000).expect("sound");
        let found: Vec<Bytes> = HUGE_QUERIES
            .iter()
            .map(|line| run(&mut loaded, line))
            .collect();
        assert_eq!(found, expected, "{end} after {turns}");
    }
}
