use bytes::{Bytes, BytesMut};
use resp::{Out, Proto};

use super::*;
use crate::{Keyspace, Limits, Session};

const NOW_MS: u64 = 1_700_000_000_000;

fn run(keyspace: &mut Keyspace, line: &str) -> Bytes {
    let args = resp::split_line(line.as_bytes()).expect("sound");
    let mut out = Out::new(Proto::Resp2);
    keyspace.execute(&mut Session::new(), &args, NOW_MS, &mut out);
    out.to_bytes()
}

fn filled() -> Keyspace {
    let mut keyspace = Keyspace::new(Limits::default(), 1);
    for number in 0..300 {
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
    let options = Options {
        version: 10,
        compress: true,
        aof_base: false,
        now_ms: NOW_MS,
    };
    assert!(keyspace.snapshot_begin(options));
    let mut file = Vec::new();
    loop {
        between(keyspace);
        if keyspace.snapshot_next(budget_bytes, &mut file) {
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

const LOOKS: &[&str] = &[
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
fn the_checksum_is_that_of_redis() {
    assert_eq!(crc64(0, b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    assert_eq!(crc64(crc64(0, b"1234"), b"56789"), 0xe9c6_d914_c4b8_d9ca);
}

#[test]
fn a_snapshot_is_of_one_moment() {
    let mut quiet = filled();
    let mut expected: Vec<Bytes> = LOOKS.iter().map(|line| run(&mut quiet, line)).collect();
    let mut busy = filled();
    let mut round = 0;
    let file = file(&mut busy, 500, |keyspace| {
        round += 1;
        run(keyspace, &format!("SET s{} changed", round * 7 % 300));
        run(keyspace, &format!("DEL s{}", round * 11 % 300));
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
    let found: Vec<Bytes> = LOOKS.iter().map(|line| run(&mut loaded, line)).collect();
    assert_eq!(found, std::mem::take(&mut expected));
}

#[test]
fn damage_is_refused() {
    let file = file(&mut filled(), 1 << 20, |_| {});
    assert!(load(&file, file.len()).is_ok());
    for at in (9..file.len()).step_by(97) {
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
fn a_canceled_snapshot_leaves_no_trace() {
    let mut keyspace = filled();
    let options = Options {
        version: 10,
        compress: false,
        aof_base: false,
        now_ms: NOW_MS,
    };
    assert!(keyspace.snapshot_begin(options));
    assert!(!keyspace.snapshot_begin(options));
    keyspace.snapshot_next(100, &mut Vec::new());
    keyspace.snapshot_cancel();
    let file = file(&mut keyspace, 1 << 20, |_| {});
    let mut loaded = load(&file, 10_000).expect("sound");
    assert_eq!(run(&mut loaded, "DBSIZE"), run(&mut keyspace, "DBSIZE"));
}
