//! Rows of the command table for keys of any type, databases and transactions.

use super::rows::{ALL, KEY, TWO, rows};
use crate::command::Handler::{Container, Exec, Help, Run};
use crate::command::{Command, Flags, Group, Keys};
use crate::commands::{dump, expiry, keys, scan, sort, transactions};

const SECOND: Keys = Keys::Range {
    first: 2,
    last: 2,
    step: 1,
};

rows! {
    "copy" -3 [WRITE DENYOOM], TWO, Generic, "6.2.0", "O(N) for a collection of N elements, O(1) for a string",
        Run(keys::copy), "Copies a key, within the database or to another database.",
        "source destination [DB destination-db] [REPLACE]";
    "del" -2 [WRITE], ALL, Generic, "1.0.0", "O(N) for N keys",
        Run(keys::del), "Removes keys.", "key ...";
    "dump" 2 [READONLY], KEY, Generic, "2.6.0", "O(N) for a collection of N elements, O(1) for a string",
        Run(dump::dump), "Returns the value at a key as a payload for RESTORE.", "key";
    "exists" -2 [READONLY FAST], ALL, Generic, "1.0.0", "O(N) for N keys",
        Run(keys::exists), "Counts how many of the given keys exist; a key that is given repeatedly counts repeatedly.", "key ...";
    "expire" -3 [WRITE FAST], KEY, Generic, "1.0.0", "O(log N) for N keys with a deadline",
        Run(expiry::expire), "Sets the time to live of a key in seconds.", "key seconds [NX | XX | GT | LT]";
    "expireat" -3 [WRITE FAST], KEY, Generic, "1.2.0", "O(log N) for N keys with a deadline",
        Run(expiry::expireat), "Sets the deadline of a key in Unix seconds.", "key unix-time-seconds [NX | XX | GT | LT]";
    "expiretime" 2 [READONLY FAST], KEY, Generic, "7.0.0", "O(1)",
        Run(expiry::expiretime), "Returns the deadline of a key in Unix seconds.", "key";
    "keys" 2 [READONLY], Keys::None, Generic, "1.0.0", "O(N) for N keys in the database",
        Run(keys::keys), "Returns all keys that match a pattern.", "pattern";
    "move" 3 [WRITE FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(keys::move_to_db), "Moves a key to another database.", "key db";
    "object" -2 [], Keys::None, Generic, "2.2.3", "see the subcommands",
        Container, "Returns properties of the value at a key.";
    "object|encoding" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "Returns the encoding of a value.", "key";
    "object|freq" 3 [READONLY], SECOND, Generic, "4.0.0", "O(1)",
        Run(keys::object), "Returns the access frequency of a key, on a logarithmic scale.", "key";
    "object|help" 2 [LOADING STALE], Keys::None, Generic, "6.2.0", "O(1)",
        Help, "Lists the subcommands.";
    "object|idletime" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "Returns the seconds since a key was last used.", "key";
    "object|refcount" 3 [READONLY], SECOND, Generic, "2.2.3", "O(1)",
        Run(keys::object), "Returns the number of references to a value, which is always one.", "key";
    "persist" 2 [WRITE FAST], KEY, Generic, "2.2.0", "O(log N) for N keys with a deadline",
        Run(expiry::persist), "Removes the deadline of a key.", "key";
    "pexpire" -3 [WRITE FAST], KEY, Generic, "2.6.0", "O(log N) for N keys with a deadline",
        Run(expiry::pexpire), "Sets the time to live of a key in milliseconds.", "key milliseconds [NX | XX | GT | LT]";
    "pexpireat" -3 [WRITE FAST], KEY, Generic, "2.6.0", "O(log N) for N keys with a deadline",
        Run(expiry::pexpireat), "Sets the deadline of a key in Unix milliseconds.",
        "key unix-time-milliseconds [NX | XX | GT | LT]";
    "pexpiretime" 2 [READONLY FAST], KEY, Generic, "7.0.0", "O(1)",
        Run(expiry::pexpiretime), "Returns the deadline of a key in Unix milliseconds.", "key";
    "pttl" 2 [READONLY FAST], KEY, Generic, "2.6.0", "O(1)",
        Run(expiry::pttl), "Returns the time to live of a key in milliseconds.", "key";
    "randomkey" 1 [READONLY], Keys::None, Generic, "1.0.0", "O(1)",
        Run(keys::randomkey), "Returns a random key.";
    "rename" 3 [WRITE], TWO, Generic, "1.0.0", "O(1)",
        Run(keys::rename), "Renames a key; a key that has the new name is replaced.", "key newkey";
    "renamenx" 3 [WRITE FAST], TWO, Generic, "1.0.0", "O(1)",
        Run(keys::renamenx), "Renames a key, if no key has the new name.", "key newkey";
    "restore" -4 [WRITE DENYOOM], KEY, Generic, "2.6.0", "O(N) for a collection of N elements, O(1) for a string",
        Run(dump::restore), "Creates a key from a payload of DUMP.",
        "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]";
    "scan" -2 [READONLY], Keys::None, Generic, "2.8.0", "O(1) per call, O(N) for all N keys",
        Run(scan::scan), "Returns some keys, and a cursor for the next call.", "cursor [MATCH pattern] [COUNT count] [TYPE type]";
    "sort" -2 [WRITE DENYOOM], Keys::Sort { stores: true }, Generic, "1.0.0", "O(N log N) for N elements",
        Run(sort::sort), "Sorts the elements of a list or set, and returns or stores them.",
        "key [BY pattern] [LIMIT offset count] [(GET pattern) ...] [ASC | DESC] [ALPHA] [STORE destination]";
    "sort_ro" -2 [READONLY], Keys::Sort { stores: false }, Generic, "7.0.0", "O(N log N) for N elements",
        Run(sort::sort_ro), "Sorts the elements of a list or set, and returns them.",
        "key [BY pattern] [LIMIT offset count] [(GET pattern) ...] [ASC | DESC] [ALPHA]";
    "touch" -2 [READONLY FAST], ALL, Generic, "3.2.1", "O(N) for N keys",
        Run(keys::touch), "Counts existing keys, and marks them as used.", "key ...";
    "ttl" 2 [READONLY FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(expiry::ttl), "Returns the time to live of a key in seconds.", "key";
    "type" 2 [READONLY FAST], KEY, Generic, "1.0.0", "O(1)",
        Run(keys::type_of), "Returns the type of the value at a key.", "key";
    "unlink" -2 [WRITE FAST], ALL, Generic, "4.0.0", "O(N) for N keys",
        Run(keys::del), "Removes keys.", "key ...";

    "dbsize" 1 [READONLY FAST], Keys::None, Server, "1.0.0", "O(1)",
        Run(keys::dbsize), "Returns the number of keys in the database.";
    "flushall" -1 [WRITE], Keys::None, Server, "1.0.0", "O(N) for N keys in all databases",
        Run(keys::flushall), "Removes all keys of all databases.", "[ASYNC | SYNC]";
    "flushdb" -1 [WRITE], Keys::None, Server, "1.0.0", "O(N) for N keys in the database",
        Run(keys::flushdb), "Removes all keys of the database.", "[ASYNC | SYNC]";
    "memory|usage" -3 [READONLY], SECOND, Server, "4.0.0", "O(1)",
        Run(keys::memory_usage), "Returns the number of bytes of memory that a key and its value use.", "key [SAMPLES count]";
    "select" 2 [LOADING STALE FAST], Keys::None, Connection, "1.0.0", "O(1)",
        Run(keys::select), "Selects the database.", "index";
    "swapdb" 3 [WRITE FAST], Keys::None, Server, "4.0.0", "O(N) for N clients that watch keys or block on keys",
        Run(keys::swapdb), "Swaps two databases.", "index1 index2";

    "discard" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "2.0.0", "O(N) for N commands",
        Run(transactions::discard), "Discards the queued commands of a transaction.";
    "exec" 1 [NOSCRIPT LOADING STALE SKIP_SLOWLOG], Keys::None, Transactions, "1.2.0", "the sum of the complexities of the queued commands",
        Exec, "Runs the queued commands of a transaction.";
    "multi" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "1.2.0", "O(1)",
        Run(transactions::multi), "Starts a transaction: further commands are queued.";
    "unwatch" 1 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], Keys::None, Transactions, "2.2.0", "O(N) for N keys",
        Run(transactions::unwatch), "Stops watching all keys.";
    "watch" -2 [NOSCRIPT LOADING STALE FAST ALLOW_BUSY], ALL, Transactions, "2.2.0", "O(N) for N keys",
        Run(transactions::watch), "Watches keys: the next EXEC fails if one of the watched keys has changed.", "key ...";
}
