//! Tests from the view of a client: they send commands and compare replies.

mod hostile;
mod streams;

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use expect_test::{Expect, ExpectFile, expect, expect_file};
use resp::{Out, Proto};

use super::*;

/// A client with a store of its own, at a time set by the test.
struct Client {
    keyspace: Keyspace,
    session: Session,
    proto: Proto,
    now_ms: u64,
}

impl Client {
    fn new() -> Self {
        Self {
            keyspace: Keyspace::new(Limits::default(), 1),
            session: Session::new(),
            proto: Proto::Resp2,
            now_ms: 1_700_000_000_000,
        }
    }

    /// Sends a line and returns the reply, with its line ends replaced by spaces.
    fn send(&mut self, line: &str) -> String {
        let args = resp::split_line(line.as_bytes()).expect("a test's line is sound");
        let mut out = Out::new(self.proto);
        self.run(&args, &mut out);
        String::from_utf8_lossy(&out.to_bytes())
            .replace("\r\n", " ")
            .trim_end()
            .to_owned()
    }

    fn run(&mut self, args: &[Bytes], out: &mut Out) {
        match self
            .keyspace
            .execute(&mut self.session, args, self.now_ms, out)
        {
            Outcome::Done | Outcome::Refused | Outcome::Queued => {}
            Outcome::Block(block) => out.simple(&format!("waits for {:?}", block.keys)),
            Outcome::Service(command) => out.simple(&format!("service {}", command.name)),
            Outcome::Exec(commands) => {
                commands.iter().for_each(|args| self.run(args, out));
                self.session.exec_done();
            }
        }
    }

    /// Runs a script with one command per line, and compares the transcript of commands and
    /// replies.
    fn check(&mut self, script: &str, expected: Expect) {
        let mut transcript = String::new();
        for line in script
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let reply = self.send(line);
            transcript.push_str(&format!("{line}\n    {reply}\n"));
        }
        expected.assert_eq(&transcript);
    }
}

/// Runs the commands in `text` on an empty store, and compares the transcript with `file`. Indented
/// lines are replies, and are skipped in `text`.
fn check_family(text: &str, file: ExpectFile) {
    let mut client = Client::new();
    let mut transcript = String::new();
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(' '))
    {
        let reply = client.send(line);
        transcript.push_str(&format!("{line}\n    {reply}\n"));
    }
    file.assert_eq(&transcript);
}

#[test]
fn random_elements_stop_when_the_reply_is_full() {
    let mut client = Client::new();
    client.send("SADD s a b c");
    client.send("HSET h a 1 b 2");
    client.send("ZADD z 1 a 2 b");
    for line in [
        "SRANDMEMBER s -9223372036854775807",
        "HRANDFIELD h -9223372036854775807",
        "HRANDFIELD h -4611686018427387903 WITHVALUES",
        "ZRANDMEMBER z -4611686018427387903 WITHSCORES",
    ] {
        let args = resp::split_line(line.as_bytes()).expect("a test's line is sound");
        for proto in [Proto::Resp2, Proto::Resp3] {
            let mut out = Out::new(proto);
            out.set_bytes_max(1000);
            client.run(&args, &mut out);
            assert!((1000..1100).contains(&out.len()), "{line}: {}", out.len());
        }
    }
    assert_eq!(client.send("SRANDMEMBER s -2").split(' ').count(), 5);
}

#[test]
fn watches_ignore_expired_values() {
    // Each row has a command for the watched database, a command for the other database, and
    // whether the watched key counts as changed after SWAPDB. An empty text stands for no command.
    let rows = [
        ("", "", false),
        ("", "SET x v PX 1", false),
        ("", "SET x v", true),
        ("SET x v PX 1", "", false),
        ("SET x v PX 1", "SET x w PX 1", false),
        ("SET x v PX 1", "SET x w", true),
        ("SET x v", "", true),
        ("SET x v", "SET x w PX 1", true),
    ];
    for (here, there, changes) in rows {
        let mut client = Client::new();
        let both = ["SELECT 1", there, "SELECT 0", here];
        for line in both.iter().filter(|line| !line.is_empty()) {
            assert_eq!(client.send(line), "+OK");
        }
        client.now_ms += 2;
        for line in ["WATCH x", "SWAPDB 0 1", "MULTI"] {
            assert_eq!(client.send(line), "+OK");
        }
        let replies = client.send("EXEC");
        let expected = if changes { "*-1" } else { "*0" };
        assert_eq!(replies, expected, "{here:?} for {there:?}");
    }
}

/// Checks the replies of each family of commands. The expected replies come from redis-server
/// 7.0.15, except those that Redis 7.2 changed and those of our own extensions.
#[test]
fn families() {
    check_family(
        include_str!("tests/strings.txt"),
        expect_file!["./tests/strings.txt"],
    );
    check_family(
        include_str!("tests/keys.txt"),
        expect_file!["./tests/keys.txt"],
    );
    check_family(
        include_str!("tests/hashes.txt"),
        expect_file!["./tests/hashes.txt"],
    );
    check_family(
        include_str!("tests/lists.txt"),
        expect_file!["./tests/lists.txt"],
    );
    check_family(
        include_str!("tests/sets.txt"),
        expect_file!["./tests/sets.txt"],
    );
    check_family(
        include_str!("tests/zsets.txt"),
        expect_file!["./tests/zsets.txt"],
    );
}

/// Commands that are recorded for the append-only file have the same effect at any later time.
#[test]
fn the_journal_is_exact() {
    let mut client = Client::new();
    client.keyspace.set_journaling(true);
    for line in [
        "SET k v EX 10",
        "SETEX k 10 v",
        "EXPIRE k 5",
        "GETEX k PERSIST",
        "INCRBYFLOAT f 1.5",
        "SADD s a",
        "SPOP s",
        "GET none",
        "RPUSH l x",
        "BLPOP l 0",
        "EXPIRE k -1",
        "SET t v TAG a",
        "HINCRBYFLOAT h f 2.5",
    ] {
        client.send(line);
    }
    let journal = std::mem::take(&mut client.keyspace.effects.journal);
    let lines: Vec<String> = journal
        .iter()
        .map(|(db, args)| {
            let words: Vec<_> = args
                .iter()
                .map(|arg| arg.escape_ascii().to_string())
                .collect();
            format!("{db}: {}", words.join(" "))
        })
        .collect();
    expect![[r#"
        0: SET k v PXAT 1700000010000
        0: SET k v PXAT 1700000010000
        0: PEXPIREAT k 1700000005000
        0: PERSIST k
        0: SET f 1.5 KEEPTTL
        0: SADD s a
        0: SREM s a
        0: RPUSH l x
        0: LPOP l
        0: DEL k
        0: SET t v TAG a
        0: HSET h f 2.5"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn deadlines_pass_and_memory_is_bounded() {
    // Number of keys at first; each policy then adds a tenth of it. Miri takes milliseconds per
    // command.
    const KEYS: u64 = if cfg!(miri) { 500 } else { 5_000 };
    let mut client = Client::new();
    for number in 0..KEYS {
        client.send(&format!(
            "SET k{number} {} PX {}",
            "x".repeat(100),
            1 + number
        ));
    }
    client.now_ms += KEYS / 5;
    assert_eq!(client.send("GET k7"), "$-1");
    while client.keyspace.turn(client.now_ms) {}
    assert_eq!(client.send("DBSIZE"), format!(":{}", KEYS - KEYS / 5));
    assert_eq!(client.keyspace.stats().expired, KEYS / 5);

    let used = client.keyspace.used_bytes();
    for policy in [
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
        "allkeys-sieve",
    ] {
        let mut limits = client.keyspace.limits().clone();
        limits.maxmemory_bytes = used as u64;
        limits.policy = Policy::from_name(policy.as_bytes()).expect("known");
        client.keyspace.set_limits(limits);
        for number in 0..KEYS / 10 {
            let reply = client.send(&format!("SET {policy}{number} {} EX 9999", "y".repeat(300)));
            assert_eq!(reply, "+OK", "{policy}");
        }
        assert!(client.keyspace.used_bytes() < used + 1000, "{policy}");
    }
    let mut limits = client.keyspace.limits().clone();
    limits.maxmemory_bytes = 1000;
    limits.policy = Policy::NoEviction;
    client.keyspace.set_limits(limits);
    assert_eq!(
        client.send("SET a b"),
        "-OOM command not allowed when used memory > 'maxmemory'."
    );
    assert_eq!(client.send("EXISTS a"), ":0");
    // Inside a transaction, even EXISTS is refused while the memory limit is exceeded, because a
    // queued command uses memory.
    assert_eq!(client.send("MULTI"), "+OK");
    assert!(client.send("EXISTS a").starts_with("-OOM"));
    assert_eq!(client.send("DISCARD"), "+OK");
}

#[test]
fn a_scan_removes_expired_keys() {
    let mut client = Client::new();
    client.keyspace.set_active_expire(false);
    for number in 0..100 {
        client.send(&format!("SET due:{number} v PX 10"));
        client.send(&format!("SET stays:{number} v"));
        client.send(&format!("SET tagged:{number} v TAG red"));
    }
    client.send("TAG INVALIDATE red");
    client.now_ms += 10;
    client.send("SCAN 0 COUNT 1000 MATCH stays:*");
    assert_eq!(client.keyspace.db_figures(0, client.now_ms).0, 300);
    let scanned = client.send("SCAN 0 COUNT 1000");
    assert!(scanned.starts_with("*2 $1 0 *100 "), "{scanned}");
    assert_eq!(client.keyspace.db_figures(0, client.now_ms).0, 100);
    assert_eq!(client.keyspace.stats().expired, 100);
}

#[test]
fn events_are_those_of_redis() {
    let mut client = Client::new();
    let notify = Notify::parse(b"g$lshzxetdKEmn").expect("letters");
    assert_eq!(notify.letters(), "AKEmn");
    client.keyspace.set_notify(notify);
    let mut events_of = |line: &str| {
        client.send(line);
        let events = std::mem::take(&mut client.keyspace.effects.events);
        let events = events.iter().map(|event| event.name.to_string());
        events.collect::<Vec<_>>().join(" ")
    };
    for line in [
        "EXISTS none",
        "TTL none",
        "PTTL none",
        "EXPIRETIME none",
        "TYPE none",
        "DUMP none",
        "GET none",
        "COPY none k",
    ] {
        assert_eq!(events_of(line), "keymiss", "{line}");
    }
    assert_eq!(events_of("SET k v"), "new set");
    assert_eq!(events_of("MOVE k 1"), "new move_from move_to");
}

#[test]
fn a_payload_without_a_checksum_is_refused() {
    let mut client = Client::new();
    let mut restore = |payload: &[u8], options: &[&'static str]| {
        let mut args: Vec<Bytes> = ["RESTORE", "k", "0"].map(Bytes::from).to_vec();
        args.push(Bytes::copy_from_slice(payload));
        args.extend(options.iter().map(|word| Bytes::from(*word)));
        let mut out = Out::new(Proto::Resp2);
        client.run(&args, &mut out);
        out.to_bytes()
    };
    let wrong = "-ERR DUMP payload version or checksum are wrong\r\n";
    assert_eq!(restore(b"\0\x011\x0a\0\0\0\0\0\0\0\0\0", &[]), wrong);
    for both in [
        ["FREQ", "1", "IDLETIME", "1"],
        ["IDLETIME", "1", "FREQ", "1"],
    ] {
        assert_eq!(restore(b"", &both), "-ERR syntax error\r\n");
    }
}

#[test]
fn command_without_arguments_lists_all_commands() {
    let mut client = Client::new();
    let count = client.send("COMMAND COUNT");
    assert!(client.send("COMMAND").starts_with(&count.replace(':', "*")));
    assert_eq!(client.send("COMMAND INFO nothing"), "*1 $-1");
}

#[test]
fn eviction_is_bounded_in_each_turn_and_command() {
    // Miri takes milliseconds per command.
    const KEYS: usize = if cfg!(miri) { 200 } else { 5_000 };
    let mut client = Client::new();
    for number in 0..KEYS {
        client.send(&format!("SET k{number} {}", "x".repeat(100)));
    }
    let limits = Limits {
        evict_keys_per_turn: 20,
        maxmemory_bytes: 1,
        policy: Policy::AllKeysLru,
        ..Limits::default()
    };
    client.keyspace.set_limits(limits);
    let evicted = |client: &Client| client.keyspace.stats().evicted;
    // Far above its memory limit, the store still serves commands, and each command and each turn
    // of the event loop evicts some keys.
    assert_eq!(client.send("SET new value"), "+OK");
    assert_eq!(evicted(&client), 20);
    client.keyspace.turn(client.now_ms);
    assert_eq!(evicted(&client), 40);
}

#[test]
fn a_tag_is_dropped_at_once_and_its_keys_are_freed_in_turns() {
    // Miri takes milliseconds per command. Even the smaller number takes two turns to free.
    const KEYS: u64 = if cfg!(miri) { 1_000 } else { 20_000 };
    let mut client = Client::new();
    for number in 0..KEYS {
        client.send(&format!("SET k{number} value TAG all"));
    }
    client.keyspace.set_limits(Limits {
        expire_keys_per_turn: 500,
        ..Limits::default()
    });
    let used = client.keyspace.used_bytes();
    assert_eq!(client.send("TAG INVALIDATE all"), format!(":{KEYS}"));
    // Only the tag's generation changed, so no memory is freed yet, but clients see none of the
    // keys.
    assert_eq!(client.keyspace.used_bytes(), used);
    assert_eq!(client.send("GET k7"), "$-1");
    assert_eq!(client.send("SET k8 other TAG all"), "+OK");
    let mut turns = 1;
    while client.keyspace.turn(client.now_ms) {
        turns += 1;
    }
    assert!(KEYS / 500 <= turns, "{turns} turns");
    assert_eq!(client.send("DBSIZE"), ":1");
    assert_eq!(client.send("GET k8"), "$5 other");
}

#[test]
fn blobs_are_kept_and_sent_by_reference() {
    let mut client = Client::new();
    let blob = Bytes::from(vec![7; 100_000]);
    let until = Lifetime {
        now_ms: client.now_ms,
        deadline_ms: None,
    };
    client.keyspace.set(0, b"blob", &blob, until);
    let kept = client
        .keyspace
        .get(0, b"blob", client.now_ms)
        .expect("it was set");
    assert_eq!(kept.as_ptr(), blob.as_ptr());
    let args = ["SET", "other"].map(Bytes::from);
    let mut out = Out::new(Proto::Resp2);
    client.run(&[args[0].clone(), args[1].clone(), blob.clone()], &mut out);
    let kept = client
        .keyspace
        .get(0, b"other", client.now_ms)
        .expect("it was set");
    assert_eq!(kept.as_ptr(), blob.as_ptr());
}

#[test]
fn watch_sees_changes_and_deadlines() {
    let mut client = Client::new();
    client.check(
        "SET k 1
        WATCH k
        SET k 2
        MULTI
        GET k
        EXEC
        WATCH k
        MULTI
        INCR k
        NOSUCH
        EXEC
        MULTI
        INCR k
        LPUSH k x
        EXEC",
        expect![[r#"
            SET k 1
                +OK
            WATCH k
                +OK
            SET k 2
                +OK
            MULTI
                +OK
            GET k
                +QUEUED
            EXEC
                *-1
            WATCH k
                +OK
            MULTI
                +OK
            INCR k
                +QUEUED
            NOSUCH
                -ERR unknown command 'NOSUCH', with args beginning with:
            EXEC
                -EXECABORT Transaction discarded because of previous errors.
            MULTI
                +OK
            INCR k
                +QUEUED
            LPUSH k x
                +QUEUED
            EXEC
                *2 :3 -WRONGTYPE Operation against a key holding the wrong kind of value
        "#]],
    );
}

#[test]
fn every_member_is_chosen_at_random() {
    let mut client = Client::new();
    client.send("ZADD z 1 a 2 b 3 c");
    client.send("SADD s a b c");
    client.send("HSET h a 1 b 2 c 3");
    for draw in [
        "ZRANDMEMBER z",
        "SRANDMEMBER s",
        "HRANDFIELD h",
        "ZRANDMEMBER z 1",
        "SRANDMEMBER s -1",
    ] {
        let drawn: std::collections::BTreeSet<String> =
            (0..100).map(|_| client.send(draw)).collect();
        assert_eq!(drawn.len(), 3, "{draw}: {drawn:?}");
    }
}

#[test]
fn prefetch_changes_no_reply() {
    let many: String = (0..100).map(|number| format!(" key:{number}")).collect();
    let pairs: String = (0..100)
        .map(|number| format!(" key:{number} {number}"))
        .collect();
    let long = "a-key-that-is-longer-than-what-stands-in-an-entry";
    let script = [
        "SET k v".to_owned(),
        "GET k".to_owned(),
        format!("MSET{pairs}"),
        format!("MGET{many} none"),
        format!("APPEND {long} something-that-is-longer-than-twenty-two"),
        format!("GET {long}"),
        "OBJECT ENCODING key:7".to_owned(),
        "LPUSH list a b".to_owned(),
        "HSET hash f v".to_owned(),
        "SADD set 1 x".to_owned(),
        "ZADD zset 1 x".to_owned(),
        "RENAME list other".to_owned(),
        "LRANGE other 0 -1".to_owned(),
        "SET gone v PX 5".to_owned(),
        "DEL other none".to_owned(),
        "LPOP hash".to_owned(),
        "GET".to_owned(),
        "NOSUCH a".to_owned(),
        "GET k".to_owned(),
        "SELECT 1".to_owned(),
        "GET k".to_owned(),
        "MULTI".to_owned(),
        "INCR key:1".to_owned(),
        "EXEC".to_owned(),
        "SELECT 0".to_owned(),
        "GET gone".to_owned(),
        "EXISTS key:1 key:2".to_owned(),
        "DBSIZE".to_owned(),
    ];
    let calls: Vec<Vec<Bytes>> = script
        .iter()
        .map(|line| resp::split_line(line.as_bytes()).expect("sound"))
        .collect();
    let run = |batch: usize| {
        let mut client = Client::new();
        let mut out = Out::new(Proto::Resp2);
        for calls in calls.chunks(batch) {
            let mut prefetched = std::collections::VecDeque::new();
            if 1 < batch {
                let ahead = calls.iter().map(Vec::as_slice);
                client
                    .keyspace
                    .prefetch(&client.session, ahead, &mut prefetched);
                assert_eq!(prefetched.len(), calls.len());
            }
            for call in calls {
                let known = prefetched.pop_front().unwrap_or_default();
                client.session.set_prefetched(known);
                client.now_ms += 1;
                client.run(call, &mut out);
            }
        }
        String::from_utf8_lossy(&out.to_bytes()).into_owned()
    };
    let one_by_one = run(1);
    assert!(
        one_by_one.contains("NOSUCH") && one_by_one.contains("*101"),
        "{one_by_one}"
    );
    for batch in [2, 5, calls.len()] {
        assert_eq!(run(batch), one_by_one);
    }
}

#[test]
fn large_collections_are_freed_in_turns() {
    // Miri takes milliseconds per command. A collection of at most 512 elements is freed at once,
    // so even the smaller number is above 512.
    const ELEMENTS: usize = if cfg!(miri) { 600 } else { 30_000 };
    let mut client = Client::new();
    let limits = Limits {
        free_elements_per_turn: ELEMENTS / 30,
        ..Limits::default()
    };
    client.keyspace.set_limits(limits);
    for number in 0..ELEMENTS {
        client.send(&format!("SADD set member{number}"));
        client.send(&format!("ZADD zset {number} member{number}"));
        client.send(&format!("SET key{number} v EX 1000"));
    }
    let now_ms = client.now_ms;
    let turns = |client: &mut Client| {
        let mut turns = 1;
        while client.keyspace.turn(now_ms) {
            turns += 1;
        }
        turns
    };
    assert_eq!(client.send("DEL set"), ":1");
    assert_eq!(client.send("RENAME zset other"), "+OK");
    assert_eq!(client.send("SET other string"), "+OK");
    assert_eq!(client.send("EXISTS set zset"), ":0");
    assert_eq!(client.keyspace.discarded(), 2);
    // A turn frees one thirtieth of the members of the set or of the sorted set. In a sorted set,
    // the tree is freed first, leaf by leaf, and then the members.
    let needed = turns(&mut client);
    assert!((60..70).contains(&needed), "{needed} turns");
    assert_eq!(client.keyspace.discarded(), 0);

    client.send("FLUSHALL");
    let empty = Client::new().keyspace.used_bytes();
    assert_eq!(
        client.keyspace.used_bytes(),
        empty,
        "queued values no longer count as data"
    );
    let needed = turns(&mut client);
    // The keys are freed first, in 30 turns, and then the deadlines, in 30 turns.
    assert!((60..70).contains(&needed), "{needed} turns");
}

#[test]
fn a_blob_that_a_command_built_is_freed_by_the_blob_freezer() {
    static KEPT: AtomicUsize = AtomicUsize::new(0);
    const BYTES: usize = 3 << 20;
    let mut client = Client::new();
    client.keyspace.set_blob_freezer(|bytes| {
        KEPT.fetch_add(bytes.len(), Ordering::Relaxed);
        bytes.freeze()
    });
    let kept = || KEPT.swap(0, Ordering::Relaxed);
    for end in ["DEL key", "SET key other", "RENAME small key"] {
        client.send("SET small value");
        assert_eq!(
            client.send(&format!("SETRANGE key {} x", BYTES - 1)),
            ":3145728"
        );
        client.send(end);
        assert_eq!(kept(), BYTES, "{end}");
    }
    // A reply still shares the blob when the key is removed: the blob is freed with the reply, and
    // is not passed to the blob freezer.
    client.send("DEL key");
    client.send(&format!("SETRANGE key {} x", BYTES - 1));
    let sent = client.keyspace.get(0, b"key", client.now_ms);
    client.send("DEL key");
    assert_eq!((kept(), sent.map(|bytes| bytes.len())), (0, Some(BYTES)));
}

fn cache(policy: Policy, small_bytes: u64, blob_bytes: u64) -> Client {
    let mut client = Client::new();
    client.keyspace.set_limits(Limits {
        maxmemory_bytes: small_bytes,
        maxmemory_blob_bytes: blob_bytes,
        policy,
        ..Limits::default()
    });
    client
}

#[test]
fn small_data_and_blobs_have_separate_limits() {
    const MB: u64 = 1 << 20;
    const BLOB_BYTES: usize = 100_000;
    // Number of small keys that are written before the blobs, and number of all small keys. Miri
    // takes milliseconds per command, so there are fewer keys with longer values.
    const BEFORE: usize = if cfg!(miri) { 200 } else { 3_000 };
    const SMALL: usize = if cfg!(miri) { 1_200 } else { 20_000 };
    const SMALL_BYTES: usize = if cfg!(miri) { 1_000 } else { 5 };
    let value = Bytes::from(vec![b'v'; SMALL_BYTES]);
    let blob = Bytes::from(vec![b'b'; BLOB_BYTES]);
    let run = |client: &mut Client, words: &[&Bytes]| {
        let args: Vec<Bytes> = words.iter().map(|&word| word.clone()).collect();
        let mut out = Out::new(Proto::Resp2);
        client.run(&args, &mut out);
        out.to_bytes()
    };
    let [set, expire, seconds, append] = ["SET", "EX", "1000", "APPEND"].map(Bytes::from);
    let write = |client: &mut Client, key: String, value: &Bytes| {
        let reply = run(client, &[&set, &key.into(), value, &expire, &seconds]);
        assert_eq!(reply, "+OK\r\n");
    };
    for policy in [
        Policy::AllKeysLru,
        Policy::AllKeysLfu,
        Policy::AllKeysRandom,
        Policy::AllKeysSieve,
        Policy::VolatileLru,
        Policy::VolatileTtl,
    ] {
        let mut client = cache(policy, MB, MB);
        let blobs = |client: &Client| client.keyspace.blob_bytes();
        let small = |client: &Client| client.keyspace.used_bytes() - client.keyspace.blob_bytes();
        for number in 0..BEFORE {
            write(&mut client, format!("small{number}"), &value);
        }
        for number in 0..40 {
            write(&mut client, format!("blob{number}"), &blob);
            assert!(blobs(&client) <= MB as usize + 110_000, "{policy:?}");
        }
        client.keyspace.turn(client.now_ms);
        let kept = blobs(&client);
        assert!((1..=10).contains(&(kept / BLOB_BYTES)), "{policy:?}");
        // No small key was evicted to make room for blobs.
        let (middle, last) = (BEFORE / 2, BEFORE - 1);
        let exist = client.send(&format!("EXISTS small0 small{middle} small{last}"));
        assert_eq!(exist, ":3", "{policy:?}");
        let evicted_before = client.keyspace.stats().evicted;
        for number in BEFORE..SMALL {
            write(&mut client, format!("small{number}"), &value);
        }
        client.keyspace.turn(client.now_ms);
        assert!(evicted_before < client.keyspace.stats().evicted);
        assert!(small(&client) <= MB as usize, "{policy:?}");
        // No blob was evicted to make room for small keys.
        assert_eq!(blobs(&client), kept, "{policy:?}");
    }
    // With `noeviction`, small data is refused even if only the blobs exceed their limit.
    let mut client = cache(Policy::NoEviction, MB, MB);
    loop {
        let key = client.keyspace.blob_bytes().to_string();
        if !run(&mut client, &[&append, &key.into(), &blob]).starts_with(b":") {
            break;
        }
    }
    assert!(client.send("SET a b").starts_with("-OOM"));
    client.send("FLUSHALL");
    assert_eq!(client.send("SET a b"), "+OK");
}

#[test]
fn sieve_protects_used_keys_from_unused_large_values() {
    // Miri takes milliseconds per command, so keys, rounds and memory are a tenth.
    const SHARE: u64 = if cfg!(miri) { 10 } else { 1 };
    const HOT: u64 = 200 / SHARE;
    const ROUNDS: u64 = 20_000 / SHARE;
    let large = Bytes::from(vec![b'x'; 60_000 / SHARE as usize]);
    let hits = |policy| {
        let mut client = cache(policy, (512 << 10) / SHARE, 0);
        let mut rng = fastrand::Rng::with_seed(1);
        let mut hits = 0;
        for round in 0..ROUNDS {
            // A few keys are read often. Between these reads, keys with large values are written,
            // and are never read.
            let key = (rng.f64().powi(3) * HOT as f64) as u64;
            if client.send(&format!("GET hot{key}")) == "$-1" {
                client.send(&format!("SET hot{key} {}", "v".repeat(500)));
            } else {
                hits += 1;
            }
            if round % (20 / SHARE) == 0 {
                let key = Bytes::from(format!("scan{round}"));
                let args = ["SET".into(), key, large.clone()];
                client.run(&args, &mut Out::new(Proto::Resp2));
            }
            client.now_ms += 50;
        }
        hits
    };
    let (sieve, lru) = (hits(Policy::AllKeysSieve), hits(Policy::AllKeysLru));
    assert!(lru <= sieve, "{sieve} hits with SIEVE, {lru} with LRU");
    // With SIEVE, fewer than 2 × HOT of the reads miss.
    assert!(ROUNDS - 2 * HOT < sieve, "{sieve}");
}

#[test]
fn keys_in_use_are_not_evicted_by_recent_keys() {
    // Miri takes milliseconds per command, so keys and memory are a tenth.
    const SHARE: usize = if cfg!(miri) { 10 } else { 1 };
    const HOT: usize = 200 / SHARE;
    for policy in [Policy::VolatileLru, Policy::AllKeysLru] {
        let mut client = cache(policy, (1 << 20) / SHARE as u64, 0);
        let hot = |number: usize| format!("hot:{number}");
        for number in 0..HOT {
            client.send(&format!("SET {} v EX 1000", hot(number)));
        }
        // Fifty times as many other keys are written in two seconds. Memory has room for about half
        // of them, so keys must be evicted while the hot keys stay in use.
        for round in 0..200 {
            client.now_ms += 10;
            for number in 0..50 / SHARE {
                let value = "v".repeat(100);
                client.send(&format!("SET cold:{round}:{number} {value} EX 1000"));
            }
            for number in (0..HOT).filter(|number| number % 5 == round % 5) {
                client.send(&format!("GET {}", hot(number)));
            }
        }
        assert!(0 < client.keyspace.stats().evicted);
        let there =
            (0..HOT).filter(|number| client.send(&format!("EXISTS {}", hot(*number))) == ":1");
        let there = there.count();
        assert!(HOT * 19 / 20 <= there, "{policy:?}: {there} of {HOT}");
    }
}

#[test]
fn the_mean_of_extreme_deadlines_does_not_overflow() {
    let mut client = Client::new();
    for key in ["a", "b", "c"] {
        let set = format!("SET {key} v PXAT {}", i64::MAX - 1);
        assert_eq!(client.send(&set), "+OK");
    }
    let left_ms = i64::MAX.unsigned_abs() - 1 - client.now_ms;
    let figures = client.keyspace.db_figures(0, client.now_ms);
    assert_eq!(figures, (3, 3, left_ms));
}

#[test]
fn defragmentation_moves_everything_and_changes_nothing() {
    // Miri takes milliseconds per command, so keys, elements and the work per turn are a tenth.
    const SHARE: usize = if cfg!(miri) { 10 } else { 1 };
    const KEYS: usize = 4_000 / SHARE;
    let mut client = Client::new();
    // Elements of more than 64 bytes are not stored in compact encodings.
    let long = |number: usize| format!("a-key-that-stands-on-the-heap:{number:040}");
    for number in 0..KEYS {
        let key = long(number);
        client.send(&format!("SET {key} {}", "v".repeat(30 + number % 50)));
        match number % 10 {
            3 => client.send(&format!("PEXPIRE {key} {}", 1_000_000 + number)),
            7 => client.send(&format!("APPEND {key} more")),
            9 => client.send(&format!("SET {key} {} TAG red", "v".repeat(20_000))),
            _ => String::new(),
        };
    }
    for number in 0..1_500 / SHARE {
        let text = long(number);
        client.send(&format!("HSET hash {text} {text}"));
        client.send(&format!("SADD set {text}"));
        client.send(&format!("ZADD zset {number} {text}"));
        client.send(&format!("RPUSH list {text}"));
        client.send(&format!("SADD small:{number} {number}"));
    }
    let removed = (0..KEYS).filter(|number| number % 13 != 3);
    for number in removed {
        client.send(&format!("DEL {}", long(number)));
    }
    let mut digest = Out::new(Proto::Resp2);
    let arguments = ["DEBUG", "DIGEST"].map(Bytes::from);
    let session = Session::new();
    client.keyspace.debug(&session, &arguments, &mut digest);
    let used = client.keyspace.used_bytes();
    client.keyspace.start_defrag();
    let mut turns = 0;
    while client.keyspace.continue_defrag(100 / SHARE) {
        turns += 1;
    }
    assert!(50 < turns, "{turns} turns");
    let mut after = Out::new(Proto::Resp2);
    client.keyspace.debug(&session, &arguments, &mut after);
    assert_eq!(after.to_bytes(), digest.to_bytes());
    // The vacant slots of the key table, of 64 bytes each, are freed, and no other structure has
    // grown. Under Miri all slots are in the table's first chunk, which does not shrink.
    let left = client.keyspace.used_bytes();
    let freed = if cfg!(miri) { 0 } else { 60 * 3_500 };
    assert!(left + freed <= used, "{left} of {used} bytes");
    // Deadlines, tags and blobs still belong to their keys.
    let tagged = (0..KEYS).filter(|number| number % 13 == 3 && number % 10 == 9);
    assert_eq!(
        client.send("TAG INVALIDATE red"),
        format!(":{}", tagged.count())
    );
    let now_ms = client.now_ms;
    while client.keyspace.turn(now_ms) {}
    assert_eq!(client.keyspace.blob_bytes(), 0);
    let (_, with_deadline, _) = client.keyspace.db_figures(0, now_ms);
    let due = (0..KEYS).filter(|number| number % 13 == 3 && number % 10 == 3);
    assert_eq!(with_deadline, due.count());
    let later_ms = now_ms + 2_000_000;
    while client.keyspace.turn(later_ms) {}
    assert_eq!(client.keyspace.db_figures(0, later_ms).1, 0);
    client.send("FLUSHALL");
    while client.keyspace.turn(later_ms) {}
    assert_eq!(
        client.keyspace.used_bytes(),
        Client::new().keyspace.used_bytes()
    );
}
