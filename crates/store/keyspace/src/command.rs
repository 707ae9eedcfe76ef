//! Rows of the command table.

use crate::context::Context;
use crate::fault::Fault;
use bytes::Bytes;
use resp::Out;

/// A command, or a subcommand named `container|subcommand`.
#[derive(Debug)]
pub struct Command {
    /// Name in lower case.
    pub name: &'static str,
    /// Number of arguments, the name included; a negative number is a minimum.
    pub arity: i32,
    /// Properties of the command, such as `write` and `fast` in COMMAND INFO.
    pub flags: Flags,
    /// Positions of the keys among the arguments.
    pub keys: Keys,
    /// Group in which COMMAND DOCS lists the command.
    pub group: Group,
    /// First version of Redis with the command.
    pub since: &'static str,
    /// Time complexity in O notation.
    pub complexity: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// Arguments after the name, such as `key [NX | XX] (score member) ...`. If an argument's name
    /// does not imply its type, a colon and the type follow the name, as in `increment:double`.
    pub syntax: &'static str,
    pub(crate) handler: Handler,
    pub(crate) index: u16,
}

/// Code that runs a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handler {
    /// A function of this crate.
    Run(fn(&mut Context<'_>, &mut Out) -> Result<(), Fault>),
    /// A function of this crate that may block the client.
    Wait(fn(&mut Context<'_>, &mut Out) -> Result<Option<Block>, Fault>),
    /// EXEC, which returns the queued commands for its caller to run.
    Exec,
    /// No code of this crate: the server that owns connections and files runs the command.
    Service,
    /// No code: the command is a container, and each of its subcommands has a handler.
    Container,
    /// The function for the HELP subcommand of a command such as CONFIG.
    Help,
}

/// Keys and deadline of a blocked command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Keys, in the selected database, that the command waits for: a value at any of these keys
    /// unblocks the command.
    pub keys: Vec<Bytes>,
    /// Deadline in Unix milliseconds; `None` if the command waits without limit.
    pub deadline_ms: Option<u64>,
    /// Arguments with which the command must run again, if they differ from those of the client:
    /// XREAD replaces ids such as `$`, whose meaning changes with time.
    pub again: Option<Vec<Bytes>>,
}

/// A set of command properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub(crate) u32);

macro_rules! flags {
    ($($name:ident = $bit:literal $text:literal $doc:literal;)*) => {
        impl Flags {
            $(#[doc = $doc] pub const $name: Self = Self(1 << $bit);)*
            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$name, $text)),*];
        }
    };
}

flags! {
    WRITE = 0 "write" "The command may change data.";
    READONLY = 1 "readonly" "The command only reads data.";
    DENYOOM = 2 "denyoom" "The server refuses the command when the memory limit is reached.";
    ADMIN = 3 "admin" "The command is for administrators.";
    PUBSUB = 4 "pubsub" "The command publishes or subscribes to messages.";
    NOSCRIPT = 5 "noscript" "Scripts may not call the command.";
    BLOCKING = 6 "blocking" "The command may block the client.";
    LOADING = 7 "loading" "The command is allowed while the server loads its data.";
    STALE = 8 "stale" "The command is allowed on a replica that has lost its primary.";
    SKIP_MONITOR = 9 "skip_monitor" "MONITOR does not show the command.";
    SKIP_SLOWLOG = 10 "skip_slowlog" "The slow log does not record the command.";
    NO_AUTH = 11 "no_auth" "The command is allowed before authentication.";
    FAST = 12 "fast" "The command takes constant or logarithmic time.";
    NO_MULTI = 13 "no_multi" "The server refuses the command inside MULTI.";
    ALLOW_BUSY = 14 "allow_busy" "The command is allowed while a script runs longer than its time limit.";
    NO_ASYNC_LOADING = 15 "no_async_loading" "A replica refuses the command while it loads new data and still serves the old data.";
    NO_MANDATORY_KEYS = 16 "no_mandatory_keys" "The command may be called without keys, although its arguments have a place for keys.";
}

impl Flags {
    /// Empty set of properties.
    pub const NONE: Self = Self(0);

    /// Returns whether all properties in `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the names of the properties that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let set = Self::NAMES.iter().filter(move |(flag, _)| self.has(*flag));
        set.map(|(_, name)| *name)
    }
}

/// Positions of a command's keys among its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// The command has no keys.
    None,
    /// Every `step`-th argument from `first` to `last` is a key. A negative `last` counts from the
    /// end.
    Range {
        /// Index of the first key.
        first: usize,
        /// Index of the last key; a negative index counts from the end.
        last: i32,
        /// Distance between two keys, in arguments.
        step: usize,
    },
    /// The keys follow an argument that states the number of keys.
    Counted {
        /// Index of the argument that gives the number of keys.
        at: usize,
    },
    /// The first argument is a key, and the second gives the number of further keys.
    StoreCounted,
    /// Keys of SORT: the first argument, and the argument after STORE if the command accepts that
    /// option.
    Sort {
        /// True if the command accepts the option STORE.
        stores: bool,
    },
    /// Keys of XREAD and XREADGROUP: the first half of the arguments after the word STREAMS,
    /// which follows the options.
    Streams {
        /// Smallest index of the word STREAMS.
        from: usize,
    },
    /// No keys, but channels: all arguments from the first to the one at index `last`. A negative
    /// `last` counts from the end.
    Channels {
        /// Index of the last channel; a negative index counts from the end.
        last: i32,
    },
}

impl Keys {
    /// Returns whether the positions of the keys depend on the values of arguments.
    pub(crate) fn are_movable(self) -> bool {
        matches!(
            self,
            Self::Counted { .. } | Self::StoreCounted | Self::Sort { .. } | Self::Streams { .. }
        )
    }

    /// Returns the indices of the keys in a call; `None` if the arguments are inconsistent.
    #[must_use]
    pub fn indices(self, args: &[Bytes]) -> Option<Vec<usize>> {
        match self {
            Self::None | Self::Channels { .. } => Some(Vec::new()),
            Self::Range { first, last, step } => {
                let len = i32::try_from(args.len()).ok()?;
                let last = if last < 0 { len + last } else { last };
                let last = usize::try_from(last).ok()?;
                (first <= last && last < args.len()).then(|| (first..=last).step_by(step).collect())
            }
            Self::Counted { at } => counted(args, at),
            Self::StoreCounted => {
                let mut indices = counted(args, 2)?;
                indices.insert(0, 1);
                Some(indices)
            }
            Self::Streams { .. } => streams(args),
            Self::Sort { stores: false } => Some(vec![1]),
            Self::Sort { stores: true } => {
                let mut indices = vec![1];
                let store = args
                    .iter()
                    .rposition(|arg| arg.eq_ignore_ascii_case(b"store"));
                let target = store
                    .map(|at| at + 1)
                    .filter(|&at| 2 < at && at < args.len());
                indices.extend(target);
                Some(indices)
            }
        }
    }
}

/// Returns the indices of the keys of XREAD or XREADGROUP.
fn streams(args: &[Bytes]) -> Option<Vec<usize>> {
    let mut at = 1;
    loop {
        at += match args.get(at)?.to_ascii_lowercase().as_slice() {
            b"block" | b"count" => 2,
            b"group" => 3,
            b"noack" => 1,
            b"streams" => break,
            _ => return None,
        };
    }
    let count = args.len() - at - 1;
    (count != 0 && count.is_multiple_of(2)).then(|| (at + 1..at + 1 + count / 2).collect())
}

fn counted(args: &[Bytes], at: usize) -> Option<Vec<usize>> {
    let count = usize::try_from(resp::parse_int(args.get(at)?)?).ok()?;
    let end = at.checked_add(1)?.checked_add(count)?;
    (1 <= count && end <= args.len()).then(|| (at + 1..end).collect())
}

/// Group of commands in COMMAND DOCS: the commands on one type of value or on one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Commands on keys of any type.
    Generic,
    /// Strings.
    String,
    /// Strings as arrays of bits.
    Bitmap,
    /// Hashes.
    Hash,
    /// Lists.
    List,
    /// Sets.
    Set,
    /// Sorted sets.
    SortedSet,
    /// Streams.
    Stream,
    /// Transactions: MULTI, EXEC, DISCARD, WATCH and UNWATCH.
    Transactions,
    /// Publish and subscribe.
    PubSub,
    /// Commands about the client's own connection.
    Connection,
    /// Commands about the server as a whole.
    Server,
    /// Scripts.
    Scripting,
    /// Clusters of servers.
    Cluster,
}

impl Group {
    /// Returns the name of the group in COMMAND DOCS.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::String => "string",
            Self::Bitmap => "bitmap",
            Self::Hash => "hash",
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "sorted-set",
            Self::Stream => "stream",
            Self::Transactions => "transactions",
            Self::PubSub => "pubsub",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Scripting => "scripting",
            Self::Cluster => "cluster",
        }
    }

    /// Returns the ACL category of the group's commands. Returns `None` if the flags of each
    /// command determine its categories.
    fn category(self) -> Option<&'static str> {
        match self {
            Self::Generic => Some("@keyspace"),
            Self::String => Some("@string"),
            Self::Bitmap => Some("@bitmap"),
            Self::Hash => Some("@hash"),
            Self::List => Some("@list"),
            Self::Set => Some("@set"),
            Self::SortedSet => Some("@sortedset"),
            Self::Stream => Some("@stream"),
            Self::Transactions => Some("@transaction"),
            Self::Connection => Some("@connection"),
            Self::Scripting => Some("@scripting"),
            Self::PubSub | Self::Server | Self::Cluster => None,
        }
    }
}

/// ACL categories in use, in the order of ACL CAT.
const CATEGORIES: [&str; 19] = [
    "@keyspace",
    "@read",
    "@write",
    "@set",
    "@sortedset",
    "@list",
    "@hash",
    "@string",
    "@bitmap",
    "@stream",
    "@pubsub",
    "@admin",
    "@fast",
    "@slow",
    "@blocking",
    "@dangerous",
    "@connection",
    "@transaction",
    "@scripting",
];

impl Command {
    /// Returns the command's number among all commands and subcommands. The numbers are
    /// consecutive, start at 0, and are the same in every run.
    #[must_use]
    pub fn index(&self) -> usize {
        usize::from(self.index)
    }

    /// Returns whether some of the arguments are keys.
    pub(crate) fn has_keys(&self) -> bool {
        !matches!(self.keys, Keys::None | Keys::Channels { .. })
    }

    /// Returns whether a call may have `args` arguments, the name included.
    #[must_use]
    pub fn takes(&self, args: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity < 0 {
            arity <= args
        } else {
            arity == args
        }
    }

    /// Returns the flags for COMMAND INFO.
    pub fn flag_names(&self) -> impl Iterator<Item = &'static str> {
        let movable = self.keys.are_movable().then_some("movablekeys");
        self.flags.names().chain(movable)
    }

    /// Returns the ACL categories, in the order of ACL CAT.
    #[must_use]
    pub fn categories(&self) -> Vec<&'static str> {
        let by_flag = [
            (Flags::READONLY, "@read"),
            (Flags::WRITE, "@write"),
            (Flags::PUBSUB, "@pubsub"),
            (Flags::ADMIN, "@admin"),
            (Flags::ADMIN, "@dangerous"),
            (Flags::FAST, "@fast"),
            (Flags::BLOCKING, "@blocking"),
        ];
        let mut found = match self.name {
            "asking" | "readonly" | "readwrite" | "wait" | "waitaof" => vec!["@connection"],
            "dbsize" => vec!["@keyspace"],
            "flushall" | "flushdb" | "keys" | "restore" | "swapdb" => {
                vec!["@keyspace", "@dangerous"]
            }
            "info" => vec!["@dangerous"],
            "lastsave" | "role" => vec!["@admin", "@dangerous"],
            "sort" | "sort_ro" => vec!["@set", "@sortedset", "@list", "@dangerous"],
            name if name.starts_with("command") => vec!["@connection"],
            // The category of the group applies to the subcommands of a container, not to the
            // container itself.
            _ if matches!(self.handler, Handler::Container) => Vec::new(),
            _ => self.group.category().into_iter().collect(),
        };
        // As in Redis, a script that only reads is not in the category of reads.
        let is_script = |flag| flag == Flags::READONLY && self.group == Group::Scripting;
        let set = by_flag
            .iter()
            .filter(|(flag, _)| self.flags.has(*flag) && !is_script(*flag));
        found.extend(set.map(|(_, name)| *name));
        if !self.flags.has(Flags::FAST) {
            found.push("@slow");
        }
        let names = CATEGORIES.iter().copied();
        names.filter(|name| found.contains(name)).collect()
    }
}
