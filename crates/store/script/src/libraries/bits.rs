//! The library `bit`: operations on 32-bit integers, as in LuaBitOp.

use mlua::{Lua, MultiValue, Value};

use super::args::{Args, Member, one};
use crate::shared::Shared;

pub(super) const MEMBERS: &[(&str, Member)] = &[
    ("tobit", |lua, _, args| {
        Args::new(lua, "tobit", args).word(0).map(number)
    }),
    ("bnot", |lua, _, args| {
        Args::new(lua, "bnot", args)
            .word(0)
            .map(|word| number(!word))
    }),
    ("bswap", |lua, _, args| {
        let word = Args::new(lua, "bswap", args).word(0)?;
        Ok(number(word.swap_bytes()))
    }),
    ("band", |lua, _, args| {
        fold(&Args::new(lua, "band", args), |a, b| a & b)
    }),
    ("bor", |lua, _, args| {
        fold(&Args::new(lua, "bor", args), |a, b| a | b)
    }),
    ("bxor", |lua, _, args| {
        fold(&Args::new(lua, "bxor", args), |a, b| a ^ b)
    }),
    ("lshift", |lua, _, args| {
        shift(&Args::new(lua, "lshift", args), |word, by| word << by)
    }),
    ("rshift", |lua, _, args| {
        shift(&Args::new(lua, "rshift", args), |word, by| {
            (word as u32 >> by) as i32
        })
    }),
    ("arshift", |lua, _, args| {
        shift(&Args::new(lua, "arshift", args), |word, by| word >> by)
    }),
    ("rol", |lua, _, args| {
        shift(&Args::new(lua, "rol", args), |word, by| {
            word.rotate_left(by)
        })
    }),
    ("ror", |lua, _, args| {
        shift(&Args::new(lua, "ror", args), |word, by| {
            word.rotate_right(by)
        })
    }),
    ("tohex", tohex),
];

impl Args<'_> {
    /// Returns a number as a 32-bit integer: rounded to the nearest integer, modulo 2³².
    fn word(&self, index: usize) -> mlua::Result<i32> {
        let rounded = self.number(index)?.round_ties_even();
        // A remainder of 2³² fits in 64 bits exactly.
        Ok(rounded.rem_euclid(4_294_967_296.0) as u64 as u32 as i32)
    }
}

fn number(word: i32) -> MultiValue {
    one(Value::Integer(i64::from(word)))
}

fn fold(args: &Args<'_>, combine: fn(i32, i32) -> i32) -> mlua::Result<MultiValue> {
    let mut result = args.word(0)?;
    for index in 1..args.len() {
        result = combine(result, args.word(index)?);
    }
    Ok(number(result))
}

fn shift(args: &Args<'_>, apply: fn(i32, u32) -> i32) -> mlua::Result<MultiValue> {
    let by = args.word(1)? as u32 & 31;
    Ok(number(apply(args.word(0)?, by)))
}

/// bit.tohex(word, digits): a negative number of digits asks for upper case.
fn tohex(lua: &Lua, _shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "tohex", args);
    let word = args.word(0)? as u32;
    let digits = match args.value(1) {
        Value::Nil => 8,
        _ => args.word(1)?,
    };
    let count = digits.unsigned_abs().min(8) as usize;
    let text = match digits < 0 {
        true => format!("{word:08X}"),
        false => format!("{word:08x}"),
    };
    let text = lua.create_string(&text[8 - count..])?;
    Ok(one(Value::String(text)))
}
