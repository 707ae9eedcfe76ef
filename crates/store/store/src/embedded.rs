//! A small store for the sandbox's untrusted clients: it has no socket, file or thread, and each
//! resource that it uses is limited.

use parking_lot::{Mutex, MutexGuard};
use std::io::IoSlice;

use bytes::{Bytes, BytesMut};
use keyspace::{Flags, Group, Keyspace, Outcome, Session};
use resp::{Out, Parser, Proto};
use wall_clock::unix_ms;

use crate::clock::Clock;

/// Maximum number of arguments of a command.
const ARGS_MAX: usize = 1_024;

/// Number of bytes by which the total length of a command's arguments may exceed the maximum length
/// of a string.
const FRAME_BYTES_MAX: usize = 64 << 10;

/// Data commands that this store lacks. Some could cost far more time or memory than the sizes of
/// their arguments and of the stored data suggest; others concern more than one store.
const UNSUPPORTED: &[&str] = &[
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

/// A store shared by any number of [`EmbeddedSession`]s, which run one command at a time.
#[derive(Debug)]
pub struct Embedded {
    keyspace: Mutex<Keyspace>,
}

/// One client's session. An invalid request closes the session.
#[derive(Debug)]
pub struct EmbeddedSession<'a> {
    store: &'a Embedded,
    session: Session,
    parser: Parser,
    input: BytesMut,
    out: Out,
    is_closed: bool,
}

/// Number of keys in a store, and their memory use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// Number of keys, including expired keys that have not been removed yet.
    pub keys: u64,
    /// Number of bytes of the data and its overhead.
    pub bytes: u64,
}

impl Embedded {
    /// Creates an empty store for at most `bytes_max` bytes of data and overhead; a command that
    /// needs more is refused with the same error text as in Redis.
    #[must_use]
    pub fn new(bytes_max: u64) -> Embedded {
        let keyspace = Mutex::new(Keyspace::new(limits(bytes_max), Clock::seed()));
        Embedded { keyspace }
    }

    /// Changes the limit on memory. Existing data is kept.
    pub fn set_bytes_max(&self, bytes_max: u64) {
        self.keyspace().set_limits(limits(bytes_max));
    }

    /// Returns the current number of keys and their memory use.
    #[must_use]
    pub fn store_usage(&self) -> StoreUsage {
        let keyspace = self.keyspace();
        let (keys, ..) = keyspace.db_figures(0, unix_ms());
        StoreUsage {
            keys: keys as u64,
            bytes: keyspace.used_bytes() as u64,
        }
    }

    /// Starts a session of a new client.
    #[must_use]
    pub fn open_session(&self) -> EmbeddedSession<'_> {
        let bytes_max = self.keyspace().limits().string_bytes_max;
        let limits = resp::Limits {
            bulk_bytes_max: bytes_max,
            args_max: ARGS_MAX,
            query_bytes_max: bytes_max + FRAME_BYTES_MAX + ARGS_MAX * size_of::<Bytes>(),
            ..resp::Limits::default()
        };
        let mut session = Session::new();
        session.set_deny_blocking(true);
        EmbeddedSession {
            store: self,
            session,
            parser: Parser::new(limits),
            input: BytesMut::new(),
            out: Out::new(Proto::Resp2),
            is_closed: false,
        }
    }

    /// Locks the data.
    fn keyspace(&self) -> MutexGuard<'_, Keyspace> {
        self.keyspace.lock()
    }
}

impl EmbeddedSession<'_> {
    /// Appends bytes received from the client.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Runs one command, if a complete command was received. Returns whether a command ran.
    pub fn run_next(&mut self) -> bool {
        if self.is_closed {
            return false;
        }
        match self.parser.next(&mut self.input) {
            Ok(true) => {}
            Ok(false) => return false,
            Err(err) => {
                self.is_closed = true;
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

    /// Fills `parts` with the first bytes of the output, as [`Out::parts`] does.
    pub fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>]) -> usize {
        self.out.parts(parts, usize::MAX)
    }

    /// Removes the first `bytes` bytes of the output, after they were sent.
    pub fn advance(&mut self, bytes: usize) {
        self.out.advance(bytes);
    }

    /// Returns whether the session is closed and ignores further input.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_closed
    }
}

/// Runs one command and writes its reply.
fn run(store: &Embedded, session: &mut Session, args: &[Bytes], out: &mut Out) {
    let known = keyspace::command(args);
    if let Some(command) = known.filter(|command| !is_supported(command)) {
        return match command.name {
            "ping" if args.len() == 1 => out.simple("PONG"),
            name => out.error(format!("ERR this store has no command '{name}'")),
        };
    }
    let now_ms = unix_ms();
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
            unreachable!("the embedded store has no such commands")
        }
    }
}

/// Returns whether this store supports a command. Supported commands work only on data, never wait,
/// and are not in [`UNSUPPORTED`].
pub(crate) fn is_supported(command: &keyspace::Command) -> bool {
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
    family && !waits && !UNSUPPORTED.contains(&command.name)
}

fn limits(bytes_max: u64) -> keyspace::Limits {
    keyspace::Limits {
        databases: 1,
        string_bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
        maxmemory_bytes: bytes_max,
        ..keyspace::Limits::default()
    }
}
