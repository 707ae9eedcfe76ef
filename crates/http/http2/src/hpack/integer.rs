//! Integers with a prefix: RFC 7541 §5.1.

/// More than any length or index that is accepted.
const MAX: u32 = 1 << 28;

/// Reads the integer whose first byte has `prefix_bits` for it, and drops its bytes. `None`: cut off, or too large.
pub(super) fn read(bytes: &mut &[u8], prefix_bits: u32) -> Option<usize> {
    let (&first, mut rest) = bytes.split_first()?;
    let mask = (1_u32 << prefix_bits) - 1;
    let mut value = u32::from(first) & mask;
    if value == mask {
        let mut shift = 0;
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            // Four bytes carry 28 bits; zeros that carry nothing are no reason to go on for ever.
            if 21 < shift {
                return None;
            }
            value += u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *bytes = rest;
    (value <= MAX).then_some(value as usize)
}

/// Appends `value` behind the `pattern` that stands in the first byte before its `prefix_bits`.
pub(super) fn write(out: &mut Vec<u8>, pattern: u8, prefix_bits: u32, value: usize) {
    let mask = (1 << prefix_bits) - 1;
    if value < mask {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | mask as u8);
    let mut left = value - mask;
    while 0x80 <= left {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}
