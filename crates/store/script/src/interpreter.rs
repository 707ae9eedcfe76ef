//! The Lua interpreter: the environment of scripts, the exchange of steps with the caller, and the
//! run of one script.

use std::rc::Rc;

use bytes::Bytes;
use mlua::chunk::ChunkMode;
use mlua::{
    Error, Function, HookTriggers, Lua, LuaOptions, LuaString, StdLib, Table, Value, VmState,
};
use resp::Reply;

use crate::cache::Sha;
use crate::convert::{self, Converter};
use crate::fault::{Fault, IS_COUNTED, PRELUDE_NAME, caught};
use crate::limits::Limits;
use crate::shared::Shared;
use crate::step::{Input, Job, Step, Suspender, Target};
use crate::{function, libraries, redis};

/// Name of every script in error messages.
const SCRIPT_NAME: &str = "@user_script";
/// Name of every library of functions in error messages.
const LIBRARY_NAME: &str = "@user_function";
/// Number of scripts after which the garbage collector makes a step, as in Redis.
const SCRIPTS_PER_COLLECTION: u64 = 50;

/// Values of the interpreter that the engine needs.
#[derive(Clone)]
pub(crate) struct Parts {
    /// Read-only environment of all scripts.
    environment: Table,
    /// Contents of the environment.
    globals: Table,
    /// Metatable of the environment, whose field `__index` is what scripts see.
    environment_metatable: Table,
    /// Globals of a library of functions while it is loaded.
    load_globals: Table,
    /// Function of the prelude that runs a script and handles its errors.
    run: Function,
    /// Compiled scripts by SHA-1.
    scripts: Table,
    /// Functions of libraries by number.
    functions: Table,
    /// Keeps the names of chunks alive: the parser of Lua 5.1 does not protect a chunk's name from
    /// the garbage collector.
    _chunk_names: [LuaString; 2],
    shared: Rc<Shared>,
}

/// Returns an interpreter with the libraries that scripts may use.
pub(crate) fn new_lua(limits: &Limits) -> mlua::Result<Lua> {
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
    let lua = Lua::new_with(libraries, LuaOptions::default())?;
    lua.set_memory_limit(limits.memory_bytes_max)?;
    Ok(lua)
}

impl Parts {
    pub(crate) fn new(lua: &Lua, limits: Limits) -> mlua::Result<Parts> {
        let shared = Rc::new(Shared::new(limits));
        let native = lua.create_table()?;
        add_error_functions(lua, &native, &shared)?;
        native.raw_set("redis", redis::library(lua, &shared)?)?;
        libraries::add(lua, &native, &shared)?;
        let prelude = lua
            .load(include_str!("prelude.lua"))
            .set_name(PRELUDE_NAME)
            .into_function()?;
        let functions = lua.create_table()?;
        let register = function::register_function(lua, &shared, &functions)?;
        native.raw_set("register_function", register)?;
        let prelude = prelude.call::<Table>(&native)?;
        let environment: Table = prelude.raw_get("environment")?;
        native.raw_set("environment", &environment)?;
        Ok(Parts {
            environment,
            globals: prelude.raw_get("globals")?,
            environment_metatable: prelude.raw_get("environment_metatable")?,
            load_globals: prelude.raw_get("load_globals")?,
            run: prelude.raw_get("run")?,
            scripts: lua.create_table()?,
            functions,
            _chunk_names: [
                lua.create_string(SCRIPT_NAME)?,
                lua.create_string(LIBRARY_NAME)?,
            ],
            shared,
        })
    }

    /// Compiles a script. The error is the error reply.
    pub(crate) fn compile(&self, lua: &Lua, sha: &Sha, source: &[u8]) -> Result<(), String> {
        let function = compile(lua, source, SCRIPT_NAME, &self.environment);
        let stored = function.and_then(|function| {
            let key = lua.create_string(sha.as_bytes())?;
            self.scripts.raw_set(key, function)
        });
        stored.map_err(|error| {
            let text = syntax_error(&error);
            format!("ERR Error compiling script (new function): {text}")
        })
    }

    /// Removes a compiled script.
    pub(crate) fn forget(&self, lua: &Lua, sha: &Sha) -> mlua::Result<()> {
        self.scripts
            .raw_set(lua.create_string(sha.as_bytes())?, Value::Nil)
    }

    /// Serves the engine on the stack of scripts: runs each script that the engine sends.
    ///
    /// # Errors
    /// Not enough memory for the functions of the stack.
    pub(crate) fn serve(
        &self,
        lua: &Lua,
        suspender: &Suspender,
        first: Input,
    ) -> Result<(), String> {
        let served = lua.scope(|scope| {
            let shared = Rc::clone(&self.shared);
            let suspend = scope.create_function(move |_, ()| {
                let step = shared.outbox.take().expect("`exchange` has set the step");
                shared.inbox.set(Some(suspender.suspend(step)));
                Ok(())
            })?;
            *self.shared.suspend.borrow_mut() = Some(suspend);
            self.set_hook(lua)?;
            let mut input = first;
            loop {
                let reply = match input {
                    Input::Run(job) => self.run(lua, job),
                    Input::Load(code) => self.load_library(lua, &code),
                    _ => break,
                };
                input = suspender.suspend(Step::Done(reply));
            }
            *self.shared.suspend.borrow_mut() = None;
            Ok(())
        });
        served.map_err(|error| error.to_string())
    }

    /// Lets the caller continue after each `instructions_per_step` instructions. Coroutines inherit
    /// the hook.
    fn set_hook(&self, lua: &Lua) -> mlua::Result<()> {
        let shared = Rc::clone(&self.shared);
        let triggers =
            HookTriggers::new().every_nth_instruction(shared.limits.instructions_per_step);
        lua.set_global_hook(triggers, move |_, _| {
            shared.exchange(Step::Pause).map(|_| VmState::Continue)
        })
    }

    /// Runs a script and returns its reply.
    fn run(&self, lua: &Lua, job: Job) -> Reply {
        self.shared.reset();
        let name = job.target.to_string();
        let is_script = matches!(job.target, Target::Script(_));
        self.shared.kill_command.set(match is_script {
            true => "SCRIPT KILL",
            false => "FUNCTION KILL",
        });
        let reply = self.call(lua, job).unwrap_or_else(|error| {
            let text = match Fault::of(&error) {
                Some(Fault::Reply(text) | Fault::Command(text)) => text.clone(),
                Some(Fault::Text(text)) => format!("ERR {text}").into_bytes(),
                Some(fault @ Fault::Killed(_)) => format!("ERR {fault}").into_bytes(),
                None => {
                    format!("ERR Error running script {name}, {}", plain_text(&error)).into_bytes()
                }
            };
            Reply::Error(text.into())
        });
        // Frees the arguments. Setting a field that exists needs no memory.
        let names: &[&str] = if is_script { &["KEYS", "ARGV"] } else { &[] };
        for name in names {
            if let Err(error) = self.globals.raw_set(*name, Value::Nil) {
                return Reply::Error(format!("ERR {}", plain_text(&error)).into());
            }
        }
        reply
    }

    fn call(&self, lua: &Lua, job: Job) -> mlua::Result<Reply> {
        let (keys, args) = (list(lua, &job.keys)?, list(lua, &job.args)?);
        let (is_ok, value): (bool, Value) = match &job.target {
            Target::Script(sha) => {
                self.globals.raw_set("KEYS", keys)?;
                self.globals.raw_set("ARGV", args)?;
                let sha = lua.create_string(sha.as_bytes())?;
                let script: Function = self.scripts.raw_get(sha)?;
                self.run.call(script)?
            }
            Target::Function { id, .. } => {
                let function: Function = self.functions.raw_get(id.0)?;
                self.run.call((function, keys, args))?
            }
        };
        if is_ok {
            return Converter::new(&self.shared).reply(value, 0);
        }
        let Value::Table(error) = value else {
            // Only errors without memory for a table, or in the error handler, are not tables.
            let text = convert::display(&caught(lua, value)?);
            let text = format!("ERR Error running script {}, {text}", job.target);
            return Ok(Reply::Error(text.into()));
        };
        let is_counted = error.raw_get(IS_COUNTED)?;
        self.shared.error_is_counted.set(is_counted);
        error_reply(&error, &job.target)
    }

    /// Loads a library of functions. The reply is a status, or an error.
    fn load_library(&self, lua: &Lua, code: &[u8]) -> Reply {
        self.shared.reset();
        self.shared.kill_command.set("FUNCTION KILL");
        *self.shared.registering.borrow_mut() = Some(function::Registering::default());
        let function = match compile(lua, code, LIBRARY_NAME, &self.environment) {
            Ok(function) => function,
            Err(error) => {
                let text = format!("ERR Error compiling function: {}", syntax_error(&error));
                return Reply::Error(text.into());
            }
        };
        let see = |globals: &Table| self.environment_metatable.raw_set("__index", globals);
        let ran = see(&self.load_globals).and_then(|()| self.run.call((function,)));
        // Setting a field that exists needs no memory, so it cannot fail.
        let ran = see(&self.globals).and(ran);
        let text = match ran {
            Ok((true, _)) => return Reply::Simple("OK".into()),
            Ok((false, Value::Table(error))) => match error.raw_get::<Value>("err") {
                Ok(Value::String(text)) => text.as_bytes().to_vec(),
                _ => b"ERR unknown error".to_vec(),
            },
            Ok((false, value)) => format!("ERR {}", convert::display(&value)).into_bytes(),
            Err(error) => format!("ERR {}", plain_text(&error)).into_bytes(),
        };
        Reply::Error(
            [b"ERR Error registering functions: ", &text[..]]
                .concat()
                .into(),
        )
    }

    pub(crate) fn error_is_counted(&self) -> bool {
        self.shared.error_is_counted.get()
    }

    /// Ends the load of a library, and returns its functions.
    pub(crate) fn take_registered(&self) -> Vec<function::Function> {
        self.shared.registering.take().unwrap_or_default().functions
    }

    /// Removes a function of a library.
    pub(crate) fn drop_function(&self, id: function::FunctionId) -> mlua::Result<()> {
        self.functions.raw_set(id.0, Value::Nil)
    }

    /// Collects garbage after a script: a little after each few scripts, all of it if the memory in
    /// use has grown much since the last full collection.
    pub(crate) fn clean_up(&self, lua: &Lua, ended: u64) {
        lua.gc_restart();
        let limit = self.shared.limits.memory_bytes_max;
        let kept = self.shared.collected_bytes.get();
        // Half of the free memory stays for the next script.
        let grown = (2 * kept).min(kept + limit.saturating_sub(kept) / 2);
        let collected = if grown.max(limit / 4) < lua.used_memory() {
            let collected = lua.gc_collect();
            self.shared.collected_bytes.set(lua.used_memory());
            collected
        } else if ended.is_multiple_of(SCRIPTS_PER_COLLECTION) {
            lua.gc_step().map(drop)
        } else {
            Ok(())
        };
        // Scripts have no finalizers, so a collection runs no code that could fail.
        debug_assert!(collected.is_ok(), "{collected:?}");
    }
}

/// Compiles Lua source. The name of the chunk must stay referenced by a Lua string meanwhile, since
/// the parser of Lua 5.1 does not protect it from the garbage collector.
fn compile(lua: &Lua, source: &[u8], name: &str, environment: &Table) -> mlua::Result<Function> {
    lua.load(source)
        .set_name(name)
        .set_mode(ChunkMode::Text)
        .set_environment(environment.clone())
        .into_function()
}

/// Returns a table with these elements.
fn list(lua: &Lua, values: &[Bytes]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(values.len(), 0)?;
    for value in values {
        table.raw_push(lua.create_string(value)?)?;
    }
    Ok(table)
}

/// Returns the message of an error of the parser.
fn syntax_error(error: &Error) -> String {
    match error {
        Error::SyntaxError { message, .. } => message.clone(),
        other => plain_text(other),
    }
}

fn plain_text(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } => plain_text(cause),
        Error::RuntimeError(text) => text.clone(),
        Error::MemoryError(_) => "not enough memory".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the error reply for the table that the prelude's error handler returned.
fn error_reply(error: &Table, target: &Target) -> mlua::Result<Reply> {
    let mut text = match error.raw_get("err")? {
        Value::String(text) => text.as_bytes().to_vec(),
        _ => b"ERR unknown error".to_vec(),
    };
    let source: Option<LuaString> = error.raw_get("source")?;
    let line: Option<i64> = error.raw_get("line")?;
    if let (Some(source), Some(line)) = (source, line) {
        text.extend_from_slice(format!(" script: {target}, on ").as_bytes());
        text.extend_from_slice(&source.as_bytes());
        text.extend_from_slice(format!(":{line}.").as_bytes());
    }
    Ok(Reply::Error(text.into()))
}

/// Adds the functions by which the prelude handles errors and compiles code.
fn add_error_functions(lua: &Lua, native: &Table, shared: &Rc<Shared>) -> mlua::Result<()> {
    let state = Rc::clone(shared);
    let handle_caught = lua.create_function(move |lua, error: Value| {
        // After SCRIPT KILL, no error is caught: each function that would catch one raises another.
        match state.is_killed.get() {
            true => Err(state.killed()),
            false => caught(lua, error),
        }
    })?;
    native.raw_set("caught", handle_caught)?;
    let plain = lua.create_function(|lua, error: Value| caught(lua, error))?;
    native.raw_set("plain", plain)?;
    native.raw_set("place", lua.create_function(|lua, ()| Ok(place(lua)))?)?;
    let load = lua.create_function(|lua, (source, name): (LuaString, LuaString)| {
        let native: Table = lua.named_registry_value("pelton.native")?;
        let environment: Table = native.raw_get("environment")?;
        // A chunk's name cannot contain a NUL.
        let text = name.to_string_lossy().replace('\0', " ");
        let _name_stays_alive = lua.create_string(&text)?;
        match compile(lua, &source.as_bytes(), &text, &environment) {
            Ok(function) => Ok((Value::Function(function), Value::Nil)),
            Err(error) => {
                let text = lua.create_string(syntax_error(&error))?;
                Ok((Value::Nil, Value::String(text)))
            }
        }
    })?;
    native.raw_set("load", load)?;
    lua.set_named_registry_value("pelton.native", native)
}

/// Returns the source and line of the innermost function of a script.
fn place(lua: &Lua) -> (Option<String>, Option<usize>) {
    // Level 0 is this function's caller in the interpreter, level 1 the prelude's error handler.
    for level in 2.. {
        let frame = lua.inspect_stack(level, |frame| {
            let (line, source) = (frame.current_line(), frame.source());
            let name = source.source.map(|name| name.into_owned());
            (name.filter(|name| name != PRELUDE_NAME), line)
        });
        match frame {
            None => break,
            Some((Some(name), Some(line))) => return (Some(name), Some(line)),
            Some(_) => {}
        }
    }
    (None, None)
}
