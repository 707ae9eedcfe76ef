//! Strings, and strings as arrays of bits.

use super::{ALL, KEY, rows};
use crate::command::Handler::{Container, Run, Wait};
use crate::command::{Command, Flags, Group, Keys};
use crate::commands::{bitfield, bits, lcs, server, strings, tags};

const PAIRS: Keys = Keys::Range {
    first: 1,
    last: -1,
    step: 2,
};

rows! {
    "append" 3 [WRITE DENYOOM FAST], KEY, String, "2.0.0", "O(1), amortised",
        Run(strings::append), "Appends to a string, which begins empty if it is not there.";
    "decr" 2 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::decr), "Takes one from a number.";
    "decrby" 3 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::decrby), "Takes a number from a number.";
    "get" 2 [READONLY FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::get), "The string at a key.";
    "getdel" 2 [WRITE FAST], KEY, String, "6.2.0", "O(1)",
        Run(strings::getdel), "The string at a key, which is removed.";
    "getex" -2 [WRITE FAST], KEY, String, "6.2.0", "O(1)",
        Run(strings::getex), "The string at a key, whose deadline is set or taken away.";
    "getrange" 4 [READONLY], KEY, String, "2.4.0", "O(1) for a blob, else O(N) for N bytes sent",
        Run(strings::getrange), "A part of the string at a key.";
    "getset" 3 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::getset), "The string at a key, which gets another value.";
    "getorlock" 3 [WRITE BLOCKING], KEY, String, "pelton 0.1", "O(1)",
        Wait(tags::getorlock), "The string at a key; or null, and the caller is to make it; while another one does, it waits.";
    "incr" 2 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::incr), "Adds one to a number.";
    "incrby" 3 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::incrby), "Adds a number to a number.";
    "incrbyfloat" 3 [WRITE DENYOOM FAST], KEY, String, "2.6.0", "O(1)",
        Run(strings::incrbyfloat), "Adds a decimal fraction to a number.";
    "lcs" -3 [READONLY], Keys::Range { first: 1, last: 2, step: 1 }, String, "7.0.0", "O(N*M) for N and M bytes",
        Run(lcs::lcs), "The longest common subsequence of two strings.";
    "mget" -2 [READONLY FAST], ALL, String, "1.0.0", "O(N) for N keys",
        Run(strings::mget), "The strings at several keys.";
    "mset" -3 [WRITE DENYOOM], PAIRS, String, "1.0.1", "O(N) for N keys",
        Run(strings::mset), "Sets several keys at once.";
    "msetnx" -3 [WRITE DENYOOM], PAIRS, String, "1.0.1", "O(N) for N keys",
        Run(strings::msetnx), "Sets several keys at once, if none of them is there.";
    "psetex" 4 [WRITE DENYOOM], KEY, String, "2.6.0", "O(1)",
        Run(strings::psetex), "Sets a key and its time to live in milliseconds.";
    "set" -3 [WRITE DENYOOM], KEY, String, "1.0.0", "O(1)",
        Run(strings::set), "Sets a key.";
    "setex" 4 [WRITE DENYOOM], KEY, String, "2.0.0", "O(1)",
        Run(strings::setex), "Sets a key and its time to live in seconds.";
    "setnx" 3 [WRITE DENYOOM FAST], KEY, String, "1.0.0", "O(1)",
        Run(strings::setnx), "Sets a key that is not there.";
    "setrange" 4 [WRITE DENYOOM], KEY, String, "2.2.0", "O(N) for N bytes written",
        Run(strings::setrange), "Writes over a part of a string.";
    "strlen" 2 [READONLY FAST], KEY, String, "2.2.0", "O(1)",
        Run(strings::strlen), "The length of a string.";
    "substr" 4 [READONLY], KEY, String, "1.0.0", "O(1) for a blob, else O(N) for N bytes sent",
        Run(strings::getrange), "A part of the string at a key; GETRANGE by its old name.";

    "tag" -2 [], Keys::None, String, "pelton 0.1", "see its subcommands",
        Container, "Names by which many keys are dropped at once; SET gives them.";
    "tag|count" 3 [READONLY FAST], Keys::None, String, "pelton 0.1", "O(1)",
        Run(tags::count), "How many keys have a tag.";
    "tag|get" 3 [READONLY FAST], Keys::Range { first: 2, last: 2, step: 1 }, String, "pelton 0.1", "O(N) for N tags",
        Run(tags::get), "The tags of a key.";
    "tag|help" 2 [LOADING STALE], Keys::None, String, "pelton 0.1", "O(1)",
        Run(server::help), "The subcommands.";
    "tag|invalidate" -3 [WRITE FAST], Keys::None, String, "pelton 0.1", "O(1) a tag",
        Run(tags::invalidate), "Drops every key that has a tag.";

    "bitcount" -2 [READONLY], KEY, Bitmap, "2.6.0", "O(N) for N bytes",
        Run(bits::bitcount), "Counts the bits that are set.";
    "bitfield" -2 [WRITE DENYOOM], KEY, Bitmap, "3.2.0", "O(N) for N operations",
        Run(bitfield::bitfield), "Reads, sets and adds to integers of any width within a string.";
    "bitfield_ro" -2 [READONLY FAST], KEY, Bitmap, "6.0.0", "O(N) for N operations",
        Run(bitfield::bitfield_ro), "Reads integers of any width within a string.";
    "bitop" -4 [WRITE DENYOOM], Keys::Range { first: 2, last: -1, step: 1 }, Bitmap, "2.6.0", "O(N) for N bytes",
        Run(bits::bitop), "Combines strings bit by bit, and stores the result.";
    "bitpos" -3 [READONLY], KEY, Bitmap, "2.8.7", "O(N) for N bytes",
        Run(bits::bitpos), "The first bit that is set, or clear.";
    "getbit" 3 [READONLY FAST], KEY, Bitmap, "2.2.0", "O(1)",
        Run(bits::getbit), "One bit of a string.";
    "setbit" 4 [WRITE DENYOOM], KEY, Bitmap, "2.2.0", "O(1)",
        Run(bits::setbit), "Sets one bit of a string.";
}
