//! EVAL and the commands like it, and SCRIPT.

use bytes::Bytes;
use keyspace::Command;
use script::{Job, Sha, Target};

use super::call::Call;
use crate::scripts::{Kill, Kind, ScriptCall};

const NO_SCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";

/// EVAL script numkeys \[key …] \[arg …], EVALSHA sha1 …, and their variants that only read data.
pub(super) fn eval(call: &mut Call<'_>) {
    let command = keyspace::command(call.args).expect("the table has this command");
    match script_call(call, command) {
        Ok(script_call) => call.state.scripts.request(script_call),
        Err(text) => call.error(&text),
    }
}

fn script_call(call: &mut Call<'_>, command: &'static Command) -> Result<ScriptCall, String> {
    let (keys, args) = split_keys(call.args, "ERR value is not an integer or out of range")?;
    let engine = call.state.scripts.engine()?;
    let sha = match command.name {
        "eval" | "eval_ro" => engine
            .load(&call.args[1])
            .map_err(|error| error.to_string())?,
        _ => Sha::parse(&call.args[1]).ok_or(NO_SCRIPT)?,
    };
    let flags = engine.find(&sha).ok_or(NO_SCRIPT)?;
    Ok(ScriptCall {
        command,
        kind: Kind::Script,
        job: Job {
            target: Target::Script(sha),
            keys,
            args,
        },
        flags,
        words: Vec::new(),
    })
}

/// Keys and other arguments of a script or function.
type KeysAndArgs = (Vec<Bytes>, Vec<Bytes>);

/// Divides the arguments of a script or function into keys and others. `not_a_number` is the error
/// reply if the number of keys is not a number.
pub(super) fn split_keys(args: &[Bytes], not_a_number: &str) -> Result<KeysAndArgs, String> {
    let count = resp::parse_int(&args[2]).ok_or(not_a_number)?;
    let count = usize::try_from(count).map_err(|_| "ERR Number of keys can't be negative")?;
    let split = args[3..].split_at_checked(count);
    let (keys, args) = split.ok_or("ERR Number of keys can't be greater than number of args")?;
    Ok((keys.to_vec(), args.to_vec()))
}

/// SCRIPT: the cache of scripts, and the running script.
pub(super) fn script(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("load", 3) => load(call),
        ("exists", _) => exists(call),
        ("flush", 2) => flush(call),
        ("flush", 3) if matches!(call.word(2).as_str(), "async" | "sync") => flush(call),
        ("flush", _) => call.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option"),
        ("kill", 2) => reply_to_kill(call, Kind::Script),
        ("debug", 3) if call.word(2) == "no" => call.out().ok(),
        ("debug", 3) => call.error("ERR this server has no debugger for scripts"),
        _ => call.unknown_subcommand(),
    }
}

fn load(call: &mut Call<'_>) {
    let loaded = call.state.scripts.engine().and_then(|engine| {
        let sha = engine.load_and_keep(&call.args[2]);
        sha.map_err(|error| error.to_string())
    });
    match loaded {
        Ok(sha) => call.out().bulk(sha.as_bytes()),
        Err(text) => call.error(&text),
    }
}

fn exists(call: &mut Call<'_>) {
    let engine = call.state.scripts.started_engine();
    let is_cached = |text: &bytes::Bytes| {
        let sha = Sha::parse(text);
        sha.is_some_and(|sha| engine.is_some_and(|engine| engine.contains(&sha)))
    };
    let found: Vec<bool> = call.args[2..].iter().map(is_cached).collect();
    let out = call.out();
    out.array(found.len());
    found
        .into_iter()
        .for_each(|found| out.int(i64::from(found)));
}

fn flush(call: &mut Call<'_>) {
    call.state.scripts.flush();
    call.out().ok();
}

/// SCRIPT KILL and FUNCTION KILL: ends the running script or function.
pub(super) fn reply_to_kill(call: &mut Call<'_>, kind: Kind) {
    match call.state.scripts.kill(kind) {
        Kill::Done => call.out().ok(),
        Kill::OtherKind(running) => call.error(running.busy_reply()),
        Kill::NotBusy => call.error("NOTBUSY No scripts in execution right now."),
        Kill::HasWritten => call.error(
            "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the \
             script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
        ),
    }
}
