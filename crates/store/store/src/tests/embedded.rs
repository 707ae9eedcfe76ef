//! Tests of the embedded store: supported commands, refused commands, and the memory limit.

use std::io::IoSlice;

use crate::{Embedded, EmbeddedSession};
use expect_test::expect;

const BYTES_MAX: u64 = 1 << 20;

/// Sends bytes to the session in small pieces, and returns the replies.
fn replies_to(session: &mut EmbeddedSession<'_>, bytes: &[u8]) -> String {
    let mut answered = Vec::new();
    for piece in bytes.chunks(7) {
        session.receive(piece);
        while session.run_next() {
            loop {
                let mut parts = [IoSlice::new(&[]); 4];
                let filled = session.parts(&mut parts);
                let sent = parts[..filled].iter().flat_map(|part| part.iter());
                let sent: Vec<u8> = sent.copied().collect();
                if sent.is_empty() {
                    break;
                }
                session.advance(sent.len());
                answered.extend(sent);
            }
        }
    }
    String::from_utf8(answered).expect("these values are text")
}

#[test]
fn sessions_share_the_data() {
    let store = Embedded::new(BYTES_MAX);
    let mut one = store.open_session();
    assert_eq!(
        replies_to(&mut one, b"PING\r\nINCR n\r\n"),
        "+PONG\r\n:1\r\n"
    );
    assert_eq!(
        replies_to(
            &mut store.open_session(),
            b"*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"
        ),
        ":2\r\n"
    );
    assert_eq!(store.store_usage().keys, 1);
}

#[test]
fn an_invalid_request_closes_the_session() {
    let store = Embedded::new(BYTES_MAX);
    let mut session = store.open_session();
    let answer = replies_to(&mut session, b"*1\r\n:1\r\n");
    assert_eq!(answer, "-ERR Protocol error: expected '$', got ':'\r\n");
    assert!(session.is_over());
}

#[test]
fn commands_with_unbounded_cost_are_refused() {
    let store = Embedded::new(BYTES_MAX);
    let mut session = store.open_session();
    let cases = [
        ("SORT l", "sort"),
        ("SRANDMEMBER s -9", "srandmember"),
        ("MULTI", "multi"),
        ("CONFIG GET *", "config|get"),
        ("BLPOP l 0", "blpop"),
        ("SUBSCRIBE c", "subscribe"),
    ];
    for (command, name) in cases {
        let answer = replies_to(&mut session, format!("{command}\r\n").as_bytes());
        assert_eq!(
            answer,
            format!("-ERR this store has no command '{name}'\r\n")
        );
    }
    let unknown = replies_to(&mut session, b"FROBNICATE\r\n");
    assert!(
        unknown.starts_with("-ERR unknown command 'FROBNICATE'"),
        "{unknown}"
    );
}

/// Compares the supported commands with a list. A new command fails this test until it is added to
/// the list, or to the unsupported commands.
#[test]
fn supported_commands() {
    let supported = keyspace::commands()
        .iter()
        .filter(|command| crate::embedded::is_supported(command));
    let names: Vec<_> = supported.map(|command| command.name).collect();
    expect!["append decr decrby get getdel getex getrange getset incr incrby incrbyfloat mget mset msetnx psetex set setex setnx strlen substr bitcount bitfield_ro bitpos getbit del exists expire expireat expiretime keys persist pexpire pexpireat pexpiretime pttl randomkey rename renamenx scan touch ttl type unlink dbsize flushall flushdb hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hscan hset hsetnx hstrlen hvals lindex linsert llen lmove lmpop lpop lpos lpush lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx sadd scard sdiff sinter sintercard sismember smembers smismember smove spop srem sscan sunion zadd zcard zcount zdiff zincrby zinter zintercard zlexcount zmpop zmscore zpopmax zpopmin zrange zrangebylex zrangebyscore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion"].assert_eq(&names.join(" "));
}

#[test]
fn the_memory_limit_holds_for_any_input() {
    let store = Embedded::new(BYTES_MAX);
    let mut session = store.open_session();
    let mut refused = 0;
    for number in 0..3_000 {
        let value = "v".repeat(number % 3_000);
        let commands =
            format!("SET k{number} {value}.\r\nRPUSH l {value}.\r\nHSET h f{number} {value}.\r\n");
        let answer = replies_to(&mut session, commands.as_bytes());
        refused += answer.matches("-OOM command not allowed").count();
    }
    assert!(0 < refused);
    let bytes = store.store_usage().bytes;
    assert!(
        BYTES_MAX / 2 < bytes && bytes <= BYTES_MAX + BYTES_MAX / 16,
        "{bytes}"
    );
    assert_eq!(
        replies_to(&mut session, b"FLUSHALL\r\nSET k v\r\n"),
        "+OK\r\n+OK\r\n"
    );
    store.set_bytes_max(10);
    assert!(replies_to(&mut session, b"SET k v\r\n").starts_with("-OOM"));
    assert_eq!(replies_to(&mut session, b"GET k\r\n"), "$1\r\nv\r\n");
}

#[test]
fn a_key_with_a_deadline_expires() {
    let store = Embedded::new(BYTES_MAX);
    let mut session = store.open_session();
    assert_eq!(replies_to(&mut session, b"SET k v PXAT 1\r\n"), "+OK\r\n");
    assert_eq!(replies_to(&mut session, b"GET k\r\n"), "$-1\r\n");
}
