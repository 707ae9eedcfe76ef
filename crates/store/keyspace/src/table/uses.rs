//! What commands do with each of their keys, in the words of COMMAND INFO and GETKEYSANDFLAGS. Source: the answers of
//! Redis 7.0.

use bytes::Bytes;

use crate::command::{Command, Flags, Keys};

/// What becomes of a key's value, then of what it holds.
pub(crate) type Use = &'static [&'static str];

const READ: Use = &["RO", "access"];
const LOOK: Use = &["RO"];
const TAKE: Use = &["RW", "access", "delete"];
const CHANGE: Use = &["RW", "access", "update"];
const VARIES: Use = &["RW", "access", "update", "variable_flags"];
const UPDATE: Use = &["RW", "update"];
const DELETE: Use = &["RW", "delete"];
const INSERT: Use = &["RW", "insert"];
const SET: Use = &["OW", "update"];
const SET_NEW: Use = &["OW", "insert"];
const REMOVE: Use = &["RM", "delete"];
const CHANNEL: Use = &["not_key"];

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
    (VARIES, VARIES, &["bitfield", "set"]),
    (
        CHANNEL,
        CHANNEL,
        &["spublish", "ssubscribe", "sunsubscribe"],
    ),
    (SET, SET, &["mset", "psetex", "restore", "setex"]),
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
    match command.name {
        "set" if has(3, "get") => (CHANGE, CHANGE),
        "set" => (SET, SET),
        "bitfield" if has(2, "set") || has(2, "incrby") => (CHANGE, CHANGE),
        "bitfield" => (READ, READ),
        _ => uses_of_any(command),
    }
}

/// The same, whatever the arguments.
fn uses_of_any(command: &Command) -> (Use, Use) {
    let row = ROWS.iter().find(|row| row.2.contains(&command.name));
    match row {
        Some((first, rest, _)) => (first, rest),
        None if command.flags.has(Flags::WRITE) => (CHANGE, CHANGE),
        None => (READ, READ),
    }
}

/// Keys of a command that are used alike.
pub(crate) struct Spec {
    pub(crate) what: Use,
    pub(crate) place: Place,
}

/// Where such keys stand.
pub(crate) enum Place {
    /// The first at an index; the last so many behind it, or, below zero, counted from the end.
    Range { at: usize, last: i32, step: usize },
    /// Behind a count at an index.
    Counted { at: usize },
    /// Where nobody can tell who does not know the command.
    Unknown,
}

/// The keys of a command, as COMMAND INFO says where they stand.
pub(crate) fn specs(command: &Command) -> Vec<Spec> {
    let (first_use, rest_use) = uses_of_any(command);
    let spec = |what, place| Spec { what, place };
    let one = |at| Place::Range {
        at,
        last: 0,
        step: 1,
    };
    let range = |at: usize, last: i32, step| Place::Range {
        at,
        last: if last < 0 { last } else { last - at as i32 },
        step,
    };
    match command.keys {
        Keys::None => Vec::new(),
        Keys::Channels { last } => vec![spec(first_use, range(1, last, 1))],
        Keys::Range { first, last, step } if first_use == rest_use => {
            vec![spec(first_use, range(first, last, step))]
        }
        Keys::Range { first, last, step } => vec![
            spec(first_use, one(first)),
            spec(rest_use, range(first + step, last, step)),
        ],
        Keys::Counted { at } => vec![spec(first_use, Place::Counted { at })],
        Keys::StoreCounted => vec![
            spec(first_use, one(1)),
            spec(rest_use, Place::Counted { at: 2 }),
        ],
        Keys::Sort { stores } => {
            // Those of BY and GET have names that the elements make.
            let mut specs = vec![spec(READ, one(1)), spec(READ, Place::Unknown)];
            specs.extend(stores.then(|| spec(SET, Place::Unknown)));
            specs
        }
    }
}
