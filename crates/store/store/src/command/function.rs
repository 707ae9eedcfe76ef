//! FCALL, FCALL_RO, and FUNCTION.

use keyspace::Keyspace;
use script::{Job, Target};

use super::call::Call;
use super::script::{reply_to_kill, split_keys};
use crate::functions::{LOAD_TIME_MAX, Policy};
use crate::scripts::{Kind, ScriptCall};

/// FCALL function numkeys \[key …] \[arg …], and FCALL_RO.
pub(super) fn fcall(call: &mut Call<'_>) {
    match function_call(call) {
        Ok(script_call) => call.state.scripts.request(script_call),
        Err(text) => call.error(&text),
    }
}

fn function_call(call: &Call<'_>) -> Result<ScriptCall, String> {
    let command = keyspace::command(call.args).expect("the table has this command");
    let function = call.state.scripts.functions.find(&call.args[1]);
    let function = function.ok_or("ERR Function not found")?;
    let (keys, args) = split_keys(call.args, "ERR Bad number of keys provided")?;
    Ok(ScriptCall {
        command,
        kind: Kind::Function,
        job: Job {
            target: Target::Function {
                id: function.id,
                name: function.name.clone(),
            },
            keys,
            args,
        },
        flags: function.flags,
        words: call.args.to_vec(),
    })
}

/// FUNCTION: the libraries, and the running function.
pub(super) fn function(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("load", _) => load(call),
        ("delete", _) => delete(call),
        ("flush", 2) => flush(call),
        ("flush", 3) if matches!(call.word(2).as_str(), "async" | "sync") => flush(call),
        ("flush", 3) => call.error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"),
        ("list", _) => list(call),
        ("dump", _) => {
            let payload = call.state.keyspace.dump_functions();
            call.out().blob(&payload);
        }
        ("restore", 3 | 4) => restore(call),
        ("stats", _) => stats(call),
        ("kill", _) => reply_to_kill(call, Kind::Function),
        _ => call.unknown_subcommand(),
    }
}

/// Records that the command has changed the libraries.
fn note_change(call: &mut Call<'_>) {
    let db = call.state.clients[call.key].session.db();
    call.state.keep_functions();
    call.state.keyspace.note_function_change(db, call.args);
}

/// FUNCTION LOAD \[REPLACE] code
fn load(call: &mut Call<'_>) {
    let (source, options) = call.args[2..].split_last().expect("the command has a code");
    let mut policy = Policy::Append;
    for option in options {
        if !option.eq_ignore_ascii_case(b"replace") {
            let option = String::from_utf8_lossy(option);
            return call.error(&format!("ERR Unknown option given: {option}"));
        }
        policy = Policy::Replace;
    }
    match call.state.scripts.functions.load(source, policy) {
        Ok(name) => {
            note_change(call);
            call.out().bulk(name.as_bytes());
        }
        Err(text) => call.error(&text),
    }
}

fn delete(call: &mut Call<'_>) {
    if !call.state.scripts.functions.delete(&call.args[2]) {
        return call.error("ERR Library not found");
    }
    note_change(call);
    call.out().ok();
}

fn flush(call: &mut Call<'_>) {
    call.state.scripts.functions.flush();
    note_change(call);
    call.out().ok();
}

/// FUNCTION RESTORE payload \[FLUSH | APPEND | REPLACE]
fn restore(call: &mut Call<'_>) {
    let policy = match call.word(3).as_str() {
        "" | "append" => Policy::Append,
        "replace" => Policy::Replace,
        "flush" => Policy::Flush,
        _ => {
            return call.error(
                "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
            );
        }
    };
    let bytes_max = call.state.limits.scripts.loaded_bytes_max;
    let sources = Keyspace::functions_of_payload(&call.args[2], bytes_max);
    let restored = sources.map_err(str::to_owned).and_then(|sources| {
        let functions = &mut call.state.scripts.functions;
        functions.restore(&sources, policy, LOAD_TIME_MAX)
    });
    match restored {
        Ok(()) => {
            note_change(call);
            call.out().ok();
        }
        Err(text) => call.error(&text),
    }
}

/// FUNCTION LIST \[LIBRARYNAME pattern] \[WITHCODE]. The pattern ignores case.
fn list(call: &mut Call<'_>) {
    let (mut pattern, mut with_code) = (None, false);
    let mut at = 2;
    while at < call.args.len() {
        match call.word(at).as_str() {
            "withcode" if !with_code => with_code = true,
            "libraryname" if pattern.is_none() => {
                at += 1;
                let Some(given) = call.args.get(at) else {
                    return call.error("ERR library name argument was not given");
                };
                pattern = Some(given.to_ascii_lowercase());
            }
            _ => {
                let word = String::from_utf8_lossy(&call.args[at]).into_owned();
                return call.error(&format!("ERR Unknown argument {word}"));
            }
        }
        at += 1;
    }
    let out = &mut call.state.clients[call.key].out;
    let libraries = call.state.scripts.functions.libraries();
    let is_wanted = |name: &str| {
        let name = name.to_ascii_lowercase();
        let pattern = pattern.as_ref();
        pattern.is_none_or(|pattern| keyspace::glob(pattern, name.as_bytes()))
    };
    let libraries: Vec<_> = libraries.filter(|(name, _)| is_wanted(name)).collect();
    out.array(libraries.len());
    for (name, library) in libraries {
        out.map(3 + usize::from(with_code));
        out.bulk(b"library_name");
        out.bulk(name.as_bytes());
        out.bulk(b"engine");
        out.bulk(b"LUA");
        out.bulk(b"functions");
        out.array(library.functions.len());
        for function in &library.functions {
            out.map(3);
            out.bulk(b"name");
            out.bulk(function.name.as_bytes());
            out.bulk(b"description");
            match &function.description {
                Some(description) => out.blob(description),
                None => out.null(),
            }
            out.bulk(b"flags");
            out.set(function.flags.names().count());
            function.flags.names().for_each(|name| out.simple(name));
        }
        if with_code {
            out.bulk(b"library_code");
            out.blob(&library.source);
        }
    }
}

fn stats(call: &mut Call<'_>) {
    let out = &mut call.state.clients[call.key].out;
    let scripts = &call.state.scripts;
    out.map(2);
    out.bulk(b"running_script");
    let running = scripts.running.as_ref();
    match running.filter(|running| running.kind == Kind::Function) {
        Some(running) => {
            out.map(3);
            out.bulk(b"name");
            let name = scripts.functions.find(&running.words[1]);
            out.bulk(name.map_or(&[][..], |function| function.name.as_bytes()));
            out.bulk(b"command");
            out.array(running.words.len());
            running.words.iter().for_each(|word| out.blob(word));
            out.bulk(b"duration_ms");
            out.int(running.started.elapsed().as_millis() as i64);
        }
        None => out.null(),
    }
    out.bulk(b"engines");
    out.map(1);
    out.bulk(b"LUA");
    out.map(2);
    out.bulk(b"libraries_count");
    out.int(scripts.functions.libraries().count() as i64);
    out.bulk(b"functions_count");
    out.int(scripts.functions.count() as i64);
}
