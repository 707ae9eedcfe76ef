//! Framing of a request's body: RFC 9112 §6. Request smuggling exploits deviations from these
//! rules.

use crate::class::is_token;
use crate::fields::{Known, KnownFields, trim};
use crate::{Framing, Reject, Version};

/// Derives the framing from Transfer-Encoding and Content-Length.
pub(crate) fn validate(known: &KnownFields<'_>, version: Version) -> Result<Framing, Reject> {
    let coding = known.values(Known::TransferEncoding);
    let length = known.values(Known::ContentLength);
    if coding.is_empty() && length.is_empty() {
        return Ok(Framing::None);
    }
    if coding.is_empty() {
        // RFC 9110 §8.6 allows a recipient to accept repeated equal values as a single value. This
        // server rejects a second line even if its value is equal.
        let digits = length.only().ok_or(Reject::bad(
            "the request has more than one Content-Length field",
        ))?;
        return parse_length(digits).map(Framing::Length);
    }
    // RFC 9112 §6.3, rule 3, gives Transfer-Encoding precedence. Rejecting a request with both
    // fields is allowed too, and prevents smuggling.
    if !length.is_empty() {
        return Err(Reject::bad(
            "the request has both Content-Length and Transfer-Encoding",
        ));
    }
    // RFC 9112 §6.1: Transfer-Encoding in an HTTP/1.0 request must be treated as faulty framing.
    if version < Version::Http11 {
        return Err(Reject::bad(
            "the request has Transfer-Encoding, but is HTTP/1.0",
        ));
    }
    let coding = coding.only().ok_or(Reject::bad(
        "the request has more than one Transfer-Encoding field",
    ))?;
    if coding.eq_ignore_ascii_case(b"chunked") {
        return Ok(Framing::Chunked);
    }
    Err(if ends_in_chunked(coding) {
        Reject::with(501, "the request has a transfer coding other than chunked")
    } else {
        Reject::bad("Transfer-Encoding does not end in chunked, or names it more than once")
    })
}

/// Parses a content length, RFC 9110 §8.6. DISPUTED: the grammar allows leading zeros. A number
/// with leading zeros is rejected here, because some parsers treat it as octal.
fn parse_length(digits: &[u8]) -> Result<u64, Reject> {
    const NOT_A_NUMBER: Reject = Reject::bad("Content-Length is not a plain number");
    if digits.is_empty() || (digits[0] == b'0' && 1 < digits.len()) {
        return Err(NOT_A_NUMBER);
    }
    digits.iter().try_fold(0_u64, |length, &byte| {
        let digit = byte
            .is_ascii_digit()
            .then(|| u64::from(byte - b'0'))
            .ok_or(NOT_A_NUMBER)?;
        length
            .checked_mul(10)
            .and_then(|length| length.checked_add(digit))
            .ok_or(NOT_A_NUMBER)
    })
}

/// Returns whether `value` is a list of transfer codings in which `chunked` occurs exactly once, at
/// the end, and no coding has parameters. Such a list is valid, but this server supports no coding
/// other than `chunked` (RFC 9112 §6.1).
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
