//! Checks whether a command may run. A command may be refused because the client is not
//! authenticated, because the client is in pub/sub or `MONITOR` mode, or because the data cannot be
//! written to disk. While commands are paused, for example by `CLIENT PAUSE`, a command may have to
//! wait.

use bytes::Bytes;
use keyspace::{Command, Flags};

use crate::client::{Client, ClientKey};
use crate::command::{Rules, rules};
use crate::state::State;

/// Result of the check whether a command may run.
pub(super) enum Verdict {
    Runs,
    /// The command may not run. The client was sent the reason as an error reply.
    Refused,
    Postponed,
}

/// Decides whether a command may run. If the command is refused, replies with an error.
#[inline]
pub(super) fn check(state: &mut State, key: ClientKey, args: &[Bytes]) -> Verdict {
    let client = &state.clients[key];
    let is_guarded = !client.authenticated || client.only_subscribes() || client.monitor;
    let is_exceptional = is_guarded
        || state.scripts.is_busy()
        || state.pauses.current().is_some()
        || state.persist.refuses_writes(&state.config).is_some();
    match is_exceptional {
        true => decide(state, key, args),
        false => Verdict::Runs,
    }
}

/// Decides whether a command may run, if the state of the client or of the server does not allow
/// all commands.
#[cold]
fn decide(state: &mut State, key: ClientKey, args: &[Bytes]) -> Verdict {
    // Unknown commands and wrong argument counts are let through, because `keyspace` refuses them
    // with its own error text.
    let Some(command) = keyspace::command(args).filter(|it| it.takes(args.len())) else {
        return Verdict::Runs;
    };
    let client = &state.clients[key];
    let refusal = refusal(state, client, command, args).or_else(|| {
        let running = state.scripts.running.as_ref().filter(|it| it.is_busy)?;
        let is_refused = !runs_beside_script(command, args);
        is_refused.then(|| running.kind.busy_reply().to_owned())
    });
    let refusal = refusal.or_else(|| {
        let reports = command.flags.has(Flags::WRITE) || rules(command).has(Rules::REPORTS_DISK);
        let fault = state.persist.refuses_writes(&state.config);
        fault.filter(|_| reports)
    });
    if let Some(text) = refusal {
        refuse(state, key, command, &text);
        return Verdict::Refused;
    }
    match state.pauses.current() {
        Some(pause) if pause.all || changes_data(state, client, command, args) => {
            Verdict::Postponed
        }
        _ => Verdict::Runs,
    }
}

/// Returns whether a command may run while a script of another client is running.
fn runs_beside_script(command: &Command, args: &[Bytes]) -> bool {
    let is_nosave = || matches!(args, [_, how] if how.eq_ignore_ascii_case(b"nosave"));
    command.flags.has(Flags::ALLOW_BUSY) && (command.name != "shutdown" || is_nosave())
}

/// Returns `None` if this client may run the command, and otherwise the error reply.
fn refusal(state: &State, client: &Client, command: &Command, args: &[Bytes]) -> Option<String> {
    if !client.authenticated && !command.flags.has(Flags::NO_AUTH) {
        return Some("NOAUTH Authentication required.".to_owned());
    }
    if client.only_subscribes() && !rules(command).has(Rules::IN_PUBSUB_MODE) {
        return Some(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
            command.name
        ));
    }
    // Redis treats a client in `MONITOR` mode as a replica, which may neither read nor change data.
    let touches_data =
        || command.flags.has(Flags::READONLY) || changes_data(state, client, command, args);
    if client.monitor && touches_data() {
        return Some("ERR Replica can't interact with the keyspace".to_owned());
    }
    None
}

/// Returns whether a command may change data, or has to wait during a pause like commands that
/// change data. For EXEC, the commands of the transaction decide; for a script or function, the
/// flags that it declares.
fn changes_data(state: &State, client: &Client, command: &Command, args: &[Bytes]) -> bool {
    if command.name == "exec" {
        let mut queued = client.session.queued().iter();
        return queued.any(|args| {
            let command = keyspace::command(args);
            command.is_some_and(|command| changes_data(state, client, command, args))
        });
    }
    let writes = command.flags.has(Flags::WRITE) || rules(command).has(Rules::WAITS_LIKE_WRITE);
    let declared = || state.scripts.declared_flags(command, args);
    writes && !declared().has(script::Flags::NO_WRITES)
}

fn refuse(state: &mut State, key: ClientKey, command: &'static Command, text: &str) {
    let client = &mut state.clients[key];
    if command.name == "exec" && client.session.in_multi() {
        let (keyspace, session) = (&mut state.keyspace, &mut client.session);
        keyspace.abort_exec(session, text.as_bytes(), &mut client.out);
    } else {
        client.session.abort_multi();
        client.out.error(text);
    }
    state.stats.error(text.as_bytes());
    state.stats.rejected(command);
}
