//! Errors that functions of this crate raise in scripts.

use mlua::{Error, Lua, Table, Value};

/// Name of the code in `prelude.lua`. Errors are reported for the code that called it.
pub(crate) const PRELUDE_NAME: &str = "=[prelude]";

/// Error that a function of this crate raises in a script.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// An error reply, which a script that catches it sees as a table with the field `err`.
    #[error("{}", String::from_utf8_lossy(.0))]
    Reply(Vec<u8>),
    /// An error of a library function, which a script that catches it sees as a string.
    #[error("{0}")]
    Text(String),
    /// An error reply of a command, which the caller has counted. A script that catches it sees a
    /// table with the fields `err` and `ignore_error_stats_update`.
    #[error("{}", String::from_utf8_lossy(.0))]
    Command(Vec<u8>),
    /// The end of a script that a command stops, by the command's name. A script cannot catch it.
    #[error("Script killed by user with {0}.")]
    Killed(&'static str),
}

impl Fault {
    /// Returns the error reply `ERR text`.
    pub(crate) fn err(text: &str) -> Error {
        Fault::Reply(format!("ERR {text}").into_bytes()).into_lua()
    }

    /// Returns the error of a library function. The place in the script that called the function
    /// precedes the message, as in all errors of Lua's own libraries.
    pub(crate) fn at_caller(lua: &Lua, message: impl AsRef<str>) -> Error {
        // Level 0 is the library function. Functions of the prelude may have called it.
        let mut place = String::new();
        for level in 1.. {
            let frame = lua.inspect_stack(level, |frame| {
                let source = frame.source();
                if source.source.as_deref() == Some(PRELUDE_NAME) {
                    return None;
                }
                let line = frame.current_line();
                let source = source.short_src.map(|name| name.into_owned());
                Some(source.zip(line))
            });
            match frame {
                Some(None) => {}
                Some(Some(Some((source, line)))) => {
                    place = format!("{source}:{line}: ");
                    break;
                }
                // The caller has been replaced by a tail call, so its line is unknown.
                Some(Some(None)) | None => break,
            }
        }
        Fault::Text(format!("{place}{}", message.as_ref())).into_lua()
    }

    /// Returns the error for the argument `at` of the function `name`.
    pub(crate) fn argument(lua: &Lua, at: usize, name: &str, message: impl AsRef<str>) -> Error {
        let message = message.as_ref();
        Fault::at_caller(lua, format!("bad argument #{at} to '{name}' ({message})"))
    }

    /// Returns the error for a result that exceeds the interpreter's memory.
    pub(crate) fn out_of_memory() -> Error {
        Fault::Text("not enough memory".to_owned()).into_lua()
    }

    pub(crate) fn into_lua(self) -> Error {
        Error::external(self)
    }

    /// Returns the fault that `error` reports, if a function of this crate raised it.
    pub(crate) fn of(error: &Error) -> Option<&Fault> {
        match error {
            Error::CallbackError { cause, .. } => Fault::of(cause),
            Error::ExternalError(fault) => fault.downcast_ref(),
            _ => None,
        }
    }
}

/// Returns the value that a script sees when it catches an error: a table for an error reply, a
/// string for any other error of a function of this crate, and any other value as it is.
pub(crate) fn caught(lua: &Lua, error: Value) -> mlua::Result<Value> {
    let Value::Error(error) = error else {
        return Ok(error);
    };
    match Fault::of(&error) {
        Some(Fault::Reply(text)) => reply_table(lua, text).map(Value::Table),
        Some(Fault::Command(text)) => counted_table(lua, text),
        Some(Fault::Text(text)) => lua.create_string(text).map(Value::String),
        Some(fault @ Fault::Killed(_)) => {
            reply_table(lua, format!("ERR {fault}").as_bytes()).map(Value::Table)
        }
        None => match root(&error) {
            Error::MemoryError(_) => lua.create_string("not enough memory").map(Value::String),
            other => lua.create_string(other.to_string()).map(Value::String),
        },
    }
}

/// Returns a table whose field `err` is the error reply `text`.
pub(crate) fn reply_table(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set("err", lua.create_string(text)?)?;
    Ok(table)
}

/// Field of an error table that is true if the error is in the statistics already.
pub(crate) const IS_COUNTED: &str = "ignore_error_stats_update";

/// Returns the table of an error reply that the caller has counted.
pub(crate) fn counted_table(lua: &Lua, text: &[u8]) -> mlua::Result<Value> {
    let table = reply_table(lua, text)?;
    table.raw_set(IS_COUNTED, true)?;
    Ok(Value::Table(table))
}

fn root(error: &Error) -> &Error {
    match error {
        Error::CallbackError { cause, .. } => root(cause),
        other => other,
    }
}
