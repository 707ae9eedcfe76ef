//! Classes of bytes, as tables: each byte of a head is looked up about once.

/// RFC 9110 §5.6.2.
pub(crate) fn is_token(byte: u8) -> bool {
    static TABLE: [bool; 256] = table(b"!#$%&'*+-.^_`|~");
    TABLE[usize::from(byte)]
}

/// Visible ASCII without `#`, for targets. RFC 3986 has no room for `"<>\^{|}` and the backtick either, but browsers
/// send some of them, and none can be mistaken for framing.
pub(crate) fn is_target(byte: u8) -> bool {
    static TABLE: [bool; 256] = table(b"!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
    TABLE[usize::from(byte)]
}

/// RFC 3986 §3.2.2, a registered name's bytes without the percent sign and the comma.
pub(crate) fn is_host(byte: u8) -> bool {
    static TABLE: [bool; 256] = table(b"-._~!$&'()*+;=");
    TABLE[usize::from(byte)]
}

/// Letters, digits and `others`.
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
