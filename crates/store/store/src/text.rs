//! Functions that format text as Redis does.

use std::fmt::Write;

/// Appends `bytes` in double quotes, with everything that is not printable ASCII escaped.
pub(crate) fn quote(bytes: &[u8], text: &mut String) {
    text.push('"');
    for byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b'"' => text.push_str("\\\""),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            0x20..=0x7e => text.push(*byte as char),
            other => write!(text, "\\x{other:02x}").expect("writing to a string cannot fail"),
        }
    }
    text.push('"');
}

/// Formats a number of bytes for people, for example `1.50M`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: &[(u64, &str)] = &[
        (1 << 40, "T"),
        (1 << 30, "G"),
        (1 << 20, "M"),
        (1 << 10, "K"),
    ];
    match UNITS.iter().find(|(unit, _)| *unit <= bytes) {
        Some((unit, letter)) => format!("{:.2}{letter}", bytes as f64 / *unit as f64),
        None => format!("{bytes}B"),
    }
}

/// Converts bytes from a client to text, for names and messages. Invalid UTF-8 is replaced.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_and_sizes() {
        let mut text = String::new();
        quote(b"a\"\\\n\x00\xff", &mut text);
        assert_eq!(text, r#""a\"\\\n\x00\xff""#);
        assert_eq!(size(12), "12B");
        assert_eq!(size(1536), "1.50K");
        assert_eq!(size(3 << 30), "3.00G");
    }
}
