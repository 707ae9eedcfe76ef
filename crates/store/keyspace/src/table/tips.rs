//! Command tips of COMMAND INFO, for clients, and for proxies in front of several servers. Source:
//! the replies of Redis 7.0.

/// Rows: tips, and the commands that have these tips. A tip states that a reply or its order varies
/// between calls, or how a proxy sends a command to several servers and combines the replies.
const ROWS: &[(&[&str], &[&str])] = &[
    (
        &["nondeterministic_output"],
        &[
            "client|info",
            "client|list",
            "dump",
            "hrandfield",
            "hscan",
            "lastsave",
            "object|encoding",
            "object|freq",
            "object|idletime",
            "object|refcount",
            "pttl",
            "spop",
            "srandmember",
            "sscan",
            "time",
            "ttl",
            "xadd",
            "xautoclaim",
            "xclaim",
            "xinfo|consumers",
            "xpending",
            "xtrim",
            "zrandmember",
            "zscan",
        ],
    ),
    (
        &["nondeterministic_output_order"],
        &[
            "command",
            "command|docs",
            "command|info",
            "command|list",
            "function|list",
            "hgetall",
            "hkeys",
            "hvals",
            "sdiff",
            "sinter",
            "smembers",
            "sunion",
        ],
    ),
    (
        &["nondeterministic_output", "request_policy:all_shards"],
        &["randomkey"],
    ),
    (
        &["nondeterministic_output", "request_policy:special"],
        &["scan"],
    ),
    (
        &["nondeterministic_output_order", "request_policy:all_shards"],
        &["keys"],
    ),
    (
        &["nondeterministic_output", "request_policy:all_nodes"],
        &["slowlog|get"],
    ),
    (
        &[
            "nondeterministic_output",
            "request_policy:all_nodes",
            "response_policy:agg_sum",
        ],
        &["slowlog|len"],
    ),
    (
        &[
            "nondeterministic_output",
            "request_policy:all_nodes",
            "response_policy:special",
        ],
        &[
            "latency|doctor",
            "latency|graph",
            "latency|histogram",
            "latency|history",
            "latency|latest",
        ],
    ),
    (
        &[
            "nondeterministic_output",
            "request_policy:all_shards",
            "response_policy:special",
        ],
        &[
            "function|stats",
            "info",
            "memory|doctor",
            "memory|malloc-stats",
            "memory|stats",
        ],
    ),
    (
        &["request_policy:all_nodes", "response_policy:all_succeeded"],
        &[
            "config|set",
            "latency|reset",
            "script|flush",
            "script|load",
            "slowlog|reset",
        ],
    ),
    (
        &["request_policy:all_shards", "response_policy:agg_sum"],
        &["dbsize"],
    ),
    (
        &["request_policy:all_shards", "response_policy:agg_min"],
        &["wait", "waitaof"],
    ),
    (
        &["request_policy:all_shards", "response_policy:all_succeeded"],
        &[
            "flushall",
            "flushdb",
            "function|delete",
            "function|flush",
            "function|load",
            "function|restore",
            "memory|purge",
            "ping",
        ],
    ),
    (
        &["request_policy:all_shards", "response_policy:one_succeeded"],
        &["function|kill", "script|kill"],
    ),
    (
        &[
            "request_policy:all_shards",
            "response_policy:agg_logical_and",
        ],
        &["script|exists"],
    ),
    (&["request_policy:multi_shard"], &["mget"]),
    (
        &["request_policy:multi_shard", "response_policy:agg_sum"],
        &["del", "exists", "touch", "unlink"],
    ),
    (
        &["request_policy:multi_shard", "response_policy:agg_min"],
        &["msetnx"],
    ),
    (
        &[
            "request_policy:multi_shard",
            "response_policy:all_succeeded",
        ],
        &["mset"],
    ),
];

pub(crate) fn tips(name: &str) -> &'static [&'static str] {
    let row = ROWS.iter().find(|(_, names)| names.contains(&name));
    row.map_or(&[], |(tips, _)| tips)
}
