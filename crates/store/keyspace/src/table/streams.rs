//! Rows of the command table for streams.

use super::rows::{KEY, rows};
use crate::command::Handler::{Container, Help, Run, Wait};
use crate::command::{Command, Flags, Group, Keys};
use crate::commands::{stream_claims, stream_groups, stream_info, stream_reads, streams};

/// Key positions: the argument after the subcommand.
const KEY_OF_SUBCOMMAND: Keys = Keys::Range {
    first: 2,
    last: 2,
    step: 1,
};
const NONE: Keys = Keys::None;

rows! {
    "xack" -4 [WRITE FAST], KEY, Stream, "5.0.0", "O(1) per id",
        Run(stream_groups::xack), "Removes entries from the pending entries of a group.", "key group id ...";
    "xadd" -5 [WRITE DENYOOM FAST], KEY, Stream, "5.0.0", "O(1), plus O(N) for N entries that are trimmed",
        Run(streams::xadd), "Appends an entry to a stream.",
        "key [NOMKSTREAM] [(MAXLEN | MINID) [equal:= | approximately:~] threshold [LIMIT count]] (auto_id:* | id) (field value) ...";
    "xautoclaim" -6 [WRITE FAST], KEY, Stream, "6.2.0", "O(N) for N pending entries examined",
        Run(stream_claims::xautoclaim), "Moves pending entries that have been idle for a given time to another consumer.",
        "key group consumer min-idle-time start:string [COUNT count] [JUSTID]";
    "xclaim" -6 [WRITE FAST], KEY, Stream, "5.0.0", "O(log N) for N pending entries, per given id",
        Run(stream_claims::xclaim), "Moves pending entries to another consumer.",
        "key group consumer min-idle-time id ... [IDLE ms:integer] [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID id]";
    "xdel" -3 [WRITE FAST], KEY, Stream, "5.0.0", "O(log N) for N nodes, per given id",
        Run(streams::xdel), "Removes entries.", "key id ...";
    "xgroup" -2 [], NONE, Stream, "5.0.0", "see the subcommands",
        Container, "Manages the consumer groups of a stream.";
    "xgroup|create" -5 [WRITE DENYOOM], KEY_OF_SUBCOMMAND, Stream, "5.0.0", "O(log N) for N groups",
        Run(stream_groups::create), "Creates a consumer group.",
        "key groupname (id | new_id:$) [MKSTREAM] [ENTRIESREAD entries_read:integer]";
    "xgroup|createconsumer" 5 [WRITE DENYOOM], KEY_OF_SUBCOMMAND, Stream, "6.2.0", "O(log N) for N consumers",
        Run(stream_groups::createconsumer), "Creates a consumer in a group.", "key groupname consumername";
    "xgroup|delconsumer" 5 [WRITE], KEY_OF_SUBCOMMAND, Stream, "5.0.0", "O(N) for N pending entries of the consumer",
        Run(stream_groups::delconsumer), "Removes a consumer and its pending entries from a group.", "key groupname consumername";
    "xgroup|destroy" 4 [WRITE], KEY_OF_SUBCOMMAND, Stream, "5.0.0", "O(N) for N pending entries of the group",
        Run(stream_groups::destroy), "Removes a consumer group.", "key groupname";
    "xgroup|help" 2 [LOADING STALE], NONE, Stream, "5.0.0", "O(1)",
        Help, "Lists the subcommands.";
    "xgroup|setid" -5 [WRITE], KEY_OF_SUBCOMMAND, Stream, "5.0.0", "O(log N) for N groups",
        Run(stream_groups::setid), "Sets the last id that a group has read.",
        "key groupname (id | new_id:$) [ENTRIESREAD entries_read:integer]";
    "xinfo" -2 [], NONE, Stream, "5.0.0", "see the subcommands",
        Container, "Returns information on streams.";
    "xinfo|consumers" 4 [READONLY], KEY_OF_SUBCOMMAND, Stream, "5.0.0", "O(N) for N consumers",
        Run(stream_info::consumers), "Returns the consumers of a group.", "key groupname";
    "xinfo|groups" 3 [READONLY], KEY_OF_SUBCOMMAND, Stream, "5.0.0", "O(N) for N groups",
        Run(stream_info::groups), "Returns the groups of a stream.", "key";
    "xinfo|help" 2 [LOADING STALE], NONE, Stream, "5.0.0", "O(1)",
        Help, "Lists the subcommands.";
    "xinfo|stream" -3 [READONLY], KEY_OF_SUBCOMMAND, Stream, "5.0.0", "O(1), plus O(N) for N entries shown",
        Run(stream_info::stream), "Returns the counters of a stream, and with FULL also its entries and groups.",
        "key [FULL [COUNT count]]";
    "xlen" 2 [READONLY FAST], KEY, Stream, "5.0.0", "O(1)",
        Run(streams::xlen), "Returns the number of entries.", "key";
    "xpending" -3 [READONLY], KEY, Stream, "5.0.0", "O(N) for N pending entries examined",
        Run(stream_groups::xpending), "Returns the pending entries of a group, or a summary of them.",
        "key group [[IDLE min-idle-time:integer] start:string end:string count [consumer]]";
    "xrange" -4 [READONLY], KEY, Stream, "5.0.0", "O(log N+M) for M entries sent and N nodes",
        Run(streams::xrange), "Returns the entries in a range of ids.", "key start:string end:string [COUNT count]";
    "xread" -4 [READONLY BLOCKING], Keys::Streams { from: 1 }, Stream, "5.0.0", "O(log N+M) for M entries sent and N nodes",
        Wait(stream_reads::xread), "Returns the entries of several streams that follow the given ids; can block until an entry arrives.",
        "[COUNT count] [BLOCK milliseconds] (STREAMS key ... id ...)";
    "xreadgroup" -7 [WRITE BLOCKING], Keys::Streams { from: 4 }, Stream, "5.0.0", "O(log N+M) for M entries sent and N nodes",
        Wait(stream_reads::xread), "Returns entries that a consumer group has not read, or pending entries; can block until an entry arrives.",
        "(GROUP group consumer) [COUNT count] [BLOCK milliseconds] [NOACK] (STREAMS key ... id ...)";
    "xrevrange" -4 [READONLY], KEY, Stream, "5.0.0", "O(log N+M) for M entries sent and N nodes",
        Run(streams::xrevrange), "Returns the entries in a range of ids, the last entry first.",
        "key end:string start:string [COUNT count]";
    "xsetid" -3 [WRITE DENYOOM FAST], KEY, Stream, "5.0.0", "O(1)",
        Run(streams::xsetid), "Sets the last id of a stream.",
        "key last-id [ENTRIESADDED entries_added:integer] [MAXDELETEDID max_deleted_entry_id]";
    "xtrim" -4 [WRITE], KEY, Stream, "5.0.0", "O(N) for N entries removed",
        Run(streams::xtrim), "Removes the oldest entries.",
        "key ((MAXLEN | MINID) [equal:= | approximately:~] threshold [LIMIT count])";
}
