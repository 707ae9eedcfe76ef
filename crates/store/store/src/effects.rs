//! Effects of commands besides their replies: AOF entries, keyspace notifications, and replies to
//! blocked clients whose keys became ready.

use bytes::Bytes;
use keyspace::Event;
use resp::{Out, Proto};

use crate::client::{BlockedCommand, ClientKey};
use crate::clients::Clients;
use crate::dispatch::{Flow, Occasion, resume};
use crate::pubsub::Hub;
use crate::state::State;

/// Handles the effects of the commands that ran. Commands of blocked clients may run as a result
/// and have effects in turn, so the function repeats until no effects are left.
pub(crate) fn apply(state: &mut State) {
    loop {
        // The changes of a script are written together, and blocked clients are served, when the
        // script has ended.
        let is_busy = state.scripts.is_busy();
        let effects = &mut state.keyspace.effects;
        if !effects.journal.is_empty() && !is_busy {
            let journal = std::mem::take(&mut effects.journal);
            state.persist.append(&journal);
        }
        let effects = &mut state.keyspace.effects;
        if !effects.events.is_empty() {
            let events = std::mem::take(&mut effects.events);
            let (notify, now_ms) = (state.keyspace.notify(), state.now_ms());
            publish_events(&state.hub, &mut state.clients, notify, now_ms, &events);
        }
        let effects = &mut state.keyspace.effects;
        if effects.ready.is_empty() || is_busy {
            return;
        }
        for (db, name) in std::mem::take(&mut effects.ready) {
            serve_waiting(state, db, &name);
        }
    }
}

fn publish_events(
    hub: &Hub,
    clients: &mut Clients,
    notify: keyspace::Notify,
    now_ms: u64,
    events: &[Event],
) {
    for event in events {
        let name = Bytes::from_static(event.name.as_bytes());
        if notify.keyspace() {
            let mut channel = format!("__keyspace@{}__:", event.db).into_bytes();
            channel.extend_from_slice(&event.key);
            hub.publish(clients, now_ms, &channel.into(), &name);
        }
        if notify.keyevent() {
            let channel = format!("__keyevent@{}__:{}", event.db, event.name);
            hub.publish(clients, now_ms, &channel.into(), &event.key);
        }
    }
}

/// Runs again every command that waits for the key `name`, the longest-waiting first. Clients whose
/// commands complete are no longer blocked. A client that waits in XREADGROUP gets an error if the
/// stream or its group was removed.
fn serve_waiting(state: &mut State, db: usize, name: &Bytes) {
    for key in state.blocked.waiting_for(db, name) {
        // The command of a client that was served before this one may have unblocked this client
        // too. There is then no blocked command.
        if let Some(blocked_command) = state.clients[key].blocked_command.take() {
            let vanished = state.keyspace.vanished(db, &blocked_command.args, name);
            if vanished.is_some() {
                state.clients[key].blocked_command = Some(blocked_command);
                state.unpark(key);
                state.answer_blocked(key, vanished);
                continue;
            }
            let served = holds_wanted_type(state, key, &blocked_command, name)
                && resume(state, key, &blocked_command, Occasion::KeyReady) != Flow::Blocked;
            state.clients[key].blocked_command = Some(blocked_command);
            if served {
                state.unpark(key);
            }
        }
    }
}

/// Returns whether the key holds a value of the type that the command waits for. A value of another
/// type does not wake the client.
fn holds_wanted_type(
    state: &mut State,
    key: ClientKey,
    blocked_command: &BlockedCommand,
    name: &Bytes,
) -> bool {
    let wanted = match blocked_command.args.first() {
        // GETORLOCK completes with a value of any type, and also if the key has no value but its
        // lock was released.
        Some(command) if is_compute_command(command) => return true,
        Some(command) if command[1..].to_ascii_lowercase().starts_with(b"z") => "+zset\r\n",
        Some(command) if command.to_ascii_lowercase().starts_with(b"x") => "+stream\r\n",
        _ => "+list\r\n",
    };
    let now_ms = state.now_ms();
    let question = [Bytes::from_static(b"TYPE"), name.clone()];
    let mut out = Out::new(Proto::Resp2);
    let session = &mut state.clients[key].session;
    state.keyspace.execute(session, &question, now_ms, &mut out);
    out.to_bytes() == wanted
}

/// Handles the blocked clients whose deadline has passed. A client that waits in GETORLOCK acquires
/// the lock; any other client gets its timeout reply.
pub(crate) fn time_out(state: &mut State) {
    let now_ms = state.now_ms();
    while let Some(key) = state.blocked.first_due(now_ms) {
        let Some(blocked_command) = state.unpark(key) else {
            continue;
        };
        match blocked_command.args.first() {
            // The client that held the lock took too long and lost it. This client, the first in
            // the queue, acquires the lock.
            Some(command) if is_compute_command(command) => {
                resume(state, key, &blocked_command, Occasion::Deadline);
            }
            _ => state.answer_blocked(key, None),
        }
    }
}

/// Returns whether a command waits for a value that another client computes.
fn is_compute_command(command: &Bytes) -> bool {
    command.eq_ignore_ascii_case(b"getorlock")
}

/// Removes keys whose cache tags were dropped, up to the limit for one pass of the event loop.
/// Returns whether all such keys have been removed.
pub(crate) fn sweep_tagged(state: &mut State) -> bool {
    let is_swept = state.keyspace.sweep_tagged();
    apply(state);
    is_swept
}
