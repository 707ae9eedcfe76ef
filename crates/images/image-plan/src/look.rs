//! What a picture looks like from far away: a colour and two tiny pictures that stand for it until it is there.
//!
//! ```text
//! 0 colour, RGB · 3 length of the BlurHash u8 · 4 BlurHash, 28 · 32 length of the ThumbHash u8 · 33 ThumbHash, 25 · 58 zero
//! ```
//! A worker makes it of the pixels (`pixel::look`); here it is only carried. Sources of the two forms: the BlurHash
//! algorithm as its authors describe it (Algorithm.md), and ThumbHash's reference.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

/// Bytes of a look.
pub const LOOK_BYTES: usize = 64;
/// Longest BlurHash: four by three components.
pub const BLURHASH_BYTES_MAX: usize = 28;
/// Longest ThumbHash: one with transparency, of a square.
pub const THUMBHASH_BYTES_MAX: usize = 25;

/// BlurHash's 83 digits.
pub const BASE_83: &[u8; 83] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";

const BLURHASH_AT: usize = 3;
const THUMBHASH_AT: usize = BLURHASH_AT + 1 + BLURHASH_BYTES_MAX;
const END: usize = THUMBHASH_AT + 1 + THUMBHASH_BYTES_MAX;

/// A picture from far away.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Look([u8; LOOK_BYTES]);

impl Look {
    /// Of its parts: red, green and blue of the colour that most of the picture has; a BlurHash; a ThumbHash.
    ///
    /// # Panics
    /// When a part is too long, or the BlurHash has other digits: a bug of the caller.
    #[must_use]
    pub fn new(colour: [u8; 3], blurhash: &str, thumbhash: &[u8]) -> Look {
        let mut bytes = [0; LOOK_BYTES];
        bytes[..3].copy_from_slice(&colour);
        put(&mut bytes[BLURHASH_AT..THUMBHASH_AT], blurhash.as_bytes());
        put(&mut bytes[THUMBHASH_AT..END], thumbhash);
        Look::from_bytes(&bytes).expect("a look of fitting parts")
    }

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; LOOK_BYTES] {
        self.0
    }

    /// Checks bytes that are alleged to be a look: what is read of it goes into pages.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Look> {
        let bytes: &[u8; LOOK_BYTES] = bytes.try_into().ok()?;
        let blurhash = part(&bytes[BLURHASH_AT..THUMBHASH_AT])?;
        let thumbhash = part(&bytes[THUMBHASH_AT..END])?;
        let is_sound = blurhash.iter().all(|digit| BASE_83.contains(digit))
            && !blurhash.is_empty()
            && !thumbhash.is_empty()
            && bytes[END..].iter().all(|byte| *byte == 0);
        is_sound.then_some(Look(*bytes))
    }

    /// The colour as CSS has it: `#` and six digits.
    #[must_use]
    pub fn colour(&self) -> String {
        let mut out = String::with_capacity(7);
        out.push('#');
        for channel in &self.0[..3] {
            write!(out, "{channel:02x}").expect("strings take everything");
        }
        out
    }

    /// The BlurHash.
    #[must_use]
    pub fn blurhash(&self) -> &str {
        let bytes = part(&self.0[BLURHASH_AT..THUMBHASH_AT]).expect("checked when it was made");
        str::from_utf8(bytes).expect("its digits are ASCII")
    }

    /// The ThumbHash, in base64 as its users write it.
    #[must_use]
    pub fn thumbhash(&self) -> String {
        base64(part(&self.0[THUMBHASH_AT..END]).expect("checked when it was made"))
    }
}

impl std::fmt::Debug for Look {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Look")
            .field("colour", &self.colour())
            .field("blurhash", &self.blurhash())
            .field("thumbhash", &self.thumbhash())
            .finish()
    }
}

/// Writes a length and what is so long.
fn put(field: &mut [u8], part: &[u8]) {
    assert!(part.len() < field.len(), "{} bytes", part.len());
    field[0] = part.len() as u8;
    field[1..=part.len()].copy_from_slice(part);
}

/// Reads what `put` wrote; nothing may stand behind it.
fn part(field: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = field.split_first()?;
    let (part, behind) = rest.split_at_checked(length.into())?;
    behind.iter().all(|byte| *byte == 0).then_some(part)
}

/// RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        for digit in 0..4 {
            let value = word >> (18 - 6 * digit) & 63;
            out.push(if digit <= chunk.len() {
                char::from(DIGITS[value as usize])
            } else {
                '='
            });
        }
    }
    out
}
