//! Execution of one command: permission checks, the call, and its effects.

use bytes::Bytes;
use keyspace::{Command, Flags, Outcome, Prefetched};
use resp::Mark;
use tokio::time::Instant;

use crate::block::BlockedCommand;
use crate::client::{ClientKey, Closing, Replies};
use crate::command;
use crate::latency::Sample;
use crate::redact::redacted;
use crate::rename::{NameMeaning, with_own_name};
use crate::slowlog::{self, Slow};
use crate::state::{Flow, State};

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
                self.stats.error(&text, self.limits.error_names_max);
                Flow::Next
            }
        }
    }

    /// Runs one command of a client by its own name.
    fn named_command(&mut self, key: ClientKey, args: &[Bytes], prefetched: Prefetched) -> Flow {
        let client = &mut self.clients[key];
        let guarded = !client.authenticated || client.only_subscribes() || client.monitor;
        if guarded || self.pause.is_some() || self.persist.refuses_writes(&self.config).is_some() {
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
        self.running = Some(key);
        client.session.set_prefetched(prefetched);
        let flow = self.execute(key, args);
        self.running = None;
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
            let flush = self.save_flush();
            self.clients[key].flush = flush;
        }
        let client = &mut self.clients[key];
        client.append_later();
        let waits = client.out.len() as u64;
        let least = self.config.client_output_buffer_limit.least_bytes();
        if least.min(self.limits.out_bytes_max as u64) <= waits {
            self.enforce_output_limit(key);
        }
        self.settle_effects();
        flow
    }

    /// Runs the command of a blocked client again.
    pub(crate) fn run_again(&mut self, key: ClientKey, parked: &BlockedCommand) -> Flow {
        self.running = Some(key);
        self.retrying = true;
        let mark = self.clients[key].out.mark();
        self.is_shown = true;
        let flow = self.execute(key, &parked.args);
        self.is_shown = false;
        self.retrying = false;
        self.running = None;
        self.note_promise(key, &parked.args, mark);
        self.clients[key].append_later();
        flow
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

    /// Ends the replies' wait for the disk; if writing failed, the replies to changes become
    /// errors.
    pub(crate) fn settle_replies(&mut self, key: ClientKey, is_written: bool) {
        let replies = std::mem::take(&mut self.clients[key].unwritten);
        if is_written {
            return;
        }
        let text = self.persist.unwritten_reply();
        for (from, to) in replies.into_iter().rev().filter(|(from, to)| from != to) {
            self.clients[key].out.replace_with_error(from, to, &text);
            self.stats
                .error(text.as_bytes(), self.limits.error_names_max);
        }
    }

    /// Runs one command, alone or within EXEC, and counts it.
    pub(crate) fn execute(&mut self, key: ClientKey, args: &[Bytes]) -> Flow {
        let now_ms = self.now_ms();
        // Monitors see the commands of a transaction before its EXEC, and a SELECT with the
        // database it selected; so EXEC and SELECT are shown after they ran.
        let is_watched = !self.monitors.is_empty() && !self.is_shown;
        let is_late = |command: &Command| matches!(command.name, "exec" | "select");
        let is_shown_late = is_watched && keyspace::command(args).is_some_and(is_late);
        if is_watched && !is_shown_late {
            self.monitor(key, args);
        }
        let started = self.clock.lap_start();
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
            Outcome::Block(_) if self.retrying => (Flow::Blocked, Counts::Later),
            Outcome::Block(block) => match self.park(key, args, block) {
                Flow::Blocked => (Flow::Blocked, Counts::Later),
                flow => (flow, Counts::Run),
            },
            Outcome::Exec(commands) => {
                for args in &commands {
                    self.execute(key, args);
                }
                let client = &mut self.clients[key];
                client.session.exec_done();
                // The errors of the transaction's commands are counted already.
                errors = client.out.errors();
                (Flow::Next, Counts::Run)
            }
        };
        if is_shown_late && self.clients.contains(key) {
            self.monitor(key, args);
        }
        // A command may remove its own client.
        if let Some(client) = self.clients.get(key) {
            let failed = client.out.errors() != errors;
            if failed && let Some(text) = client.out.error_at(mark) {
                let text = text.to_owned();
                self.stats.error(&text, self.limits.error_names_max);
            }
            match (command, counts) {
                (Some(command), Counts::Run) => self.account(key, command, args, started, failed),
                (Some(command), Counts::Refused) => self.stats.calls_of(command).rejected += 1,
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
        self.stats.commands += 1;
        let took_us = self.clock.end_lap(started);
        self.stats.commands_us += took_us;
        let calls = self.stats.calls_of(command);
        calls.ran(took_us, failed);
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
            self.note_latency(event, took_us / 1000);
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
        self.slowlog.add(slow, entries_max);
    }

    /// Records a delay under its event's name.
    pub(crate) fn note_latency(&mut self, event: &'static str, took_ms: u64) {
        let sample = Sample {
            unix_secs: self.now_ms() / 1000,
            took_ms,
        };
        self.latency
            .add(event, sample, self.limits.latency_samples_max);
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
        match self.pause {
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
        self.stats
            .error(text.as_bytes(), self.limits.error_names_max);
        self.stats.calls_of(command).rejected += 1;
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
            self.show_monitors(key, args);
        }
    }

    /// Handles the effects of preceding commands besides their replies: AOF entries, notifications
    /// and clients blocked on a key, until no effects are left.
    pub(crate) fn settle_effects(&mut self) {
        loop {
            let effects = &mut self.keyspace.effects;
            if !effects.journal.is_empty() {
                let journal = std::mem::take(&mut effects.journal);
                self.persist.append(&journal);
            }
            let effects = &mut self.keyspace.effects;
            if !effects.events.is_empty() {
                let events = std::mem::take(&mut effects.events);
                self.publish_events(&events);
            }
            let effects = &mut self.keyspace.effects;
            if effects.ready.is_empty() {
                return;
            }
            for (db, name) in std::mem::take(&mut effects.ready) {
                self.serve_waiting(db, &name);
            }
        }
    }

    fn publish_events(&mut self, events: &[keyspace::Event]) {
        let notify = self.keyspace.notify();
        for event in events {
            let name = Bytes::from_static(event.name.as_bytes());
            if notify.keyspace() {
                let mut channel = format!("__keyspace@{}__:", event.db).into_bytes();
                channel.extend_from_slice(&event.key);
                self.publish(&channel.into(), &name);
            }
            if notify.keyevent() {
                let channel = format!("__keyevent@{}__:{}", event.db, event.name);
                self.publish(&channel.into(), &event.key);
            }
        }
    }

    /// Answers an invalid request with an error and closes the connection.
    pub(crate) fn protocol_error(&mut self, key: ClientKey, error: resp::ProtocolError) {
        let client = &mut self.clients[key];
        if error == resp::ProtocolError::QueryTooLarge {
            client.close(Closing::Now);
            return;
        }
        let text = format!("ERR {error}");
        client.out.error(&text);
        client.close(Closing::AfterReply);
        self.stats
            .error(text.as_bytes(), self.limits.error_names_max);
    }
}

/// Returns whether a request is a line of HTTP. A web page can make a browser send such lines, and
/// commands after them, to a server on the same machine.
fn is_http(name: &[u8]) -> bool {
    matches!(name.len(), 4 | 5)
        && (name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:"))
}
