//! BITFIELD: integers of 1 to 64 bits anywhere within a string.

use resp::Out;

use super::bits::parse_offset;
use super::strings::check_length;
use crate::context::Context;
use crate::fault::Fault;
use crate::notify::Class;
use crate::string::Str;

type Done = Result<(), Fault>;

/// Type of an integer, such as `i5` or `u63`.
#[derive(Clone, Copy)]
struct Kind {
    is_signed: bool,
    bits: u64,
}

#[derive(Clone, Copy)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

#[derive(Clone, Copy)]
enum Action {
    Get,
    Set(i64),
    Add(i64),
}

struct Step {
    kind: Kind,
    offset: u64,
    action: Action,
    overflow: Overflow,
}

impl Kind {
    fn parse(text: &[u8]) -> Result<Self, Fault> {
        let fault = Fault::of(
            "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
        );
        let (is_signed, digits) = match text {
            [b'i', digits @ ..] => (true, digits),
            [b'u', digits @ ..] => (false, digits),
            _ => return Err(fault),
        };
        let bits_max = if is_signed { 64 } else { 63 };
        let bits = resp::parse_int(digits).filter(|bits| (1..=bits_max).contains(bits));
        let bits = bits.ok_or(fault)?.unsigned_abs();
        Ok(Self { is_signed, bits })
    }

    fn range(self) -> (i128, i128) {
        if self.is_signed {
            (-(1i128 << (self.bits - 1)), (1i128 << (self.bits - 1)) - 1)
        } else {
            (0, (1i128 << self.bits) - 1)
        }
    }

    /// Returns the lowest bits of `value` as a number of this type.
    fn wrap(self, value: i128) -> i64 {
        let low = value & ((1i128 << self.bits) - 1);
        let is_negative = self.is_signed && low >> (self.bits - 1) == 1;
        (if is_negative {
            low - (1i128 << self.bits)
        } else {
            low
        }) as i64
    }

    /// Returns `value`, adjusted to the type's range by the overflow rule; `None` if the value is
    /// out of range and the rule is FAIL.
    fn fit(self, value: i128, overflow: Overflow) -> Option<i64> {
        let (min, max) = self.range();
        if (min..=max).contains(&value) {
            return Some(value as i64);
        }
        match overflow {
            Overflow::Wrap => Some(self.wrap(value)),
            Overflow::Saturate => Some(value.clamp(min, max) as i64),
            Overflow::Fail => None,
        }
    }

    fn read(self, bytes: &[u8], offset: u64) -> i64 {
        let mut value: i128 = 0;
        for bit in offset..offset + self.bits {
            let byte = bytes.get((bit / 8) as usize).copied().unwrap_or(0);
            value = value << 1 | i128::from(byte >> (7 - bit % 8) & 1);
        }
        self.wrap(value)
    }

    fn write(self, bytes: &mut [u8], offset: u64, value: i64) {
        for index in 0..self.bits {
            let bit = offset + index;
            let mask = 0x80 >> (bit % 8);
            let byte = &mut bytes[(bit / 8) as usize];
            let is_set = value >> (self.bits - 1 - index) & 1 == 1;
            *byte = if is_set { *byte | mask } else { *byte & !mask };
        }
    }
}

fn parse(cx: &Context<'_>) -> Result<Vec<Step>, Fault> {
    let args = cx.args;
    let mut steps = Vec::new();
    let mut overflow = Overflow::Wrap;
    let mut at = 2;
    while at < args.len() {
        let left = args.len() - at - 1;
        if cx.is(at, "overflow") && 1 <= left {
            overflow = match args[at + 1].to_ascii_lowercase().as_slice() {
                b"wrap" => Overflow::Wrap,
                b"sat" => Overflow::Saturate,
                b"fail" => Overflow::Fail,
                _ => return Err(Fault::of("ERR Invalid OVERFLOW type specified")),
            };
            at += 2;
            continue;
        }
        let takes = if cx.is(at, "get") && 2 <= left {
            2
        } else if (cx.is(at, "set") || cx.is(at, "incrby")) && 3 <= left {
            3
        } else {
            return Err(Fault::SYNTAX);
        };
        let kind = Kind::parse(&args[at + 1])?;
        let offset = parse_offset(cx, &args[at + 2], kind.bits)?;
        let action = if takes == 2 {
            Action::Get
        } else if cx.is(at, "set") {
            Action::Set(cx.int(at + 3)?)
        } else {
            Action::Add(cx.int(at + 3)?)
        };
        steps.push(Step {
            kind,
            offset,
            action,
            overflow,
        });
        at += takes + 1;
    }
    Ok(steps)
}

pub(crate) fn bitfield_ro(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let steps = parse(cx)?;
    if steps.iter().any(|step| !matches!(step.action, Action::Get)) {
        return Err(Fault::of(
            "ERR BITFIELD_RO only supports the GET subcommand",
        ));
    }
    read(cx, &steps, out)
}

pub(crate) fn bitfield(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let steps = parse(cx)?;
    let writes = steps
        .iter()
        .filter(|step| !matches!(step.action, Action::Get));
    let Some(last_bit) = writes.map(|step| step.offset + step.kind.bits - 1).max() else {
        return read(cx, &steps, out);
    };
    let args = cx.args;
    let len = (last_bit / 8) as usize + 1;
    check_length(cx, len, 0)?;
    cx.peek_as::<Str>(&args[1])?;
    out.array(steps.len());
    let mut has_changed = false;
    cx.edit_or_new(
        &args[1],
        || Str::copied(b""),
        |value| {
            value.modify(|bytes| {
                if bytes.len() < len {
                    bytes.resize(len, 0);
                    has_changed = true;
                }
                for step in &steps {
                    has_changed |= step.run(bytes, out);
                }
            });
        },
    )?;
    if has_changed {
        cx.changed(&args[1], Class::String, "setbit");
    }
    Ok(())
}

fn read(cx: &mut Context<'_>, steps: &[Step], out: &mut Out) -> Done {
    let args = cx.args;
    let mut buffer = itoa::Buffer::new();
    let bytes = cx
        .read_as::<Str>(&args[1])?
        .map_or(&b""[..], |value| value.bytes(&mut buffer));
    out.array(steps.len());
    for step in steps {
        out.int(step.kind.read(bytes, step.offset));
    }
    Ok(())
}

impl Step {
    /// Runs one operation of BITFIELD and writes its reply. Returns whether the operation counts as
    /// a change. GET never counts. INCRBY counts unless it fails. SET counts only if the new value
    /// differs from the old one.
    fn run(&self, bytes: &mut [u8], out: &mut Out) -> bool {
        let Self { kind, offset, .. } = *self;
        let old = kind.read(bytes, offset);
        let (value, reply) = match self.action {
            Action::Get => {
                out.int(old);
                return false;
            }
            Action::Set(value) => {
                // With an unsigned type, SET reinterprets a negative number as the unsigned number
                // with the same bits.
                let value = if kind.is_signed {
                    i128::from(value)
                } else {
                    i128::from(value as u64)
                };
                (kind.fit(value, self.overflow), Some(old))
            }
            Action::Add(by) => (
                kind.fit(i128::from(old) + i128::from(by), self.overflow),
                None,
            ),
        };
        let Some(value) = value else {
            out.null();
            return false;
        };
        kind.write(bytes, offset, value);
        out.int(reply.unwrap_or(value));
        reply.is_none() || value != old
    }
}
