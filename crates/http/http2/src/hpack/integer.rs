//! Integers with a prefix: RFC 7541 §5.1.

/// Maximum value; more than any accepted length or index.
const MAX: u32 = 1 << 28;

/// Reads an integer that starts in the lowest `prefix_bits` bits of the first byte, and advances
/// `bytes` past it. Returns `None` if the integer is truncated or too large.
pub(super) fn read(bytes: &mut &[u8], prefix_bits: u32) -> Option<usize> {
    let (&first, mut rest) = bytes.split_first()?;
    let mask = (1_u32 << prefix_bits) - 1;
    let mut value = u32::from(first) & mask;
    if value == mask {
        let mut shift = 0;
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            // Four bytes contain 28 bits. More bytes are rejected even if they are zero, so that
            // the loop is bounded.
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

/// Appends the integer `value`. The integer begins in the lowest `prefix_bits` bits of the first
/// byte. `pattern` contains the other bits of this byte.
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
