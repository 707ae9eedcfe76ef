//! What commands do with each of their keys, in the words of COMMAND GETKEYSANDFLAGS. Source: the answers of Redis 7.0.

use bytes::Bytes;

use crate::command::{Command, Flags};

/// What becomes of a key's value, then of what it holds.
type Use = &'static [&'static str];

const READ: Use = &["RO", "access"];
const LOOK: Use = &["RO"];
const TAKE: Use = &["RW", "access", "delete"];
const CHANGE: Use = &["RW", "access", "update"];
const UPDATE: Use = &["RW", "update"];
const DELETE: Use = &["RW", "delete"];
const INSERT: Use = &["RW", "insert"];
const SET: Use = &["OW", "update"];
const SET_NEW: Use = &["OW", "insert"];
const REMOVE: Use = &["RM", "delete"];

/// The use of the first key, that of those behind it, and whose they are. What is not here reads its keys, or changes them
/// if it writes.
const ROWS: &[(Use, Use, &[&str])] = &[
    (
        LOOK,
        LOOK,
        &[
            "exists",
            "hexists",
            "hlen",
            "hstrlen",
            "llen",
            "memory|usage",
            "object|encoding",
            "object|freq",
            "object|idletime",
            "object|refcount",
            "scard",
            "sismember",
            "strlen",
            "touch",
            "type",
            "watch",
            "zcard",
        ],
    ),
    (
        TAKE,
        TAKE,
        &[
            "blmpop", "blpop", "brpop", "bzmpop", "bzpopmax", "bzpopmin", "getdel", "lmpop",
            "lpop", "rpop", "spop", "zmpop", "zpopmax", "zpopmin",
        ],
    ),
    (
        UPDATE,
        UPDATE,
        &[
            "expire",
            "expireat",
            "hmset",
            "hset",
            "lset",
            "persist",
            "pexpire",
            "pexpireat",
            "setrange",
            "zadd",
        ],
    ),
    (
        DELETE,
        DELETE,
        &[
            "hdel",
            "lrem",
            "ltrim",
            "srem",
            "zrem",
            "zremrangebylex",
            "zremrangebyrank",
            "zremrangebyscore",
        ],
    ),
    (
        INSERT,
        INSERT,
        &[
            "append", "hsetnx", "linsert", "lpush", "lpushx", "rpush", "rpushx", "sadd",
        ],
    ),
    (SET, SET, &["mset", "psetex", "restore", "set", "setex"]),
    (SET_NEW, SET_NEW, &["msetnx", "setnx"]),
    (REMOVE, REMOVE, &["del", "unlink"]),
    (
        SET,
        READ,
        &[
            "bitop",
            "sdiffstore",
            "sunionstore",
            "zdiffstore",
            "zinterstore",
            "zrangestore",
            "zunionstore",
        ],
    ),
    (UPDATE, READ, &["sinterstore"]),
    (
        TAKE,
        INSERT,
        &["blmove", "brpoplpush", "lmove", "rpoplpush", "smove"],
    ),
    (READ, SET, &["copy", "sort"]),
    (TAKE, SET, &["rename"]),
    (TAKE, SET_NEW, &["renamenx"]),
];

/// What a call does with its first key, and what with those behind it.
pub(crate) fn uses(command: &Command, call: &[Bytes]) -> (Use, Use) {
    let has = |from: usize, word: &str| {
        let mut words = call.iter().skip(from);
        words.any(|it| it.eq_ignore_ascii_case(word.as_bytes()))
    };
    // Two that depend on their arguments.
    match command.name {
        "set" if has(3, "get") => return (CHANGE, CHANGE),
        "bitfield" if !has(2, "set") && !has(2, "incrby") => return (READ, READ),
        _ => {}
    }
    let row = ROWS.iter().find(|row| row.2.contains(&command.name));
    match row {
        Some((first, rest, _)) => (first, rest),
        None if command.flags.has(Flags::WRITE) => (CHANGE, CHANGE),
        None => (READ, READ),
    }
}
