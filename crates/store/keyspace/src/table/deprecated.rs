//! Deprecated commands and their replacements.

/// A deprecated command: the version that deprecated it, and its replacement.
pub(crate) struct Deprecated {
    name: &'static str,
    pub(crate) since: &'static str,
    pub(crate) replaced_by: &'static str,
}

const ROWS: &[Deprecated] = &[
    row("brpoplpush", "6.2.0", "`BLMOVE` from `RIGHT` to `LEFT`"),
    row("getset", "6.2.0", "`SET` with `GET`"),
    row("hmset", "4.0.0", "`HSET`"),
    row("quit", "7.2.0", "closing the connection"),
    row("rpoplpush", "6.2.0", "`LMOVE` from `RIGHT` to `LEFT`"),
    row("slaveof", "5.0.0", "`REPLICAOF`"),
    row("substr", "2.0.0", "`GETRANGE`"),
    row("zrangebylex", "6.2.0", "`ZRANGE` with `BYLEX`"),
    row("zrangebyscore", "6.2.0", "`ZRANGE` with `BYSCORE`"),
    row("zrevrange", "6.2.0", "`ZRANGE` with `REV`"),
    row("zrevrangebylex", "6.2.0", "`ZRANGE` with `BYLEX` and `REV`"),
    row(
        "zrevrangebyscore",
        "6.2.0",
        "`ZRANGE` with `BYSCORE` and `REV`",
    ),
];

const fn row(name: &'static str, since: &'static str, replaced_by: &'static str) -> Deprecated {
    Deprecated {
        name,
        since,
        replaced_by,
    }
}

pub(crate) fn deprecated(name: &str) -> Option<&'static Deprecated> {
    ROWS.iter().find(|row| row.name == name)
}
