//! Base64 with the URL-safe alphabet (RFC 4648 §5), without padding.

/// Encodes bytes without padding.
#[must_use]
pub fn encode_base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(bits);
        for digit in 0..=chunk.len() {
            let value = bits >> (18 - 6 * digit) & 63;
            out.push(char::from(DIGITS[value as usize]));
        }
    }
    out
}

/// Decodes text without padding. Returns `None` if a character is not in the alphabet, or if the
/// text has an impossible length. Bits beyond the last whole byte are ignored.
#[must_use]
pub fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        if chunk.len() == 1 {
            return None;
        }
        let mut bits = 0;
        for &digit in chunk {
            bits = bits << 6 | u32::from(digit_value(digit)?);
        }
        // Whole bytes stand at the top of the three bytes that four digits encode.
        bits <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(out)
}

fn digit_value(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}
