//! The library `struct`: numbers and strings as bytes in a given layout, and back.

use mlua::{Lua, MultiValue, Value};

use super::args::{Args, Member, one};
use crate::fault::Fault;
use crate::shared::Shared;

pub(super) const MEMBERS: &[(&str, Member)] = &[("pack", pack), ("unpack", unpack), ("size", size)];

/// Maximum size of an integer.
const INTEGER_BYTES_MAX: usize = 32;
/// Alignment of the machine, for `!` without a number.
const NATIVE_ALIGNMENT: usize = 8;

/// One element of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Padding,
    Integer {
        bytes: usize,
        is_signed: bool,
    },
    Float,
    Double,
    /// A string of fixed length; `c0` has the length that precedes it, or that of the argument.
    Chars(usize),
    /// A string that ends with a zero.
    Terminated,
}

/// Reader of a layout.
struct Layout<'a> {
    lua: &'a Lua,
    rest: &'a [u8],
    is_little: bool,
    alignment: usize,
    /// Name of the function, for errors.
    name: &'static str,
}

impl<'a> Layout<'a> {
    fn new(lua: &'a Lua, name: &'static str, text: &'a [u8]) -> Layout<'a> {
        Layout {
            lua,
            rest: text,
            is_little: cfg!(target_endian = "little"),
            alignment: 1,
            name,
        }
    }

    /// Takes a decimal number, if one is next.
    fn number(&mut self) -> mlua::Result<Option<usize>> {
        let digits = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        let number = std::str::from_utf8(number).unwrap_or_default();
        match number.parse::<u32>() {
            Ok(number) if number <= i32::MAX as u32 => Ok(Some(number as usize)),
            _ if digits == 0 => Ok(None),
            _ => Err(Fault::at_caller(self.lua, "integral size overflow")),
        }
    }

    fn integer(&mut self, default: usize, is_signed: bool) -> mlua::Result<Item> {
        let bytes = self.number()?.unwrap_or(default);
        match bytes {
            1..=INTEGER_BYTES_MAX => Ok(Item::Integer { bytes, is_signed }),
            _ => {
                let message =
                    format!("integral size {bytes} is larger than limit of {INTEGER_BYTES_MAX}");
                Err(Fault::at_caller(self.lua, message))
            }
        }
    }

    /// Returns the next element of the layout.
    fn next(&mut self) -> mlua::Result<Option<Item>> {
        loop {
            let Some((option, rest)) = self.rest.split_first() else {
                return Ok(None);
            };
            self.rest = rest;
            let fixed = |bytes, is_signed| Ok(Some(Item::Integer { bytes, is_signed }));
            match option {
                b' ' => {}
                b'<' => self.is_little = true,
                b'>' => self.is_little = false,
                b'!' => {
                    let alignment = self.number()?.unwrap_or(NATIVE_ALIGNMENT);
                    if !alignment.is_power_of_two() {
                        let message = "alignment is not a power of 2";
                        return Err(Fault::at_caller(self.lua, message));
                    }
                    self.alignment = alignment;
                }
                b'x' => return Ok(Some(Item::Padding)),
                b'b' => return fixed(1, true),
                b'B' => return fixed(1, false),
                b'h' => return fixed(2, true),
                b'H' => return fixed(2, false),
                b'l' => return fixed(8, true),
                b'L' | b'T' => return fixed(8, false),
                b'i' => return self.integer(4, true).map(Some),
                b'I' => return self.integer(4, false).map(Some),
                b'f' => return Ok(Some(Item::Float)),
                b'd' => return Ok(Some(Item::Double)),
                b's' => return Ok(Some(Item::Terminated)),
                b'c' => return Ok(Some(Item::Chars(self.number()?.unwrap_or(1)))),
                other => {
                    let message = format!("invalid format option '{}'", char::from(*other));
                    return Err(Fault::argument(self.lua, 1, self.name, message));
                }
            }
        }
    }

    /// Returns the number of bytes that precede an element at `at`, so that it is aligned.
    fn padding(&self, item: Item, at: usize) -> usize {
        let bytes = match item {
            Item::Integer { bytes, .. } => bytes,
            Item::Float => 4,
            Item::Double => 8,
            Item::Padding | Item::Chars(_) | Item::Terminated => return 0,
        };
        let unit = bytes.min(self.alignment);
        at.next_multiple_of(unit) - at
    }
}

/// struct.pack(layout, value, …)
fn pack(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "pack", args);
    let text = args.text(0)?;
    let text = text.as_bytes();
    let mut layout = Layout::new(lua, "pack", &text);
    let (mut out, mut index) = (Vec::new(), 1);
    while let Some(item) = layout.next()? {
        shared.work(1)?;
        out.resize(out.len() + layout.padding(item, out.len()), 0);
        if item == Item::Padding {
            out.push(0);
            continue;
        }
        match item {
            Item::Padding => {}
            Item::Integer { bytes, .. } => {
                let number = integer(args.number(index)?);
                // Longer integers continue the sign.
                let number = number.to_le_bytes();
                push(&mut out, &number, bytes, layout.is_little);
            }
            Item::Float => {
                let number = args.number(index)? as f32;
                push(&mut out, &number.to_le_bytes(), 4, layout.is_little);
            }
            Item::Double => {
                let number = args.number(index)?;
                push(&mut out, &number.to_le_bytes(), 8, layout.is_little);
            }
            Item::Chars(len) => {
                let value = args.text(index)?;
                let value = value.as_bytes();
                let len = if len == 0 { value.len() } else { len };
                let Some(value) = value.get(..len) else {
                    return Err(args.error(index, "string too short"));
                };
                out.extend_from_slice(value);
            }
            Item::Terminated => {
                out.extend_from_slice(&args.text(index)?.as_bytes());
                out.push(0);
            }
        }
        index += 1;
        if shared.limits.memory_bytes_max < out.len() {
            return Err(Fault::out_of_memory());
        }
    }
    Ok(one(Value::String(lua.create_string(out)?)))
}

/// Converts a number to an integer: negative numbers as signed, others as unsigned.
fn integer(number: f64) -> i128 {
    match number < 0.0 {
        true => i128::from(number as i64),
        false => i128::from(number as u64),
    }
}

/// Appends `bytes` bytes of a number, whose bytes are given from the least significant on.
fn push(out: &mut Vec<u8>, number: &[u8], bytes: usize, is_little: bool) {
    let start = out.len();
    let last = number.last().copied().unwrap_or(0);
    let number = number.iter().copied().chain(std::iter::repeat(last));
    out.extend(number.take(bytes));
    if !is_little {
        out[start..].reverse();
    }
}

/// struct.unpack(layout, text, position): returns the values, and the position behind them.
fn unpack(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "unpack", args);
    let (text, data) = (args.text(0)?, args.text(1)?);
    let (text, data) = (text.as_bytes(), data.as_bytes());
    let start = usize::try_from(args.whole_or(2, 1)?.saturating_sub(1));
    let mut at = start.map_err(|_| args.error(2, "offset must be 1 or greater"))?;
    let mut layout = Layout::new(lua, "unpack", &text);
    let mut values: Vec<Value> = Vec::new();
    let too_short = || args.error(1, "data string too short");
    while let Some(item) = layout.next()? {
        shared.work(1)?;
        at += layout.padding(item, at);
        let rest = data.get(at..).ok_or_else(too_short)?;
        let take = |len: usize| rest.get(..len).ok_or_else(too_short);
        let (value, len) = match item {
            Item::Padding => (None, take(1)?.len()),
            Item::Integer { bytes, is_signed } => {
                let number = read_integer(take(bytes)?, layout.is_little, is_signed);
                (Some(Value::Number(number)), bytes)
            }
            Item::Float => {
                let bits = read_bits(take(4)?, layout.is_little) as u32;
                (Some(Value::Number(f64::from(f32::from_bits(bits)))), 4)
            }
            Item::Double => {
                let bits = read_bits(take(8)?, layout.is_little);
                (Some(Value::Number(f64::from_bits(bits))), 8)
            }
            Item::Chars(len) => {
                let len = match (len, values.pop()) {
                    (0, Some(Value::Number(len))) if 0.0 <= len => len as usize,
                    (0, _) => return Err(args.error(0, "format 'c0' needs a previous size")),
                    (len, previous) => {
                        values.extend(previous);
                        len
                    }
                };
                (Some(Value::String(lua.create_string(take(len)?)?)), len)
            }
            Item::Terminated => {
                let end = rest.iter().position(|byte| *byte == 0);
                let end = end.ok_or_else(|| args.error(1, "unfinished string in data"))?;
                (
                    Some(Value::String(lua.create_string(&rest[..end])?)),
                    end + 1,
                )
            }
        };
        values.extend(value);
        at += len;
    }
    values.push(Value::Integer(at as i64 + 1));
    Ok(MultiValue::from_vec(values))
}

/// Returns the low 64 bits of a number.
fn read_bits(bytes: &[u8], is_little: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    match is_little {
        true => bytes.iter().rev().fold(0, add),
        false => bytes.iter().fold(0, add),
    }
}

fn read_integer(bytes: &[u8], is_little: bool, is_signed: bool) -> f64 {
    let bits = read_bits(bytes, is_little);
    if !is_signed {
        return bits as f64;
    }
    let unused_bits = 64 - 8 * bytes.len().min(8) as u32;
    ((bits << unused_bits) as i64 >> unused_bits) as f64
}

/// struct.size(layout)
fn size(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "size", args);
    let text = args.text(0)?;
    let text = text.as_bytes();
    let mut layout = Layout::new(lua, "size", &text);
    let mut total = 0usize;
    while let Some(item) = layout.next()? {
        shared.work(1)?;
        total += layout.padding(item, total);
        total += match item {
            Item::Padding => 1,
            Item::Integer { bytes, .. } => bytes,
            Item::Float => 4,
            Item::Double => 8,
            Item::Chars(0) => return Err(args.error(0, "option 'c0' has no fixed size")),
            Item::Terminated => return Err(args.error(0, "option 's' has no fixed size")),
            Item::Chars(len) => len,
        };
    }
    Ok(one(Value::Integer(total as i64)))
}
