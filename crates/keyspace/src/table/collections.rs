//! Hashes, lists, sets, sorted sets.
// tidy: long because it is a list, a command a row.

use super::{ALL, KEY, TWO, rows};
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
        Run(hashes::hdel), "Removes fields.";
    "hexists" 3 [READONLY FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hexists), "Whether a field is there.";
    "hget" 3 [READONLY FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hget), "The value of a field.";
    "hgetall" 2 [READONLY], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hgetall), "All fields and their values.";
    "hincrby" 4 [WRITE DENYOOM FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hincrby), "Adds a number to a field.";
    "hincrbyfloat" 4 [WRITE DENYOOM FAST], KEY, Hash, "2.6.0", "O(1)",
        Run(hashes::hincrbyfloat), "Adds a decimal fraction to a field.";
    "hkeys" 2 [READONLY], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hkeys), "All fields.";
    "hlen" 2 [READONLY FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hlen), "How many fields there are.";
    "hmget" -3 [READONLY FAST], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hmget), "The values of several fields.";
    "hmset" -4 [WRITE DENYOOM FAST], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hmset), "Sets fields; HSET by its old name.";
    "hrandfield" -2 [READONLY], KEY, Hash, "6.2.0", "O(N) for N fields asked for",
        Run(hashes::hrandfield), "Some fields.";
    "hscan" -3 [READONLY], KEY, Hash, "2.8.0", "O(1) a call, O(N) for all N fields",
        Run(scan::hscan), "Some fields and their values, and where to go on.";
    "hset" -4 [WRITE DENYOOM FAST], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hset), "Sets fields.";
    "hsetnx" 4 [WRITE DENYOOM FAST], KEY, Hash, "2.0.0", "O(1)",
        Run(hashes::hsetnx), "Sets a field that is not there.";
    "hstrlen" 3 [READONLY FAST], KEY, Hash, "3.2.0", "O(1)",
        Run(hashes::hstrlen), "The length of a field's value.";
    "hvals" 2 [READONLY], KEY, Hash, "2.0.0", "O(N) for N fields",
        Run(hashes::hvals), "All values.";

    "blmove" 6 [WRITE DENYOOM BLOCKING], TWO, List, "6.2.0", "O(1)",
        Wait(lists::blmove), "Moves an element from list to list, once there is one.";
    "blmpop" -5 [WRITE BLOCKING], SECOND_COUNTED, List, "7.0.0", "O(N+M) for N keys and M elements",
        Wait(lists::blmpop), "Removes elements from the first list that has some, once there is one.";
    "blpop" -3 [WRITE BLOCKING], BUT_LAST, List, "2.0.0", "O(N) for N keys",
        Wait(lists::blpop), "Removes the first element of a list, once there is one.";
    "brpop" -3 [WRITE BLOCKING], BUT_LAST, List, "2.0.0", "O(N) for N keys",
        Wait(lists::brpop), "Removes the last element of a list, once there is one.";
    "brpoplpush" 4 [WRITE DENYOOM BLOCKING], TWO, List, "2.2.0", "O(1)",
        Wait(lists::brpoplpush), "Moves the last element of a list to the begin of another, once there is one.";
    "lindex" 3 [READONLY], KEY, List, "1.0.0", "O(N) for N nodes",
        Run(lists::lindex), "The element with an index.";
    "linsert" 5 [WRITE DENYOOM], KEY, List, "2.2.0", "O(N) for N elements before it",
        Run(lists::linsert), "Inserts before or behind an element.";
    "llen" 2 [READONLY FAST], KEY, List, "1.0.0", "O(1)",
        Run(lists::llen), "How many elements there are.";
    "lmove" 5 [WRITE DENYOOM], TWO, List, "6.2.0", "O(1)",
        Run(lists::lmove), "Moves an element from list to list.";
    "lmpop" -4 [WRITE], FIRST_COUNTED, List, "7.0.0", "O(N+M) for N keys and M elements",
        Run(lists::lmpop), "Removes elements from the first list that has some.";
    "lpop" -2 [WRITE FAST], KEY, List, "1.0.0", "O(N) for N elements removed",
        Run(lists::lpop), "Removes the first elements.";
    "lpos" -3 [READONLY], KEY, List, "6.0.6", "O(N) for N elements",
        Run(lists::lpos), "Where an element stands.";
    "lpush" -3 [WRITE DENYOOM FAST], KEY, List, "1.0.0", "O(N) for N elements added",
        Run(lists::lpush), "Adds elements at the begin.";
    "lpushx" -3 [WRITE DENYOOM FAST], KEY, List, "2.2.0", "O(N) for N elements added",
        Run(lists::lpushx), "Adds elements at the begin of a list that is there.";
    "lrange" 4 [READONLY], KEY, List, "1.0.0", "O(S+N) for N elements behind S nodes",
        Run(lists::lrange), "The elements between two indices.";
    "lrem" 4 [WRITE], KEY, List, "1.0.0", "O(N) for N elements",
        Run(lists::lrem), "Removes equal elements.";
    "lset" 4 [WRITE DENYOOM], KEY, List, "1.0.0", "O(N) for N nodes",
        Run(lists::lset), "Replaces the element with an index.";
    "ltrim" 4 [WRITE], KEY, List, "1.0.0", "O(N) for N elements removed",
        Run(lists::ltrim), "Removes all elements but those between two indices.";
    "rpop" -2 [WRITE FAST], KEY, List, "1.0.0", "O(N) for N elements removed",
        Run(lists::rpop), "Removes the last elements.";
    "rpoplpush" 3 [WRITE DENYOOM], TWO, List, "1.2.0", "O(1)",
        Run(lists::rpoplpush), "Moves the last element of a list to the begin of another.";
    "rpush" -3 [WRITE DENYOOM FAST], KEY, List, "1.0.0", "O(N) for N elements added",
        Run(lists::rpush), "Adds elements at the end.";
    "rpushx" -3 [WRITE DENYOOM FAST], KEY, List, "2.2.0", "O(N) for N elements added",
        Run(lists::rpushx), "Adds elements at the end of a list that is there.";

    "sadd" -3 [WRITE DENYOOM FAST], KEY, Set, "1.0.0", "O(N) for N members",
        Run(sets::sadd), "Adds members.";
    "scard" 2 [READONLY FAST], KEY, Set, "1.0.0", "O(1)",
        Run(sets::scard), "How many members there are.";
    "sdiff" -2 [READONLY], ALL, Set, "1.0.0", "O(N*M) for N members and M sets",
        Run(sets::sdiff), "The members of the first set that are in no other.";
    "sdiffstore" -3 [WRITE DENYOOM], ALL, Set, "1.0.0", "O(N*M) for N members and M sets",
        Run(sets::sdiffstore), "Stores the members of the first set that are in no other.";
    "sinter" -2 [READONLY], ALL, Set, "1.0.0", "O(N*M) for N members of the smallest of M sets",
        Run(sets::sinter), "The members that all sets have.";
    "sintercard" -3 [READONLY], FIRST_COUNTED, Set, "7.0.0", "O(N*M) for N members of the smallest of M sets",
        Run(sets::sintercard), "How many members all sets have.";
    "sinterstore" -3 [WRITE DENYOOM], ALL, Set, "1.0.0", "O(N*M) for N members of the smallest of M sets",
        Run(sets::sinterstore), "Stores the members that all sets have.";
    "sismember" 3 [READONLY FAST], KEY, Set, "1.0.0", "O(1)",
        Run(sets::sismember), "Whether something is a member.";
    "smembers" 2 [READONLY], KEY, Set, "1.0.0", "O(N) for N members",
        Run(sets::smembers), "All members.";
    "smismember" -3 [READONLY FAST], KEY, Set, "6.2.0", "O(N) for N names",
        Run(sets::smismember), "Which of several things are members.";
    "smove" 4 [WRITE FAST], TWO, Set, "1.0.0", "O(1)",
        Run(sets::smove), "Moves a member from set to set.";
    "spop" -2 [WRITE FAST], KEY, Set, "1.0.0", "O(N) for N members removed",
        Run(sets::spop), "Removes some members.";
    "srandmember" -2 [READONLY], KEY, Set, "1.0.0", "O(N) for N members asked for",
        Run(sets::srandmember), "Some members.";
    "srem" -3 [WRITE FAST], KEY, Set, "1.0.0", "O(N) for N members",
        Run(sets::srem), "Removes members.";
    "sscan" -3 [READONLY], KEY, Set, "2.8.0", "O(1) a call, O(N) for all N members",
        Run(scan::sscan), "Some members, and where to go on.";
    "sunion" -2 [READONLY], ALL, Set, "1.0.0", "O(N) for N members of all sets",
        Run(sets::sunion), "The members that any of the sets has.";
    "sunionstore" -3 [WRITE DENYOOM], ALL, Set, "1.0.0", "O(N) for N members of all sets",
        Run(sets::sunionstore), "Stores the members that any of the sets has.";

    "bzmpop" -5 [WRITE BLOCKING], SECOND_COUNTED, SortedSet, "7.0.0", "O(K+M*log N) for K keys and M members",
        Wait(zsets::bzmpop), "Removes members from the first sorted set that has some, once there is one.";
    "bzpopmax" -3 [WRITE FAST BLOCKING], BUT_LAST, SortedSet, "5.0.0", "O(log N)",
        Wait(zsets::bzpopmax), "Removes the member with the highest score, once there is one.";
    "bzpopmin" -3 [WRITE FAST BLOCKING], BUT_LAST, SortedSet, "5.0.0", "O(log N)",
        Wait(zsets::bzpopmin), "Removes the member with the lowest score, once there is one.";
    "zadd" -4 [WRITE DENYOOM FAST], KEY, SortedSet, "1.2.0", "O(log N) a member",
        Run(zsets::zadd), "Adds members, or changes their scores.";
    "zcard" 2 [READONLY FAST], KEY, SortedSet, "1.2.0", "O(1)",
        Run(zsets::zcard), "How many members there are.";
    "zcount" 4 [READONLY FAST], KEY, SortedSet, "2.0.0", "O(log N)",
        Run(zset_range::zcount), "How many members have a score between two.";
    "zdiff" -3 [READONLY], FIRST_COUNTED, SortedSet, "6.2.0", "O(N*M) for N members and M sets",
        Run(zset_combine::zdiff), "The members of the first sorted set that are in no other.";
    "zdiffstore" -4 [WRITE DENYOOM], Keys::StoreCounted, SortedSet, "6.2.0", "O(N*M) for N members and M sets",
        Run(zset_combine::zdiffstore), "Stores the members of the first sorted set that are in no other.";
    "zincrby" 4 [WRITE DENYOOM FAST], KEY, SortedSet, "1.2.0", "O(log N)",
        Run(zsets::zincrby), "Adds a number to a score.";
    "zinter" -3 [READONLY], FIRST_COUNTED, SortedSet, "6.2.0", "O(N*M*log N) for N members of the smallest of M sets",
        Run(zset_combine::zinter), "The members that all sorted sets have.";
    "zintercard" -3 [READONLY], FIRST_COUNTED, SortedSet, "7.0.0", "O(N*M) for N members of the smallest of M sets",
        Run(zset_combine::zintercard), "How many members all sorted sets have.";
    "zinterstore" -4 [WRITE DENYOOM], Keys::StoreCounted, SortedSet, "2.0.0", "O(N*M*log N) for N members of the smallest of M sets",
        Run(zset_combine::zinterstore), "Stores the members that all sorted sets have.";
    "zlexcount" 4 [READONLY FAST], KEY, SortedSet, "2.8.9", "O(log N)",
        Run(zset_range::zlexcount), "How many members have a name between two.";
    "zmpop" -4 [WRITE], FIRST_COUNTED, SortedSet, "7.0.0", "O(K+M*log N) for K keys and M members",
        Run(zsets::zmpop), "Removes members from the first sorted set that has some.";
    "zmscore" -3 [READONLY FAST], KEY, SortedSet, "6.2.0", "O(N) for N names",
        Run(zsets::zmscore), "The scores of several members.";
    "zpopmax" -2 [WRITE FAST], KEY, SortedSet, "5.0.0", "O(M*log N) for M members",
        Run(zsets::zpopmax), "Removes the members with the highest scores.";
    "zpopmin" -2 [WRITE FAST], KEY, SortedSet, "5.0.0", "O(M*log N) for M members",
        Run(zsets::zpopmin), "Removes the members with the lowest scores.";
    "zrandmember" -2 [READONLY], KEY, SortedSet, "6.2.0", "O(N) for N members asked for",
        Run(zsets::zrandmember), "Some members.";
    "zrange" -4 [READONLY], KEY, SortedSet, "1.2.0", "O(log N+M) for M members sent",
        Run(zset_range::zrange), "The members between two ranks, scores or names.";
    "zrangebylex" -4 [READONLY], KEY, SortedSet, "2.8.9", "O(log N+M) for M members sent",
        Run(zset_range::zrangebylex), "The members between two names.";
    "zrangebyscore" -4 [READONLY], KEY, SortedSet, "1.0.5", "O(log N+M) for M members sent",
        Run(zset_range::zrangebyscore), "The members between two scores.";
    "zrangestore" -5 [WRITE DENYOOM], TWO, SortedSet, "6.2.0", "O(log N+M) for M members stored",
        Run(zset_range::zrangestore), "Stores the members between two ranks, scores or names.";
    "zrank" -3 [READONLY FAST], KEY, SortedSet, "2.0.0", "O(log N)",
        Run(zsets::zrank), "How many members have a lower score.";
    "zrem" -3 [WRITE FAST], KEY, SortedSet, "1.2.0", "O(M*log N) for M members",
        Run(zsets::zrem), "Removes members.";
    "zremrangebylex" 4 [WRITE], KEY, SortedSet, "2.8.9", "O(M*log N) for M members removed",
        Run(zset_range::zremrangebylex), "Removes the members between two names.";
    "zremrangebyrank" 4 [WRITE], KEY, SortedSet, "2.0.0", "O(M*log N) for M members removed",
        Run(zset_range::zremrangebyrank), "Removes the members between two ranks.";
    "zremrangebyscore" 4 [WRITE], KEY, SortedSet, "1.2.0", "O(M*log N) for M members removed",
        Run(zset_range::zremrangebyscore), "Removes the members between two scores.";
    "zrevrange" -4 [READONLY], KEY, SortedSet, "1.2.0", "O(log N+M) for M members sent",
        Run(zset_range::zrevrange), "The members between two ranks, from the highest score down.";
    "zrevrangebylex" -4 [READONLY], KEY, SortedSet, "2.8.9", "O(log N+M) for M members sent",
        Run(zset_range::zrevrangebylex), "The members between two names, from the last down.";
    "zrevrangebyscore" -4 [READONLY], KEY, SortedSet, "2.2.0", "O(log N+M) for M members sent",
        Run(zset_range::zrevrangebyscore), "The members between two scores, from the highest down.";
    "zrevrank" -3 [READONLY FAST], KEY, SortedSet, "2.0.0", "O(log N)",
        Run(zsets::zrevrank), "How many members have a higher score.";
    "zscan" -3 [READONLY], KEY, SortedSet, "2.8.0", "O(1) a call, O(N) for all N members",
        Run(scan::zscan), "Some members and their scores, and where to go on.";
    "zscore" 3 [READONLY FAST], KEY, SortedSet, "1.2.0", "O(1)",
        Run(zsets::zscore), "The score of a member.";
    "zunion" -3 [READONLY], FIRST_COUNTED, SortedSet, "6.2.0", "O(N*log N) for N members of all sets",
        Run(zset_combine::zunion), "The members that any of the sorted sets has.";
    "zunionstore" -4 [WRITE DENYOOM], Keys::StoreCounted, SortedSet, "2.0.0", "O(N*log N) for N members of all sets",
        Run(zset_combine::zunionstore), "Stores the members that any of the sorted sets has.";
}
