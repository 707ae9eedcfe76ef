//! Strings as arrays of bits: bit 0 is the most significant bit of the first byte.

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

/// Parses a bit offset. Returns an error if the offset exceeds the maximum length of a string.
pub(super) fn parse_offset(cx: &Context<'_>, text: &[u8], width: u64) -> Result<u64, Fault> {
    // `#3` means three times `width`.
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

/// A range of bits, both ends included.
struct BitRange {
    first: usize,
    last: usize,
}

/// Returns the range between two positions, which are in bytes or bits; negative positions count
/// from the end. Returns `None` if the range is empty.
fn bit_range(start: i64, end: i64, in_bits: bool, bytes: usize) -> Option<BitRange> {
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
        BitRange {
            first: start,
            last: end,
        }
    } else {
        BitRange {
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

impl BitRange {
    /// Returns the indices of the range's first and last bytes.
    fn ends(&self) -> (usize, usize) {
        (self.first / 8, self.last / 8)
    }

    /// Returns the bytes after the range's first byte and before its last byte. All bits of these
    /// bytes are in the range.
    fn inner<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let (first, last) = self.ends();
        if first == last {
            return &[];
        }
        &bytes[first + 1..last]
    }

    /// Returns the byte at index `at`, XORed with `flip`, with the bits outside the range cleared.
    fn byte(&self, bytes: &[u8], at: usize, flip: u8) -> u8 {
        let (first, last) = self.ends();
        let head = if at == first {
            0xff >> (self.first % 8)
        } else {
            0xff
        };
        let tail = if at == last {
            0xff << (7 - self.last % 8)
        } else {
            0xff
        };
        (bytes[at] ^ flip) & head & tail
    }

    fn count_ones(&self, bytes: &[u8]) -> u64 {
        let (first, last) = self.ends();
        let ones = |at| self.byte(bytes, at, 0).count_ones();
        let ends = if first == last {
            ones(first)
        } else {
            ones(first) + ones(last)
        };
        let (words, rest) = self.inner(bytes).as_chunks();
        let words = words
            .iter()
            .map(|word| u64::from_ne_bytes(*word).count_ones());
        let rest = rest.iter().map(|byte| byte.count_ones());
        words.chain(rest).map(u64::from).sum::<u64>() + u64::from(ends)
    }

    /// Returns the position of the first bit in the range that is set after XOR with `flip`.
    fn first_one(&self, bytes: &[u8], flip: u8) -> Option<usize> {
        let (first, last) = self.ends();
        let one_in = |at| {
            let byte = self.byte(bytes, at, flip);
            (byte != 0).then_some(at * 8 + byte.leading_zeros() as usize)
        };
        one_in(first).or_else(|| {
            let inner = self.inner(bytes);
            let (words, _) = inner.as_chunks();
            let without = words.iter().take_while(|word| **word == [flip; 8]);
            let skipped = 8 * without.count();
            let found = inner[skipped..].iter().position(|byte| *byte != flip);
            one_in(found.map_or(last, |at| first + 1 + skipped + at))
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
    let count = match bit_range(start, end, in_bits, bytes.len()) {
        Some(bit_range) => bit_range.count_ones(bytes),
        None => 0,
    };
    out.int(count as i64);
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
    // As in Redis, the unit is checked before the end of the range: if both are invalid, this order
    // decides which error is sent.
    let in_bits = is_in_bits(cx, 5)?;
    let end = if 4 < args.len() {
        Some(cx.int(4)?)
    } else {
        None
    };
    let mut buffer = itoa::Buffer::new();
    let Some(value) = cx.read_as::<Str>(&args[1])? else {
        out.int(if bit { -1 } else { 0 });
        return Ok(());
    };
    let bytes = value.bytes(&mut buffer);
    let Some(bit_range) = bit_range(start, end.unwrap_or(-1), in_bits, bytes.len()) else {
        out.int(-1);
        return Ok(());
    };
    let flip = if bit { 0 } else { 0xff };
    out.int(match bit_range.first_one(bytes, flip) {
        Some(at) => at as i64,
        // The range contains no 0. Without an explicit end, the string is treated as if zeros
        // followed it, so the first 0 comes right after the end of the string.
        None if !bit && end.is_none() => bytes.len() as i64 * 8,
        None => -1,
    });
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
}

impl Operation {
    /// Combines `result` with the string `source`. If `source` is shorter, it is treated as if
    /// zeros followed it.
    fn add(self, result: &mut [u8], source: &[u8]) {
        let (both, beyond) = result.split_at_mut(source.len());
        let pairs = both.iter_mut().zip(source);
        match self {
            Operation::And => {
                pairs.for_each(|(left, right)| *left &= right);
                beyond.fill(0);
            }
            Operation::Or => pairs.for_each(|(left, right)| *left |= right),
            Operation::Xor => pairs.for_each(|(left, right)| *left ^= right),
            Operation::Not => pairs.for_each(|(left, right)| *left = !right),
        }
    }
}

pub(crate) fn bitop(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let operation = match args[1].to_ascii_lowercase().as_slice() {
        b"and" => Operation::And,
        b"or" => Operation::Or,
        b"xor" => Operation::Xor,
        b"not" if args.len() != 4 => {
            return Err(Fault::of(
                "ERR BITOP NOT must be called with a single source key.",
            ));
        }
        b"not" => Operation::Not,
        _ => return Err(Fault::SYNTAX),
    };
    let mut len = 0;
    for key in &args[3..] {
        len = cx.read_as::<Str>(key)?.map_or(0, Str::len).max(len);
    }
    let mut result = vec![0; len];
    for (index, key) in args[3..].iter().enumerate() {
        let mut buffer = itoa::Buffer::new();
        let value = cx.peek_as::<Str>(key)?;
        let source = value.map_or(&b""[..], |value| value.bytes(&mut buffer));
        match (index, operation) {
            (0, Operation::And | Operation::Or | Operation::Xor) => {
                result[..source.len()].copy_from_slice(source);
            }
            _ => operation.add(&mut result, source),
        }
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
