//! The library `cjson`: values as JSON, and back.

mod decode;
mod encode;

use std::cell::Cell;
use std::rc::Rc;

use mlua::{Lua, MultiValue, Table, Value};

use super::args::{Args, one};
use crate::fault::Fault;
use crate::json_settings::JsonSettings;
use crate::shared::Shared;

/// Returns the contents of the library.
pub(super) fn library(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.raw_set("null", Value::NULL)?;
    library.raw_set("_NAME", "cjson")?;
    library.raw_set("_VERSION", "2.1.0")?;
    let state = Rc::clone(shared);
    let encode = lua.create_function(move |lua, args: MultiValue| {
        let value = only(lua, args, "encode")?;
        let text = encode::encode(lua, &state, &value)?;
        lua.create_string(text)
    })?;
    library.raw_set("encode", encode)?;
    let state = Rc::clone(shared);
    let decode = lua.create_function(move |lua, args: MultiValue| {
        let value = only(lua, args, "decode")?;
        let text = Args::new(lua, "decode", MultiValue::from_vec(vec![value])).text(0)?;
        decode::decode(lua, &state, &text.as_bytes())
    })?;
    library.raw_set("decode", decode)?;
    add_settings(lua, &library, shared)?;
    Ok(library)
}

fn only(lua: &Lua, args: MultiValue, name: &str) -> mlua::Result<Value> {
    match args.len() {
        1 => Ok(args.into_iter().next().unwrap_or(Value::Nil)),
        _ => Err(Fault::argument(lua, 1, name, "expected 1 argument")),
    }
}

/// Function that changes one setting by the arguments of a call, and returns the new values.
type Setting = fn(&Lua, &Cell<JsonSettings>, &[Value]) -> mlua::Result<MultiValue>;

fn add_settings(lua: &Lua, library: &Table, shared: &Rc<Shared>) -> mlua::Result<()> {
    let rows: [(&str, Setting); 7] = [
        ("encode_max_depth", |lua, settings, args| {
            change_number(lua, settings, args, (1, i64::from(i32::MAX)), |it| {
                &mut it.encode_depth_max
            })
        }),
        ("decode_max_depth", |lua, settings, args| {
            change_number(lua, settings, args, (1, i64::from(i32::MAX)), |it| {
                &mut it.decode_depth_max
            })
        }),
        ("encode_number_precision", |lua, settings, args| {
            change_number(lua, settings, args, (1, 14), |it| &mut it.precision)
        }),
        ("encode_invalid_numbers", |lua, settings, args| {
            change_flag(lua, settings, args, |it| &mut it.encodes_invalid)
        }),
        ("decode_invalid_numbers", |lua, settings, args| {
            change_flag(lua, settings, args, |it| &mut it.decodes_invalid)
        }),
        // The buffer is never kept, so the setting changes nothing.
        ("encode_keep_buffer", |_, _, _| {
            Ok(one(Value::Boolean(true)))
        }),
        ("encode_sparse_array", change_sparse),
    ];
    for (name, change) in rows {
        let shared = Rc::clone(shared);
        let function = lua.create_function(move |lua, args: MultiValue| {
            change(lua, &shared.json, &args.into_vec())
        })?;
        library.raw_set(name, function)?;
    }
    Ok(())
}

fn change_number(
    lua: &Lua,
    settings: &Cell<JsonSettings>,
    args: &[Value],
    (low, high): (i64, i64),
    field: fn(&mut JsonSettings) -> &mut usize,
) -> mlua::Result<MultiValue> {
    let mut changed = settings.get();
    match args.first() {
        None | Some(Value::Nil) => {}
        Some(Value::Integer(number)) if (low..=high).contains(number) => {
            *field(&mut changed) = *number as usize;
        }
        Some(_) => {
            let message = format!("expected integer between {low} and {high}");
            return Err(Fault::at_caller(lua, message));
        }
    }
    let value = *field(&mut changed);
    settings.set(changed);
    Ok(one(Value::Integer(value as i64)))
}

fn change_flag(
    lua: &Lua,
    settings: &Cell<JsonSettings>,
    args: &[Value],
    field: fn(&mut JsonSettings) -> &mut bool,
) -> mlua::Result<MultiValue> {
    let mut changed = settings.get();
    match args.first() {
        None | Some(Value::Nil) => {}
        Some(Value::Boolean(value)) => *field(&mut changed) = *value,
        Some(Value::String(word)) if word.as_bytes()[..] == b"on"[..] => {
            *field(&mut changed) = true
        }
        Some(Value::String(word)) if word.as_bytes()[..] == b"off"[..] => {
            *field(&mut changed) = false
        }
        Some(_) => return Err(Fault::at_caller(lua, "invalid option")),
    }
    let value = *field(&mut changed);
    settings.set(changed);
    Ok(one(Value::Boolean(value)))
}

fn change_sparse(
    lua: &Lua,
    settings: &Cell<JsonSettings>,
    args: &[Value],
) -> mlua::Result<MultiValue> {
    change_flag(lua, settings, args, |it| &mut it.converts_sparse)?;
    let mut changed = settings.get();
    let fields = [&mut changed.sparse_ratio, &mut changed.sparse_safe];
    for (field, value) in fields.into_iter().zip(args.iter().skip(1)) {
        match value {
            Value::Nil => {}
            Value::Integer(number @ 0..=0x7fff_ffff) => *field = *number,
            _ => {
                return Err(Fault::at_caller(
                    lua,
                    "expected integer between 0 and 2147483647",
                ));
            }
        }
    }
    settings.set(changed);
    Ok(MultiValue::from_vec(vec![
        Value::Boolean(changed.converts_sparse),
        Value::Integer(changed.sparse_ratio),
        Value::Integer(changed.sparse_safe),
    ]))
}
