//! Accesses of each command to its keys, as COMMAND INFO and COMMAND GETKEYSANDFLAGS report them.
//! Source: the replies of Redis 7.0.

use bytes::Bytes;

use crate::command::{Command, Flags, Keys};

/// Access of a command to a key, as flags of COMMAND INFO. The first flag says how the command
/// accesses the value as a whole, such as `RO` for read-only. The other flags say how the command
/// accesses the data in the value.
pub(crate) type Use = &'static [&'static str];

const READ: Use = &["RO", "access"];
const METADATA: Use = &["RO"];
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

/// Each row has the use of the first key, the use of the other keys, and the commands with these
/// uses. A command without a row changes its keys if it has the WRITE flag; otherwise it reads
/// them.
const ROWS: &[(Use, Use, &[&str])] = &[
    (
        METADATA,
        METADATA,
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
            "xlen",
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
            "xack",
            "xadd",
            "xclaim",
            "xgroup|setid",
            "xsetid",
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
            "xautoclaim",
            "xdel",
            "xgroup|delconsumer",
            "xgroup|destroy",
            "xtrim",
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
            "append",
            "hsetnx",
            "linsert",
            "lpush",
            "lpushx",
            "rpush",
            "rpushx",
            "sadd",
            "xgroup|create",
            "xgroup|createconsumer",
        ],
    ),
    (READ, READ, &["xreadgroup"]),
    (VARIES, VARIES, &["bitfield", "set"]),
    (CHANGE, CHANGE, &["eval", "evalsha", "fcall"]),
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

/// Returns the use of the first key in a call, and the use of the other keys.
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

/// Returns the use of a command's first key, and the use of its other keys, regardless of the
/// arguments of a call.
fn uses_of_any(command: &Command) -> (Use, Use) {
    let row = ROWS.iter().find(|row| row.2.contains(&command.name));
    match row {
        Some((first, rest, _)) => (first, rest),
        None if command.flags.has(Flags::WRITE) => (CHANGE, CHANGE),
        None => (READ, READ),
    }
}

/// Group of keys that a command uses in the same way: their use, and their positions in a call.
pub(crate) struct Spec {
    pub(crate) key_use: Use,
    pub(crate) positions: KeyPosition,
}

/// Positions of the keys of a [`Spec`].
pub(crate) enum KeyPosition {
    /// Every `step`-th argument is a key, from the argument at index `at` to the argument `last`.
    /// `last` is relative to `at`; a negative `last` counts from the end of the call.
    Range { at: usize, last: i32, step: usize },
    /// Keys after the argument at index `at`, which gives their number.
    Counted { at: usize },
    /// The first half of the arguments after the word STREAMS, which is at index `from` or later.
    Keyword { from: usize },
    /// Positions that only the command itself can determine.
    Unknown,
}

/// Returns the key specifications of a command, as in COMMAND INFO.
pub(crate) fn specs(command: &Command) -> Vec<Spec> {
    let (first_use, rest_use) = uses_of_any(command);
    let spec = |key_use, positions| Spec { key_use, positions };
    let one = |at| KeyPosition::Range {
        at,
        last: 0,
        step: 1,
    };
    let range = |at: usize, last: i32, step| KeyPosition::Range {
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
        Keys::Counted { at } => vec![spec(first_use, KeyPosition::Counted { at })],
        Keys::Streams { from } => vec![spec(first_use, KeyPosition::Keyword { from })],
        Keys::StoreCounted => vec![
            spec(first_use, one(1)),
            spec(rest_use, KeyPosition::Counted { at: 2 }),
        ],
        Keys::Sort { stores } => {
            // The BY and GET options of SORT read keys whose names depend on the sorted elements,
            // so their positions are unknown.
            let mut specs = vec![spec(READ, one(1)), spec(READ, KeyPosition::Unknown)];
            specs.extend(stores.then(|| spec(SET, KeyPosition::Unknown)));
            specs
        }
    }
}
