//! Conversion of bytes to text. It never fails, even if the encoding is wrong: invalid bytes become
//! U+FFFD.

/// Appends ISO 8859-1 text. Bytes that are valid UTF-8 are read as UTF-8, since many writers
/// declare ISO 8859-1 but write UTF-8.
pub(crate) fn latin1(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(text),
        Err(_) => out.extend(bytes.iter().map(|&byte| char::from(byte))),
    }
}

/// Appends UTF-8 text.
pub(crate) fn utf8(bytes: &[u8], out: &mut String) {
    out.push_str(&String::from_utf8_lossy(bytes));
}

/// Appends UTF-16 text. A byte order mark takes precedence over `big_endian`.
pub(crate) fn utf16(bytes: &[u8], big_endian: bool, out: &mut String) {
    let (bytes, big_endian) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, false),
        [0xfe, 0xff, rest @ ..] => (rest, true),
        _ => (bytes, big_endian),
    };
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| match big_endian {
        true => u16::from_be_bytes(*unit),
        false => u16::from_le_bytes(*unit),
    });
    let letters = char::decode_utf16(units);
    out.extend(letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)));
}
