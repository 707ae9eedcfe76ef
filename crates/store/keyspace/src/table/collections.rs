//! Rows of the command table for hashes, lists, sets and sorted sets.
// tidy: long because it is a list, one command per row.

use super::rows::{ALL, KEY, TWO, rows};
use crate::command::Handler::{Run, Wait};
use crate::command::{Command, Flags, Group, Keys};
use crate::commands::{hashes, lists, scan, sets, zset_combine, zset_range, zsets};

const BUT_LAST: Keys = Keys::Range {
    first: 1,
    last: -2,
    step: 1,
};
const FIRST_COUNTED: Keys = Keys::Counted { at: 1 };
const SECOND_COUNTED: Keys = Keys::Counted { at: 2 };

rows! {
    "hdel" -3 [WRITE FAST], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hdel), "Removes fields of a hash.", "key field ...";
    "hexists" 3 [READONLY FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hexists), "Returns whether a field exists.", "key field";
    "hget" 3 [READONLY FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hget), "Returns the value of a field.", "key field";
    "hgetall" 2 [READONLY], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hgetall), "Returns all fields and their values.", "key";
    "hincrby" 4 [WRITE DENYOOM FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hincrby), "Adds a number to the integer in a field.", "key field increment";
    "hincrbyfloat" 4 [WRITE DENYOOM FAST], KEY, Hash, "2.6.0", "O(1)",
        Run(hashes::hincrbyfloat), "Adds a decimal fraction to the number in a field.", "key field increment:double";
    "hkeys" 2 [READONLY], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hkeys), "Returns all fields.", "key";
    "hlen" 2 [READONLY FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hlen), "Returns the number of fields.", "key";
    "hmget" -3 [READONLY FAST], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hmget), "Returns the values of several fields.", "key field ...";
    "hmset" -4 [WRITE DENYOOM FAST], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hmset), "Sets fields of a hash; old name of HSET.", "key (field value) ...";
    "hrandfield" -2 [READONLY], KEY, Hash, "6.2.0", "O(N) for N fields requested",
        Run(hashes::hrandfield), "Returns random fields.", "key [count [WITHVALUES]]";
    "hscan" -3 [READONLY], KEY, Hash, "2.8.0", "O(1) per call, O(N) for all N fields",
        Run(scan::hscan), "Returns some fields and their values, and a cursor for the next call.",
        "key cursor [MATCH pattern] [COUNT count] [NOVALUES]";
    "hset" -4 [WRITE DENYOOM FAST], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hset), "Sets fields.", "key (field value) ...";
    "hsetnx" 4 [WRITE DENYOOM FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hsetnx), "Sets a field of a hash, if the field does not exist.", "key field value";
    "hstrlen" 3 [READONLY FAST], KEY, Hash, "3.2.0", "O(1)",
        Run(hashes::hstrlen), "Returns the length of a field's value.", "key field";
    "hvals" 2 [READONLY], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hvals), "Returns all values.", "key";

    "blmove" 6 [WRITE DENYOOM BLOCKING], TWO, List, "6.2.0", "O(1)",
        Wait(lists::blmove), "Moves an element from one list to another; blocks while the first list is empty.",
        "source destination (LEFT | RIGHT) (LEFT | RIGHT) timeout";
    "blmpop" -5 [WRITE BLOCKING], SECOND_COUNTED, List, "7.0.0", "O(N+M) for N keys and M elements",
        Wait(lists::blmpop), "Removes elements from the first non-empty list; blocks while all lists are empty.",
        "timeout numkeys key ... (LEFT | RIGHT) [COUNT count]";
    "blpop" -3 [WRITE BLOCKING], BUT_LAST, List, "2.0.0", "O(N) for N keys",
        Wait(lists::blpop), "Removes the first element of the first non-empty list; blocks while all lists are empty.", "key ... timeout";
    "brpop" -3 [WRITE BLOCKING], BUT_LAST, List, "2.0.0", "O(N) for N keys",
        Wait(lists::brpop), "Removes the last element of the first non-empty list; blocks while all lists are empty.", "key ... timeout";
    "brpoplpush" 4 [WRITE DENYOOM BLOCKING], TWO, List, "2.2.0", "O(1)",
        Wait(lists::brpoplpush), "Moves the last element of a list to the start of another list; blocks while the first list is empty.",
        "source destination timeout";
    "lindex" 3 [READONLY], KEY, List, "1.0.0", "O(N) for N elements that are skipped",
        Run(lists::lindex), "Returns the element at an index.", "key index";
    "linsert" 5 [WRITE DENYOOM], KEY, List, "2.2.0", "O(N) for N elements before the pivot",
        Run(lists::linsert), "Inserts an element before or after another element.", "key (BEFORE | AFTER) pivot element";
    "llen" 2 [READONLY FAST], KEY, List, "1.0.0", "O(1)",
        Run(lists::llen), "Returns the number of elements.", "key";
    "lmove" 5 [WRITE DENYOOM], TWO, List, "6.2.0", "O(1)",
        Run(lists::lmove), "Moves an element from one list to another.", "source destination (LEFT | RIGHT) (LEFT | RIGHT)";
    "lmpop" -4 [WRITE], FIRST_COUNTED, List, "7.0.0", "O(N+M) for N keys and M elements",
        Run(lists::lmpop), "Removes elements from the first non-empty list.",
        "numkeys key ... (LEFT | RIGHT) [COUNT count]";
    "lpop" -2 [WRITE FAST], KEY, List, "1.0.0", "O(N) for N elements removed",
        Run(lists::lpop), "Removes elements from the start of a list.", "key [count]";
    "lpos" -3 [READONLY], KEY, List, "6.0.6", "O(N) for N elements",
        Run(lists::lpos), "Returns the index of an element.", "key element [RANK rank] [COUNT num-matches] [MAXLEN len]";
    "lpush" -3 [WRITE DENYOOM FAST], KEY, List, "1.0.0", "O(N) for N elements added",
        Run(lists::lpush), "Adds elements to the start of a list.", "key element ...";
    "lpushx" -3 [WRITE DENYOOM FAST], KEY, List, "2.2.0", "O(N) for N elements added",
        Run(lists::lpushx), "Adds elements to the start of a list, if the list exists.", "key element ...";
    "lrange" 4 [READONLY], KEY, List, "1.0.0", "O(S+N) for N elements sent, after S skipped nodes",
        Run(lists::lrange), "Returns the elements between two indices.", "key start stop";
    "lrem" 4 [WRITE], KEY, List, "1.0.0", "O(N) for N elements",
        Run(lists::lrem), "Removes elements that are equal to a value.", "key count element";
    "lset" 4 [WRITE DENYOOM], KEY, List, "1.0.0", "O(N) for N elements that are skipped",
        Run(lists::lset), "Replaces the element at an index.", "key index element";
    "ltrim" 4 [WRITE], KEY, List, "1.0.0", "O(N) for N elements removed",
        Run(lists::ltrim), "Removes all elements except those between two indices.", "key start stop";
    "rpop" -2 [WRITE FAST], KEY, List, "1.0.0", "O(N) for N elements removed",
        Run(lists::rpop), "Removes elements from the end of a list.", "key [count]";
    "rpoplpush" 3 [WRITE DENYOOM], TWO, List, "1.2.0", "O(1)",
        Run(lists::rpoplpush), "Moves the last element of a list to the start of another list.", "source destination";
    "rpush" -3 [WRITE DENYOOM FAST], KEY, List, "1.0.0", "O(N) for N elements added",
        Run(lists::rpush), "Adds elements to the end of a list.", "key element ...";
    "rpushx" -3 [WRITE DENYOOM FAST], KEY, List, "2.2.0", "O(N) for N elements added",
        Run(lists::rpushx), "Adds elements to the end of a list, if the list exists.", "key element ...";

    "sadd" -3 [WRITE DENYOOM FAST], KEY, Set, "1.0.0", "O(N) for N members",
        Run(sets::sadd), "Adds members to a set.", "key member ...";
    "scard" 2 [READONLY FAST], KEY, Set, "1.0.0", "O(1)",
        Run(sets::scard), "Returns the number of members.", "key";
    "sdiff" -2 [READONLY], ALL, Set, "1.0.0", "O(N*M) for N members and M sets",
        Run(sets::sdiff), "Returns the members of the first set that are in none of the other sets.", "key ...";
    "sdiffstore" -3 [WRITE DENYOOM], ALL, Set, "1.0.0", "O(N*M) for N members and M sets",
        Run(sets::sdiffstore), "Stores the members of the first set that are in none of the other sets.", "destination key ...";
    "sinter" -2 [READONLY], ALL, Set, "1.0.0", "O(N*M) for N members of the smallest of M sets",
        Run(sets::sinter), "Returns the members common to all sets.", "key ...";
    "sintercard" -3 [READONLY], FIRST_COUNTED, Set, "7.0.0", "O(N*M) for N members of the smallest of M sets",
        Run(sets::sintercard), "Returns the number of members common to all sets.", "numkeys key ... [LIMIT limit]";
    "sinterstore" -3 [WRITE DENYOOM], ALL, Set, "1.0.0", "O(N*M) for N members of the smallest of M sets",
        Run(sets::sinterstore), "Stores the members common to all sets.", "destination key ...";
    "sismember" 3 [READONLY FAST], KEY, Set, "1.0.0", "O(1)",
        Run(sets::sismember), "Returns whether a value is a member of a set.", "key member";
    "smembers" 2 [READONLY], KEY, Set, "1.0.0", "O(N) for N members",
        Run(sets::smembers), "Returns all members.", "key";
    "smismember" -3 [READONLY FAST], KEY, Set, "6.2.0", "O(N) for N given members",
        Run(sets::smismember), "Returns for each given value whether the value is a member of a set.", "key member ...";
    "smove" 4 [WRITE FAST], TWO, Set, "1.0.0", "O(1)",
        Run(sets::smove), "Moves a member to another set.", "source destination member";
    "spop" -2 [WRITE FAST], KEY, Set, "1.0.0", "O(N) for N members removed",
        Run(sets::spop), "Removes and returns random members.", "key [count]";
    "srandmember" -2 [READONLY], KEY, Set, "1.0.0", "O(N) for N members requested",
        Run(sets::srandmember), "Returns random members.", "key [count]";
    "srem" -3 [WRITE FAST], KEY, Set, "1.0.0", "O(N) for N members",
        Run(sets::srem), "Removes members.", "key member ...";
    "sscan" -3 [READONLY], KEY, Set, "2.8.0", "O(1) per call, O(N) for all N members",
        Run(scan::sscan), "Returns some members, and a cursor for the next call.", "key cursor [MATCH pattern] [COUNT count]";
    "sunion" -2 [READONLY], ALL, Set, "1.0.0", "O(N) for N members of all sets",
        Run(sets::sunion), "Returns the union of multiple sets.", "key ...";
    "sunionstore" -3 [WRITE DENYOOM], ALL, Set, "1.0.0", "O(N) for N members of all sets",
        Run(sets::sunionstore), "Stores the union of multiple sets in a key.", "destination key ...";

    "bzmpop" -5 [WRITE BLOCKING], SECOND_COUNTED, SortedSet, "7.0.0", "O(K+M*log N) for K keys, and N members of which M are removed",
        Wait(zsets::bzmpop), "Removes members from the first non-empty sorted set; blocks while all sorted sets are empty.",
        "timeout numkeys key ... (MIN | MAX) [COUNT count]";
    "bzpopmax" -3 [WRITE FAST BLOCKING], BUT_LAST, SortedSet, "5.0.0", "O(log N)",
        Wait(zsets::bzpopmax), "Removes the member with the highest score; blocks while all sorted sets are empty.", "key ... timeout";
    "bzpopmin" -3 [WRITE FAST BLOCKING], BUT_LAST, SortedSet, "5.0.0", "O(log N)",
        Wait(zsets::bzpopmin), "Removes the member with the lowest score; blocks while all sorted sets are empty.", "key ... timeout";
    "zadd" -4 [WRITE DENYOOM FAST], KEY, SortedSet, "1.2.0", "O(log N) for N members, per given member",
        Run(zsets::zadd), "Adds members, or changes their scores.",
        "key [NX | XX] [GT | LT] [CH] [INCR] (score member) ...";
    "zcard" 2 [READONLY FAST], KEY, SortedSet, "1.2.0", "O(1)",
        Run(zsets::zcard), "Returns the number of members.", "key";
    "zcount" 4 [READONLY FAST], KEY, SortedSet, "2.0.0", "O(log N)",
        Run(zset_range::zcount), "Returns the number of members in a range of scores.", "key min:double max:double";
    "zdiff" -3 [READONLY], FIRST_COUNTED, SortedSet, "6.2.0", "O(N*M) for N members and M sets",
        Run(zset_combine::zdiff), "Returns the members of the first sorted set that are in none of the other sorted sets.",
        "numkeys key ... [WITHSCORES]";
    "zdiffstore" -4 [WRITE DENYOOM], Keys::StoreCounted, SortedSet, "6.2.0", "O(N*M) for N members and M sets",
        Run(zset_combine::zdiffstore), "Stores the members of the first sorted set that are in none of the other sorted sets.",
        "destination numkeys key ...";
    "zincrby" 4 [WRITE DENYOOM FAST], KEY, SortedSet, "1.2.0", "O(log N)",
        Run(zsets::zincrby), "Adds a number to a member's score.", "key increment member";
    "zinter" -3 [READONLY], FIRST_COUNTED, SortedSet, "6.2.0", "O(N*M*log N) for N members of the smallest of M sets",
        Run(zset_combine::zinter), "Returns the members common to all sorted sets.",
        "numkeys key ... [WEIGHTS weight ...] [AGGREGATE (SUM | MIN | MAX)] [WITHSCORES]";
    "zintercard" -3 [READONLY], FIRST_COUNTED, SortedSet, "7.0.0", "O(N*M) for N members of the smallest of M sets",
        Run(zset_combine::zintercard), "Returns the number of members common to all sorted sets.", "numkeys key ... [LIMIT limit]";
    "zinterstore" -4 [WRITE DENYOOM], Keys::StoreCounted, SortedSet, "2.0.0", "O(N*M*log N) for N members of the smallest of M sets",
        Run(zset_combine::zinterstore), "Stores the members common to all sorted sets.",
        "destination numkeys key ... [WEIGHTS weight ...] [AGGREGATE (SUM | MIN | MAX)]";
    "zlexcount" 4 [READONLY FAST], KEY, SortedSet, "2.8.9", "O(log N)",
        Run(zset_range::zlexcount), "Returns the number of members in a lexicographical range.", "key min max";
    "zmpop" -4 [WRITE], FIRST_COUNTED, SortedSet, "7.0.0", "O(K+M*log N) for K keys, and N members of which M are removed",
        Run(zsets::zmpop), "Removes members from the first non-empty sorted set.",
        "numkeys key ... (MIN | MAX) [COUNT count]";
    "zmscore" -3 [READONLY FAST], KEY, SortedSet, "6.2.0", "O(N) for N given members",
        Run(zsets::zmscore), "Returns the scores of several members.", "key member ...";
    "zpopmax" -2 [WRITE FAST], KEY, SortedSet, "5.0.0", "O(M*log N) for N members, of which M are removed",
        Run(zsets::zpopmax), "Removes the members with the highest scores.", "key [count]";
    "zpopmin" -2 [WRITE FAST], KEY, SortedSet, "5.0.0", "O(M*log N) for N members, of which M are removed",
        Run(zsets::zpopmin), "Removes the members with the lowest scores.", "key [count]";
    "zrandmember" -2 [READONLY], KEY, SortedSet, "6.2.0", "O(N) for N members requested",
        Run(zsets::zrandmember), "Returns random members.", "key [count [WITHSCORES]]";
    "zrange" -4 [READONLY], KEY, SortedSet, "1.2.0", "O(log N+M) for N members, of which M are sent",
        Run(zset_range::zrange), "Returns the members in a range of ranks or scores, or in a lexicographical range.",
        "key start:string stop:string [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]";
    "zrangebylex" -4 [READONLY], KEY, SortedSet, "2.8.9", "O(log N+M) for N members, of which M are sent",
        Run(zset_range::zrangebylex), "Returns the members in a lexicographical range.", "key min max [LIMIT offset count]";
    "zrangebyscore" -4 [READONLY], KEY, SortedSet, "1.0.5", "O(log N+M) for N members, of which M are sent",
        Run(zset_range::zrangebyscore), "Returns the members in a range of scores.",
        "key min:double max:double [WITHSCORES] [LIMIT offset count]";
    "zrangestore" -5 [WRITE DENYOOM], TWO, SortedSet, "6.2.0", "O(log N+M) for N members, of which M are stored",
        Run(zset_range::zrangestore), "Stores the members in a range of ranks or scores, or in a lexicographical range.",
        "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]";
    "zrank" -3 [READONLY FAST], KEY, SortedSet, "2.0.0", "O(log N)",
        Run(zsets::zrank), "Returns the rank of a member, counted from the lowest score.", "key member [WITHSCORE]";
    "zrem" -3 [WRITE FAST], KEY, SortedSet, "1.2.0", "O(M*log N) for N members, of which M are removed",
        Run(zsets::zrem), "Removes members.", "key member ...";
    "zremrangebylex" 4 [WRITE], KEY, SortedSet, "2.8.9", "O(M*log N) for N members, of which M are removed",
        Run(zset_range::zremrangebylex), "Removes the members in a lexicographical range.", "key min max";
    "zremrangebyrank" 4 [WRITE], KEY, SortedSet, "2.0.0", "O(M*log N) for N members, of which M are removed",
        Run(zset_range::zremrangebyrank), "Removes the members in a range of ranks.", "key start stop";
    "zremrangebyscore" 4 [WRITE], KEY, SortedSet, "1.2.0", "O(M*log N) for N members, of which M are removed",
        Run(zset_range::zremrangebyscore), "Removes the members in a range of scores.", "key min:double max:double";
    "zrevrange" -4 [READONLY], KEY, SortedSet, "1.2.0", "O(log N+M) for N members, of which M are sent",
        Run(zset_range::zrevrange), "Returns the members in a range of ranks, the highest score first.",
        "key start stop [WITHSCORES]";
    "zrevrangebylex" -4 [READONLY], KEY, SortedSet, "2.8.9", "O(log N+M) for N members, of which M are sent",
        Run(zset_range::zrevrangebylex), "Returns the members in a lexicographical range, the last member first.",
        "key max min [LIMIT offset count]";
    "zrevrangebyscore" -4 [READONLY], KEY, SortedSet, "2.2.0", "O(log N+M) for N members, of which M are sent",
        Run(zset_range::zrevrangebyscore), "Returns the members in a range of scores, the highest score first.",
        "key max:double min:double [WITHSCORES] [LIMIT offset count]";
    "zrevrank" -3 [READONLY FAST], KEY, SortedSet, "2.0.0", "O(log N)",
        Run(zsets::zrevrank), "Returns the rank of a member, counted from the highest score.", "key member [WITHSCORE]";
    "zscan" -3 [READONLY], KEY, SortedSet, "2.8.0", "O(1) per call, O(N) for all N members",
        Run(scan::zscan), "Returns some members and their scores, and a cursor for the next call.",
        "key cursor [MATCH pattern] [COUNT count]";
    "zscore" 3 [READONLY FAST], KEY, SortedSet, "1.2.0", "O(1)",
        Run(zsets::zscore), "Returns the score of a member.", "key member";
    "zunion" -3 [READONLY], FIRST_COUNTED, SortedSet, "6.2.0", "O(N*log N) for N members of all sets",
        Run(zset_combine::zunion), "Returns the union of several sorted sets.",
        "numkeys key ... [WEIGHTS weight ...] [AGGREGATE (SUM | MIN | MAX)] [WITHSCORES]";
    "zunionstore" -4 [WRITE DENYOOM], Keys::StoreCounted, SortedSet, "2.0.0", "O(N*log N) for N members of all sets",
        Run(zset_combine::zunionstore), "Stores the union of several sorted sets in a key.",
        "destination numkeys key ... [WEIGHTS weight ...] [AGGREGATE (SUM | MIN | MAX)]";
}
