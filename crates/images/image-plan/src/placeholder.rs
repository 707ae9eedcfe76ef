//! Placeholder of a picture, shown until the picture has loaded: a dominant colour, a BlurHash and
//! a ThumbHash. In the table, `@` precedes the offset of a field in bytes.
//!
//! ```text
//! @0 colour, RGB · @3 length of the BlurHash u8 · @4 BlurHash, 28 bytes
//! @32 length of the ThumbHash u8 · @33 ThumbHash, 25 bytes · @58 zeros · @64 end
//! ```
//! A worker computes the placeholder from the pixels (`pixel::placeholder`); this module only
//! stores and checks it. Sources: the BlurHash algorithm as described by its authors
//! (Algorithm.md), and the reference implementation of ThumbHash.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

/// Size in bytes of a serialized placeholder.
pub const PLACEHOLDER_BYTES: usize = 64;
/// Maximum length in bytes of a BlurHash, reached with 4 × 3 components.
pub const BLURHASH_BYTES_MAX: usize = 28;
/// Maximum length in bytes of a ThumbHash, reached by a square picture with transparency.
pub const THUMBHASH_BYTES_MAX: usize = 25;

/// Digits of BlurHash's base 83.
pub const BASE_83: &[u8; 83] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";

const BLURHASH_AT: usize = 3;
const THUMBHASH_AT: usize = BLURHASH_AT + 1 + BLURHASH_BYTES_MAX;
const END: usize = THUMBHASH_AT + 1 + THUMBHASH_BYTES_MAX;

/// Placeholder of a picture: dominant colour, BlurHash and ThumbHash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Placeholder([u8; PLACEHOLDER_BYTES]);

impl Placeholder {
    /// Creates a placeholder from the dominant colour (red, green, blue), a BlurHash and a
    /// ThumbHash.
    ///
    /// # Panics
    /// If a part is too long or empty, or if the BlurHash contains a character that is not a
    /// base-83 digit: a bug of the caller.
    #[must_use]
    pub fn new(colour: [u8; 3], blurhash: &str, thumbhash: &[u8]) -> Placeholder {
        let mut bytes = [0; PLACEHOLDER_BYTES];
        bytes[..3].copy_from_slice(&colour);
        put(&mut bytes[BLURHASH_AT..THUMBHASH_AT], blurhash.as_bytes());
        put(&mut bytes[THUMBHASH_AT..END], thumbhash);
        Placeholder::from_bytes(&bytes).expect("the parts form a valid placeholder")
    }

    /// Returns the serialized placeholder.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PLACEHOLDER_BYTES] {
        self.0
    }

    /// Checks untrusted bytes, and returns the placeholder if they are valid. The check protects
    /// HTML pages, into which the parts of the placeholder are written later.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Placeholder> {
        let bytes: &[u8; PLACEHOLDER_BYTES] = bytes.try_into().ok()?;
        let blurhash = part(&bytes[BLURHASH_AT..THUMBHASH_AT])?;
        let thumbhash = part(&bytes[THUMBHASH_AT..END])?;
        let is_valid = blurhash.iter().all(|digit| BASE_83.contains(digit))
            && !blurhash.is_empty()
            && !thumbhash.is_empty()
            && bytes[END..].iter().all(|byte| *byte == 0);
        is_valid.then_some(Placeholder(*bytes))
    }

    /// Returns the colour in CSS notation: `#` and six hexadecimal digits.
    #[must_use]
    pub fn colour(&self) -> String {
        let mut out = String::with_capacity(7);
        out.push('#');
        for channel in &self.0[..3] {
            write!(out, "{channel:02x}").expect("writing to a string cannot fail");
        }
        out
    }

    /// Returns the BlurHash.
    #[must_use]
    pub fn blurhash(&self) -> &str {
        let bytes =
            part(&self.0[BLURHASH_AT..THUMBHASH_AT]).expect("`from_bytes` has checked the parts");
        str::from_utf8(bytes).expect("the digits of a BlurHash are ASCII")
    }

    /// Returns the ThumbHash in base64, the usual text form of ThumbHashes.
    #[must_use]
    pub fn thumbhash(&self) -> String {
        base64(part(&self.0[THUMBHASH_AT..END]).expect("`from_bytes` has checked the parts"))
    }
}

impl std::fmt::Debug for Placeholder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placeholder")
            .field("colour", &self.colour())
            .field("blurhash", &self.blurhash())
            .field("thumbhash", &self.thumbhash())
            .finish()
    }
}

/// Writes the length of `part` into the first byte of `field`, followed by `part`.
fn put(field: &mut [u8], part: &[u8]) {
    assert!(part.len() < field.len(), "{} bytes", part.len());
    field[0] = part.len() as u8;
    field[1..=part.len()].copy_from_slice(part);
}

/// Reads from `field` the bytes that `put` wrote. Returns `None` if the length is invalid, or if a
/// later byte of the field is not zero.
fn part(field: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = field.split_first()?;
    let (part, padding) = rest.split_at_checked(length.into())?;
    padding.iter().all(|byte| *byte == 0).then_some(part)
}

/// Encodes bytes as base64 (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(bits);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            out.push(if digit <= chunk.len() {
                char::from(DIGITS[value as usize])
            } else {
                '='
            });
        }
    }
    out
}
