//! Functions of libraries: the first line of a library, and `redis.register_function`, by which a
//! library registers its functions while it is loaded.

use std::collections::HashSet;
use std::rc::Rc;

use bytes::Bytes;
use mlua::{Function as LuaFunction, Lua, LuaString, MultiValue, Table, Value};

use crate::cache::LoadError;
use crate::fault::Fault;
use crate::flags::Flags;
use crate::limits::Limits;
use crate::shared::Shared;

const BAD_NAME: &str = "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one \
                        character long";
const NOT_LOADING: &str = "redis.register_function can only be called on FUNCTION LOAD command";
const UNKNOWN_ARGUMENT: &str = "unknown argument given to redis.register_function";
/// Maximum number of flags in the declaration of a function. Redis knows five flags.
const FLAGS_MAX: usize = 16;
/// Steps of work that count for a registration, which takes about 1 µs.
const REGISTRATION_STEPS: u32 = 100;
/// Steps of work that count for a named argument or a flag.
const ARGUMENT_STEPS: u32 = 10;

/// Number of a function in its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub(crate) i64);

/// A registered function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Number of the function, by which the engine calls it.
    pub id: FunctionId,
    /// Name of the function, by which clients call it.
    pub name: String,
    /// Description for FUNCTION LIST, if the library gave one.
    pub description: Option<Bytes>,
    /// Rules that the function declares.
    pub flags: Flags,
}

/// Functions that a library has registered so far.
#[derive(Debug, Default)]
pub(crate) struct Registering {
    pub(crate) functions: Vec<Function>,
    /// Names of the functions, in lower case.
    names: HashSet<String>,
}

/// First line of a library, `#!lua name=NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryHead {
    /// Name of the library.
    pub name: String,
    /// Length of the line, without the line's end.
    pub bytes: usize,
}

impl LibraryHead {
    /// Parses the first line of a library's code.
    ///
    /// # Errors
    /// The error reply for a line that names no library, or an engine other than Lua.
    pub fn parse(code: &[u8]) -> Result<LibraryHead, LoadError> {
        let fault = |text: &str| LoadError(text.to_owned());
        if !code.starts_with(b"#!") {
            return Err(fault("ERR Missing library metadata"));
        }
        let invalid = "ERR Invalid library metadata";
        let end = memchr::memchr(b'\n', code).ok_or_else(|| fault(invalid))?;
        let words = resp::split_line(&code[..end]).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| fault(invalid))?;
        let mut name = None;
        for word in &words[1..] {
            let value = word
                .split_at_checked(b"name=".len())
                .filter(|(key, _)| key.eq_ignore_ascii_case(b"name="));
            let Some((_, value)) = value else {
                let word = String::from_utf8_lossy(word);
                return Err(LoadError(format!(
                    "ERR Invalid metadata value given: {word}"
                )));
            };
            if name.replace(value).is_some() {
                return Err(fault(
                    "ERR Invalid metadata value, name argument was given multiple times",
                ));
            }
        }
        let name = name.ok_or_else(|| fault("ERR Library name was not given"))?;
        let name = checked_name(name).ok_or_else(|| fault(BAD_NAME))?;
        let engine = &words[0][b"#!".len()..];
        if !engine.eq_ignore_ascii_case(b"lua") {
            let engine = String::from_utf8_lossy(engine);
            return Err(LoadError(format!("ERR Engine '{engine}' not found")));
        }
        Ok(LibraryHead { name, bytes: end })
    }
}

/// Returns the name of a library or function, if it consists of letters, digits and underscores.
fn checked_name(name: &[u8]) -> Option<String> {
    let is_sound = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let text = std::str::from_utf8(name).ok()?;
    (!name.is_empty() && name.iter().all(is_sound)).then(|| text.to_owned())
}

/// Returns `redis.register_function`, which stores the registered function in `functions`, at its
/// number.
pub(crate) fn register_function(
    lua: &Lua,
    shared: &Rc<Shared>,
    functions: &Table,
) -> mlua::Result<LuaFunction> {
    let (shared, functions) = (Rc::clone(shared), functions.clone());
    lua.create_function(move |lua, args: MultiValue| {
        if shared.registering.borrow().is_none() {
            return Err(Fault::err(NOT_LOADING));
        }
        shared.work(REGISTRATION_STEPS)?;
        let declared = Declared::parse(lua, &shared, &args)?;
        let mut registering = shared.registering.borrow_mut();
        let registered = registering
            .as_mut()
            .ok_or_else(|| Fault::err(NOT_LOADING))?;
        let functions_max = shared.limits.library_functions_max;
        if functions_max <= registered.functions.len() {
            let text = format!("a library cannot register more than {functions_max} functions");
            return Err(Fault::err(&text));
        }
        if !registered.names.insert(declared.name.to_ascii_lowercase()) {
            return Err(Fault::err("Function already exists in the library"));
        }
        let id = FunctionId(shared.next_function.get());
        functions.raw_set(id.0, declared.callback)?;
        shared.next_function.set(id.0 + 1);
        registered.functions.push(Function {
            id,
            name: declared.name,
            description: declared.description,
            flags: declared.flags,
        });
        Ok(())
    })
}

/// Arguments of `redis.register_function`.
struct Declared {
    name: String,
    callback: LuaFunction,
    description: Option<Bytes>,
    flags: Flags,
}

impl Declared {
    fn parse(lua: &Lua, shared: &Shared, args: &MultiValue) -> mlua::Result<Declared> {
        match (args.front(), args.len()) {
            (Some(Value::Table(named)), 1) => Declared::parse_named(lua, shared, named),
            (_, 1) => Err(Fault::err(
                "calling redis.register_function with a single argument is only applicable to Lua table \
                 (representing named arguments).",
            )),
            (_, 2) => Declared::parse_pair(lua, &shared.limits, &args[0], &args[1]),
            _ => Err(Fault::err(
                "wrong number of arguments to redis.register_function",
            )),
        }
    }

    fn parse_pair(
        lua: &Lua,
        limits: &Limits,
        name: &Value,
        callback: &Value,
    ) -> mlua::Result<Declared> {
        let name = text(lua, name)?.ok_or_else(|| {
            Fault::err("first argument to redis.register_function must be a string")
        })?;
        let Value::Function(callback) = callback else {
            return Err(Fault::err(
                "second argument to redis.register_function must be a function",
            ));
        };
        Ok(Declared {
            name: sound_name(&name, limits)?,
            callback: callback.clone(),
            description: None,
            flags: Flags::DECLARED,
        })
    }

    fn parse_named(lua: &Lua, shared: &Shared, named: &Table) -> mlua::Result<Declared> {
        let limits = &shared.limits;
        let (mut name, mut callback, mut description) = (None, None, None);
        let mut flags = Flags::DECLARED;
        for pair in named.pairs::<Value, Value>() {
            shared.work(ARGUMENT_STEPS)?;
            let (key, value) = pair?;
            let key = text(lua, &key)?.ok_or_else(|| {
                Fault::err("named argument key given to redis.register_function is not a string")
            })?;
            let key = key.as_bytes();
            if limits.name_bytes_max < key.len() {
                return Err(Fault::err(UNKNOWN_ARGUMENT));
            }
            let expected = |kind: &str| {
                let key = String::from_utf8_lossy(&key);
                Fault::err(&format!(
                    "{key} argument given to redis.register_function must be a {kind}"
                ))
            };
            match (&*key.to_ascii_lowercase(), value) {
                (b"function_name", value) => {
                    let value = text(lua, &value)?.ok_or_else(|| expected("string"))?;
                    name = Some(sound_name(&value, limits)?);
                }
                (b"description", value) => {
                    let value = text(lua, &value)?.ok_or_else(|| expected("string"))?;
                    description = Some(sound_description(&value, limits)?);
                }
                (b"callback", Value::Function(value)) => callback = Some(value),
                (b"callback", _) => return Err(expected("function")),
                (b"flags", value) => flags.add(parse_flags(lua, shared, &value)?),
                _ => {
                    return Err(Fault::err(UNKNOWN_ARGUMENT));
                }
            }
        }
        let missing = |what: &str| {
            Fault::err(&format!(
                "redis.register_function must get a {what} argument"
            ))
        };
        Ok(Declared {
            name: name.ok_or_else(|| missing("function name"))?,
            callback: callback.ok_or_else(|| missing("callback"))?,
            description,
            flags,
        })
    }
}

/// Returns a copy of the name of a function. The length is checked before the copy is made, since
/// the interpreter's limit of memory does not include the copy.
fn sound_name(name: &LuaString, limits: &Limits) -> mlua::Result<String> {
    let (name, bytes_max) = (name.as_bytes(), limits.name_bytes_max);
    if bytes_max < name.len() {
        let text = format!("the name of a function is longer than {bytes_max} bytes");
        return Err(Fault::err(&text));
    }
    checked_name(&name).ok_or_else(|| Fault::Reply(BAD_NAME.into()).into_lua())
}

/// Returns a copy of the description of a function, whose length is checked before.
fn sound_description(description: &LuaString, limits: &Limits) -> mlua::Result<Bytes> {
    let (description, bytes_max) = (description.as_bytes(), limits.description_bytes_max);
    if bytes_max < description.len() {
        let text = format!("the description of a function is longer than {bytes_max} bytes");
        return Err(Fault::err(&text));
    }
    Ok(Bytes::copy_from_slice(&description))
}

fn parse_flags(lua: &Lua, shared: &Shared, value: &Value) -> mlua::Result<Flags> {
    let Value::Table(names) = value else {
        return Err(Fault::err(
            "flags argument to redis.register_function must be a table representing function flags",
        ));
    };
    let mut flags = Flags::default();
    for (index, name) in names.sequence_values::<Value>().enumerate() {
        if index == FLAGS_MAX {
            let text = format!("a function cannot declare more than {FLAGS_MAX} flags");
            return Err(Fault::err(&text));
        }
        shared.work(ARGUMENT_STEPS)?;
        let name = text(lua, &name?)?;
        let flag = name.and_then(|name| Flags::named(&name.as_bytes()));
        flags.add(flag.ok_or_else(|| Fault::err("unknown flag given"))?);
    }
    Ok(flags)
}

/// Returns a string, or the text of a number. No bytes of a string are copied.
fn text(lua: &Lua, value: &Value) -> mlua::Result<Option<LuaString>> {
    match value {
        Value::String(_) | Value::Integer(_) | Value::Number(_) => lua.coerce_string(value.clone()),
        _ => Ok(None),
    }
}
