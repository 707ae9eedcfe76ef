//! State of a client that commands depend on.

use bytes::Bytes;

use crate::command::{Command, Flags};
use crate::prefetch::Prefetched;
use crate::table;

/// State of one client that commands depend on: database, transaction, watches, modes.
#[derive(Debug, Default)]
pub struct Session {
    pub(crate) db: usize,
    pub(crate) queue: Option<Queue>,
    pub(crate) watched: Vec<Watched>,
    /// Bytes of `watched`.
    pub(crate) watched_bytes: usize,
    pub(crate) in_exec: bool,
    deny_blocking: bool,
    pub(crate) replay: bool,
    pub(crate) no_touch: bool,
    pub(crate) command: Option<&'static Command>,
    pub(crate) prefetched: Prefetched,
}

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<Vec<Bytes>>,
    /// Bytes of `commands`.
    pub(crate) bytes: usize,
    /// True if a command was refused while queueing: EXEC fails.
    pub(crate) aborted: bool,
}

/// A watched key, with its version at the time of WATCH.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) db: usize,
    pub(crate) key: Bytes,
    pub(crate) version: u64,
    /// State of the key at the time of WATCH.
    pub(crate) seen: KeyState,
}

/// State of a watched key, as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyState {
    Nothing,
    /// A value whose deadline has passed: absent to clients, so its removal is not a change.
    Expired,
    Value,
}

impl Watched {
    /// Returns the bytes of one watch: its entry in the session and its entry in the keyspace.
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

    /// Returns whether a queued command is one that is refused when memory is short.
    pub(crate) fn needs_memory(&self) -> bool {
        let mut commands = self.commands.iter().filter_map(|args| table::command(args));
        commands.any(|command| command.flags.has(Flags::DENYOOM))
    }
}

impl Session {
    /// Returns the session of a new client: database 0, no transaction.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the index of the selected database.
    #[must_use]
    pub fn db(&self) -> usize {
        self.db
    }

    /// Returns whether a transaction is open, so that commands are queued.
    #[must_use]
    pub fn in_multi(&self) -> bool {
        self.queue.is_some()
    }

    /// Returns the last executed command; `None` if its name was unknown.
    #[must_use]
    pub fn command(&self) -> Option<&'static Command> {
        self.command
    }

    /// Returns the number of queued commands, if a transaction is open.
    #[must_use]
    pub fn multi_len(&self) -> Option<usize> {
        self.queue.as_ref().map(|queue| queue.commands.len())
    }

    /// Returns the bytes of queued commands and watched keys, overhead included.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let queued = self.queue.as_ref().map_or(0, |queue| queue.bytes);
        queued + self.watched_bytes
    }

    /// Returns whether a queued command changes data or publishes a message.
    #[must_use]
    pub fn multi_writes(&self) -> bool {
        let commands = self.queue.iter().flat_map(|queue| &queue.commands);
        let mut found = commands.filter_map(|args| table::command(args));
        found.any(|command| command.flags.has(Flags::WRITE) || command.flags.has(Flags::PUBSUB))
    }

    /// Returns the number of watched keys.
    #[must_use]
    pub fn watching(&self) -> usize {
        self.watched.len()
    }

    /// Marks the open transaction as failed, for a command that the caller refused.
    pub fn abort_multi(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.aborted = true;
        }
    }

    /// Ends EXEC, after the caller has run all of its commands.
    pub fn exec_done(&mut self) {
        self.in_exec = false;
    }

    /// Returns whether the commands of an EXEC are running.
    #[must_use]
    pub fn in_exec(&self) -> bool {
        self.in_exec
    }

    /// Makes blocking commands reply at once, as if their timeout had passed.
    pub fn set_deny_blocking(&mut self, deny: bool) {
        self.deny_blocking = deny;
    }

    /// Marks the session as the replay of a journal: memory limits and deadlines do not apply, and
    /// nothing is journaled again.
    pub fn set_replay(&mut self, replay: bool) {
        self.replay = replay;
    }

    /// Sets CLIENT NO-TOUCH: reads do not update the last use of keys.
    pub fn set_no_touch(&mut self, no_touch: bool) {
        self.no_touch = no_touch;
    }

    /// Sets the prefetched command and hash for the next [`crate::Keyspace::execute`].
    pub fn set_prefetched(&mut self, prefetched: Prefetched) {
        self.prefetched = prefetched;
    }

    pub(crate) fn may_block(&self) -> bool {
        !self.in_exec && !self.deny_blocking && !self.replay
    }
}
