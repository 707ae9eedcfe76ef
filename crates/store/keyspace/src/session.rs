//! Per-client state on which commands depend.

use bytes::Bytes;

use crate::command::{Command, Flags};
use crate::watches::Watched;

/// State of one client on which commands depend: database, transaction, watches, modes.
#[derive(Debug, Default)]
pub struct Session {
    pub(crate) db: usize,
    pub(crate) queue: Option<Queue>,
    pub(crate) watched: Vec<Watched>,
    /// Heap bytes that `watched` uses.
    pub(crate) watched_bytes: usize,
    pub(crate) in_exec: bool,
    deny_blocking: bool,
    /// True for the commands of a script.
    pub(crate) is_script: bool,
    pub(crate) replay: bool,
    pub(crate) no_touch: bool,
    pub(crate) command: Option<&'static Command>,
    pub(crate) prefetched: Prefetched,
}

/// Results of the prefetch for one command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prefetched {
    /// The command, if its name is known.
    pub(crate) command: Option<&'static Command>,
    /// Hash of the first argument, if this argument is a key.
    pub(crate) hash: Option<u64>,
}

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<Vec<Bytes>>,
    /// Heap bytes that `commands` uses.
    pub(crate) bytes: usize,
    /// Union of the queued commands' properties.
    flags: Flags,
    /// True if a command was refused instead of queued. EXEC then fails.
    pub(crate) aborted: bool,
}

impl Queue {
    pub(crate) fn push(&mut self, command: &Command, args: Vec<Bytes>) {
        self.flags = self.flags.and(command.flags);
        let args_bytes: usize = args.iter().map(resp::arg_bytes).sum();
        self.bytes += size_of::<Vec<Bytes>>() + args_bytes;
        self.commands.push(args);
    }

    /// Returns whether a queued command must be refused when memory exceeds its limit.
    pub(crate) fn needs_memory(&self) -> bool {
        self.flags.has(Flags::DENYOOM)
    }
}

impl Session {
    /// Returns the session of a new client: database 0, no transaction.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the session of a script that a client with the session `caller` calls. Its commands
    /// run like those of a transaction: they never wait, and no key is evicted between them.
    #[must_use]
    pub fn for_script(caller: &Session) -> Self {
        Self {
            db: caller.db,
            no_touch: caller.no_touch,
            in_exec: true,
            deny_blocking: true,
            is_script: true,
            ..Self::default()
        }
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

    /// Returns the last command that [`crate::Keyspace::execute`] received, even if it was refused
    /// or queued. Returns `None` before the first command, and after a command with an unknown
    /// name.
    #[must_use]
    pub fn command(&self) -> Option<&'static Command> {
        self.command
    }

    /// Returns the number of queued commands, if a transaction is open.
    #[must_use]
    pub fn multi_len(&self) -> Option<usize> {
        self.queue.as_ref().map(|queue| queue.commands.len())
    }

    /// Returns the number of bytes that queued commands and watched keys use, overhead included.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let queued = self.queue.as_ref().map_or(0, |queue| queue.bytes);
        queued + self.watched_bytes
    }

    /// Returns the commands of the open transaction, if there is one.
    #[must_use]
    pub fn queued(&self) -> &[Vec<Bytes>] {
        let queue = self.queue.as_ref();
        queue.map_or(&[], |queue| &queue.commands)
    }

    /// Returns the number of watched keys.
    #[must_use]
    pub fn watching(&self) -> usize {
        self.watched.len()
    }

    /// Marks the open transaction as failed, because the caller refused a command.
    pub fn abort_multi(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.aborted = true;
        }
    }

    /// Ends EXEC, after the caller has run all commands of the transaction.
    pub fn exec_done(&mut self) {
        self.in_exec = false;
    }

    /// Returns whether the commands of an EXEC are running.
    #[must_use]
    pub fn in_exec(&self) -> bool {
        self.in_exec
    }

    /// Sets whether blocking commands may wait. If `deny` is true, a blocking command replies at
    /// once, as if its timeout had passed.
    pub fn set_deny_blocking(&mut self, deny: bool) {
        self.deny_blocking = deny;
    }

    /// Sets whether the session replays an append-only file. During a replay, memory limits and
    /// deadlines do not apply, and commands are not recorded again.
    pub fn set_replay(&mut self, replay: bool) {
        self.replay = replay;
    }

    /// Sets CLIENT NO-TOUCH: reads do not update the last use of keys.
    pub fn set_no_touch(&mut self, no_touch: bool) {
        self.no_touch = no_touch;
    }

    /// Sets what was looked up in advance for the next [`crate::Keyspace::execute`]: the command,
    /// and the hash code of its key.
    pub fn set_prefetched(&mut self, prefetched: Prefetched) {
        self.prefetched = prefetched;
    }

    /// Opens a transaction.
    pub(crate) fn start_multi(&mut self) {
        self.queue = Some(Queue::default());
    }

    /// Removes all watches from the session and returns them.
    pub(crate) fn take_watched(&mut self) -> impl Iterator<Item = Watched> {
        self.watched_bytes = 0;
        self.watched.drain(..)
    }

    pub(crate) fn may_block(&self) -> bool {
        !self.in_exec && !self.deny_blocking && !self.replay
    }
}
