//! Libraries of scripts that Lua's own do not provide, or whose functions the caller could not
//! interrupt.

mod args;
mod bits;
mod json;
mod msgpack;
mod pattern;
mod strings;
mod structs;

use std::rc::Rc;

use mlua::{Lua, MultiValue, Table, Value};

use crate::fault::Fault;
use crate::random::Random;
use crate::shared::Shared;
use crate::step::{Input, Step};
use args::{Args, Member, one};

/// Adds the functions to the table that the prelude gets.
pub(crate) fn add(lua: &Lua, native: &Table, shared: &Rc<Shared>) -> mlua::Result<()> {
    add_members(lua, native, shared, strings::MEMBERS)?;
    add_members(lua, native, shared, MEMBERS)?;
    native.raw_set("cjson", json::library(lua, shared)?)?;
    for (name, members) in [
        ("bit", bits::MEMBERS),
        ("cmsgpack", msgpack::MEMBERS),
        ("struct", structs::MEMBERS),
    ] {
        let library = lua.create_table()?;
        add_members(lua, &library, shared, members)?;
        native.raw_set(name, library)?;
    }
    Ok(())
}

const MEMBERS: &[(&str, Member)] = &[
    ("clock", clock),
    ("random", random),
    ("randomseed", randomseed),
];

pub(crate) fn add_members(
    lua: &Lua,
    table: &Table,
    shared: &Rc<Shared>,
    members: &[(&'static str, Member)],
) -> mlua::Result<()> {
    for (name, member) in members {
        let (member, shared) = (*member, Rc::clone(shared));
        let function = lua.create_function(move |lua, args| member(lua, &shared, args))?;
        table.raw_set(*name, function)?;
    }
    Ok(())
}

fn clock(_lua: &Lua, shared: &Shared, _args: MultiValue) -> mlua::Result<MultiValue> {
    match shared.exchange(Step::Clock)? {
        Input::CpuSeconds(seconds) => Ok(one(Value::Number(seconds))),
        _ => unreachable!("the caller answers the request for the CPU time"),
    }
}

fn random(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "random", args);
    let number = shared.random.borrow_mut().next();
    let (low, high, at) = match args.len() {
        0 => return Ok(one(Value::Number(number))),
        1 => (1, args.whole_or(0, 1)?, 0),
        2 => (args.whole_or(0, 1)?, args.whole_or(1, 1)?, 1),
        _ => return Err(Fault::at_caller(lua, "wrong number of arguments")),
    };
    if high < low {
        return Err(args.error(at, "interval is empty"));
    }
    let span = high as f64 - low as f64 + 1.0;
    Ok(one(Value::Number((number * span).floor() + low as f64)))
}

fn randomseed(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let seed = Args::new(lua, "randomseed", args).number(0)?;
    *shared.random.borrow_mut() = Random::new(seed as i64 as u32);
    Ok(MultiValue::new())
}
