//! JSON as Lua values.

use mlua::{Lua, Value};

use crate::fault::Fault;
use crate::shared::Shared;

/// Returns the value of a JSON text.
pub(super) fn decode(lua: &Lua, shared: &Shared, text: &[u8]) -> mlua::Result<Value> {
    let settings = shared.json.get();
    let mut decoder = Decoder {
        lua,
        shared,
        text,
        at: 0,
        depth: 0,
        depth_max: settings.decode_depth_max.min(1000),
        takes_invalid: settings.decodes_invalid,
    };
    let value = decoder.value()?;
    decoder.skip_space();
    match decoder.at == text.len() {
        true => Ok(value),
        false => Err(decoder.unexpected("the end")),
    }
}

struct Decoder<'a> {
    lua: &'a Lua,
    shared: &'a Shared,
    text: &'a [u8],
    at: usize,
    depth: usize,
    depth_max: usize,
    takes_invalid: bool,
}

impl Decoder<'_> {
    fn unexpected(&self, wanted: &str) -> mlua::Error {
        let found = match self.text.get(self.at) {
            None => "T_END",
            Some(b'{') => "T_OBJ_BEGIN",
            Some(b'}') => "T_OBJ_END",
            Some(b'[') => "T_ARR_BEGIN",
            Some(b']') => "T_ARR_END",
            Some(b':') => "T_COLON",
            Some(b',') => "T_COMMA",
            Some(b'"') => "T_STRING",
            Some(b'0'..=b'9' | b'-') => "T_NUMBER",
            Some(_) => match &self.text[self.at..][..self.word_len()] {
                b"null" => "T_NULL",
                b"true" | b"false" => "T_BOOLEAN",
                _ => "invalid token",
            },
        };
        self.expected(wanted, found)
    }

    fn expected(&self, wanted: &str, found: &str) -> mlua::Error {
        let message = format!(
            "Expected {wanted} but found {found} at character {}",
            self.at + 1
        );
        Fault::at_caller(self.lua, message)
    }

    fn skip_space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips white space and takes the byte `wanted`, if it is next.
    fn takes(&mut self, wanted: u8) -> bool {
        self.skip_space();
        let is_next = self.text.get(self.at) == Some(&wanted);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self) -> mlua::Result<Value> {
        self.shared.work(1)?;
        self.skip_space();
        match self.text.get(self.at) {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => {
                let text = self.string()?;
                self.lua.create_string(text).map(Value::String)
            }
            _ => self.word(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> mlua::Result<Value>) -> mlua::Result<Value> {
        self.at += 1;
        self.depth += 1;
        if self.depth_max < self.depth {
            let message = format!("Found too many nested data structures ({})", self.depth);
            return Err(Fault::at_caller(self.lua, message));
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> mlua::Result<Value> {
        let table = self.lua.create_table()?;
        if self.takes(b']') {
            return Ok(Value::Table(table));
        }
        for index in 1.. {
            let value = self.value()?;
            table.raw_set(index, value)?;
            if self.takes(b']') {
                break;
            }
            if !self.takes(b',') {
                return Err(self.unexpected("comma or array end"));
            }
        }
        Ok(Value::Table(table))
    }

    fn object(&mut self) -> mlua::Result<Value> {
        let table = self.lua.create_table()?;
        if self.takes(b'}') {
            return Ok(Value::Table(table));
        }
        loop {
            self.skip_space();
            if self.text.get(self.at) != Some(&b'"') {
                return Err(self.unexpected("object key string"));
            }
            let key = self.string()?;
            if !self.takes(b':') {
                return Err(self.unexpected("colon"));
            }
            let value = self.value()?;
            table.raw_set(self.lua.create_string(key)?, value)?;
            if self.takes(b'}') {
                return Ok(Value::Table(table));
            }
            if !self.takes(b',') {
                return Err(self.unexpected("comma or object end"));
            }
        }
    }

    /// Returns the length of the number or word that is next.
    fn word_len(&self) -> usize {
        let rest = self.text[self.at..].iter();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        rest.take_while(|byte| is_part(byte)).count()
    }

    /// Reads a number, or one of the words `null`, `true` and `false`.
    fn word(&mut self) -> mlua::Result<Value> {
        let rest = &self.text[self.at..];
        let len = self.word_len();
        let value = match &rest[..len] {
            b"null" => Value::NULL,
            b"true" => Value::Boolean(true),
            b"false" => Value::Boolean(false),
            word => match self.number(word) {
                Some(number) => Value::Number(number),
                None => return Err(self.unexpected("value")),
            },
        };
        self.at += len;
        Ok(value)
    }

    fn number(&self, word: &[u8]) -> Option<f64> {
        let text = std::str::from_utf8(word).ok()?;
        let digits = text.trim_start_matches('-');
        let is_plain = digits.starts_with(|first: char| first.is_ascii_digit());
        if let Some(hexadecimal) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            let number = u64::from_str_radix(hexadecimal, 16).ok()? as f64;
            let is_negative = text.starts_with('-');
            return Some(if is_negative { -number } else { number }).filter(|_| self.takes_invalid);
        }
        let number: f64 = text.parse().ok()?;
        (is_plain || self.takes_invalid).then_some(number)
    }

    fn string(&mut self) -> mlua::Result<Vec<u8>> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..32));
            let Some(plain) = plain else {
                self.at = self.text.len();
                return Err(self.expected("value", "unexpected end of string"));
            };
            out.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match rest[plain] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => self.escape(&mut out)?,
                _ => return Err(self.expected("value", "invalid token")),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> mlua::Result<()> {
        let invalid = |decoder: &Self| {
            let message = format!(
                "Expected value but found invalid escape code at character {}",
                decoder.at + 1
            );
            Fault::at_caller(decoder.lua, message)
        };
        let byte = match self.text.get(self.at + 1) {
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            Some(b'b') => 8,
            Some(b't') => 9,
            Some(b'n') => 10,
            Some(b'f') => 12,
            Some(b'r') => 13,
            Some(b'u') => {
                let (code, len) = self.code_point().ok_or_else(|| invalid(self))?;
                out.extend_from_slice(code.encode_utf8(&mut [0; 4]).as_bytes());
                self.at += len;
                return Ok(());
            }
            _ => return Err(invalid(self)),
        };
        out.push(byte);
        self.at += 2;
        Ok(())
    }

    /// Returns the character of `\uXXXX`, or of two such escapes that form a surrogate pair, and
    /// the length of its text.
    fn code_point(&self) -> Option<(char, usize)> {
        let unit = |at: usize| {
            let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
            let digits = std::str::from_utf8(digits).ok()?;
            let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u16::from_str_radix(digits, 16)
                .ok()
                .filter(|_| is_hexadecimal)
        };
        let first = unit(self.at)?;
        let units = match first {
            0xd800..=0xdbff => vec![first, unit(self.at + 6)?],
            _ => vec![first],
        };
        let len = units.len() * 6;
        let code = char::decode_utf16(units).next()?.ok()?;
        Some((code, len))
    }
}
