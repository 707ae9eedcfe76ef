//! What a connection has chosen and begun.

use bytes::Bytes;

use crate::command::{Command, Flags};
use crate::foresee::Foreseen;
use crate::table;

/// The state of one client that commands depend on.
#[derive(Debug, Default)]
pub struct Session {
    pub(crate) db: usize,
    pub(crate) queue: Option<Queue>,
    pub(crate) watched: Vec<Watched>,
    /// Bytes that they take.
    pub(crate) watched_bytes: usize,
    pub(crate) in_exec: bool,
    deny_blocking: bool,
    pub(crate) replay: bool,
    pub(crate) no_touch: bool,
    pub(crate) command: Option<&'static Command>,
    pub(crate) foreseen: Foreseen,
}

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<Vec<Bytes>>,
    /// Bytes that they take.
    pub(crate) bytes: usize,
    /// One of them was refused, so EXEC will be.
    pub(crate) aborted: bool,
}

/// A watched key, and its version when the watch began.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) db: usize,
    pub(crate) key: Bytes,
    pub(crate) version: u64,
    /// What was there.
    pub(crate) seen: Seen,
}

/// What whoever watches a key finds under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Nothing,
    /// A value whose deadline has passed: to clients there is none, so that its removal is no change.
    Expired,
    Value,
}

impl Watched {
    /// Bytes of a watch with a key, which stands in the session and once in the keyspace.
    pub(crate) fn bytes(key: &Bytes) -> usize {
        const MAP_ENTRY_BYTES: usize = 64;
        size_of::<Self>() + key.len() + MAP_ENTRY_BYTES
    }
}

impl Queue {
    pub(crate) fn push(&mut self, args: Vec<Bytes>) {
        let args_bytes: usize = args.iter().map(resp::arg_bytes).sum();
        self.bytes += size_of::<Vec<Bytes>>() + args_bytes;
        self.commands.push(args);
    }

    /// Whether one of the commands is refused when memory is short.
    pub(crate) fn needs_memory(&self) -> bool {
        let mut commands = self.commands.iter().filter_map(|args| table::command(args));
        commands.any(|command| command.flags.has(Flags::DENYOOM))
    }
}

impl Session {
    /// A new client: database 0, nothing begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The selected database.
    #[must_use]
    pub fn db(&self) -> usize {
        self.db
    }

    /// Whether commands are being queued.
    #[must_use]
    pub fn in_multi(&self) -> bool {
        self.queue.is_some()
    }

    /// The command that was executed last, if there is one of that name.
    #[must_use]
    pub fn command(&self) -> Option<&'static Command> {
        self.command
    }

    /// How many commands are queued, if MULTI was sent.
    #[must_use]
    pub fn multi_len(&self) -> Option<usize> {
        self.queue.as_ref().map(|queue| queue.commands.len())
    }

    /// Bytes of the commands that are queued and of the keys that are watched, with what surrounds them.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let queued = self.queue.as_ref().map_or(0, |queue| queue.bytes);
        queued + self.watched_bytes
    }

    /// Whether a queued command changes data or sends a message.
    #[must_use]
    pub fn multi_writes(&self) -> bool {
        let commands = self.queue.iter().flat_map(|queue| &queue.commands);
        let mut found = commands.filter_map(|args| table::command(args));
        found.any(|command| command.flags.has(Flags::WRITE) || command.flags.has(Flags::PUBSUB))
    }

    /// How many keys are watched.
    #[must_use]
    pub fn watching(&self) -> usize {
        self.watched.len()
    }

    /// A command was refused before it came here: EXEC will fail.
    pub fn abort_multi(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.aborted = true;
        }
    }

    /// The commands of an EXEC have all been run.
    pub fn exec_done(&mut self) {
        self.in_exec = false;
    }

    /// Whether the commands of an EXEC are being run.
    #[must_use]
    pub fn in_exec(&self) -> bool {
        self.in_exec
    }

    /// Blocking commands answer at once from now on, as if their time had passed.
    pub fn set_deny_blocking(&mut self, deny: bool) {
        self.deny_blocking = deny;
    }

    /// Commands come from a journal: nothing is refused for memory, no deadline passes, nothing is journaled again.
    pub fn set_replay(&mut self, replay: bool) {
        self.replay = replay;
    }

    /// Reads do not count as use: CLIENT NO-TOUCH.
    pub fn set_no_touch(&mut self, no_touch: bool) {
        self.no_touch = no_touch;
    }

    /// What [`crate::Keyspace::foresee`] said of the command that is executed next.
    pub fn set_foreseen(&mut self, foreseen: Foreseen) {
        self.foreseen = foreseen;
    }

    pub(crate) fn may_block(&self) -> bool {
        !self.in_exec && !self.deny_blocking && !self.replay
    }
}
