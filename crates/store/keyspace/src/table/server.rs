//! Rows of the command table for commands on connections, on the server, and on channels. Most of
//! these commands need sockets or files, so the crate `store` executes them, not this one.

use super::rows::rows;
use crate::command::Handler::{Container, Help, Run, Service};
use crate::command::{Command, Flags, Group, Keys};
use crate::commands::server;

const NONE: Keys = Keys::None;

rows! {
    "auth" -2 [NOSCRIPT LOADING STALE FAST NO_AUTH ALLOW_BUSY], NONE, Connection, "1.0.0", "O(1)",
        Service, "Authenticates the connection.", "[username] password";
    "client" -2 [], NONE, Connection, "2.4.0", "see the subcommands",
        Container, "Reports on connections and controls them.";
    "client|caching" 3 [NOSCRIPT LOADING STALE], NONE, Connection, "6.0.0", "O(1)",
        Service, "Refused: client tracking is not supported.", "(YES | NO)";
    "client|getname" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "2.6.9", "O(1)",
        Service, "Returns the connection's name.";
    "client|getredir" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "6.0.0", "O(1)",
        Service, "Returns -1, since client tracking is not supported.";
    "client|help" 2 [LOADING STALE], NONE, Connection, "5.0.0", "O(1)",
        Help, "Lists the subcommands.";
    "client|id" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "5.0.0", "O(1)",
        Service, "Returns the connection's unique number.";
    "client|info" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "6.2.0", "O(1)",
        Service, "Returns information on this connection.";
    "client|kill" -3 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "2.4.0", "O(N) for N connections",
        Service, "Closes connections.",
        "(ip:port | (ID client-id | TYPE (NORMAL | MASTER | SLAVE | REPLICA | PUBSUB) | USER username | ADDR \
         ip:port | LADDR ip:port | SKIPME yes/no) ...)";
    "client|list" -2 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "2.4.0", "O(N) for N connections",
        Service, "Returns information on all connections.",
        "[TYPE (NORMAL | MASTER | REPLICA | PUBSUB)] [ID client-id ...]";
    "client|no-evict" 3 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "7.0.0", "O(1)",
        Service, "Sets whether the connection may be closed when memory is short.", "(ON | OFF)";
    "client|no-touch" 3 [NOSCRIPT LOADING STALE], NONE, Connection, "7.2.0", "O(1)",
        Service, "Sets whether reads by this connection count as uses of keys.", "(ON | OFF)";
    "client|pause" -3 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "3.0.0", "O(1)",
        Service, "Delays all commands, or only commands that change data.", "timeout:integer [WRITE | ALL]";
    "client|reply" 3 [NOSCRIPT LOADING STALE], NONE, Connection, "3.2.0", "O(1)",
        Service, "Sets whether commands get replies.", "(ON | OFF | SKIP)";
    "client|setinfo" 4 [NOSCRIPT LOADING STALE], NONE, Connection, "7.2.0", "O(1)",
        Service, "Sets the name or version of the client's library.", "(LIB-NAME libname | LIB-VER libver)";
    "client|setname" 3 [NOSCRIPT LOADING STALE], NONE, Connection, "2.6.9", "O(1)",
        Service, "Sets the connection's name.", "connection-name";
    "client|tracking" -3 [NOSCRIPT LOADING STALE], NONE, Connection, "6.0.0", "O(1)",
        Service, "Refused: client tracking is not supported.",
        "(ON | OFF) [REDIRECT client-id] [(PREFIX prefix) ...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]";
    "client|trackinginfo" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "6.2.0", "O(1)",
        Service, "Reports that client tracking is off.";
    "client|unblock" -3 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "5.0.0", "O(log N) for N connections",
        Service, "Unblocks another connection.", "client-id [TIMEOUT | ERROR]";
    "client|unpause" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "6.2.0", "O(N) for N paused connections",
        Service, "Ends a pause of CLIENT PAUSE.";
    "echo" 2 [LOADING STALE FAST], NONE, Connection, "1.0.0", "O(1)",
        Run(server::echo), "Returns its argument.", "message";
    "hello" -1 [NOSCRIPT LOADING STALE FAST NO_AUTH ALLOW_BUSY], NONE, Connection, "6.0.0", "O(1)",
        Service, "Selects the protocol version, and returns information on the server.",
        "[protover [AUTH username password] [SETNAME clientname]]";
    "ping" -1 [FAST], NONE, Connection, "1.0.0", "O(1)",
        Service, "Checks whether the server responds.", "[message]";
    "quit" -1 [NOSCRIPT LOADING STALE FAST NO_AUTH ALLOW_BUSY], NONE, Connection, "1.0.0", "O(1)",
        Service, "Closes the connection.";
    "reset" 1 [NOSCRIPT LOADING STALE FAST NO_AUTH ALLOW_BUSY], NONE, Connection, "6.2.0", "O(1)",
        Service, "Resets the state of the connection.";

    "psubscribe" -2 [PUBSUB NOSCRIPT LOADING STALE], NONE, PubSub, "2.0.0", "O(N) for N patterns",
        Service, "Subscribes to the channels that match patterns.", "pattern ...";
    "publish" 3 [PUBSUB LOADING STALE FAST], NONE, PubSub, "2.0.0", "O(N+M) for N subscribers and M patterns",
        Service, "Publishes a message to a channel.", "channel message";
    "pubsub" -2 [], NONE, PubSub, "2.8.0", "O(N) for N channels",
        Container, "Returns information on subscriptions.";
    "pubsub|channels" -2 [PUBSUB LOADING STALE], NONE, PubSub, "2.8.0", "O(N) for N channels",
        Service, "Returns the channels with subscribers.", "[pattern]";
    "pubsub|help" 2 [LOADING STALE], NONE, PubSub, "6.2.0", "O(1)",
        Help, "Lists the subcommands.";
    "pubsub|numpat" 2 [PUBSUB LOADING STALE], NONE, PubSub, "2.8.0", "O(1)",
        Service, "Returns the number of patterns with subscribers.";
    "pubsub|numsub" -2 [PUBSUB LOADING STALE], NONE, PubSub, "2.8.0", "O(N) for N channels requested",
        Service, "Returns the number of subscribers per channel.", "[channel ...]";
    "pubsub|shardchannels" -2 [PUBSUB LOADING STALE], NONE, PubSub, "7.0.0", "O(N) for N channels",
        Service, "Returns the shard channels with subscribers.", "[pattern]";
    "pubsub|shardnumsub" -2 [PUBSUB LOADING STALE], NONE, PubSub, "7.0.0", "O(N) for N channels requested",
        Service, "Returns the number of subscribers per shard channel.", "[shardchannel ...]";
    "punsubscribe" -1 [PUBSUB NOSCRIPT LOADING STALE], NONE, PubSub, "2.0.0", "O(N) for N patterns",
        Service, "Unsubscribes from patterns.", "[pattern ...]";
    "spublish" 3 [PUBSUB LOADING STALE FAST], Keys::Channels { last: 1 }, PubSub, "7.0.0", "O(N) for N subscribers",
        Service, "Publishes a message to a shard channel.", "shardchannel message";
    "ssubscribe" -2 [PUBSUB NOSCRIPT LOADING STALE], Keys::Channels { last: -1 }, PubSub, "7.0.0", "O(N) for N channels",
        Service, "Subscribes to shard channels.", "shardchannel ...";
    "subscribe" -2 [PUBSUB NOSCRIPT LOADING STALE], NONE, PubSub, "2.0.0", "O(N) for N channels",
        Service, "Subscribes to channels.", "channel ...";
    "sunsubscribe" -1 [PUBSUB NOSCRIPT LOADING STALE], Keys::Channels { last: -1 }, PubSub, "7.0.0", "O(N) for N channels",
        Service, "Unsubscribes from shard channels.", "[shardchannel ...]";
    "unsubscribe" -1 [PUBSUB NOSCRIPT LOADING STALE], NONE, PubSub, "2.0.0", "O(N) for N channels",
        Service, "Unsubscribes from channels.", "[channel ...]";

    "acl" -2 [], NONE, Server, "6.0.0", "see the subcommands",
        Service, "Shows the access rules: the only user is named default and may run every command.";
    "bgrewriteaof" 1 [ADMIN NOSCRIPT NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(N) for N keys, in small steps",
        Service, "Rewrites the append-only file in the background.";
    "bgsave" -1 [ADMIN NOSCRIPT NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(N) for N keys, in small steps",
        Service, "Saves a snapshot in the background.", "[SCHEDULE]";
    "command" -1 [LOADING STALE], NONE, Server, "2.8.13", "O(N) for N commands",
        Container, "Returns information on commands.";
    "command|count" 2 [LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Run(server::command_count), "Returns the number of commands.";
    "command|docs" -2 [LOADING STALE], NONE, Server, "7.0.0", "O(N) for N commands",
        Run(server::command_docs), "Returns the documentation of commands.", "[command-name ...]";
    "command|getkeys" -3 [LOADING STALE], NONE, Server, "2.8.13", "O(N) for N arguments",
        Run(server::command_getkeys), "Returns the keys in a call of a command.", "command [arg ...]";
    "command|getkeysandflags" -3 [LOADING STALE], NONE, Server, "7.0.0", "O(N) for N arguments",
        Run(server::command_getkeysandflags), "Returns the keys in a call of a command, and how the command uses them.", "command [arg ...]";
    "command|help" 2 [LOADING STALE], NONE, Server, "5.0.0", "O(1)",
        Help, "Lists the subcommands.";
    "command|info" -2 [LOADING STALE], NONE, Server, "2.8.13", "O(N) for N commands",
        Run(server::command_info), "Returns arity, flags and key positions of commands.", "[command-name ...]";
    "command|list" -2 [LOADING STALE], NONE, Server, "7.0.0", "O(N) for N commands",
        Run(server::command_list), "Returns the names of commands.",
        "[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern)]";
    "config" -2 [], NONE, Server, "2.0.0", "see the subcommands",
        Container, "Reads and changes the settings of the server.";
    "config|get" -3 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.0.0", "O(N) for N settings",
        Service, "Returns the settings that match patterns.", "parameter ...";
    "config|help" 2 [LOADING STALE], NONE, Server, "5.0.0", "O(1)",
        Help, "Lists the subcommands.";
    "config|resetstat" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.0.0", "O(1)",
        Service, "Resets the statistics.";
    "config|rewrite" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.0", "O(1)",
        Service, "Refused: the server does not change its configuration file.";
    "config|set" -4 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.0.0", "O(N) for N settings",
        Service, "Changes settings: either all of the named settings, or none of them.", "(parameter value) ...";
    "debug" -2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "1.0.0", "see the subcommands",
        Service, "Commands for tests and debugging.";
    "failover" -1 [ADMIN NOSCRIPT STALE], NONE, Server, "6.2.0", "O(1)",
        Service, "Refused: replication is not supported.", "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]";
    "info" -1 [LOADING STALE], NONE, Server, "1.0.0", "O(1)",
        Service, "Returns statistics of the server.", "[section ...]";
    "lastsave" 1 [LOADING STALE FAST], NONE, Server, "1.0.0", "O(1)",
        Service, "Returns the time of the last successful snapshot.";
    "latency" -2 [], NONE, Server, "2.8.13", "see the subcommands",
        Container, "Returns information on slow events.";
    "latency|doctor" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "Returns a report on slow events.";
    "latency|graph" 3 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "Returns a text chart of a slow event's history.", "event";
    "latency|help" 2 [LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Help, "Lists the subcommands.";
    "latency|histogram" -2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "7.0.0", "O(N) for N commands",
        Service, "Returns the distribution of durations per command.", "[command ...]";
    "latency|history" 3 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "Returns times and durations of a slow event.", "event";
    "latency|latest" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "Returns the latest occurrence of each slow event.";
    "latency|reset" -2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "Clears the history of slow events.", "[event ...]";
    "lolwut" -1 [READONLY FAST], NONE, Server, "5.0.0", "O(1)",
        Service, "Returns a text drawing and the version of the server.", "[VERSION version]";
    "memory" -2 [], NONE, Server, "4.0.0", "see the subcommands",
        Service, "Returns information on memory.";
    "memory|doctor" 2 [], NONE, Server, "4.0.0", "O(1)",
        Service, "Returns a report on memory problems.";
    "memory|help" 2 [LOADING STALE], NONE, Server, "4.0.0", "O(1)",
        Help, "Lists the subcommands.";
    "memory|malloc-stats" 2 [], NONE, Server, "4.0.0", "O(1)",
        Service, "Returns a fixed text; INFO memory has the statistics of the allocator.";
    "memory|purge" 2 [], NONE, Server, "4.0.0", "O(1)",
        Service, "Defragments data, and returns freed memory to the system.";
    "memory|stats" 2 [], NONE, Server, "4.0.0", "O(1)",
        Service, "Returns the memory usage of each part of the server.";
    "module" -2 [], NONE, Server, "4.0.0", "see the subcommands",
        Service, "Replies as a server without modules, which are not supported.";
    "monitor" 1 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "1.0.0", "O(1)",
        Service, "Shows all commands of all clients as they arrive.";
    "psync" -3 [ADMIN NOSCRIPT NO_MULTI NO_ASYNC_LOADING], NONE, Server, "2.8.0", "O(1)",
        Service, "Refused: replication is not supported.", "replicationid offset";
    "replconf" -1 [ADMIN NOSCRIPT LOADING STALE ALLOW_BUSY], NONE, Server, "3.0.0", "O(1)",
        Service, "Refused: replication is not supported.";
    "replicaof" 3 [ADMIN NOSCRIPT STALE NO_ASYNC_LOADING], NONE, Server, "5.0.0", "O(1)",
        Service, "Accepts only NO ONE: replication is not supported.", "(host port | NO ONE)";
    "role" 1 [NOSCRIPT LOADING STALE FAST], NONE, Server, "2.8.12", "O(1)",
        Service, "Returns the role of the server, which is always primary.";
    "save" 1 [ADMIN NOSCRIPT NO_MULTI NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(N) for N keys",
        Service, "Saves a snapshot.";
    "shutdown" -1 [ADMIN NOSCRIPT LOADING STALE NO_MULTI ALLOW_BUSY], NONE, Server, "1.0.0", "O(N) for N keys, if the command saves a snapshot",
        Service, "Stops the server.", "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]";
    "slaveof" 3 [ADMIN NOSCRIPT STALE NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(1)",
        Service, "Old name of REPLICAOF.", "(host port | NO ONE)";
    "slowlog" -2 [], NONE, Server, "2.2.12", "see the subcommands",
        Container, "Reads and clears the log of slow commands.";
    "slowlog|get" -2 [ADMIN LOADING STALE], NONE, Server, "2.2.12", "O(N) for N entries",
        Service, "Returns the latest entries of the slow log.", "[count]";
    "slowlog|help" 2 [LOADING STALE], NONE, Server, "6.2.0", "O(1)",
        Help, "Lists the subcommands.";
    "slowlog|len" 2 [ADMIN LOADING STALE], NONE, Server, "2.2.12", "O(1)",
        Service, "Returns the number of entries in the slow log.";
    "slowlog|reset" 2 [ADMIN LOADING STALE], NONE, Server, "2.2.12", "O(1)",
        Service, "Clears the slow log.";
    "sync" 1 [ADMIN NOSCRIPT NO_MULTI NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(1)",
        Service, "Refused: replication is not supported.";
    "time" 1 [LOADING STALE FAST], NONE, Server, "2.6.0", "O(1)",
        Run(server::time), "Returns the current time in Unix seconds and microseconds.";
    "wait" 3 [BLOCKING], NONE, Generic, "3.0.0", "O(1)",
        Service, "Returns the number of replicas that have received all writes, which is always zero.", "numreplicas timeout:integer";
    "waitaof" 4 [BLOCKING], NONE, Generic, "7.2.0", "O(1)",
        Service, "Waits until earlier writes are on disk.", "numlocal numreplicas timeout:integer";

    "asking" 1 [FAST], NONE, Cluster, "3.0.0", "O(1)",
        Service, "Refused: clusters are not supported.";
    "cluster" -2 [], NONE, Cluster, "3.0.0", "see the subcommands",
        Service, "Reports that clusters are not supported.";
    "readonly" 1 [LOADING STALE FAST], NONE, Cluster, "3.0.0", "O(1)",
        Service, "Refused: clusters are not supported.";
    "readwrite" 1 [LOADING STALE FAST], NONE, Cluster, "3.0.0", "O(1)",
        Service, "Refused: clusters are not supported.";
}
