//! Strings as arrays of bits: bit 0 is the highest of the first byte.

use resp::Out;

use super::strings::check_length;
use crate::context::{Context, Deadline};
use crate::fault::Fault;
use crate::notify::Class;
use crate::string::Str;
use crate::value::Value;

type Done = Result<(), Fault>;

const BAD_OFFSET: Fault = Fault::of("ERR bit offset is not an integer or out of range");
const BAD_BIT: Fault = Fault::of("ERR bit is not an integer or out of range");

/// A position within the longest string there may be.
pub(super) fn parse_offset(cx: &Context<'_>, text: &[u8], width: u64) -> Result<u64, Fault> {
    // `#3` counts in widths instead of bits.
    let (text, scale) = match text {
        [b'#', text @ ..] if 0 < width => (text, width),
        text => (text, 1),
    };
    let offset = resp::parse_int(text).ok_or(BAD_OFFSET)?;
    let offset = u64::try_from(offset)
        .ok()
        .and_then(|offset| offset.checked_mul(scale));
    let bits_max = cx.ks.limits.string_bytes_max as u64 * 8;
    offset.filter(|&offset| offset < bits_max).ok_or(BAD_OFFSET)
}

pub(crate) fn setbit(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let offset = parse_offset(cx, &args[2], 0)?;
    let bit = match args[3].as_ref() {
        b"0" => false,
        b"1" => true,
        _ => return Err(BAD_BIT),
    };
    let at = (offset / 8) as usize;
    let mask = 0x80 >> (offset % 8);
    check_length(cx, at, 1)?;
    let len = cx.peek_as::<Str>(&args[1])?.map_or(0, Str::len);
    let old = cx.edit_or_new(
        &args[1],
        || Str::copied(b""),
        |value| {
            value.modify(|bytes| {
                if bytes.len() <= at {
                    bytes.resize(at + 1, 0);
                }
                let old = bytes[at] & mask != 0;
                bytes[at] = if bit {
                    bytes[at] | mask
                } else {
                    bytes[at] & !mask
                };
                old
            })
        },
    )?;
    if old != bit || len <= at {
        cx.changed(&args[1], Class::String, "setbit");
    }
    out.int(i64::from(old));
    Ok(())
}

pub(crate) fn getbit(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let offset = parse_offset(cx, &args[2], 0)?;
    let mut buffer = itoa::Buffer::new();
    let bytes = cx
        .read_as::<Str>(&args[1])?
        .map_or(&b""[..], |value| value.bytes(&mut buffer));
    let byte = bytes.get((offset / 8) as usize).copied().unwrap_or(0);
    out.int(i64::from(byte & 0x80 >> (offset % 8) != 0));
    Ok(())
}

/// A stretch of bits, both ends included.
struct Stretch {
    first: usize,
    last: usize,
}

/// Between two positions, in bytes or in bits; those below zero count from the end. `None` if there is nothing.
fn stretch(start: i64, end: i64, in_bits: bool, bytes: usize) -> Option<Stretch> {
    let total = if in_bits {
        bytes as i64 * 8
    } else {
        bytes as i64
    };
    let from_end = |position: i64| {
        if position < 0 {
            (total + position).max(0)
        } else {
            position
        }
    };
    let (start, end) = (from_end(start), from_end(end).min(total - 1));
    if end < start || total == 0 {
        return None;
    }
    let (start, end) = (start as usize, end as usize);
    Some(if in_bits {
        Stretch {
            first: start,
            last: end,
        }
    } else {
        Stretch {
            first: start * 8,
            last: end * 8 + 7,
        }
    })
}

fn is_in_bits(cx: &Context<'_>, at: usize) -> Result<bool, Fault> {
    if cx.is(at, "bit") {
        Ok(true)
    } else if cx.args.len() <= at || cx.is(at, "byte") {
        Ok(false)
    } else {
        Err(Fault::SYNTAX)
    }
}

impl Stretch {
    /// Its bytes, those at both ends without the bits outside.
    fn masked<'a>(&self, bytes: &'a [u8], flip: u8) -> impl Iterator<Item = u8> + 'a {
        let (first, last) = (self.first / 8, self.last / 8);
        let head = 0xffu8 >> (self.first % 8);
        let tail = 0xffu8 << (7 - self.last % 8);
        bytes[first..=last]
            .iter()
            .enumerate()
            .map(move |(at, byte)| {
                let head = if at == 0 { head } else { 0xff };
                let tail = if at == last - first { tail } else { 0xff };
                (byte ^ flip) & head & tail
            })
    }
}

pub(crate) fn bitcount(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let range = match args.len() {
        2 => None,
        4 | 5 => Some((cx.int(2)?, cx.int(3)?, is_in_bits(cx, 4)?)),
        _ => return Err(Fault::SYNTAX),
    };
    let mut buffer = itoa::Buffer::new();
    let bytes = cx
        .read_as::<Str>(&args[1])?
        .map_or(&b""[..], |value| value.bytes(&mut buffer));
    let (start, end, in_bits) = range.unwrap_or((0, -1, false));
    if start < 0 && end < 0 && end < start {
        out.int(0);
        return Ok(());
    }
    let count = match stretch(start, end, in_bits, bytes.len()) {
        Some(stretch) => stretch
            .masked(bytes, 0)
            .map(|byte| i64::from(byte.count_ones()))
            .sum(),
        None => 0,
    };
    out.int(count);
    Ok(())
}

pub(crate) fn bitpos(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let bit = match cx.int(2)? {
        0 => false,
        1 => true,
        _ => return Err(Fault::of("ERR The bit argument must be 1 or 0.")),
    };
    if 6 < args.len() {
        return Err(Fault::SYNTAX);
    }
    let start = if 3 < args.len() { cx.int(3)? } else { 0 };
    let end = if 4 < args.len() {
        Some(cx.int(4)?)
    } else {
        None
    };
    let in_bits = is_in_bits(cx, 5)?;
    let mut buffer = itoa::Buffer::new();
    let Some(value) = cx.read_as::<Str>(&args[1])? else {
        out.int(if bit { -1 } else { 0 });
        return Ok(());
    };
    let bytes = value.bytes(&mut buffer);
    let Some(stretch) = stretch(start, end.unwrap_or(-1), in_bits, bytes.len()) else {
        out.int(-1);
        return Ok(());
    };
    let flip = if bit { 0 } else { 0xff };
    let found = stretch.masked(bytes, flip).position(|byte| byte != 0);
    out.int(match found {
        Some(at) => {
            let byte = stretch.masked(bytes, flip).nth(at).expect("found above");
            ((stretch.first / 8 + at) * 8) as i64 + i64::from(byte.leading_zeros())
        }
        // Without an end the string goes on in zeros.
        None if !bit && end.is_none() => bytes.len() as i64 * 8,
        None => -1,
    });
    Ok(())
}

pub(crate) fn bitop(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let combine: fn(u8, u8) -> u8 = match args[1].to_ascii_lowercase().as_slice() {
        b"and" => |left, right| left & right,
        b"or" => |left, right| left | right,
        b"xor" => |left, right| left ^ right,
        b"not" if args.len() != 4 => {
            return Err(Fault::of(
                "ERR BITOP NOT must be called with a single source key.",
            ));
        }
        b"not" => |left, _| !left,
        _ => return Err(Fault::SYNTAX),
    };
    let is_not = cx.is(1, "not");
    let mut sources: Vec<Vec<u8>> = Vec::with_capacity(args.len() - 3);
    for key in &args[3..] {
        let value = cx.read_as::<Str>(key)?;
        sources.push(value.map_or(Vec::new(), |it| it.bytes(&mut itoa::Buffer::new()).to_vec()));
    }
    let len = sources
        .iter()
        .map(Vec::len)
        .max()
        .expect("there is a source");
    sources.iter_mut().for_each(|source| source.resize(len, 0));
    let mut result = sources.swap_remove(0);
    if is_not {
        result.iter_mut().for_each(|byte| *byte = combine(*byte, 0));
    }
    for source in &sources {
        result
            .iter_mut()
            .zip(source)
            .for_each(|(left, right)| *left = combine(*left, *right));
    }
    if result.is_empty() {
        cx.delete(&args[2]);
    } else {
        let value = Value::Str(Str::raw(result));
        cx.put(&args[2], value, Deadline::Never);
        cx.changed(&args[2], Class::String, "set");
    }
    out.int(len as i64);
    Ok(())
}
