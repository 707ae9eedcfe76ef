//! Rows of the command table for strings, including strings as arrays of bits.

use super::rows::{ALL, KEY, rows};
use crate::command::Handler::{Container, Help, Run, Wait};
use crate::command::{Command, Flags, Group, Keys};
use crate::commands::{bitfield, bits, lcs, strings, tags};

const PAIRS: Keys = Keys::Range {
    first: 1,
    last: -1,
    step: 2,
};

rows! {
    "append" 3 [WRITE DENYOOM FAST], KEY, String, "2.0.0", "O(1), amortised",
        Run(strings::append), "Appends to the string at a key, and creates the key if necessary.", "key value";
    "decr" 2 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::decr), "Subtracts one from an integer.", "key";
    "decrby" 3 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::decrby), "Subtracts a number from an integer.", "key decrement";
    "get" 2 [READONLY FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::get), "Returns the string at a key.", "key";
    "getdel" 2 [WRITE FAST], KEY, String, "6.2.0", "O(1)",
        Run(strings::getdel), "Returns the string at a key, and removes the key.", "key";
    "getex" -2 [WRITE FAST], KEY, String, "6.2.0", "O(1)",
        Run(strings::getex), "Returns the string at a key, and sets or removes the key's deadline.",
        "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]";
    "getrange" 4 [READONLY], KEY, String, "2.4.0", "O(1) for a large value that is sent without a copy, otherwise O(N) for N bytes sent",
        Run(strings::getrange), "Returns a part of the string at a key.", "key start end";
    "getset" 3 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::getset), "Sets a key, and returns its former string.", "key value";
    "getorlock" 3 [WRITE BLOCKING], KEY, String, "pelton 0.1", "O(1)",
        Wait(tags::getorlock), "Returns the string at a key. If the key is missing, locks it so that one client computes the string while others wait.",
        "key milliseconds";
    "incr" 2 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::incr), "Adds one to an integer.", "key";
    "incrby" 3 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::incrby), "Adds a number to an integer.", "key increment";
    "incrbyfloat" 3 [WRITE DENYOOM FAST], KEY, String, "2.6.0", "O(1)",
        Run(strings::incrbyfloat), "Adds a decimal fraction to a number.", "key increment:double";
    "lcs" -3 [READONLY], Keys::Range { first: 1, last: 2, step: 1 }, String, "7.0.0", "O(N*M) for strings of N and M bytes",
        Run(lcs::lcs), "Returns the longest common subsequence of two strings.",
        "key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]";
    "mget" -2 [READONLY FAST], ALL, String, "1.0.0", "O(N) for N keys",
        Run(strings::mget), "Returns the strings at several keys.", "key ...";
    "mset" -3 [WRITE DENYOOM], PAIRS, String, "1.0.1", "O(N) for N keys",
        Run(strings::mset), "Sets several keys at once.", "(key value) ...";
    "msetnx" -3 [WRITE DENYOOM], PAIRS, String, "1.0.1", "O(N) for N keys",
        Run(strings::msetnx), "Sets several keys at once, if none of them exists.", "(key value) ...";
    "psetex" 4 [WRITE DENYOOM], KEY, String, "2.6.0", "O(1)",
        Run(strings::psetex), "Sets a key and its time to live in milliseconds.", "key milliseconds value";
    "set" -3 [WRITE DENYOOM], KEY, String, "1.0.0", "O(1)",
        Run(strings::set), "Sets a key.",
        "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT \
         unix-time-milliseconds | KEEPTTL] [TAG tag ...]";
    "setex" 4 [WRITE DENYOOM], KEY, String, "2.0.0", "O(1)",
        Run(strings::setex), "Sets a key and its time to live in seconds.", "key seconds value";
    "setnx" 3 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::setnx), "Sets a key, if the key does not exist.", "key value";
    "setrange" 4 [WRITE DENYOOM], KEY, String, "2.2.0", "O(N) for N bytes written",
        Run(strings::setrange), "Overwrites a part of a string.", "key offset value";
    "strlen" 2 [READONLY FAST], KEY, String, "2.2.0", "O(1)",
        Run(strings::strlen), "Returns the length of a string.", "key";
    "substr" 4 [READONLY], KEY, String, "1.0.0", "O(1) for a large value that is sent without a copy, otherwise O(N) for N bytes sent",
        Run(strings::getrange), "Returns a part of the string at a key; old name of GETRANGE.", "key start end";

    "tag" -2 [], Keys::None, String, "pelton 0.1", "see the subcommands",
        Container, "Cache tags: labels by which several keys are removed together.";
    "tag|count" 3 [READONLY FAST], Keys::None, String, "pelton 0.1", "O(1)",
        Run(tags::count), "Returns the number of keys with a cache tag.", "tag";
    "tag|get" 3 [READONLY FAST], Keys::Range { first: 2, last: 2, step: 1 }, String, "pelton 0.1", "O(N) for N tags",
        Run(tags::get), "Returns the cache tags of a key.", "key";
    "tag|help" 2 [LOADING STALE], Keys::None, String, "pelton 0.1", "O(1)",
        Help, "Lists the subcommands.";
    "tag|invalidate" -3 [WRITE FAST], Keys::None, String, "pelton 0.1", "O(1) per tag",
        Run(tags::invalidate), "Removes every key that has one of the cache tags.", "tag ...";

    "bitcount" -2 [READONLY], KEY, Bitmap, "2.6.0", "O(N) for N bytes",
        Run(bits::bitcount), "Counts the set bits of a string.", "key [start end [BYTE | BIT]]";
    "bitfield" -2 [WRITE DENYOOM], KEY, Bitmap, "3.2.0", "O(N) for N operations",
        Run(bitfield::bitfield), "Reads, sets and increments integers of any width within a string.",
        "key [(GET encoding offset | [OVERFLOW (WRAP | SAT | FAIL)] (SET encoding offset value:integer | \
         INCRBY encoding offset increment)) ...]";
    "bitfield_ro" -2 [READONLY FAST], KEY, Bitmap, "6.0.0", "O(N) for N operations",
        Run(bitfield::bitfield_ro), "Reads integers of any width within a string.", "key [(GET encoding offset) ...]";
    "bitop" -4 [WRITE DENYOOM], Keys::Range { first: 2, last: -1, step: 1 }, Bitmap, "2.6.0", "O(N) for N bytes",
        Run(bits::bitop), "Combines strings by a bitwise operation, and stores the result.",
        "(AND | OR | XOR | NOT) destkey key ...";
    "bitpos" -3 [READONLY], KEY, Bitmap, "2.8.7", "O(N) for N bytes",
        Run(bits::bitpos), "Returns the position of the first set or clear bit.", "key bit [start [end [BYTE | BIT]]]";
    "getbit" 3 [READONLY FAST], KEY, Bitmap, "2.2.0", "O(1)",
        Run(bits::getbit), "Returns one bit of a string.", "key offset";
    "setbit" 4 [WRITE DENYOOM], KEY, Bitmap, "2.2.0", "O(1)",
        Run(bits::setbit), "Sets or clears one bit of a string.", "key offset value:integer";
}
