//! The library `cmsgpack`: values as MessagePack, and back.

use mlua::{Lua, MultiValue, Table, Value};

use super::args::{Args, Member, one};
use crate::fault::Fault;
use crate::shared::Shared;

pub(super) const MEMBERS: &[(&str, Member)] = &[
    ("pack", pack),
    ("unpack", |lua, shared, args| {
        let args = Args::new(lua, "unpack", args);
        unpack(lua, shared, &args, Limit::All, 0)
    }),
    ("unpack_one", |lua, shared, args| {
        let args = Args::new(lua, "unpack_one", args);
        let from = args.whole_or(1, 0)?;
        unpack(lua, shared, &args, Limit::Count(1), from)
    }),
    ("unpack_limit", |lua, shared, args| {
        let args = Args::new(lua, "unpack_limit", args);
        let (count, from) = (args.whole_or(1, 0)?, args.whole_or(2, 0)?);
        match usize::try_from(count) {
            Ok(count) => unpack(lua, shared, &args, Limit::Count(count), from),
            Err(_) => Err(Fault::at_caller(
                lua,
                "Invalid request to unpack with a negative limit",
            )),
        }
    }),
];

/// Depth from which tables are written as nil.
const DEPTH_MAX: usize = 16;
/// Depth from which a text is refused.
const DECODE_DEPTH_MAX: usize = 1000;
/// Maximum number of values that one call returns.
const VALUES_MAX: usize = 7000;

/// Number of values that a call reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// All values of the text.
    All,
    /// At most this number. The position behind the last value is returned, too.
    Count(usize),
}

fn pack(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "pack", args);
    if args.len() == 0 {
        let message = "MessagePack pack needs input.";
        return Err(Fault::argument(lua, 0, "pack", message));
    }
    let mut packer = Packer {
        shared,
        out: Vec::new(),
    };
    for index in 0..args.len() {
        packer.value(args.value(index), 0)?;
    }
    let text = lua.create_string(packer.out)?;
    Ok(one(Value::String(text)))
}

struct Packer<'a> {
    shared: &'a Shared,
    out: Vec<u8>,
}

impl Packer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> mlua::Result<()> {
        self.shared.work(1)?;
        if self.shared.limits.memory_bytes_max < self.out.len() {
            return Err(Fault::out_of_memory());
        }
        match value {
            Value::Boolean(value) => self.out.push(if *value { 0xc3 } else { 0xc2 }),
            Value::Integer(number) => self.integer(*number),
            Value::Number(number) => self.double(*number),
            Value::String(text) => {
                let text = text.as_bytes();
                self.length(text.len(), (0xa0, 31), [Some(0xd9), Some(0xda), Some(0xdb)]);
                self.out.extend_from_slice(&text);
            }
            Value::Table(table) if depth < DEPTH_MAX => self.table(table, depth + 1)?,
            _ => self.out.push(0xc0),
        }
        Ok(())
    }

    /// Appends the head of a value of `len` elements or bytes: one byte up to `short.1`, else a
    /// code for a length of one, two or four bytes.
    fn length(&mut self, len: usize, short: (u8, usize), codes: [Option<u8>; 3]) {
        let bytes = (len as u32).to_be_bytes();
        match (len, codes) {
            (len, _) if len <= short.1 => self.out.push(short.0 | len as u8),
            (..=0xff, [Some(code), ..]) => self.out.extend_from_slice(&[code, bytes[3]]),
            (..=0xffff, [_, Some(code), _]) => {
                self.out.push(code);
                self.out.extend_from_slice(&bytes[2..]);
            }
            (_, [.., code]) => {
                self.out.push(code.unwrap_or(0xc0));
                self.out.extend_from_slice(&bytes);
            }
        }
    }

    fn integer(&mut self, number: i64) {
        let bytes = number.to_be_bytes();
        let (code, len) = match number {
            -32..=127 => return self.out.push(number as u8),
            128..=0xff => (0xcc, 1),
            0x100..=0xffff => (0xcd, 2),
            0x1_0000..=0xffff_ffff => (0xce, 4),
            0x1_0000_0000.. => (0xcf, 8),
            -128.. => (0xd0, 1),
            -32_768.. => (0xd1, 2),
            -2_147_483_648.. => (0xd2, 4),
            _ => (0xd3, 8),
        };
        self.out.push(code);
        self.out.extend_from_slice(&bytes[8 - len..]);
    }

    fn double(&mut self, number: f64) {
        let short = number as f32;
        if f64::from(short) == number {
            self.out.push(0xca);
            self.out.extend_from_slice(&short.to_be_bytes());
        } else {
            self.out.push(0xcb);
            self.out.extend_from_slice(&number.to_be_bytes());
        }
    }

    fn table(&mut self, table: &Table, depth: usize) -> mlua::Result<()> {
        let (mut highest, mut count, mut is_array) = (0, 0, true);
        for pair in table.pairs::<Value, Value>() {
            self.shared.work(1)?;
            match pair?.0 {
                Value::Integer(index @ 1..) => highest = highest.max(index),
                _ => is_array = false,
            }
            count += 1;
        }
        if is_array && highest == count {
            self.length(count as usize, (0x90, 15), [None, Some(0xdc), Some(0xdd)]);
            for index in 1..=count {
                self.value(&table.raw_get(index)?, depth)?;
            }
            return Ok(());
        }
        self.length(count as usize, (0x80, 15), [None, Some(0xde), Some(0xdf)]);
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            self.value(&key, depth)?;
            self.value(&value, depth)?;
        }
        Ok(())
    }
}

fn unpack(
    lua: &Lua,
    shared: &Shared,
    args: &Args<'_>,
    limit: Limit,
    from: i64,
) -> mlua::Result<MultiValue> {
    let text = args.text(0)?;
    let text = text.as_bytes();
    let Some(rest) = usize::try_from(from).ok().and_then(|from| text.get(from..)) else {
        let message = format!(
            "Start offset {from} greater than input length {}.",
            text.len()
        );
        return Err(Fault::at_caller(lua, message));
    };
    let mut unpacker = Unpacker { lua, shared, rest };
    let mut values = Vec::new();
    let count_max = match limit {
        Limit::All | Limit::Count(0) => usize::MAX,
        Limit::Count(count) => count,
    };
    while !unpacker.rest.is_empty() && values.len() < count_max {
        if values.len() == VALUES_MAX {
            return Err(Fault::at_caller(lua, "too many results to unpack"));
        }
        values.push(unpacker.value(0)?);
    }
    if limit != Limit::All {
        let at = match unpacker.rest.len() {
            0 => -1,
            left => (text.len() - left) as i64,
        };
        values.insert(0, Value::Integer(at));
    }
    Ok(MultiValue::from_vec(values))
}

struct Unpacker<'a> {
    lua: &'a Lua,
    shared: &'a Shared,
    rest: &'a [u8],
}

impl<'a> Unpacker<'a> {
    fn take(&mut self, len: usize) -> mlua::Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(Fault::at_caller(self.lua, "Missing bytes in input."));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// Takes an unsigned number of `len` bytes.
    fn unsigned(&mut self, len: usize) -> mlua::Result<u64> {
        let bytes = self.take(len)?;
        Ok(bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Takes a signed number of `len` bytes.
    fn signed(&mut self, len: usize) -> mlua::Result<Value> {
        let unused_bits = 64 - 8 * len as u32;
        let number = (self.unsigned(len)? << unused_bits) as i64 >> unused_bits;
        Ok(Value::Number(number as f64))
    }

    fn text(&mut self, len: u64) -> mlua::Result<Value> {
        let text = self.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        self.lua.create_string(text).map(Value::String)
    }

    fn value(&mut self, depth: usize) -> mlua::Result<Value> {
        self.shared.work(1)?;
        if depth == DECODE_DEPTH_MAX {
            return Err(Fault::at_caller(
                self.lua,
                "Found too many nested data structures",
            ));
        }
        let code = self.take(1)?[0];
        match code {
            0..=0x7f => Ok(Value::Integer(i64::from(code))),
            0xe0..=0xff => Ok(Value::Integer(i64::from(code as i8))),
            0x80..=0x8f => self.map(u64::from(code & 15), depth),
            0x90..=0x9f => self.array(u64::from(code & 15), depth),
            0xa0..=0xbf => self.text(u64::from(code & 31)),
            0xc0 => Ok(Value::Nil),
            0xc2 => Ok(Value::Boolean(false)),
            0xc3 => Ok(Value::Boolean(true)),
            0xca => Ok(Value::Number(f64::from(f32::from_bits(
                self.unsigned(4)? as u32
            )))),
            0xcb => Ok(Value::Number(f64::from_bits(self.unsigned(8)?))),
            0xcc..=0xcf => {
                let number = self.unsigned(1 << (code - 0xcc))?;
                Ok(Value::Number(number as f64))
            }
            0xd0..=0xd3 => self.signed(1 << (code - 0xd0)),
            0xc4..=0xc6 => {
                let len = self.unsigned(1 << (code - 0xc4))?;
                self.text(len)
            }
            0xd9..=0xdb => {
                let len = self.unsigned(1 << (code - 0xd9))?;
                self.text(len)
            }
            0xdc | 0xdd => {
                let len = self.unsigned(2 << (code - 0xdc))?;
                self.array(len, depth)
            }
            0xde | 0xdf => {
                let len = self.unsigned(2 << (code - 0xde))?;
                self.map(len, depth)
            }
            _ => Err(Fault::at_caller(self.lua, "Bad data format in input.")),
        }
    }

    fn array(&mut self, len: u64, depth: usize) -> mlua::Result<Value> {
        let table = self.lua.create_table()?;
        for index in 1..=len {
            table.raw_set(index, self.value(depth + 1)?)?;
        }
        Ok(Value::Table(table))
    }

    fn map(&mut self, len: u64, depth: usize) -> mlua::Result<Value> {
        let table = self.lua.create_table()?;
        for _ in 0..len {
            let key = self.value(depth + 1)?;
            let value = self.value(depth + 1)?;
            if matches!(key, Value::Nil) || matches!(key, Value::Number(number) if number.is_nan())
            {
                return Err(Fault::at_caller(self.lua, "Bad data format in input."));
            }
            table.raw_set(key, value)?;
        }
        Ok(Value::Table(table))
    }
}
