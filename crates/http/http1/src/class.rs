//! Tables of the bytes that may occur in parts of a request's head, so that each byte is checked
//! with one look-up.

/// Returns whether `byte` may occur in a token; RFC 9110 §5.6.2.
pub(crate) fn is_token(byte: u8) -> bool {
    static TABLE: [bool; 256] = table(b"!#$%&'*+-.^_`|~");
    TABLE[usize::from(byte)]
}

/// Returns whether `byte` may occur in a target: visible ASCII without `#`. RFC 3986 excludes
/// `"<>\^{|}` and the backtick too, but browsers send some of them, and none can be mistaken for
/// framing.
pub(crate) fn is_target(byte: u8) -> bool {
    static TABLE: [bool; 256] = table(b"!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
    TABLE[usize::from(byte)]
}

/// Returns whether `byte` may occur in a registered name, RFC 3986 §3.2.2; the percent sign and the
/// comma are excluded.
pub(crate) fn is_host(byte: u8) -> bool {
    static TABLE: [bool; 256] = table(b"-._~!$&'()*+;=");
    TABLE[usize::from(byte)]
}

/// Returns the table of the letters, the digits and `others`.
const fn table(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}
