//! Arguments and results of library functions.

use mlua::{Lua, MultiValue, Value};

use crate::fault::Fault;
use crate::shared::Shared;

/// Function of a library.
pub(super) type Member = fn(&Lua, &Shared, MultiValue) -> mlua::Result<MultiValue>;

/// Arguments of a library function.
pub(super) struct Args<'a> {
    lua: &'a Lua,
    /// Name of the function, for errors.
    name: &'static str,
    values: Vec<Value>,
}

impl<'a> Args<'a> {
    pub(super) fn new(lua: &'a Lua, name: &'static str, values: MultiValue) -> Args<'a> {
        let values = values.into_vec();
        Args { lua, name, values }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the argument at `index`, which counts from 0; nil if it is absent.
    pub(super) fn value(&self, index: usize) -> &Value {
        self.values.get(index).unwrap_or(&Value::Nil)
    }

    /// Returns the error for the argument at `index`.
    pub(super) fn error(&self, index: usize, message: impl AsRef<str>) -> mlua::Error {
        Fault::argument(self.lua, index + 1, self.name, message)
    }

    fn expected(&self, index: usize, wanted: &str) -> mlua::Error {
        let got = match self.values.get(index) {
            None => "no value",
            Some(Value::Integer(_)) => "number",
            Some(Value::LightUserData(_) | Value::Error(_)) => "userdata",
            Some(value) => value.type_name(),
        };
        self.error(index, format!("{wanted} expected, got {got}"))
    }

    /// Returns a string; numbers are converted.
    pub(super) fn text(&self, index: usize) -> mlua::Result<mlua::LuaString> {
        let value = self.value(index);
        let text = match value {
            Value::String(_) | Value::Integer(_) | Value::Number(_) => {
                self.lua.coerce_string(value.clone())?
            }
            _ => None,
        };
        text.ok_or_else(|| self.expected(index, "string"))
    }

    /// Returns a number; strings that are numbers are converted.
    pub(super) fn number(&self, index: usize) -> mlua::Result<f64> {
        let value = self.value(index);
        let number = match value {
            Value::Integer(number) => Some(*number as f64),
            Value::Number(number) => Some(*number),
            Value::String(_) => self.lua.coerce_number(value.clone())?,
            _ => None,
        };
        number.ok_or_else(|| self.expected(index, "number"))
    }

    /// Returns a whole number, or `default` if the argument is absent or nil.
    pub(super) fn whole_or(&self, index: usize, default: i64) -> mlua::Result<i64> {
        match self.value(index) {
            Value::Nil => Ok(default),
            _ => Ok(self.number(index)? as i64),
        }
    }
}

/// Wraps the only result of a function.
pub(super) fn one(value: Value) -> MultiValue {
    MultiValue::from_vec(vec![value])
}
