//! Execution of one command: permission checks, the call, and its effects.

use bytes::Bytes;
use keyspace::{Command, Flags, Outcome, Prefetched};
use resp::Mark;
use tokio::time::Instant;

use crate::client::{BlockedCommand, ClientKey, Closing, Replies};
use crate::command;
use crate::effects;
use crate::redact::redacted;
use crate::rename::{NameMeaning, with_own_name};
use crate::slowlog::{self, Slow};
use crate::state::State;

/// Commands that a RESP2 client may send in pub/sub mode.
const PUBSUB_MODE_COMMANDS: &[&str] = &[
    "ping",
    "subscribe",
    "unsubscribe",
    "psubscribe",
    "punsubscribe",
    "ssubscribe",
    "sunsubscribe",
    "quit",
    "reset",
];

/// The next step of a connection after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The command was answered: continue.
    Next,
    /// The command waits for a key.
    Blocked,
    /// The command runs again when the pause is over.
    Postponed,
}

/// Occasion on which a command runs. Monitors see only the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// The client sent the command.
    First,
    /// A key that the command waits for is ready. If it has to wait again, it keeps its place in
    /// the queue.
    Again,
    /// The deadline of the wait has passed.
    Late,
}

/// Result of the permission check of a command.
enum Gate {
    Open,
    Refused,
    Postponed,
}

/// The statistic that a call counts towards.
enum Counts {
    Run,
    Refused,
    /// Not counted now: the call is counted when it runs, or is answered.
    Later,
}

impl State {
    /// Runs one command of a client, its reply and all that follows from it included.
    pub(crate) fn command(
        &mut self,
        key: ClientKey,
        args: &[Bytes],
        prefetched: Prefetched,
    ) -> Flow {
        let now_ms = self.now_ms();
        let client = &mut self.clients[key];
        client.active_ms = now_ms;
        if is_http(&args[0]) {
            let peer = &client.peer.address;
            tracing::warn!(%peer, "HTTP request on the store's port (possible cross-protocol attack); connection closed");
            client.close(Closing::Now);
            return Flow::Next;
        }
        match self.config.renames.meaning(&args[0]) {
            NameMeaning::Itself => self.named_command(key, args, prefetched),
            // What was foreseen is what the name means elsewhere.
            NameMeaning::Command(own) => {
                self.named_command(key, &with_own_name(args, own), Prefetched::default())
            }
            NameMeaning::Nothing => {
                let text = keyspace::unknown_command(args);
                client.session.abort_multi();
                client.out.error(&text);
                self.stats.error(&text);
                Flow::Next
            }
        }
    }

    /// Runs one command of a client by its own name.
    fn named_command(&mut self, key: ClientKey, args: &[Bytes], prefetched: Prefetched) -> Flow {
        let client = &mut self.clients[key];
        let guarded = !client.authenticated || client.only_subscribes() || client.monitor;
        if guarded
            || self.pauses.current().is_some()
            || self.persist.refuses_writes(&self.config).is_some()
        {
            match self.gate(key, args) {
                Gate::Open => {}
                Gate::Refused => return Flow::Next,
                Gate::Postponed => {
                    self.clients[key].postponed = true;
                    return Flow::Postponed;
                }
            }
        }
        let client = &mut self.clients[key];
        let mark = client.out.mark();
        if client.replies == Replies::SkipNext {
            client.replies = Replies::Skip;
        }
        client.session.set_prefetched(prefetched);
        self.clients.running = Some(key);
        let flow = self.execute(key, args, Attempt::First);
        self.clients.running = None;
        let client = &mut self.clients[key];
        if client.replies != Replies::On {
            client.replies = match client.replies {
                Replies::Skip => Replies::On,
                other => other,
            };
            // Subscription confirmations are messages, which `CLIENT REPLY OFF` does not suppress.
            let is_message = |command: &Command| command.name.ends_with("subscribe");
            if !client.session.command().is_some_and(is_message) {
                client.out.truncate(mark);
            }
        }
        self.note_promise(key, args, mark);
        if std::mem::take(&mut self.keyspace.effects.flushed_all) {
            let flush = self.persist.save_flush(&self.config, &mut self.keyspace);
            self.clients[key].flush = flush;
        }
        let client = &mut self.clients[key];
        client.append_later();
        if self.clients.may_exceed_output(key) {
            self.clients.enforce_output_limit(key, self.clock.unix_ms());
        }
        effects::settle(self);
        flow
    }

    /// Runs the command of a blocked client again.
    pub(crate) fn run_again(&mut self, key: ClientKey, parked: &BlockedCommand) -> Flow {
        self.clients.running = Some(key);
        let mark = self.clients[key].out.mark();
        let flow = self.execute(key, &parked.args, Attempt::Again);
        self.clients.running = None;
        self.note_promise(key, &parked.args, mark);
        self.clients[key].append_later();
        flow
    }

    /// Runs the command of a client whose wait has ended by its deadline.
    pub(crate) fn run_late(&mut self, key: ClientKey, parked: &BlockedCommand) {
        self.clients.running = Some(key);
        self.execute(key, &parked.args, Attempt::Late);
        self.clients.running = None;
        self.clients[key].append_later();
    }

    /// Records the reply since `mark` if its change must be on disk before it is sent.
    fn note_promise(&mut self, key: ClientKey, args: &[Bytes], mark: Mark) {
        if self.keyspace.effects.journal.is_empty() || !self.persist.promises() {
            return;
        }
        // A read may have removed an expired key; its reply makes no promise about that.
        let reads = |command: &Command| command.flags.has(Flags::READONLY);
        if !keyspace::command(args).is_some_and(reads) {
            let client = &mut self.clients[key];
            client.unwritten.push((mark, client.out.mark()));
        }
    }

    /// Runs one command, alone or within EXEC, and counts it.
    fn execute(&mut self, key: ClientKey, args: &[Bytes], attempt: Attempt) -> Flow {
        let now_ms = self.now_ms();
        // Monitors see the commands of a transaction before its EXEC, and a SELECT with the
        // database it selected; so EXEC and SELECT are shown after they ran.
        let is_watched = self.clients.has_monitors() && attempt == Attempt::First;
        let is_late = |command: &Command| matches!(command.name, "exec" | "select");
        let is_shown_late = is_watched && keyspace::command(args).is_some_and(is_late);
        if is_watched && !is_shown_late {
            self.monitor(key, args);
        }
        let started = self.clock.lap_start();
        self.keyspace.set_non_data_bytes(self.clients.bytes());
        let client = &mut self.clients[key];
        let mark = client.out.mark();
        let mut errors = client.out.errors();
        let outcome = self
            .keyspace
            .execute(&mut client.session, args, now_ms, &mut client.out);
        let command = client.session.command();
        client.last = command.or(client.last);
        let (flow, counts) = match outcome {
            Outcome::Done => (Flow::Next, Counts::Run),
            Outcome::Refused => (Flow::Next, Counts::Refused),
            Outcome::Queued => {
                self.enforce_queue_limit(key);
                (Flow::Next, Counts::Later)
            }
            Outcome::Service(command) => {
                command::run(self, key, command, args);
                (Flow::Next, Counts::Run)
            }
            Outcome::Block(_) if attempt == Attempt::Again => (Flow::Blocked, Counts::Later),
            Outcome::Block(block) => {
                let (clients, keyspace) = (&mut self.clients, &mut self.keyspace);
                self.blocked.park(clients, keyspace, key, args, block);
                (Flow::Blocked, Counts::Later)
            }
            Outcome::Exec(commands) => {
                for args in &commands {
                    self.execute(key, args, Attempt::First);
                }
                let client = &mut self.clients[key];
                client.session.exec_done();
                // The errors of the transaction's commands are counted already.
                errors = client.out.errors();
                (Flow::Next, Counts::Run)
            }
        };
        if is_shown_late && self.clients.get(key).is_some() {
            self.monitor(key, args);
        }
        // A command may remove its own client.
        if let Some(client) = self.clients.get(key) {
            let failed = client.out.errors() != errors;
            if failed && let Some(text) = client.out.error_at(mark) {
                let text = text.to_owned();
                self.stats.error(&text);
            }
            match (command, counts) {
                (Some(command), Counts::Run) => self.account(key, command, args, started, failed),
                (Some(command), Counts::Refused) => self.stats.rejected(command),
                // An unknown command is counted only as an error.
                (Some(_), Counts::Later) | (None, _) => {}
            }
        }
        flow
    }

    /// Closes a client whose queued transaction and unparsed input exceed
    /// `client-query-buffer-limit`.
    fn enforce_queue_limit(&mut self, key: ClientKey) {
        let client = &mut self.clients[key];
        let bytes = client.session.held_bytes() + client.input_bytes;
        if self.config.client_query_buffer_limit.0 < bytes as u64 {
            tracing::warn!(
                id = client.id,
                bytes,
                "transaction and unparsed input exceed client-query-buffer-limit; connection closed"
            );
            client.close(Closing::Now);
        }
    }

    /// Counts a command that ran, and logs it if it was slow.
    fn account(
        &mut self,
        key: ClientKey,
        command: &'static Command,
        args: &[Bytes],
        started: Instant,
        failed: bool,
    ) {
        let took_us = self.clock.end_lap(started);
        let calls = self.stats.ran(command, took_us, failed);
        if self.config.latency_tracking {
            calls.track(took_us);
        }
        let slower_than = self.config.slowlog_log_slower_than.0;
        if 0 <= slower_than && slower_than as u64 <= took_us {
            self.note_slow(key, command, args, took_us);
        }
        let threshold_ms = self.config.latency_monitor_threshold.0 as u64;
        if 0 < threshold_ms && threshold_ms <= took_us / 1000 {
            let event = match command.flags.has(Flags::FAST) {
                true => "fast-command",
                false => "command",
            };
            self.stats
                .delayed(event, self.clock.unix_ms(), took_us / 1000);
        }
    }

    fn note_slow(&mut self, key: ClientKey, command: &Command, args: &[Bytes], took_us: u64) {
        if self.config.slowlog_max_len.0 == 0 || command.flags.has(Flags::SKIP_SLOWLOG) {
            return;
        }
        let client = &self.clients[key];
        let slow = Slow {
            id: 0,
            unix_secs: self.now_ms() / 1000,
            took_us,
            args: slowlog::shorten(&redacted(args)),
            peer: client.peer.address.clone(),
            name: client.name.clone(),
        };
        let entries_max = self.config.slowlog_max_len.0 as usize;
        self.stats.slowlog.add(slow, entries_max);
    }

    /// Decides whether a command may run. Called only if something may prevent it: a missing
    /// password, pub/sub mode, a pause, or a failing disk.
    fn gate(&mut self, key: ClientKey, args: &[Bytes]) -> Gate {
        // Unknown commands and wrong argument counts are refused by `execute`, with its own text.
        let Some(command) = keyspace::command(args).filter(|it| it.takes(args.len())) else {
            return Gate::Open;
        };
        let client = &self.clients[key];
        if !client.authenticated && !command.flags.has(Flags::NO_AUTH) {
            return self.refuse(key, command, "NOAUTH Authentication required.");
        }
        if client.only_subscribes() && !PUBSUB_MODE_COMMANDS.contains(&command.name) {
            let text = format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
                command.name
            );
            return self.refuse(key, command, &text);
        }
        // Redis treats a monitor as a kind of replica.
        if client.monitor && (command.flags.has(Flags::READONLY) || self.changes_data(key, command))
        {
            return self.refuse(key, command, "ERR Replica can't interact with the keyspace");
        }
        // PING is used as a health check, so it reports the error too.
        if (command.flags.has(Flags::WRITE) || command.name == "ping")
            && let Some(text) = self.persist.refuses_writes(&self.config)
        {
            return self.refuse(key, command, &text);
        }
        match self.pauses.current() {
            Some(pause) if pause.all || self.changes_data(key, command) => Gate::Postponed,
            _ => Gate::Open,
        }
    }

    /// Returns whether a command, or the queue that an EXEC runs, may change data or counts as a
    /// change during a pause.
    fn changes_data(&self, key: ClientKey, command: &Command) -> bool {
        match command.name {
            "exec" => self.clients[key].session.multi_writes(),
            "publish" | "spublish" | "pfcount" => true,
            _ => command.flags.has(Flags::WRITE),
        }
    }

    fn refuse(&mut self, key: ClientKey, command: &'static Command, text: &str) -> Gate {
        let client = &mut self.clients[key];
        client.session.abort_multi();
        client.out.error(text);
        self.stats.error(text.as_bytes());
        self.stats.rejected(command);
        Gate::Refused
    }

    /// Shows a command to monitors, unless it is being queued or is hidden from them.
    fn monitor(&mut self, key: ClientKey, args: &[Bytes]) {
        let Some(command) = keyspace::command(args).filter(|it| it.takes(args.len())) else {
            return;
        };
        let hidden = command.flags.has(Flags::SKIP_MONITOR) || command.flags.has(Flags::ADMIN);
        let client = &self.clients[key];
        let queued =
            client.session.in_multi() && !client.session.in_exec() && command.name != "exec";
        if !queued && !hidden {
            self.clients.show_monitors(key, args, self.clock.unix_us());
        }
    }
}

/// Returns whether a request is a line of HTTP. A web page can make a browser send such lines, and
/// commands after them, to a server on the same machine.
fn is_http(name: &[u8]) -> bool {
    matches!(name.len(), 4 | 5)
        && (name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:"))
}
