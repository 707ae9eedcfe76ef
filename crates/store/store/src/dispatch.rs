//! Dispatch of commands: the steps from a client's request to the effects of its command.
//!
//! ```text
//! dispatch ─► translate ─► check ─► call ─► end_reply ─► effects::apply
//!             names        may it   ├─ keyspace.execute: commands on data
//!                          run?     ├─ the handler of the table: commands about the server
//!                                   └─ each command of a transaction: call
//! ```
//!
//! `command::table` has one row per command about the server, and lists the exceptions that some
//! steps make for some commands.

mod account;
mod check;

use std::borrow::Cow;

use bytes::Bytes;
use keyspace::{Command, Flags, Group, Outcome, Prefetched};
use resp::Mark;

use crate::client::{BlockedCommand, ClientKey, Closing, Replies};
use crate::command::{self, Rules};
use crate::effects;
use crate::rename::{NameMeaning, with_original_name};
use crate::run_script;
use crate::scripts::Ended;
use crate::state::State;
use account::{FinishedCommand, account};
use check::{Verdict, check};

/// The next step of a connection after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The command has its reply; the next command can run.
    Next,
    /// The command waits for a key.
    Blocked,
    /// A pause of commands (such as that of `CLIENT PAUSE`) delays the command; it runs when the
    /// pause ends.
    Postponed,
}

/// Event that makes a command run. Clients in `MONITOR` mode see the command only on
/// [`Occasion::First`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// The client sent the command.
    First,
    /// A key for which the command waits is ready. If the command has to wait again, its client
    /// keeps its position in the queue of blocked clients.
    KeyReady,
    /// The deadline until which the client was blocked has passed.
    Deadline,
}

/// Runs one command of a client, completes the reply, and handles the command's effects on other
/// clients and files.
pub(crate) fn dispatch(
    state: &mut State,
    key: ClientKey,
    args: &[Bytes],
    prefetched: Prefetched,
) -> Flow {
    let Some(args) = translate(state, key, args) else {
        return Flow::Next;
    };
    match check(state, key, &args) {
        Verdict::Runs => {}
        Verdict::Refused => return Flow::Next,
        Verdict::Postponed => {
            state.clients[key].postponed = true;
            return Flow::Postponed;
        }
    }
    let client = &mut state.clients[key];
    let mark = client.out.mark();
    client.session.set_prefetched(match args {
        Cow::Borrowed(_) => prefetched,
        // The command was renamed, so the prefetch was done for the wrong command.
        Cow::Owned(_) => Prefetched::default(),
    });
    if client.replies == Replies::SkipNext {
        client.replies = Replies::Skip;
    }
    state.clients.running = Some(key);
    let (flow, command) = call(state, key, &args, Occasion::First);
    state.clients.running = None;
    end_reply(state, key, command, mark);
    effects::apply(state);
    flow
}

/// Runs the command of a blocked client again.
pub(crate) fn resume(
    state: &mut State,
    key: ClientKey,
    blocked_command: &BlockedCommand,
    occasion: Occasion,
) -> Flow {
    let mark = state.clients[key].out.mark();
    state.clients.running = Some(key);
    let (flow, command) = call(state, key, &blocked_command.args, occasion);
    state.clients.running = None;
    // Only `GETORLOCK` runs after a deadline: it then acquires a lock. Locks are never written to
    // disk, so the reply need not wait for the disk.
    if occasion == Occasion::KeyReady {
        note_promise(state, key, command, mark);
    }
    state.clients[key].append_deferred_messages();
    flow
}

/// Returns the request with the command's original name, or `None` if the request must not run: if
/// `rename-command` removed the name, the client gets an error, and if the request is HTTP, the
/// connection is closed.
#[inline]
fn translate<'a>(state: &mut State, key: ClientKey, args: &'a [Bytes]) -> Option<Cow<'a, [Bytes]>> {
    let now_ms = state.now_ms();
    let client = &mut state.clients[key];
    client.active_ms = now_ms;
    if is_http(&args[0]) {
        let peer = &client.peer.address;
        tracing::warn!(%peer, "a client sent an HTTP request to the store's port (possible cross-protocol attack); closed its connection");
        client.close(Closing::Now);
        return None;
    }
    match state.config.renames.meaning(&args[0]) {
        NameMeaning::Itself => Some(Cow::Borrowed(args)),
        NameMeaning::Command(own) => Some(Cow::Owned(with_original_name(args, own))),
        NameMeaning::Nothing => {
            let text = keyspace::unknown_command(args);
            client.session.abort_multi();
            client.out.error(&text);
            state.stats.error(&text);
            None
        }
    }
}

/// Returns whether a request is a line of an HTTP request. A web page can make a browser send HTTP
/// to a server on the same machine, with commands in the request's body.
fn is_http(name: &[u8]) -> bool {
    matches!(name.len(), 4 | 5)
        && (name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:"))
}

/// Runs one command of a script. The client's session and output are those of the script meanwhile.
pub(crate) fn call_from_script(state: &mut State, key: ClientKey, args: &[Bytes]) {
    call(state, key, args, Occasion::First);
}

/// Completes the reply of a script that ran for so long that other clients were served meanwhile.
/// The reply starts at `mark`. Then runs the remaining commands of the script's transaction, if
/// any.
pub(crate) fn end_script(state: &mut State, key: ClientKey, mark: Mark, ended: Ended) {
    note_promise(state, key, Some(ended.command), mark);
    if let Some(rest) = ended.rest {
        let mark = state.clients[key].out.mark();
        state.clients.running = Some(key);
        call_all(state, key, rest);
        state.clients.running = None;
        note_promise(state, key, Some(ended.command), mark);
    }
    state.clients[key].append_deferred_messages();
    let now_ms = state.now_ms();
    state.clients.enforce_output_limit(key, now_ms);
    effects::apply(state);
}

/// Statistics counter for one call of a command.
enum Counts {
    Run,
    Refused,
    /// No counter yet: a call that has to wait is counted when the command finally runs, or when
    /// the client gets a reply although the command did not run.
    Later,
}

/// Runs one command, alone or within EXEC, and counts it. Returns the next step of the connection
/// and the command, if it is known.
fn call(
    state: &mut State,
    key: ClientKey,
    args: &[Bytes],
    occasion: Occasion,
) -> (Flow, Option<&'static Command>) {
    let now_ms = state.now_ms();
    let is_watched = state.clients.has_monitors() && occasion == Occasion::First;
    let is_shown_late = is_watched && !show_early(state, key, args);
    let started = state.clock.lap_start();
    state.keyspace.set_non_data_bytes(state.clients.bytes());
    let client = &mut state.clients[key];
    let mark = client.out.mark();
    let mut errors = client.out.errors();
    let (session, out) = (&mut client.session, &mut client.out);
    let outcome = state.keyspace.execute(session, args, now_ms, out);
    let command = client.session.command();
    client.last = command.or(client.last);
    let (flow, counts) = match outcome {
        Outcome::Done => (Flow::Next, Counts::Run),
        Outcome::Refused => (Flow::Next, Counts::Refused),
        Outcome::Queued => {
            enforce_queue_limit(state, key);
            (Flow::Next, Counts::Later)
        }
        Outcome::Service(command) => {
            run_service(state, key, command, args);
            (Flow::Next, Counts::Run)
        }
        Outcome::Block(_) if occasion == Occasion::KeyReady => (Flow::Blocked, Counts::Later),
        Outcome::Block(block) => {
            let (clients, keyspace) = (&mut state.clients, &mut state.keyspace);
            state.blocked.park(clients, keyspace, key, args, block);
            (Flow::Blocked, Counts::Later)
        }
        Outcome::Exec(commands) => {
            call_all(state, key, commands);
            // The errors of the transaction's commands were counted when those commands ran.
            errors = state.clients[key].out.errors();
            (Flow::Next, Counts::Run)
        }
    };
    if is_shown_late {
        show(state, key, args);
    }
    let failed = state.clients[key].out.errors() != errors;
    if failed {
        count_error(state, key, mark);
    }
    let client = &state.clients[key];
    // An unknown command is counted only as an error.
    let Some(command) = command else {
        return (flow, None);
    };
    match counts {
        Counts::Run => {
            let took_us = state.clock.end_lap(started);
            let ran = FinishedCommand {
                command,
                args,
                took_us,
                failed,
            };
            account(&mut state.stats, &state.config, client, now_ms, ran);
        }
        Counts::Refused => state.stats.rejected(command),
        Counts::Later => {}
    }
    (flow, Some(command))
}

/// Counts the error reply that starts at `mark`, unless it is that of a command of a script, which
/// is counted already.
fn count_error(state: &mut State, key: ClientKey, mark: Mark) {
    let is_counted = std::mem::take(&mut state.scripts.error_is_counted);
    let text = state.clients[key].out.error_at(mark);
    if let Some(text) = text.filter(|_| !is_counted) {
        state.stats.error(text);
    }
}

/// Runs a command about the server, and the script that it requests, if any.
fn run_service(state: &mut State, key: ClientKey, command: &'static Command, args: &[Bytes]) {
    command::run(state, key, command, args);
    if let Some(script_call) = state.scripts.take_request() {
        run_script::run(state, key, script_call);
    }
}

/// Runs the commands of a transaction. If one of them is a script that runs for too long, the rest
/// runs after the script.
fn call_all(state: &mut State, key: ClientKey, commands: Vec<Vec<Bytes>>) {
    let mut commands = commands.into_iter();
    while let Some(args) = commands.next() {
        call(state, key, &args, Occasion::First);
        if state.scripts.is_busy() {
            return state.scripts.run_afterwards(commands.collect());
        }
    }
    state.clients[key].session.exec_done();
}

/// Closes a client whose queued transaction and unparsed input exceed `client-query-buffer-limit`.
fn enforce_queue_limit(state: &mut State, key: ClientKey) {
    let client = &mut state.clients[key];
    let bytes = client.session.held_bytes() + client.input_bytes;
    if state.config.client_query_buffer_limit.0 < bytes as u64 {
        tracing::warn!(
            id = client.id,
            bytes,
            "the client's transaction and unparsed input exceed client-query-buffer-limit; closed its connection"
        );
        client.close(Closing::Now);
    }
}

/// Shows a command to clients in `MONITOR` mode before the command runs. Two commands are shown
/// only after they ran: an EXEC follows the commands of its transaction, and a SELECT is shown with
/// the database that it selected. For these two, shows nothing and returns `false`.
fn show_early(state: &mut State, key: ClientKey, args: &[Bytes]) -> bool {
    let rules = keyspace::command(args).map(command::rules);
    let is_early = !rules.is_some_and(|rules| rules.has(Rules::SHOWN_LATE));
    if is_early {
        show(state, key, args);
    }
    is_early
}

/// Shows a command to clients in `MONITOR` mode. Does nothing if the command is only queued for a
/// transaction, or if its flags hide it from these clients.
fn show(state: &mut State, key: ClientKey, args: &[Bytes]) {
    let Some(command) = keyspace::command(args).filter(|it| it.takes(args.len())) else {
        return;
    };
    // A script is shown before its commands, although its flags say otherwise.
    let skips = command.flags.has(Flags::SKIP_MONITOR) && command.group != Group::Scripting;
    let hidden = skips || command.flags.has(Flags::ADMIN);
    let session = &state.clients[key].session;
    let queued = session.in_multi() && !session.in_exec() && command.name != "exec";
    if !queued && !hidden {
        let now_us = state.clock.unix_us();
        let by_script = state.scripts.runs_command();
        state.clients.show_monitors(key, by_script, args, now_us);
    }
}

/// Completes the reply that starts at `mark` in the client's output: removes the reply if `CLIENT
/// REPLY` suppresses it, records whether it must wait for the disk, and appends the messages that
/// arrived while the command ran.
fn end_reply(state: &mut State, key: ClientKey, command: Option<&'static Command>, mark: Mark) {
    let client = &mut state.clients[key];
    if client.replies != Replies::On {
        if client.replies == Replies::Skip {
            client.replies = Replies::On;
        }
        let last = client.session.command();
        if !last.is_some_and(|it| command::rules(it).has(Rules::REPLIES_BY_MESSAGE)) {
            client.out.truncate(mark);
        }
    }
    note_promise(state, key, command, mark);
    if std::mem::take(&mut state.keyspace.effects.flushed_all) {
        let (config, keyspace) = (&state.config, &mut state.keyspace);
        state.clients[key].flush = state.persist.save_flush(config, keyspace);
    }
    let client = &mut state.clients[key];
    client.append_deferred_messages();
    let waiting_bytes = client.out.len() as u64;
    if state.clients.output_bytes_min() <= waiting_bytes {
        let now_ms = state.now_ms();
        state.clients.enforce_output_limit(key, now_ms);
    }
}

/// Records, if `appendfsync` requires it, that the output since `mark` must not be sent before the
/// command's change is on disk.
fn note_promise(state: &mut State, key: ClientKey, command: Option<&Command>, mark: Mark) {
    if state.keyspace.effects.journal.is_empty() || !state.persist.promises() {
        return;
    }
    // A command that only reads may have removed an expired key. Such a command's reply need not
    // wait until the removal is on disk.
    if !command.is_some_and(|command| command.flags.has(Flags::READONLY)) {
        let client = &mut state.clients[key];
        client.unwritten.push((mark, client.out.mark()));
    }
}
