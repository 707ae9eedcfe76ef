//! Lua values as JSON.

use mlua::{Lua, Table, Value};

use crate::fault::Fault;
use crate::json_settings::JsonSettings;
use crate::number;
use crate::shared::Shared;

/// Returns a value as JSON.
pub(super) fn encode(lua: &Lua, shared: &Shared, value: &Value) -> mlua::Result<Vec<u8>> {
    let mut encoder = Encoder {
        lua,
        shared,
        settings: shared.json.get(),
        out: Vec::new(),
    };
    encoder.value(value, 0)?;
    Ok(encoder.out)
}

struct Encoder<'a> {
    lua: &'a Lua,
    shared: &'a Shared,
    settings: JsonSettings,
    out: Vec<u8>,
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> mlua::Result<()> {
        self.shared.work(1)?;
        if self.shared.limits.memory_bytes_max < self.out.len() {
            return Err(Fault::out_of_memory());
        }
        match value {
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::LightUserData(pointer) if pointer.0.is_null() => {
                self.out.extend_from_slice(b"null")
            }
            Value::Boolean(true) => self.out.extend_from_slice(b"true"),
            Value::Boolean(false) => self.out.extend_from_slice(b"false"),
            Value::Integer(number) => self.number(*number as f64)?,
            Value::Number(number) => self.number(*number)?,
            Value::String(text) => self.string(&text.as_bytes()),
            Value::Table(table) => self.table(table, depth + 1)?,
            other => {
                let message = format!("Cannot serialise {}: type not supported", other.type_name());
                return Err(Fault::at_caller(self.lua, message));
            }
        }
        Ok(())
    }

    fn number(&mut self, number: f64) -> mlua::Result<()> {
        if !number.is_finite() && !self.settings.encodes_invalid {
            let message = "Cannot serialise number: must not be NaN or Inf";
            return Err(Fault::at_caller(self.lua, message));
        }
        number::general(number, self.settings.precision, &mut self.out);
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for byte in text {
            match byte {
                b'"' => self.out.extend_from_slice(b"\\\""),
                b'\\' => self.out.extend_from_slice(b"\\\\"),
                b'/' => self.out.extend_from_slice(b"\\/"),
                8 => self.out.extend_from_slice(b"\\b"),
                9 => self.out.extend_from_slice(b"\\t"),
                10 => self.out.extend_from_slice(b"\\n"),
                12 => self.out.extend_from_slice(b"\\f"),
                13 => self.out.extend_from_slice(b"\\r"),
                0..32 | 127 => self
                    .out
                    .extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                byte => self.out.push(*byte),
            }
        }
        self.out.push(b'"');
    }

    fn table(&mut self, table: &Table, depth: usize) -> mlua::Result<()> {
        let depth_max = self
            .settings
            .encode_depth_max
            .min(self.shared.limits.depth_max.max(1000));
        if depth_max < depth {
            let message = format!("Cannot serialise, excessive nesting ({depth})");
            return Err(Fault::at_caller(self.lua, message));
        }
        match self.array_len(table)? {
            Some(len) => self.array(table, len, depth),
            None => self.object(table, depth),
        }
    }

    /// Returns the highest index of a table whose keys are all positive integers; `None` for any
    /// other table, which becomes an object.
    fn array_len(&self, table: &Table) -> mlua::Result<Option<i64>> {
        let (mut highest, mut count) = (0, 0);
        for pair in table.pairs::<Value, Value>() {
            self.shared.work(1)?;
            match pair?.0 {
                Value::Integer(index @ 1..) => {
                    highest = highest.max(index);
                    count += 1;
                }
                _ => return Ok(None),
            }
        }
        let JsonSettings {
            sparse_ratio,
            sparse_safe,
            converts_sparse,
            ..
        } = self.settings;
        let is_sparse = 0 < sparse_ratio
            && i128::from(count) * i128::from(sparse_ratio) < i128::from(highest)
            && sparse_safe < highest;
        match (count, is_sparse) {
            // An empty table is an object.
            (0, _) => Ok(None),
            (_, false) => Ok(Some(highest)),
            (_, true) if converts_sparse => Ok(None),
            (_, true) => {
                let message = "Cannot serialise table: excessively sparse array";
                Err(Fault::at_caller(self.lua, message))
            }
        }
    }

    fn array(&mut self, table: &Table, len: i64, depth: usize) -> mlua::Result<()> {
        self.out.push(b'[');
        for index in 1..=len {
            if index != 1 {
                self.out.push(b',');
            }
            self.value(&table.raw_get(index)?, depth)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, table: &Table, depth: usize) -> mlua::Result<()> {
        self.out.push(b'{');
        let mut is_first = true;
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            if !std::mem::take(&mut is_first) {
                self.out.push(b',');
            }
            match key {
                Value::String(text) => self.string(&text.as_bytes()),
                Value::Integer(_) | Value::Number(_) => {
                    self.out.push(b'"');
                    self.value(&key, depth)?;
                    self.out.push(b'"');
                }
                other => {
                    let kind = other.type_name();
                    let message =
                        format!("Cannot serialise {kind}: table key must be a number or string");
                    return Err(Fault::at_caller(self.lua, message));
                }
            }
            self.out.push(b':');
            self.value(&value, depth)?;
        }
        self.out.push(b'}');
        Ok(())
    }
}
