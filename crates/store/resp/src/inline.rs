//! Lines that consist of words, as in inline commands and configuration files.

use bytes::Bytes;

/// Splits `line` at white space. A word may be quoted, and a closing quote ends the word. In double
/// quotes, the escapes are `\n`, `\r`, `\t`, `\b`, `\a` and `\xHH`; a `\` before any other
/// character is removed. In single quotes, the only escape is `\'`. Returns `None` if a quote is
/// not closed, or if a closing quote is followed by anything but white space.
pub fn split_line(line: &[u8]) -> Option<Vec<Bytes>> {
    // As in Redis, which splits C strings, everything from the first NUL on is ignored.
    let mut rest = line.split(|byte| *byte == 0).next()?;
    let mut words = Vec::new();
    loop {
        let Some(start) = rest.iter().position(|byte| !is_space(*byte)) else {
            return Some(words);
        };
        rest = &rest[start..];
        let mut word = Vec::new();
        rest = take_word(rest, &mut word)?;
        words.push(word.into());
    }
}

/// Appends the first word of `rest` to `word`, and returns the remaining bytes.
fn take_word<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return Some(rest),
            [byte, ..] if is_space(*byte) => return Some(rest),
            [b'"', after @ ..] => return end_of_quoted(double_quoted(after, word)?),
            [b'\'', after @ ..] => return end_of_quoted(single_quoted(after, word)?),
            [byte, after @ ..] => {
                word.push(*byte);
                rest = after;
            }
        }
    }
}

fn end_of_quoted(rest: &[u8]) -> Option<&[u8]> {
    match rest.first() {
        Some(byte) if !is_space(*byte) => None,
        _ => Some(rest),
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'x', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                word.push(hex(*high) << 4 | hex(*low));
                after
            }
            [b'\\', escaped, after @ ..] => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                after
            }
            [byte, after @ ..] => {
                word.push(*byte);
                after
            }
        }
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'\'', after @ ..] => return Some(after),
            [b'\\', b'\'', after @ ..] => {
                word.push(b'\'');
                after
            }
            [byte, after @ ..] => {
                word.push(*byte);
                after
            }
        }
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

/// Returns whether C's `isspace` accepts the byte. Unlike Rust's `is_ascii_whitespace`, it accepts
/// the vertical tab.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}
