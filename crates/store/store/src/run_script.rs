//! Runs scripts among the commands of other clients.
//!
//! A script runs to its end within its client's command, as every command does. If it takes longer
//! than `busy-reply-threshold`, the core serves other clients between slices of the script. All
//! that they can do is to end the script; their other commands are refused with `BUSY`. So a script
//! is atomic: no other command runs between its commands, and its changes reach the journal
//! together.

use std::time::{Duration, Instant};

use bytes::Bytes;
use keyspace::{Command, Flags, Session};
use resp::{Out, Reply};
use script::Step;

use crate::client::{ClientKey, Replies};
use crate::clock::thread_cpu_time;
use crate::command::{Rules, rules};
use crate::dispatch::{call_from_script, end_script};
use crate::rename::{NameMeaning, with_original_name};
use crate::script_log;
use crate::scripts::{Ended, Running, ScriptCall};
use crate::state::State;
use crate::taken_reply::take_reply;

/// Runs a script of a client. Writes its reply, unless the script runs for too long: the client is
/// then blocked until `run_busy_scripts` has finished the script.
pub(crate) fn run(state: &mut State, key: ClientKey, call: ScriptCall) {
    let ScriptCall {
        command,
        kind,
        job,
        flags,
        words,
    } = call;
    let is_read_only = flags.has(script::Flags::NO_WRITES) || command.flags.has(Flags::READONLY);
    let is_out_of_memory = !state.keyspace.make_room(state.now_ms());
    let allows_oom = flags.has(script::Flags::ALLOW_OOM);
    if flags.has(script::Flags::DECLARED)
        && let Some(text) = declared_refusal(state, command, flags, is_out_of_memory)
    {
        return state.clients[key].out.error(text);
    }
    let client = &state.clients[key];
    state.scripts.running = Some(Running {
        caller: key,
        command,
        kind,
        words,
        session: Some(Session::for_script(&client.session)),
        is_read_only,
        allows_oom,
        is_out_of_memory,
        has_written: false,
        is_busy: false,
        is_killed: false,
        is_silent: client.replies != Replies::On,
        has_left: false,
        stops_afterwards: false,
        rest: None,
        started: Instant::now(),
    });
    let threshold = match state.config.busy_reply_threshold.0 {
        0 => Duration::MAX,
        ms => Duration::from_millis(ms as u64),
    };
    let step = state.scripts.running_engine().start(job);
    match drive(state, step, threshold) {
        Some(reply) => {
            state.scripts.running = None;
            write(&mut state.clients[key].out, &reply);
        }
        None => {
            let command = state.scripts.running_mut().command.name;
            tracing::warn!(
                command,
                "a script runs for longer than busy-reply-threshold; SCRIPT KILL or FUNCTION KILL can end it"
            );
            state.scripts.running_mut().is_busy = true;
            state.park_without_keys(key);
            state.tasks.script_busy.notify_one();
        }
    }
}

/// Returns the reason why a script that declares its flags may not start, if there is one.
fn declared_refusal(
    state: &State,
    command: &Command,
    flags: script::Flags,
    is_out_of_memory: bool,
) -> Option<String> {
    if flags.has(script::Flags::NO_WRITES) {
        return None;
    }
    if let Some(fault) = state.persist.refuses_writes(&state.config) {
        return Some(fault);
    }
    if command.flags.has(Flags::READONLY) {
        let text = "ERR Can not execute a script with write flag using *_ro command.";
        return Some(text.to_owned());
    }
    let lacks_memory = is_out_of_memory && !flags.has(script::Flags::ALLOW_OOM);
    lacks_memory.then(|| {
        "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
            .to_owned()
    })
}

/// Runs the script for at most `time`. Returns its reply if it has ended.
fn drive(state: &mut State, mut step: Step, time: Duration) -> Option<Reply> {
    let started = Instant::now();
    loop {
        step = match step {
            Step::Done(reply) => {
                let is_counted = state.scripts.running_engine().error_is_counted();
                state.scripts.error_is_counted = is_counted;
                return Some(reply);
            }
            Step::Call(call) => {
                let reply = run_command(state, &call);
                state.scripts.running_engine().answer(reply)
            }
            Step::Pause if time <= started.elapsed() => return None,
            Step::Pause => go_on(state),
            Step::Log { level, text } => {
                script_log::write(level, &text);
                go_on(state)
            }
            Step::Clock => {
                let seconds = thread_cpu_time().as_secs_f64();
                state.scripts.running_engine().tell_time(seconds)
            }
        };
    }
}

fn go_on(state: &mut State) -> Step {
    let is_killed = state.scripts.running_mut().is_killed;
    let engine = state.scripts.running_engine();
    match is_killed {
        true => engine.kill(),
        false => engine.go_on(),
    }
}

/// Runs a command that the script calls, and returns its reply.
fn run_command(state: &mut State, call: &script::Call) -> Reply {
    let original;
    let args = match state.config.renames.meaning(&call.args[0]) {
        NameMeaning::Itself => &call.args,
        NameMeaning::Command(own) => {
            original = with_original_name(&call.args, own);
            &original
        }
        NameMeaning::Nothing => return refuse(state, UNKNOWN_COMMAND),
    };
    let Some(command) = keyspace::command(args) else {
        return refuse(state, UNKNOWN_COMMAND);
    };
    if let Some(text) = refusal(state, command, args) {
        state.stats.rejected(command);
        return refuse(state, &text);
    }
    let running = state.scripts.running_mut();
    let key = running.caller;
    running.has_written |= command.flags.has(Flags::WRITE);
    let session = running.session.take().expect("one command runs at a time");
    let mut out = Out::new(call.proto);
    out.set_bytes_max(state.limits.scripts.memory_bytes_max);
    let client = &mut state.clients[key];
    let caller_session = std::mem::replace(&mut client.session, session);
    let caller_out = std::mem::replace(&mut client.out, out);
    let journaled = state.keyspace.effects.journal.len();
    call_from_script(state, key, args);
    if !call.is_journaled {
        state.keyspace.effects.journal.truncate(journaled);
    }
    let client = &mut state.clients[key];
    let session = std::mem::replace(&mut client.session, caller_session);
    let mut out = std::mem::replace(&mut client.out, caller_out);
    state.scripts.running_mut().session = Some(session);
    let reply = match out.is_full() {
        true => None,
        false => take_reply(&mut out),
    };
    reply.unwrap_or_else(|| error("ERR the reply is too large for a script"))
}

const UNKNOWN_COMMAND: &str = "ERR Unknown Redis command called from script";

/// Counts the error of a command that a script may not run, and returns it as the reply.
fn refuse(state: &mut State, text: &str) -> Reply {
    state.stats.error(text.as_bytes());
    error(text)
}

fn error(text: &str) -> Reply {
    Reply::Error(Bytes::copy_from_slice(text.as_bytes()))
}

/// Returns the reason why the script may not run a command, if there is one.
fn refusal(state: &mut State, command: &Command, args: &[Bytes]) -> Option<String> {
    if !command.takes(args.len()) {
        let text = "ERR Wrong number of args calling Redis command from script";
        return Some(text.to_owned());
    }
    if command.flags.has(Flags::NOSCRIPT) {
        let text = "ERR This Redis command is not allowed from script";
        return Some(text.to_owned());
    }
    let running = state.scripts.running_mut();
    let writes = command.flags.has(Flags::WRITE);
    let publishes = rules(command).has(Rules::WAITS_LIKE_WRITE);
    if (writes || publishes) && running.is_read_only {
        let text = "ERR Write commands are not allowed from read-only scripts.";
        return Some(text.to_owned());
    }
    let lacks_memory = running.is_out_of_memory && !running.allows_oom && !running.has_written;
    if lacks_memory && command.flags.has(Flags::DENYOOM) {
        let text = "OOM command not allowed when used memory > 'maxmemory'.";
        return Some(text.to_owned());
    }
    let is_first_write = writes && !running.has_written;
    let fault = state.persist.refuses_writes(&state.config);
    fault.filter(|_| is_first_write)
}

/// Runs a script that other clients have noticed for about `time`. Returns whether a script goes
/// on.
pub(crate) fn go_on_for(state: &mut State, time: Duration) -> bool {
    if !state.scripts.is_busy() {
        return false;
    }
    let step = go_on(state);
    if let Some(reply) = drive(state, step, time) {
        finish(state, &reply);
    }
    state.scripts.is_busy()
}

/// Sends the reply of a script that other clients have noticed, and handles its effects.
fn finish(state: &mut State, reply: &Reply) {
    let running = state.scripts.running.take().expect("a script is running");
    let key = running.caller;
    let took_ms = running.started.elapsed().as_millis() as u64;
    tracing::warn!(
        took_ms,
        is_killed = running.is_killed,
        "the slow script has ended"
    );
    state.clock.start_turn();
    state.unpark(key);
    let mark = state.clients[key].out.mark();
    write(&mut state.clients[key].out, reply);
    if running.is_silent {
        state.clients[key].out.truncate(mark);
    }
    let is_counted = std::mem::take(&mut state.scripts.error_is_counted);
    if let Reply::Error(text) = reply
        && !is_counted
    {
        state.stats.error(text);
    }
    let ended = Ended {
        command: running.command,
        rest: running.rest,
    };
    end_script(state, key, mark, ended);
    if running.has_left {
        // Unless the transaction's next script keeps the client.
        state.forget(key);
    }
    state.tasks.deadline_changed.notify_one();
    if running.stops_afterwards && !state.scripts.stop_afterwards() {
        let save = state.config.saves_at_end();
        state.shut_down(save);
    }
}

/// Appends the reply of a script.
fn write(out: &mut Out, reply: &Reply) {
    match reply {
        Reply::Simple(status) => out.simple(&String::from_utf8_lossy(status)),
        Reply::Error(text) => out.error(text),
        Reply::Int(number) => out.int(*number),
        Reply::Bulk(text) => out.blob(text),
        Reply::Null => out.null(),
        Reply::Bool(value) => out.bool(*value),
        Reply::BigNumber(digits) => out.big_number(&String::from_utf8_lossy(digits)),
        Reply::Double(number) => {
            let number = String::from_utf8_lossy(number).parse();
            out.double(number.unwrap_or(f64::NAN));
        }
        Reply::Verbatim(whole) => {
            let format = whole.first_chunk().copied().unwrap_or(*b"txt");
            out.verbatim(format, whole.get(4..).unwrap_or_default());
        }
        Reply::Array(elements) => {
            out.array(elements.len());
            elements.iter().for_each(|element| write(out, element));
        }
        Reply::Push(elements) => {
            out.push(elements.len());
            elements.iter().for_each(|element| write(out, element));
        }
        Reply::Set(elements) => {
            out.set(elements.len());
            elements.iter().for_each(|element| write(out, element));
        }
        Reply::Map(pairs) => {
            out.map(pairs.len());
            for (key, value) in pairs {
                write(out, key);
                write(out, value);
            }
        }
    }
}
