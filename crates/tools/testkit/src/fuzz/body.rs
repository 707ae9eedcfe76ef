//! Fuzz target for request bodies that are read and discarded.

use http1::body::BodyDecoder;
use http1::{Framing, Limits, Reject};

/// Limits small enough for short inputs to exceed them.
const TIGHT: Limits = Limits {
    head_bytes_max: 16_384,
    fields_max: 64,
    target_bytes_max: 8_192,
    body_bytes_max: 64,
    chunk_line_bytes_max: 24,
    trailer_bytes_max: 32,
};

/// Checks `bytes` as the bytes after a head: the body ends at the same byte regardless of how the
/// input is cut into pieces, and at the same byte as for a naive parser.
pub fn body(bytes: &[u8]) {
    let len = bytes.len() as u64;
    let lengths = [0, 1, len / 2, len, len + 1, u64::MAX].map(Framing::Length);
    for limits in [Limits::default(), TIGHT] {
        for framing in lengths.into_iter().chain([Framing::None, Framing::Chunked]) {
            let whole = drain(framing, &limits, [bytes].into_iter());
            assert_eq!(
                drain(framing, &limits, bytes.chunks(1)),
                whole,
                "{framing:?}"
            );
            for cut in [1, 3, bytes.len() / 2, bytes.len().saturating_sub(1)] {
                let (begin, end) = bytes.split_at(cut.min(bytes.len()));
                let halves = [begin, end].into_iter();
                assert_eq!(
                    drain(framing, &limits, halves),
                    whole,
                    "{framing:?} cut at {cut}"
                );
            }
            assert_sound(framing, &limits, bytes, whole);
        }
    }
}

/// Decodes a body that arrives in `pieces`. Returns the number of bytes consumed by the decoder,
/// and whether the body has ended.
fn drain<'a>(
    framing: Framing,
    limits: &Limits,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<(usize, bool), Reject> {
    let mut drain = BodyDecoder::new(framing, limits)?;
    let mut taken = 0;
    for piece in pieces {
        let before = drain.is_done();
        let drained = drain.feed(piece)?;
        assert_eq!(drained.is_done, drain.is_done());
        assert!(
            drained.is_done || drained.bytes == piece.len(),
            "the drain left bytes and is not done"
        );
        assert!(
            !before || drained.bytes == 0,
            "the drain consumed bytes after its end"
        );
        taken += drained.bytes;
    }
    Ok((taken, drain.is_done()))
}

fn assert_sound(
    framing: Framing,
    limits: &Limits,
    bytes: &[u8],
    outcome: Result<(usize, bool), Reject>,
) {
    if let Ok((taken, _)) = outcome {
        assert!(taken as u64 <= limits.body_bytes_max);
    }
    match framing {
        Framing::None => assert_eq!(outcome, Ok((0, true))),
        Framing::Length(length) if limits.body_bytes_max < length => {
            assert_eq!(outcome.map_err(|reject| reject.status), Err(413));
        }
        Framing::Length(length) => {
            let taken = bytes
                .len()
                .min(usize::try_from(length).unwrap_or(usize::MAX));
            assert_eq!(outcome, Ok((taken, taken as u64 == length)));
        }
        Framing::Chunked => {
            let naive = naive_chunked_bytes(bytes);
            match outcome {
                Ok((taken, true)) => assert_eq!(naive, Some(taken)),
                Ok((_, false)) => assert_eq!(naive, None),
                // The naive parser has no limits, so "too long" cannot be compared with it.
                Err(Reject {
                    status: 400,
                    reason,
                }) if !reason.ends_with("too long") => {
                    assert_eq!(naive, None, "{reason}");
                }
                Err(_) => {}
            }
        }
    }
}

/// Returns the length of a chunked body, or `None` if the body is invalid or incomplete. Parses
/// line by line, as literally as possible by the grammar of RFC 9112 §7.1.
fn naive_chunked_bytes(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    loop {
        let (line, after) = split_line(rest)?;
        let size_end = line.iter().position(|byte| !byte.is_ascii_hexdigit());
        let (size, extensions) = line.split_at(size_end.unwrap_or(line.len()));
        let size = u64::from_str_radix(str::from_utf8(size).ok()?, 16).ok()?;
        if !are_extensions(extensions) {
            return None;
        }
        rest = after;
        if size == 0 {
            break;
        }
        let data_bytes = usize::try_from(size).ok()?;
        rest = rest.get(data_bytes..)?.strip_prefix(b"\r\n")?;
    }
    loop {
        let (line, after) = split_line(rest)?;
        rest = after;
        if line.is_empty() {
            return Some(bytes.len() - rest.len());
        }
        let colon = line.iter().position(|&byte| byte == b':')?;
        if !is_token(&line[..colon]) || !line[colon..].iter().all(|&byte| is_text(byte)) {
            return None;
        }
    }
}

/// Splits off the first line, without its CRLF, and returns it with the remaining bytes.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|window| window == b"\r\n")?;
    Some((&bytes[..end], &bytes[end + 2..]))
}

fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && token_end(bytes) == bytes.len()
}

fn token_end(bytes: &[u8]) -> usize {
    let is_tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    bytes.iter().take_while(|byte| is_tchar(byte)).count()
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=0x7e | 0x80..)
}

fn blank(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    &bytes[blanks.count()..]
}

/// Returns whether `bytes` match the following grammar of RFC 9112 §7.1.1, taken literally: `*( BWS
/// ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )`.
fn are_extensions(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(name) = blank(rest).strip_prefix(b";").map(blank) else {
            return false;
        };
        let name_end = token_end(name);
        if name_end == 0 {
            return false;
        }
        rest = &name[name_end..];
        if let Some(value) = blank(rest).strip_prefix(b"=").map(blank) {
            let end = match value.strip_prefix(b"\"") {
                Some(inner) => quoted_end(inner).map(|end| end + 1),
                None => Some(token_end(value)).filter(|&end| end != 0),
            };
            let Some(end) = end else {
                return false;
            };
            rest = &value[end..];
        }
    }
    true
}

/// Returns the length of the quoted string at the start of `inner`, which begins after the opening
/// quote. The closing quote counts. Returns `None` if the string is not valid.
fn quoted_end(inner: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let escaped = match inner.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => 1,
            _ => 0,
        };
        if !is_text(*inner.get(at + escaped)?) {
            return None;
        }
        at += 1 + escaped;
    }
}
