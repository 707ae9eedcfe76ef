//! The connection, the server, publish and subscribe: most of these run in the server that owns
//! sockets and files.

use super::rows;
use crate::command::Handler::{Container, Run, Service};
use crate::command::{Command, Flags, Group, Keys};
use crate::commands::server;

const NONE: Keys = Keys::None;

rows! {
    "auth" -2 [NOSCRIPT LOADING STALE FAST NO_AUTH ALLOW_BUSY], NONE, Connection, "1.0.0", "O(1)",
        Service, "Tells the password.", "[username] password";
    "client" -2 [], NONE, Connection, "2.4.0", "see its subcommands",
        Container, "What is known about connections.";
    "client|caching" 3 [NOSCRIPT LOADING STALE], NONE, Connection, "6.0.0", "O(1)",
        Service, "Refused: there is no tracking.", "(YES | NO)";
    "client|getname" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "2.6.9", "O(1)",
        Service, "The connection's name.";
    "client|getredir" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "6.0.0", "O(1)",
        Service, "Where tracking sends its messages: nowhere.";
    "client|help" 2 [LOADING STALE], NONE, Connection, "5.0.0", "O(1)",
        Run(server::help), "The subcommands.";
    "client|id" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "5.0.0", "O(1)",
        Service, "The connection's number, which no other one gets.";
    "client|info" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "6.2.0", "O(1)",
        Service, "What is known about this connection.";
    "client|kill" -3 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "2.4.0", "O(N) for N connections",
        Service, "Ends connections.",
        "(ip:port | (ID client-id | TYPE (NORMAL | MASTER | SLAVE | REPLICA | PUBSUB) | USER username | ADDR \
         ip:port | LADDR ip:port | SKIPME yes/no) ...)";
    "client|list" -2 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "2.4.0", "O(N) for N connections",
        Service, "What is known about all connections.",
        "[TYPE (NORMAL | MASTER | REPLICA | PUBSUB)] [ID client-id ...]";
    "client|no-evict" 3 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "7.0.0", "O(1)",
        Service, "Whether the connection may be ended for memory.", "(ON | OFF)";
    "client|no-touch" 3 [NOSCRIPT LOADING STALE], NONE, Connection, "7.2.0", "O(1)",
        Service, "Whether its reads count as use.", "(ON | OFF)";
    "client|pause" -3 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "3.0.0", "O(1)",
        Service, "Holds all commands back, or all that change data.", "timeout:integer [WRITE | ALL]";
    "client|reply" 3 [NOSCRIPT LOADING STALE], NONE, Connection, "3.2.0", "O(1)",
        Service, "Whether commands are answered.", "(ON | OFF | SKIP)";
    "client|setinfo" 4 [NOSCRIPT LOADING STALE], NONE, Connection, "7.2.0", "O(1)",
        Service, "Names the client's library.", "(LIB-NAME libname | LIB-VER libver)";
    "client|setname" 3 [NOSCRIPT LOADING STALE], NONE, Connection, "2.6.9", "O(1)",
        Service, "Names the connection.", "connection-name";
    "client|tracking" -3 [NOSCRIPT LOADING STALE], NONE, Connection, "6.0.0", "O(1)",
        Service, "Refused: there is no tracking.",
        "(ON | OFF) [REDIRECT client-id] [(PREFIX prefix) ...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]";
    "client|trackinginfo" 2 [NOSCRIPT LOADING STALE], NONE, Connection, "6.2.0", "O(1)",
        Service, "That there is no tracking.";
    "client|unblock" -3 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "5.0.0", "O(log N) for N connections",
        Service, "Ends the waiting of another connection.", "client-id [TIMEOUT | ERROR]";
    "client|unpause" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Connection, "6.2.0", "O(N) for N connections held back",
        Service, "Ends a pause.";
    "echo" 2 [LOADING STALE FAST], NONE, Connection, "1.0.0", "O(1)",
        Run(server::echo), "Its argument.", "message";
    "hello" -1 [NOSCRIPT LOADING STALE FAST NO_AUTH ALLOW_BUSY], NONE, Connection, "6.0.0", "O(1)",
        Service, "Chooses the protocol, and introduces the server.",
        "[protover [AUTH username password] [SETNAME clientname]]";
    "ping" -1 [FAST], NONE, Connection, "1.0.0", "O(1)",
        Service, "Whether the server answers.", "[message]";
    "quit" -1 [NOSCRIPT LOADING STALE FAST NO_AUTH ALLOW_BUSY], NONE, Connection, "1.0.0", "O(1)",
        Service, "Closes the connection.";
    "reset" 1 [NOSCRIPT LOADING STALE FAST NO_AUTH ALLOW_BUSY], NONE, Connection, "6.2.0", "O(1)",
        Service, "Makes the connection as good as new.";

    "psubscribe" -2 [PUBSUB NOSCRIPT LOADING STALE], NONE, PubSub, "2.0.0", "O(N) for N patterns",
        Service, "Listens to channels whose names match.", "pattern ...";
    "publish" 3 [PUBSUB LOADING STALE FAST], NONE, PubSub, "2.0.0", "O(N+M) for N listeners and M patterns",
        Service, "Sends a message to a channel.", "channel message";
    "pubsub" -2 [], NONE, PubSub, "2.8.0", "O(N) for N channels",
        Container, "Who listens to what.";
    "pubsub|channels" -2 [PUBSUB LOADING STALE], NONE, PubSub, "2.8.0", "O(N) for N channels",
        Service, "Channels that somebody listens to.", "[pattern]";
    "pubsub|help" 2 [LOADING STALE], NONE, PubSub, "6.2.0", "O(1)",
        Run(server::help), "The subcommands.";
    "pubsub|numpat" 2 [PUBSUB LOADING STALE], NONE, PubSub, "2.8.0", "O(1)",
        Service, "How many patterns somebody listens to.";
    "pubsub|numsub" -2 [PUBSUB LOADING STALE], NONE, PubSub, "2.8.0", "O(N) for N channels asked for",
        Service, "How many listen to each channel.", "[channel ...]";
    "pubsub|shardchannels" -2 [PUBSUB LOADING STALE], NONE, PubSub, "7.0.0", "O(N) for N channels",
        Service, "Shard channels that somebody listens to.", "[pattern]";
    "pubsub|shardnumsub" -2 [PUBSUB LOADING STALE], NONE, PubSub, "7.0.0", "O(N) for N channels asked for",
        Service, "How many listen to each shard channel.", "[shardchannel ...]";
    "punsubscribe" -1 [PUBSUB NOSCRIPT LOADING STALE], NONE, PubSub, "2.0.0", "O(N) for N patterns",
        Service, "Stops listening to channels whose names match.", "[pattern ...]";
    "spublish" 3 [PUBSUB LOADING STALE FAST], Keys::Channels { last: 1 }, PubSub, "7.0.0", "O(N) for N listeners",
        Service, "Sends a message to a shard channel.", "shardchannel message";
    "ssubscribe" -2 [PUBSUB NOSCRIPT LOADING STALE], Keys::Channels { last: -1 }, PubSub, "7.0.0", "O(N) for N channels",
        Service, "Listens to shard channels.", "shardchannel ...";
    "subscribe" -2 [PUBSUB NOSCRIPT LOADING STALE], NONE, PubSub, "2.0.0", "O(N) for N channels",
        Service, "Listens to channels.", "channel ...";
    "sunsubscribe" -1 [PUBSUB NOSCRIPT LOADING STALE], Keys::Channels { last: -1 }, PubSub, "7.0.0", "O(N) for N channels",
        Service, "Stops listening to shard channels.", "[shardchannel ...]";
    "unsubscribe" -1 [PUBSUB NOSCRIPT LOADING STALE], NONE, PubSub, "2.0.0", "O(N) for N channels",
        Service, "Stops listening to channels.", "[channel ...]";

    "acl" -2 [], NONE, Server, "6.0.0", "see its subcommands",
        Service, "Who may do what: one user, who may do everything.";
    "bgrewriteaof" 1 [ADMIN NOSCRIPT NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(N) for N keys, in pieces",
        Service, "Writes the append-only file anew.";
    "bgsave" -1 [ADMIN NOSCRIPT NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(N) for N keys, in pieces",
        Service, "Saves all data to a file, while the server goes on.", "[SCHEDULE]";
    "command" -1 [LOADING STALE], NONE, Server, "2.8.13", "O(N) for N commands",
        Container, "What is known about commands.";
    "command|count" 2 [LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Run(server::command_count), "How many commands there are.";
    "command|docs" -2 [LOADING STALE], NONE, Server, "7.0.0", "O(N) for N commands",
        Run(server::command_docs), "What commands do.", "[command-name ...]";
    "command|getkeys" -3 [LOADING STALE], NONE, Server, "2.8.13", "O(N) for N arguments",
        Run(server::command_getkeys), "The keys in a call.", "command [arg ...]";
    "command|getkeysandflags" -3 [LOADING STALE], NONE, Server, "7.0.0", "O(N) for N arguments",
        Run(server::command_getkeysandflags), "The keys in a call, and what happens to them.", "command [arg ...]";
    "command|help" 2 [LOADING STALE], NONE, Server, "5.0.0", "O(1)",
        Run(server::help), "The subcommands.";
    "command|info" -2 [LOADING STALE], NONE, Server, "2.8.13", "O(N) for N commands",
        Run(server::command_info), "Arity, flags and keys of commands.", "[command-name ...]";
    "command|list" -2 [LOADING STALE], NONE, Server, "7.0.0", "O(N) for N commands",
        Run(server::command_list), "The names of commands.",
        "[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern)]";
    "config" -2 [], NONE, Server, "2.0.0", "see its subcommands",
        Container, "The settings.";
    "config|get" -3 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.0.0", "O(N) for N settings",
        Service, "Settings whose names match.", "parameter ...";
    "config|help" 2 [LOADING STALE], NONE, Server, "5.0.0", "O(1)",
        Run(server::help), "The subcommands.";
    "config|resetstat" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.0.0", "O(1)",
        Service, "Sets the counters to zero.";
    "config|rewrite" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.0", "O(1)",
        Service, "Refused: the file is its author's.";
    "config|set" -4 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.0.0", "O(N) for N settings",
        Service, "Changes settings, all that are named or none.", "(parameter value) ...";
    "debug" -2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "1.0.0", "see its subcommands",
        Service, "For tests.";
    "failover" -1 [ADMIN NOSCRIPT STALE], NONE, Server, "6.2.0", "O(1)",
        Service, "Refused: there are no replicas.", "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]";
    "info" -1 [LOADING STALE], NONE, Server, "1.0.0", "O(1)",
        Service, "Figures about the server.", "[section ...]";
    "lastsave" 1 [LOADING STALE FAST], NONE, Server, "1.0.0", "O(1)",
        Service, "When data was last saved.";
    "latency" -2 [], NONE, Server, "2.8.13", "see its subcommands",
        Container, "What took long.";
    "latency|doctor" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "What took long, in sentences.";
    "latency|graph" 3 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "When an event took long, as a drawing.", "event";
    "latency|help" 2 [LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Run(server::help), "The subcommands.";
    "latency|histogram" -2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "7.0.0", "O(N) for N commands",
        Service, "How many calls took how long, by command.", "[command ...]";
    "latency|history" 3 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "When an event took long, and how long.", "event";
    "latency|latest" 2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "The latest of each event.";
    "latency|reset" -2 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "2.8.13", "O(1)",
        Service, "Forgets events.", "[event ...]";
    "lolwut" -1 [READONLY FAST], NONE, Server, "5.0.0", "O(1)",
        Service, "A picture and the version.", "[VERSION version]";
    "memory" -2 [], NONE, Server, "4.0.0", "see its subcommands",
        Service, "What takes memory.";
    "memory|doctor" 2 [], NONE, Server, "4.0.0", "O(1)",
        Service, "What is wrong with memory, in words.";
    "memory|help" 2 [LOADING STALE], NONE, Server, "4.0.0", "O(1)",
        Run(server::help), "The subcommands.";
    "memory|malloc-stats" 2 [], NONE, Server, "4.0.0", "O(1)",
        Service, "What the allocator counts, which INFO memory shows.";
    "memory|purge" 2 [], NONE, Server, "4.0.0", "O(1)",
        Service, "Moves data together, and gives back the memory that this frees.";
    "memory|stats" 2 [], NONE, Server, "4.0.0", "O(1)",
        Service, "What takes how much memory.";
    "module" -2 [], NONE, Server, "4.0.0", "see its subcommands",
        Service, "There are no modules.";
    "monitor" 1 [ADMIN NOSCRIPT LOADING STALE], NONE, Server, "1.0.0", "O(1)",
        Service, "Shows every command as it comes.";
    "psync" -3 [ADMIN NOSCRIPT NO_MULTI NO_ASYNC_LOADING], NONE, Server, "2.8.0", "O(1)",
        Service, "Refused: there are no replicas.", "replicationid offset";
    "replconf" -1 [ADMIN NOSCRIPT LOADING STALE ALLOW_BUSY], NONE, Server, "3.0.0", "O(1)",
        Service, "Refused: there are no replicas.";
    "replicaof" 3 [ADMIN NOSCRIPT STALE NO_ASYNC_LOADING], NONE, Server, "5.0.0", "O(1)",
        Service, "Refused but for NO ONE: there are no replicas.", "(host port | NO ONE)";
    "role" 1 [NOSCRIPT LOADING STALE FAST], NONE, Server, "2.8.12", "O(1)",
        Service, "Primary.";
    "save" 1 [ADMIN NOSCRIPT NO_MULTI NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(N) for N keys",
        Service, "Saves all data to a file.";
    "shutdown" -1 [ADMIN NOSCRIPT LOADING STALE NO_MULTI ALLOW_BUSY], NONE, Server, "1.0.0", "O(N) for N keys, if it saves",
        Service, "Ends the server.", "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]";
    "slaveof" 3 [ADMIN NOSCRIPT STALE NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(1)",
        Service, "REPLICAOF by its old name.", "(host port | NO ONE)";
    "slowlog" -2 [], NONE, Server, "2.2.12", "see its subcommands",
        Container, "Commands that took long.";
    "slowlog|get" -2 [ADMIN LOADING STALE], NONE, Server, "2.2.12", "O(N) for N entries",
        Service, "The latest commands that took long.", "[count]";
    "slowlog|help" 2 [LOADING STALE], NONE, Server, "6.2.0", "O(1)",
        Run(server::help), "The subcommands.";
    "slowlog|len" 2 [ADMIN LOADING STALE], NONE, Server, "2.2.12", "O(1)",
        Service, "How many are kept.";
    "slowlog|reset" 2 [ADMIN LOADING STALE], NONE, Server, "2.2.12", "O(1)",
        Service, "Forgets them.";
    "sync" 1 [ADMIN NOSCRIPT NO_MULTI NO_ASYNC_LOADING], NONE, Server, "1.0.0", "O(1)",
        Service, "Refused: there are no replicas.";
    "time" 1 [LOADING STALE FAST], NONE, Server, "2.6.0", "O(1)",
        Run(server::time), "The time in seconds, and microseconds of the current one.";
    "wait" 3 [BLOCKING], NONE, Generic, "3.0.0", "O(1)",
        Service, "How many replicas have what was written: none.", "numreplicas timeout:integer";
    "waitaof" 4 [BLOCKING], NONE, Generic, "7.2.0", "O(1)",
        Service, "Waits until what was written is on disk.", "numlocal numreplicas timeout:integer";

    "asking" 1 [FAST], NONE, Cluster, "3.0.0", "O(1)",
        Service, "Refused: there is no cluster.";
    "cluster" -2 [], NONE, Cluster, "3.0.0", "see its subcommands",
        Service, "Says that there is no cluster.";
    "readonly" 1 [LOADING STALE FAST], NONE, Cluster, "3.0.0", "O(1)",
        Service, "Refused: there is no cluster.";
    "readwrite" 1 [LOADING STALE FAST], NONE, Cluster, "3.0.0", "O(1)",
        Service, "Refused: there is no cluster.";

    "function" -2 [], NONE, Scripting, "7.0.0", "see its subcommands",
        Service, "There are no functions.";
    "script" -2 [], NONE, Scripting, "2.6.0", "see its subcommands",
        Service, "There are no scripts.";
}
