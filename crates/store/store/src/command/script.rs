//! EVAL and the commands like it, and SCRIPT.

use keyspace::Command;
use script::{Job, Sha, Target};

use super::call::Call;
use crate::scripts::{Kill, ScriptCall};

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
    let keys_count = resp::parse_int(&call.args[2]);
    let keys_count = keys_count.ok_or("ERR value is not an integer or out of range")?;
    let last = call.args.len() - 3;
    let keys_count = match usize::try_from(keys_count) {
        Err(_) => return Err("ERR Number of keys can't be negative".to_owned()),
        Ok(count) if last < count => {
            return Err("ERR Number of keys can't be greater than number of args".to_owned());
        }
        Ok(count) => count,
    };
    let engine = call.state.scripts.engine()?;
    let sha = match command.name {
        "eval" | "eval_ro" => engine
            .load(&call.args[1])
            .map_err(|error| error.to_string())?,
        _ => Sha::parse(&call.args[1]).ok_or(NO_SCRIPT)?,
    };
    let flags = engine.find(&sha).ok_or(NO_SCRIPT)?;
    let (keys, args) = call.args[3..].split_at(keys_count);
    let job = Job {
        target: Target::Script(sha),
        keys: keys.to_vec(),
        args: args.to_vec(),
    };
    Ok(ScriptCall {
        command,
        job,
        flags,
    })
}

/// SCRIPT: the cache of scripts, and the running script.
pub(super) fn script(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("load", 3) => load(call),
        ("exists", _) => exists(call),
        ("flush", 2) => flush(call),
        ("flush", 3) if matches!(call.word(2).as_str(), "async" | "sync") => flush(call),
        ("flush", _) => call.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option"),
        ("kill", 2) => kill(call),
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

fn kill(call: &mut Call<'_>) {
    match call.state.scripts.kill() {
        Kill::Done => call.out().ok(),
        Kill::NotBusy => call.error("NOTBUSY No scripts in execution right now."),
        Kill::HasWritten => call.error(
            "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the \
             script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
        ),
    }
}
