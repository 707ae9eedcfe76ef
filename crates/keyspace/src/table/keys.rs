//! Keys of any type, databases, transactions.

use super::{ALL, KEY, TWO, rows};
use crate::command::Handler::{Container, Exec, Run};
use crate::command::{Command, Flags, Group, Keys};
use crate::commands::{dump, expiry, keys, scan, server, sort, transactions};

const SECOND: Keys = Keys::Range {
    first: 2,
    last: 2,
    step: 1,
};

rows! {
    "copy" -3 [WRITE DENYOOM], TWO, Generic, "6.2.0", "O(N) for a collection of N elements, O(1) for a string",
        Run(keys::copy), "Copies a key, also into another database.";
    "del" -2 [WRITE], ALL, Generic, "1.0.0", "O(N) for N keys",
        Run(keys::del), "Removes keys.";
    "dump" 2 [READONLY], KEY, Generic, "2.6.0", "O(N) for a collection of N elements, O(1) for a string",
        Run(dump::dump), "The value at a key, in the form that RESTORE takes.";
    "exists" -2 [READONLY FAST], ALL, Generic, "1.0.0", "O(N) for N keys",
        Run(keys::exists), "Counts the keys that are there, each as often as it is named.";
    "expire" -3 [WRITE FAST], KEY, Generic, "1.0.0", "O(log N) for N deadlines",
        Run(expiry::expire), "Gives a key a time to live in seconds.";
    "expireat" -3 [WRITE FAST], KEY, Generic, "1.2.0", "O(log N) for N deadlines",
        Run(expiry::expireat), "Gives a key a deadline in Unix seconds.";
    "expiretime" 2 [READONLY FAST], KEY, Generic, "7.0.0", "O(1)",
        Run(expiry::expiretime), "The deadline of a key in Unix seconds.";
    "keys" 2 [READONLY], Keys::None, Generic, "1.0.0", "O(N) for N keys in the database",
        Run(keys::keys), "All keys whose names match a pattern.";
    "move" 3 [WRITE FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(keys::move_to_db), "Moves a key into another database.";
    "object" -2 [], Keys::None, Generic, "2.2.3", "see its subcommands",
        Container, "How a value is kept.";
    "object|encoding" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "In which form a value is kept.";
    "object|freq" 3 [READONLY], SECOND, Generic, "4.0.0", "O(1)",
        Run(keys::object), "How often a key was used, on a logarithmic scale.";
    "object|help" 2 [LOADING STALE], Keys::None, Generic, "6.2.0", "O(1)",
        Run(server::help), "The subcommands.";
    "object|idletime" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "Seconds since a key was used.";
    "object|refcount" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "How many references a value has: one.";
    "persist" 2 [WRITE FAST], KEY, Generic, "2.2.0", "O(log N) for N deadlines",
        Run(expiry::persist), "Takes the deadline of a key away.";
    "pexpire" -3 [WRITE FAST], KEY, Generic, "2.6.0", "O(log N) for N deadlines",
        Run(expiry::pexpire), "Gives a key a time to live in milliseconds.";
    "pexpireat" -3 [WRITE FAST], KEY, Generic, "2.6.0", "O(log N) for N deadlines",
        Run(expiry::pexpireat), "Gives a key a deadline in Unix milliseconds.";
    "pexpiretime" 2 [READONLY FAST], KEY, Generic, "7.0.0", "O(1)",
        Run(expiry::pexpiretime), "The deadline of a key in Unix milliseconds.";
    "pttl" 2 [READONLY FAST], KEY, Generic, "2.6.0", "O(1)",
        Run(expiry::pttl), "The milliseconds a key has to live.";
    "randomkey" 1 [READONLY], Keys::None, Generic, "1.0.0", "O(1)",
        Run(keys::randomkey), "Some key.";
    "rename" 3 [WRITE], TWO, Generic, "1.0.0", "O(1)",
        Run(keys::rename), "Gives a key another name, in place of what has it.";
    "renamenx" 3 [WRITE FAST], TWO, Generic, "1.0.0", "O(1)",
        Run(keys::renamenx), "Gives a key another name, if nothing has it.";
    "restore" -4 [WRITE DENYOOM], KEY, Generic, "2.6.0", "O(N) for a collection of N elements, O(1) for a string",
        Run(dump::restore), "Sets a key to what DUMP gave.";
    "scan" -2 [READONLY], Keys::None, Generic, "2.8.0", "O(1) a call, O(N) for all N keys",
        Run(scan::scan), "Some keys, and where to go on.";
    "sort" -2 [WRITE DENYOOM], Keys::Sort { stores: true }, Generic, "1.0.0", "O(N log N) for N elements",
        Run(sort::sort), "The elements of a list or set in order, which may be stored.";
    "sort_ro" -2 [READONLY], Keys::Sort { stores: false }, Generic, "7.0.0", "O(N log N) for N elements",
        Run(sort::sort_ro), "The elements of a list or set in order.";
    "touch" -2 [READONLY FAST], ALL, Generic, "3.2.1", "O(N) for N keys",
        Run(keys::touch), "Counts the keys that are there, as a use of each.";
    "ttl" 2 [READONLY FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(expiry::ttl), "The seconds a key has to live.";
    "type" 2 [READONLY FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(keys::type_of), "The type of the value at a key.";
    "unlink" -2 [WRITE FAST], ALL, Generic, "4.0.0", "O(N) for N keys",
        Run(keys::del), "Removes keys.";

    "dbsize" 1 [READONLY FAST], Keys::None, Server, "1.0.0", "O(1)",
        Run(keys::dbsize), "How many keys the database has.";
    "flushall" -1 [WRITE], Keys::None, Server, "1.0.0", "O(N) for N keys in all databases",
        Run(keys::flushall), "Removes every key.";
    "flushdb" -1 [WRITE], Keys::None, Server, "1.0.0", "O(N) for N keys in the database",
        Run(keys::flushdb), "Removes every key of the database.";
    "memory|usage" -3 [READONLY], SECOND, Server, "4.0.0", "O(1)",
        Run(keys::memory_usage), "The bytes that a key and its value take.";
    "select" 2 [LOADING STALE FAST], Keys::None, Connection, "1.0.0", "O(1)",
        Run(keys::select), "Chooses the database.";
    "swapdb" 3 [WRITE FAST], Keys::None, Server, "4.0.0", "O(N) for N clients that watch or wait",
        Run(keys::swapdb), "Exchanges two databases.";

    "discard" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "2.0.0", "O(N) for N commands",
        Run(transactions::discard), "Drops the commands that were queued.";
    "exec" 1 [NOSCRIPT LOADING STALE SKIP_SLOWLOG], Keys::None, Transactions, "1.2.0", "that of its commands",
        Exec, "Runs the commands that were queued.";
    "multi" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "1.2.0", "O(1)",
        Run(transactions::multi), "Begins to queue commands.";
    "unwatch" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "2.2.0", "O(N) for N keys",
        Run(transactions::unwatch), "Forgets the keys that are watched.";
    "watch" -2 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], ALL, Transactions, "2.2.0", "O(N) for N keys",
        Run(transactions::watch), "Lets the next EXEC fail if one of these keys changes before.";
}
