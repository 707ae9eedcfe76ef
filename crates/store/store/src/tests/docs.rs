//! Comparison of the documented list of commands with the command table.

use std::fmt::Write;

use expect_test::expect_file;

#[test]
fn commands_are_documented() {
    let mut text = "# Commands of the store\n\nWritten by the tests from the command table; `cargo xtask test --bless` renews it.\n".to_owned();
    let mut rows: Vec<_> = keyspace::commands().iter().collect();
    rows.sort_by_key(|row| (row.group.name(), row.name));
    let mut group = "";
    for row in rows {
        if row.group.name() != group {
            group = row.group.name();
            write!(
                text,
                "\n## {group}\n\n| command | what it does | since | cost |\n|---|---|---|---|\n"
            )
            .expect("writing to a string cannot fail");
        }
        let mut usage = row.name.replace('|', " ").to_uppercase();
        if !row.syntax.is_empty() {
            usage += " ";
            usage += &untyped(row.syntax).replace('|', "\\|");
        }
        writeln!(
            text,
            "| `{usage}` | {} | {} | {} |",
            row.summary, row.since, row.complexity
        )
        .expect("writing to a string cannot fail");
    }
    expect_file!["../../../../../docs/store-commands.md"].assert_eq(&text);
}

/// Returns the syntax of a command without the types that follow the names of arguments, and
/// without the names of symbols, since the documentation omits both.
fn untyped(syntax: &str) -> String {
    let omitted = [
        ":integer",
        ":double",
        ":string",
        "equal:",
        "approximately:",
        "auto_id:",
        "new_id:",
    ];
    let omitted = omitted.iter();
    omitted.fold(syntax.to_owned(), |syntax, text| syntax.replace(text, ""))
}

/// Commands that the project Redi/S lists as supported in its `Commands.md`.
const REDI_S: &str = "bgsave client|list client|getname client|setname command command|count dbsize del echo exists expire \
    expireat keys lastsave monitor pexpire pexpireat ping pttl quit rename renamenx save select swapdb ttl type psubscribe \
    publish pubsub punsubscribe subscribe unsubscribe append decr decrby get getrange getset incr incrby mget mset msetnx \
    psetex set setex setnx setrange strlen substr lindex llen lpop lpush lpushx lrange lset rpop rpush rpushx hdel hexists \
    hget hgetall hincrby hkeys hlen hmget hmset hset hsetnx hstrlen hvals sadd scard sdiff sdiffstore sinter sinterstore \
    sismember smembers srem sunion sunionstore";

#[test]
fn all_commands_of_redi_s_are_supported() {
    let missing: Vec<_> = REDI_S
        .split_ascii_whitespace()
        .filter(|name| keyspace::commands().iter().all(|row| row.name != *name))
        .collect();
    assert_eq!(missing, [""; 0]);
}
