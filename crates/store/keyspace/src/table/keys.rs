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
        Run(keys::copy), "Copies a key, also into another database.",
        "source destination [DB destination-db] [REPLACE]";
    "del" -2 [WRITE], ALL, Generic, "1.0.0", "O(N) for N keys",
        Run(keys::del), "Removes keys.", "key ...";
    "dump" 2 [READONLY], KEY, Generic, "2.6.0", "O(N) for a collection of N elements, O(1) for a string",
        Run(dump::dump), "The value at a key, in the form that RESTORE takes.", "key";
    "exists" -2 [READONLY FAST], ALL, Generic, "1.0.0", "O(N) for N keys",
        Run(keys::exists), "Counts the keys that are there, each as often as it is named.", "key ...";
    "expire" -3 [WRITE FAST], KEY, Generic, "1.0.0", "O(log N) for N deadlines",
        Run(expiry::expire), "Gives a key a time to live in seconds.", "key seconds [NX | XX | GT | LT]";
    "expireat" -3 [WRITE FAST], KEY, Generic, "1.2.0", "O(log N) for N deadlines",
        Run(expiry::expireat), "Gives a key a deadline in Unix seconds.", "key unix-time-seconds [NX | XX | GT | LT]";
    "expiretime" 2 [READONLY FAST], KEY, Generic, "7.0.0", "O(1)",
        Run(expiry::expiretime), "The deadline of a key in Unix seconds.", "key";
    "keys" 2 [READONLY], Keys::None, Generic, "1.0.0", "O(N) for N keys in the database",
        Run(keys::keys), "All keys whose names match a pattern.", "pattern";
    "move" 3 [WRITE FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(keys::move_to_db), "Moves a key into another database.", "key db";
    "object" -2 [], Keys::None, Generic, "2.2.3", "see its subcommands",
        Container, "How a value is kept.";
    "object|encoding" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "In which form a value is kept.", "key";
    "object|freq" 3 [READONLY], SECOND, Generic, "4.0.0", "O(1)",
        Run(keys::object), "How often a key was used, on a logarithmic scale.", "key";
    "object|help" 2 [LOADING STALE], Keys::None, Generic, "6.2.0", "O(1)",
        Run(server::help), "The subcommands.";
    "object|idletime" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "Seconds since a key was used.", "key";
    "object|refcount" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "How many references a value has: one.", "key";
    "persist" 2 [WRITE FAST], KEY, Generic, "2.2.0", "O(log N) for N deadlines",
        Run(expiry::persist), "Takes the deadline of a key away.", "key";
    "pexpire" -3 [WRITE FAST], KEY, Generic, "2.6.0", "O(log N) for N deadlines",
        Run(expiry::pexpire), "Gives a key a time to live in milliseconds.", "key milliseconds [NX | XX | GT | LT]";
    "pexpireat" -3 [WRITE FAST], KEY, Generic, "2.6.0", "O(log N) for N deadlines",
        Run(expiry::pexpireat), "Gives a key a deadline in Unix milliseconds.",
        "key unix-time-milliseconds [NX | XX | GT | LT]";
    "pexpiretime" 2 [READONLY FAST], KEY, Generic, "7.0.0", "O(1)",
        Run(expiry::pexpiretime), "The deadline of a key in Unix milliseconds.", "key";
    "pttl" 2 [READONLY FAST], KEY, Generic, "2.6.0", "O(1)",
        Run(expiry::pttl), "The milliseconds a key has to live.", "key";
    "randomkey" 1 [READONLY], Keys::None, Generic, "1.0.0", "O(1)",
        Run(keys::randomkey), "Some key.";
    "rename" 3 [WRITE], TWO, Generic, "1.0.0", "O(1)",
        Run(keys::rename), "Gives a key another name, in place of what has it.", "key newkey";
    "renamenx" 3 [WRITE FAST], TWO, Generic, "1.0.0", "O(1)",
        Run(keys::renamenx), "Gives a key another name, if nothing has it.", "key newkey";
    "restore" -4 [WRITE DENYOOM], KEY, Generic, "2.6.0", "O(N) for a collection of N elements, O(1) for a string",
        Run(dump::restore), "Sets a key to what DUMP gave.",
        "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]";
    "scan" -2 [READONLY], Keys::None, Generic, "2.8.0", "O(1) a call, O(N) for all N keys",
        Run(scan::scan), "Some keys, and where to go on.", "cursor [MATCH pattern] [COUNT count] [TYPE type]";
    "sort" -2 [WRITE DENYOOM], Keys::Sort { stores: true }, Generic, "1.0.0", "O(N log N) for N elements",
        Run(sort::sort), "The elements of a list or set in order, which may be stored.",
        "key [BY pattern] [LIMIT offset count] [(GET pattern) ...] [ASC | DESC] [ALPHA] [STORE destination]";
    "sort_ro" -2 [READONLY], Keys::Sort { stores: false }, Generic, "7.0.0", "O(N log N) for N elements",
        Run(sort::sort_ro), "The elements of a list or set in order.",
        "key [BY pattern] [LIMIT offset count] [(GET pattern) ...] [ASC | DESC] [ALPHA]";
    "touch" -2 [READONLY FAST], ALL, Generic, "3.2.1", "O(N) for N keys",
        Run(keys::touch), "Counts the keys that are there, as a use of each.", "key ...";
    "ttl" 2 [READONLY FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(expiry::ttl), "The seconds a key has to live.", "key";
    "type" 2 [READONLY FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(keys::type_of), "The type of the value at a key.", "key";
    "unlink" -2 [WRITE FAST], ALL, Generic, "4.0.0", "O(N) for N keys",
        Run(keys::del), "Removes keys.", "key ...";

    "dbsize" 1 [READONLY FAST], Keys::None, Server, "1.0.0", "O(1)",
        Run(keys::dbsize), "How many keys the database has.";
    "flushall" -1 [WRITE], Keys::None, Server, "1.0.0", "O(N) for N keys in all databases",
        Run(keys::flushall), "Removes every key.", "[ASYNC | SYNC]";
    "flushdb" -1 [WRITE], Keys::None, Server, "1.0.0", "O(N) for N keys in the database",
        Run(keys::flushdb), "Removes every key of the database.", "[ASYNC | SYNC]";
    "memory|usage" -3 [READONLY], SECOND, Server, "4.0.0", "O(1)",
        Run(keys::memory_usage), "The bytes that a key and its value take.", "key [SAMPLES count]";
    "select" 2 [LOADING STALE FAST], Keys::None, Connection, "1.0.0", "O(1)",
        Run(keys::select), "Chooses the database.", "index";
    "swapdb" 3 [WRITE FAST], Keys::None, Server, "4.0.0", "O(N) for N clients that watch or wait",
        Run(keys::swapdb), "Exchanges two databases.", "index1 index2";

    "discard" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "2.0.0", "O(N) for N commands",
        Run(transactions::discard), "Drops the commands that were queued.";
    "exec" 1 [NOSCRIPT LOADING STALE SKIP_SLOWLOG], Keys::None, Transactions, "1.2.0", "that of its commands",
        Exec, "Runs the commands that were queued.";
    "multi" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "1.2.0", "O(1)",
        Run(transactions::multi), "Begins to queue commands.";
    "unwatch" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "2.2.0", "O(N) for N keys",
        Run(transactions::unwatch), "Forgets the keys that are watched.";
    "watch" -2 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], ALL, Transactions, "2.2.0", "O(N) for N keys",
        Run(transactions::watch), "Lets the next EXEC fail if one of these keys changes before.", "key ...";
}
