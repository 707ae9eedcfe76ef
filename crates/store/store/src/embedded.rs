//! A small store of its own, for code that nobody has to trust: no socket, no file, no thread, and a bound on everything.

use std::io::IoSlice;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use keyspace::{Flags, Group, Keyspace, Outcome, Session};
use resp::{Out, Parser, Proto};

use crate::clock::Clock;

/// Most arguments of one command.
const ARGS_MAX: usize = 1_024;

/// What a command's name and lengths may take beside the data that it brings.
const FRAME_BYTES_MAX: usize = 64 << 10;

/// Commands on data that this store does not have: what they take or answer is not bounded by what they bring and what is
/// stored, or they concern more than one store.
const ELSEWHERE: &[&str] = &[
    "bitfield",
    "bitop",
    "copy",
    "debug",
    "dump",
    "getorlock",
    "hrandfield",
    "lcs",
    "migrate",
    "move",
    "object",
    "restore",
    "sdiffstore",
    "setbit",
    "setrange",
    "sinterstore",
    "sort",
    "sort_ro",
    "srandmember",
    "sunionstore",
    "tag",
    "wait",
    "zdiffstore",
    "zinterstore",
    "zrandmember",
    "zrangestore",
    "zunionstore",
];

/// A store that any number of [`Conversation`]s share, one command at a time.
#[derive(Debug)]
pub struct Embedded {
    keyspace: Mutex<Keyspace>,
}

/// What one client says, and is answered. It closes itself when the client says what is no command.
#[derive(Debug)]
pub struct Conversation<'a> {
    store: &'a Embedded,
    session: Session,
    parser: Parser,
    input: BytesMut,
    out: Out,
    over: bool,
}

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Keys, those among them whose deadline has passed and that nobody asked for.
    pub keys: u64,
    /// Bytes that data and its overhead take.
    pub bytes: u64,
}

impl Embedded {
    /// An empty store for so many bytes of data with its overhead; what needs more is refused, with the text that Redis has
    /// for it.
    #[must_use]
    pub fn new(bytes_max: u64) -> Embedded {
        let keyspace = Mutex::new(Keyspace::new(limits(bytes_max), Clock::seed()));
        Embedded { keyspace }
    }

    /// Another bound from now on; what is there stays.
    pub fn set_bytes_max(&self, bytes_max: u64) {
        self.keyspace().set_limits(limits(bytes_max));
    }

    /// How much is in it.
    #[must_use]
    pub fn holdings(&self) -> Holdings {
        let keyspace = self.keyspace();
        let (keys, ..) = keyspace.db_figures(0, now_ms());
        Holdings {
            keys: keys as u64,
            bytes: keyspace.used_bytes() as u64,
        }
    }

    /// Begins with a new client.
    #[must_use]
    pub fn converse(&self) -> Conversation<'_> {
        let bytes_max = self.keyspace().limits().string_bytes_max;
        let limits = resp::Limits {
            bulk_bytes_max: bytes_max,
            args_max: ARGS_MAX,
            query_bytes_max: bytes_max + FRAME_BYTES_MAX + ARGS_MAX * size_of::<Bytes>(),
            ..resp::Limits::default()
        };
        let mut session = Session::new();
        session.set_deny_blocking(true);
        Conversation {
            store: self,
            session,
            parser: Parser::new(limits),
            input: BytesMut::new(),
            out: Out::new(Proto::Resp2),
            over: false,
        }
    }

    /// No command leaves the data half changed.
    fn keyspace(&self) -> MutexGuard<'_, Keyspace> {
        self.keyspace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conversation<'_> {
    /// Takes bytes that the client sent.
    pub fn hear(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Runs one command, if a whole one was heard. False if none was.
    pub fn answer(&mut self) -> bool {
        if self.over {
            return false;
        }
        match self.parser.next(&mut self.input) {
            Ok(true) => {}
            Ok(false) => return false,
            Err(err) => {
                self.over = true;
                self.out.error(format!("ERR {err}"));
                return true;
            }
        }
        let args = self.parser.args();
        if !args.is_empty() {
            run(self.store, &mut self.session, args, &mut self.out);
        }
        true
    }

    /// The first bytes of what is to be sent, as [`Out::parts`].
    pub fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>]) -> usize {
        self.out.parts(parts, usize::MAX)
    }

    /// So many of them were sent.
    pub fn advance(&mut self, bytes: usize) {
        self.out.advance(bytes);
    }

    /// Whether nothing more is heard.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }
}

/// One command, and its reply.
fn run(store: &Embedded, session: &mut Session, args: &[Bytes], out: &mut Out) {
    let known = keyspace::command(args);
    if let Some(command) = known.filter(|command| !is_here(command)) {
        return match command.name {
            "ping" if args.len() == 1 => out.simple("PONG"),
            name => out.error(format!("ERR this store has no command '{name}'")),
        };
    }
    let now_ms = now_ms();
    let mut keyspace = store.keyspace();
    keyspace.turn(now_ms);
    let brought = args.iter().map(|arg| arg.len() as u64).sum::<u64>();
    let takes = known.is_some_and(|command| command.flags.has(Flags::DENYOOM));
    if takes && keyspace.limits().maxmemory_bytes < keyspace.used_bytes() as u64 + brought {
        return out.error("OOM command not allowed when used memory > 'maxmemory'.");
    }
    match keyspace.execute(session, args, now_ms, out) {
        Outcome::Done | Outcome::Refused => {}
        Outcome::Queued | Outcome::Block(_) | Outcome::Service(_) | Outcome::Exec(_) => {
            unreachable!("those commands are not here")
        }
    }
}

/// Whether a command works on data alone, and is bounded by what there is.
pub(crate) fn is_here(command: &keyspace::Command) -> bool {
    let family = match command.group {
        Group::Generic
        | Group::String
        | Group::Bitmap
        | Group::Hash
        | Group::List
        | Group::Set
        | Group::SortedSet => !command.name.contains('|'),
        _ => matches!(command.name, "dbsize" | "flushdb" | "flushall"),
    };
    let waits = command.flags.has(Flags::BLOCKING);
    family && !waits && !ELSEWHERE.contains(&command.name)
}

fn limits(bytes_max: u64) -> keyspace::Limits {
    keyspace::Limits {
        databases: 1,
        string_bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
        maxmemory_bytes: bytes_max,
        ..keyspace::Limits::default()
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
