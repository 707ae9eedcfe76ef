//! What a row of the command table says.

use crate::context::Context;
use crate::fault::Fault;
use crate::keyspace::Block;
use bytes::Bytes;
use resp::Out;

/// A command, or a subcommand named `container|subcommand`.
#[derive(Debug)]
pub struct Command {
    /// Its name in small letters.
    pub name: &'static str,
    /// How many arguments it takes, its name among them; below zero, at least so many.
    pub arity: i32,
    /// What it does, and where it may.
    pub flags: Flags,
    /// Where its keys stand.
    pub keys: Keys,
    /// Which family it belongs to.
    pub group: Group,
    /// The version of Redis that had it first.
    pub since: &'static str,
    /// What it costs.
    pub complexity: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// What stands behind its name, as `key [NX | XX] (score member) ...`; a name's type behind a colon where the name
    /// does not say it.
    pub syntax: &'static str,
    pub(crate) handler: Handler,
    pub(crate) index: u16,
}

/// Who runs a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handler {
    /// This crate.
    Run(fn(&mut Context<'_>, &mut Out) -> Result<(), Fault>),
    /// This crate, unless it has to wait.
    Wait(fn(&mut Context<'_>, &mut Out) -> Result<Option<Block>, Fault>),
    /// EXEC, which hands its commands back.
    Exec,
    /// Whoever owns connections and files.
    Service,
    /// Its subcommands.
    Container,
}

/// A set of properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    WRITE = 0 "write" "May change data.";
    READONLY = 1 "readonly" "Only reads data.";
    DENYOOM = 2 "denyoom" "Refused when memory is short.";
    ADMIN = 3 "admin" "For operators.";
    PUBSUB = 4 "pubsub" "Publishes or subscribes.";
    NOSCRIPT = 5 "noscript" "Not for scripts.";
    BLOCKING = 6 "blocking" "May wait.";
    LOADING = 7 "loading" "Allowed while data is loaded.";
    STALE = 8 "stale" "Allowed on a replica without its primary.";
    SKIP_MONITOR = 9 "skip_monitor" "Not shown to MONITOR.";
    SKIP_SLOWLOG = 10 "skip_slowlog" "Not in the slow log.";
    NO_AUTH = 11 "no_auth" "Allowed before a password was given.";
    FAST = 12 "fast" "Constant or logarithmic time.";
    NO_MULTI = 13 "no_multi" "Refused inside MULTI.";
    ALLOW_BUSY = 14 "allow_busy" "Allowed while a script runs too long.";
    NO_ASYNC_LOADING = 15 "no_async_loading" "Not while a replica serves old data as it loads new.";
}

impl Flags {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// Whether all of these are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The names of those that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let set = Self::NAMES.iter().filter(move |(flag, _)| self.has(*flag));
        set.map(|(_, name)| *name)
    }
}

/// Where a command's keys stand among its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// It has none.
    None,
    /// From the first to the last, each so many arguments after the one before; a last below zero counts from the end.
    Range {
        /// Index of the first key.
        first: usize,
        /// Index of the last key.
        last: i32,
        /// Arguments from key to key.
        step: usize,
    },
    /// Behind an argument that counts them.
    Counted {
        /// Index of the count.
        at: usize,
    },
    /// The first argument, and those behind a count that is the second.
    StoreCounted,
    /// SORT: the first argument, and the one behind STORE if it stores.
    Sort {
        /// Whether it takes STORE.
        stores: bool,
    },
    /// It has none, but channels from the first argument to the last; a last below zero counts from the end.
    Channels {
        /// Index of the last channel.
        last: i32,
    },
}

impl Keys {
    /// Whether arguments tell where the keys stand.
    pub(crate) fn are_movable(self) -> bool {
        matches!(
            self,
            Self::Counted { .. } | Self::StoreCounted | Self::Sort { .. }
        )
    }

    /// The indices of the keys in a call; `None` if its arguments make no sense.
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

fn counted(args: &[Bytes], at: usize) -> Option<Vec<usize>> {
    let count = usize::try_from(resp::parse_int(args.get(at)?)?).ok()?;
    let end = at.checked_add(1)?.checked_add(count)?;
    (1 <= count && end <= args.len()).then(|| (at + 1..end).collect())
}

/// A family of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Keys of any type.
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
    /// Transactions.
    Transactions,
    /// Publish and subscribe.
    PubSub,
    /// The connection itself.
    Connection,
    /// The server itself.
    Server,
    /// Scripts.
    Scripting,
    /// Many machines.
    Cluster,
}

impl Group {
    /// Its name in COMMAND DOCS.
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
            Self::Transactions => "transactions",
            Self::PubSub => "pubsub",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Scripting => "scripting",
            Self::Cluster => "cluster",
        }
    }

    /// The access category of its commands, where that is not by their flags.
    fn category(self) -> Option<&'static str> {
        match self {
            Self::Generic => Some("@keyspace"),
            Self::String => Some("@string"),
            Self::Bitmap => Some("@bitmap"),
            Self::Hash => Some("@hash"),
            Self::List => Some("@list"),
            Self::Set => Some("@set"),
            Self::SortedSet => Some("@sortedset"),
            Self::Transactions => Some("@transaction"),
            Self::Connection => Some("@connection"),
            Self::PubSub | Self::Server | Self::Scripting | Self::Cluster => None,
        }
    }
}

/// All access categories of which a command is, in the order of ACL CAT.
const CATEGORIES: [&str; 17] = [
    "@keyspace",
    "@read",
    "@write",
    "@set",
    "@sortedset",
    "@list",
    "@hash",
    "@string",
    "@bitmap",
    "@pubsub",
    "@admin",
    "@fast",
    "@slow",
    "@blocking",
    "@dangerous",
    "@connection",
    "@transaction",
];

impl Command {
    /// Its number among all commands and subcommands: dense, from 0, the same in every run.
    #[must_use]
    pub fn index(&self) -> usize {
        usize::from(self.index)
    }

    /// Whether some of its arguments are keys.
    pub(crate) fn has_keys(&self) -> bool {
        !matches!(self.keys, Keys::None | Keys::Channels { .. })
    }

    /// Whether a call of so many arguments fits.
    #[must_use]
    pub fn takes(&self, args: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity < 0 {
            arity <= args
        } else {
            arity == args
        }
    }

    /// The names of its flags in COMMAND INFO.
    pub fn flag_names(&self) -> impl Iterator<Item = &'static str> {
        let movable = self.keys.are_movable().then_some("movablekeys");
        self.flags.names().chain(movable)
    }

    /// The access categories it is in, in the order of ACL CAT.
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
            // What a container may do, its subcommands say.
            _ if matches!(self.handler, Handler::Container) => Vec::new(),
            _ => self.group.category().into_iter().collect(),
        };
        let set = by_flag.iter().filter(|(flag, _)| self.flags.has(*flag));
        found.extend(set.map(|(_, name)| *name));
        if !self.flags.has(Flags::FAST) {
            found.push("@slow");
        }
        let names = CATEGORIES.iter().copied();
        names.filter(|name| found.contains(name)).collect()
    }
}
