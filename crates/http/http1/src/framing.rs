//! Where a request's body ends: RFC 9112 §6, the rules that smuggling lives on.

use crate::class::is_token;
use crate::fields::{Known, KnownFields, trim};
use crate::{Framing, Reject, Version};

/// Judges Transfer-Encoding and Content-Length.
pub(crate) fn judge(known: &KnownFields<'_>, version: Version) -> Result<Framing, Reject> {
    let coding = known.values(Known::TransferEncoding);
    let length = known.values(Known::ContentLength);
    if coding.is_empty() && length.is_empty() {
        return Ok(Framing::None);
    }
    if coding.is_empty() {
        // RFC 9110 §8.6 lets a recipient collapse equal repetitions. DISPUTED: a second line is refused even if equal.
        let digits = length
            .only()
            .ok_or(Reject::bad("more than one Content-Length"))?;
        return parse_length(digits).map(Framing::Length);
    }
    // RFC 9112 §6.3, rule 3, lets Transfer-Encoding win. Refusing both is allowed, and leaves nothing to smuggle.
    if !length.is_empty() {
        return Err(Reject::bad("both Content-Length and Transfer-Encoding"));
    }
    // RFC 9112 §6.1: in HTTP/1.0 the framing is to be treated as faulty.
    if version < Version::Http11 {
        return Err(Reject::bad("Transfer-Encoding in HTTP/1.0"));
    }
    let coding = coding
        .only()
        .ok_or(Reject::bad("more than one Transfer-Encoding"))?;
    if coding.eq_ignore_ascii_case(b"chunked") {
        return Ok(Framing::Chunked);
    }
    Err(if ends_in_chunked(coding) {
        Reject::with(501, "a transfer coding other than chunked")
    } else {
        Reject::bad("Transfer-Encoding does not end in chunked, once")
    })
}

/// RFC 9110 §8.6: digits. DISPUTED: the grammar allows leading zeros, of which some parsers make octal.
fn parse_length(digits: &[u8]) -> Result<u64, Reject> {
    const ODD: Reject = Reject::bad("Content-Length is not a plain number");
    if digits.is_empty() || (digits[0] == b'0' && 1 < digits.len()) {
        return Err(ODD);
    }
    digits.iter().try_fold(0_u64, |length, &byte| {
        let digit = byte
            .is_ascii_digit()
            .then(|| u64::from(byte - b'0'))
            .ok_or(ODD)?;
        length
            .checked_mul(10)
            .and_then(|length| length.checked_add(digit))
            .ok_or(ODD)
    })
}

/// Whether this is a list of plain codings, the last of them `chunked` and no other: framed soundly, but not in a way
/// that is spoken here (RFC 9112 §6.1).
fn ends_in_chunked(value: &[u8]) -> bool {
    let mut chunked_before_last = false;
    let mut last_is_chunked = false;
    for coding in value.split(|&byte| byte == b',').map(trim) {
        if coding.is_empty() || !coding.iter().all(|&byte| is_token(byte)) {
            return false;
        }
        chunked_before_last |= last_is_chunked;
        last_is_chunked = coding.eq_ignore_ascii_case(b"chunked");
    }
    last_is_chunked && !chunked_before_last
}
