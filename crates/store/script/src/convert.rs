//! Conversions between replies and Lua values, by the rules of Redis.

use bytes::Bytes;
use mlua::{Lua, Table, Value};
use resp::{Proto, Reply};

use crate::fault::{Fault, IS_COUNTED, counted_table};
use crate::shared::Shared;

/// Converts the reply of a command to the value that `redis.call` returns.
pub(crate) fn to_lua(lua: &Lua, reply: &Reply, proto: Proto) -> mlua::Result<Value> {
    let text = |text: &Bytes| lua.create_string(text);
    match reply {
        Reply::Int(number) => Ok(Value::Number(*number as f64)),
        Reply::Bulk(value) => text(value).map(Value::String),
        Reply::Null if proto == Proto::Resp3 => Ok(Value::Nil),
        Reply::Null => Ok(Value::Boolean(false)),
        Reply::Bool(value) => Ok(Value::Boolean(*value)),
        Reply::Simple(status) => field(lua, "ok", text(status)?),
        Reply::Error(error) => counted_table(lua, error),
        Reply::BigNumber(digits) => field(lua, "big_number", text(digits)?),
        Reply::Double(number) => {
            let number = String::from_utf8_lossy(number).parse::<f64>();
            field(lua, "double", number.unwrap_or(f64::NAN))
        }
        Reply::Verbatim(whole) => {
            let table = lua.create_table_with_capacity(0, 2)?;
            // Three letters and a colon precede the text.
            table.raw_set(
                "format",
                lua.create_string(whole.get(..3).unwrap_or_default())?,
            )?;
            table.raw_set(
                "string",
                lua.create_string(whole.get(4..).unwrap_or_default())?,
            )?;
            field(lua, "verbatim_string", table)
        }
        Reply::Array(elements) | Reply::Push(elements) => {
            let table = lua.create_table_with_capacity(elements.len(), 0)?;
            for (index, element) in elements.iter().enumerate() {
                table.raw_set(index + 1, to_lua(lua, element, proto)?)?;
            }
            Ok(Value::Table(table))
        }
        Reply::Map(pairs) => {
            let table = lua.create_table_with_capacity(0, pairs.len())?;
            for (key, value) in pairs {
                table.raw_set(to_lua(lua, key, proto)?, to_lua(lua, value, proto)?)?;
            }
            field(lua, "map", table)
        }
        Reply::Set(elements) => {
            let table = lua.create_table_with_capacity(0, elements.len())?;
            for element in elements {
                table.raw_set(to_lua(lua, element, proto)?, true)?;
            }
            field(lua, "set", table)
        }
    }
}

/// Returns a table with one field.
fn field(lua: &Lua, name: &str, value: impl mlua::IntoLua) -> mlua::Result<Value> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(name, value)?;
    Ok(Value::Table(table))
}

/// Returns a value as text, for error messages.
pub(crate) fn display(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string_lossy(),
        other => other.type_name().to_owned(),
    }
}

/// Conversion of the value that a script returns.
pub(crate) struct Converter<'a> {
    shared: &'a Shared,
    /// Bytes of the reply so far.
    bytes: usize,
}

impl<'a> Converter<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Converter<'a> {
        Converter { shared, bytes: 0 }
    }

    /// Converts a value at nesting depth `depth` to a reply.
    ///
    /// # Errors
    /// The script is killed, or the reply exceeds the interpreter's memory.
    pub(crate) fn reply(&mut self, value: Value, depth: usize) -> mlua::Result<Reply> {
        self.shared.work(1)?;
        let reply = match value {
            Value::Boolean(value) if self.shared.proto.get() == Proto::Resp3 => Reply::Bool(value),
            Value::Boolean(true) => Reply::Int(1),
            Value::Integer(number) => Reply::Int(number),
            Value::Number(number) => Reply::Int(whole(number)),
            Value::String(text) => Reply::Bulk(Bytes::copy_from_slice(&text.as_bytes())),
            Value::Table(_) if self.shared.limits.depth_max <= depth => {
                Reply::Error("ERR reached lua stack limit".into())
            }
            Value::Table(table) => self.table(&table, depth)?,
            _ => Reply::Null,
        };
        self.bytes += size_of::<Reply>();
        if let Reply::Bulk(text) = &reply {
            self.bytes += text.len();
        }
        match self.bytes <= self.shared.limits.memory_bytes_max {
            true => Ok(reply),
            false => Err(Fault::out_of_memory()),
        }
    }

    fn table(&mut self, table: &Table, depth: usize) -> mlua::Result<Reply> {
        let text = |name: &str| match table.raw_get(name) {
            Ok(Value::String(text)) => Ok(Some(Bytes::copy_from_slice(&text.as_bytes()))),
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        };
        if let Some(error) = text("err")? {
            let is_counted = depth == 0 && table.raw_get::<bool>(IS_COUNTED)?;
            self.shared.error_is_counted.set(is_counted);
            return Ok(Reply::Error(error));
        }
        if let Some(status) = text("ok")? {
            return Ok(Reply::Simple(without_line_ends(&status)));
        }
        match table.raw_get("double")? {
            Value::Integer(number) => return Ok(double(number as f64)),
            Value::Number(number) => return Ok(double(number)),
            _ => {}
        }
        if let Value::Table(pairs) = table.raw_get("map")? {
            let mut reply = Vec::new();
            for pair in pairs.pairs::<Value, Value>() {
                let (key, value) = pair?;
                reply.push((self.reply(key, depth + 1)?, self.reply(value, depth + 1)?));
            }
            return Ok(Reply::Map(reply));
        }
        if let Value::Table(members) = table.raw_get("set")? {
            let mut reply = Vec::new();
            for member in members.pairs::<Value, Value>() {
                reply.push(self.reply(member?.0, depth + 1)?);
            }
            return Ok(Reply::Set(reply));
        }
        if let Some(digits) = text("big_number")? {
            return Ok(Reply::BigNumber(without_line_ends(&digits)));
        }
        if let Value::Table(parts) = table.raw_get("verbatim_string")?
            && let Value::String(body) = parts.raw_get("string")?
            && let Value::String(format) = parts.raw_get("format")?
        {
            let mut whole = format.as_bytes().to_vec();
            whole.resize(3, b' ');
            whole.push(b':');
            whole.extend_from_slice(&body.as_bytes());
            return Ok(Reply::Verbatim(whole.into()));
        }
        let mut elements = Vec::new();
        loop {
            match table.raw_get(elements.len() + 1)? {
                Value::Nil => return Ok(Reply::Array(elements)),
                value => elements.push(self.reply(value, depth + 1)?),
            }
        }
    }
}

/// Cuts off the fraction of a number. As in Redis, a number out of range becomes the lowest
/// integer.
fn whole(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match (-LIMIT..LIMIT).contains(&number) {
        true => number as i64,
        false => i64::MIN,
    }
}

fn double(number: f64) -> Reply {
    let mut text = Vec::new();
    resp::double(number, &mut text);
    Reply::Double(text.into())
}

/// Replaces line ends, which would end the reply, by spaces.
fn without_line_ends(text: &[u8]) -> Bytes {
    let clean = |byte: &u8| match byte {
        b'\r' | b'\n' => b' ',
        byte => *byte,
    };
    text.iter().map(clean).collect()
}
