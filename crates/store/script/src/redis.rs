//! The library `redis`: commands, replies, the log, and settings of the running script.

use std::rc::Rc;

use bytes::Bytes;
use mlua::{Lua, LuaString, MultiValue, Table, Value};
use resp::{Proto, Reply};

use crate::cache::Sha;
use crate::convert;
use crate::fault::{Fault, reply_table};
use crate::shared::{REPL_ALL, Shared};
use crate::step::{Call, Input, Level, Step};

/// The flag of [`REPL_ALL`] for the journal.
const REPL_AOF: i64 = 1;

/// Maximum bytes of a line of the log, as in Redis. The rest of the line is cut off.
const LOG_BYTES_MAX: usize = 1024;

/// Version of Redis whose scripting the store follows.
const VERSION: &str = "7.2.4";
const VERSION_NUMBER: i64 = 0x0007_0204;

const CONSTANTS: &[(&str, i64)] = &[
    ("LOG_DEBUG", 0),
    ("LOG_VERBOSE", 1),
    ("LOG_NOTICE", 2),
    ("LOG_WARNING", 3),
    ("REPL_NONE", 0),
    ("REPL_AOF", REPL_AOF),
    ("REPL_SLAVE", 2),
    ("REPL_REPLICA", 2),
    ("REPL_ALL", REPL_ALL),
    ("REDIS_VERSION_NUM", VERSION_NUMBER),
];

/// Handling of an error reply of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnError {
    /// `redis.call` raises it.
    Raise,
    /// `redis.pcall` returns it.
    Return,
}

/// Returns the contents of the library.
pub(crate) fn library(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    for (name, value) in CONSTANTS {
        library.raw_set(*name, *value)?;
    }
    library.raw_set("REDIS_VERSION", VERSION)?;
    for (name, on_error) in [("call", OnError::Raise), ("pcall", OnError::Return)] {
        let shared = Rc::clone(shared);
        let function = lua.create_function(move |lua, args| call(lua, &shared, args, on_error))?;
        library.raw_set(name, function)?;
    }
    type Member = fn(&Lua, &Shared, MultiValue) -> mlua::Result<Value>;
    let members: [(&str, Member); 9] = [
        ("sha1hex", sha1hex),
        ("error_reply", error_reply),
        ("status_reply", status_reply),
        ("log", log),
        ("setresp", setresp),
        ("set_repl", set_repl),
        ("replicate_commands", |_, _, _| Ok(Value::Boolean(true))),
        ("breakpoint", |_, _, _| Ok(Value::Boolean(false))),
        ("debug", |_, _, _| Ok(Value::Nil)),
    ];
    for (name, member) in members {
        let shared = Rc::clone(shared);
        let function = lua.create_function(move |lua, args| member(lua, &shared, args))?;
        library.raw_set(name, function)?;
    }
    Ok(library)
}

fn call(lua: &Lua, shared: &Shared, args: MultiValue, on_error: OnError) -> mlua::Result<Value> {
    let args = match command(&args) {
        Ok(args) => args,
        Err(text) if on_error == OnError::Raise => return Err(Fault::err(text)),
        Err(text) => {
            return reply_table(lua, format!("ERR {text}").as_bytes()).map(Value::Table);
        }
    };
    let call = Call {
        args,
        proto: shared.proto.get(),
        is_journaled: shared.repl.get() & REPL_AOF != 0,
    };
    match shared.exchange(Step::Call(call))? {
        Input::Reply(Reply::Error(text)) if on_error == OnError::Raise => {
            Err(Fault::Command(text.to_vec()).into_lua())
        }
        Input::Reply(reply) => convert::to_lua(lua, &reply, shared.proto.get()),
        _ => unreachable!("the caller answers a call with a reply"),
    }
}

/// Returns the arguments of a command, or the text of an error.
fn command(args: &MultiValue) -> Result<Vec<Bytes>, &'static str> {
    if args.is_empty() {
        return Err("Please specify at least one argument for this redis lib call");
    }
    let arg = |value: &Value| match value {
        Value::String(text) => Some(Bytes::copy_from_slice(&text.as_bytes())),
        Value::Integer(number) => Some(number_text(*number as f64)),
        Value::Number(number) => Some(number_text(*number)),
        _ => None,
    };
    let args: Option<Vec<Bytes>> = args.iter().map(arg).collect();
    args.ok_or("Lua redis lib command arguments must be strings or integers")
}

fn number_text(number: f64) -> Bytes {
    let mut text = Vec::new();
    // Negative zero has no sign in a command.
    resp::double(if number == 0.0 { 0.0 } else { number }, &mut text);
    text.into()
}

/// Returns the only argument, if it is a string or a number.
fn only_text(lua: &Lua, args: MultiValue) -> mlua::Result<Option<LuaString>> {
    match (args.len(), args.into_iter().next()) {
        (1, Some(value @ (Value::String(_) | Value::Integer(_) | Value::Number(_)))) => {
            lua.coerce_string(value)
        }
        _ => Ok(None),
    }
}

fn sha1hex(lua: &Lua, _shared: &Shared, args: MultiValue) -> mlua::Result<Value> {
    if args.len() != 1 {
        return Err(Fault::err("wrong number of arguments"));
    }
    let sha = match only_text(lua, args)? {
        Some(text) => Sha::of(&text.as_bytes()),
        None => Sha::of(b""),
    };
    lua.create_string(sha.as_bytes()).map(Value::String)
}

/// Returns the only argument of `redis.error_reply` or `redis.status_reply`, if it is a string.
fn reply_text(args: &MultiValue) -> Option<Vec<u8>> {
    match (args.len(), args.front()) {
        (1, Some(Value::String(text))) => Some(text.as_bytes().to_vec()),
        _ => None,
    }
}

const WRONG_ARGUMENTS: &[u8] = b"ERR wrong number or type of arguments";

fn error_reply(lua: &Lua, _shared: &Shared, args: MultiValue) -> mlua::Result<Value> {
    let Some(text) = reply_text(&args) else {
        return reply_table(lua, WRONG_ARGUMENTS).map(Value::Table);
    };
    let text = text.strip_prefix(b"-").unwrap_or(&text);
    // A text of one word has no error code.
    let code: &[u8] = if text.contains(&b' ') { b"" } else { b"ERR " };
    reply_table(lua, [code, text].concat().trim_ascii_end()).map(Value::Table)
}

fn status_reply(lua: &Lua, _shared: &Shared, args: MultiValue) -> mlua::Result<Value> {
    let Some(text) = reply_text(&args) else {
        return reply_table(lua, WRONG_ARGUMENTS).map(Value::Table);
    };
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set("ok", lua.create_string(text)?)?;
    Ok(Value::Table(table))
}

fn log(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<Value> {
    if args.len() < 2 {
        return Err(Fault::err("redis.log() requires two arguments or more."));
    }
    let mut args = args.into_iter();
    let level = match args.next() {
        Some(Value::Integer(level)) => level,
        Some(Value::Number(level)) => level as i64,
        _ => return Err(Fault::err("First argument must be a number (log level).")),
    };
    let level = match level {
        0 => Level::Debug,
        1 => Level::Verbose,
        2 => Level::Notice,
        3 => Level::Warning,
        _ => return Err(Fault::err("Invalid debug level.")),
    };
    let mut line: Vec<u8> = Vec::new();
    for (index, value) in args.enumerate() {
        let Some(word) = lua.coerce_string(value)? else {
            continue;
        };
        if 0 < index {
            line.push(b' ');
        }
        let free = LOG_BYTES_MAX.saturating_sub(line.len());
        line.extend(word.as_bytes().iter().take(free));
        if LOG_BYTES_MAX <= line.len() {
            break;
        }
    }
    line.truncate(LOG_BYTES_MAX);
    let text = String::from_utf8_lossy(&line).into_owned();
    shared.exchange(Step::Log { level, text })?;
    Ok(Value::Nil)
}

/// Returns the only argument of a setting, as a whole number. `fault` is the error for any other
/// number of arguments.
fn only_number(args: &MultiValue, fault: &str) -> mlua::Result<i64> {
    match (args.len(), args.front()) {
        (1, Some(Value::Integer(number))) => Ok(*number),
        (1, Some(Value::Number(number))) => Ok(*number as i64),
        (1, Some(_)) => Ok(0),
        _ => Err(Fault::err(fault)),
    }
}

fn setresp(_lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<Value> {
    let proto = match only_number(&args, "redis.setresp() requires one argument.")? {
        2 => Proto::Resp2,
        3 => Proto::Resp3,
        _ => return Err(Fault::err("RESP version must be 2 or 3.")),
    };
    shared.proto.set(proto);
    Ok(Value::Nil)
}

fn set_repl(_lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<Value> {
    let flags = only_number(&args, "redis.set_repl() requires two arguments.")?;
    if flags & !REPL_ALL != 0 {
        return Err(Fault::err(
            "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        ));
    }
    shared.repl.set(flags);
    Ok(Value::Nil)
}
