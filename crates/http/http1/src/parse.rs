//! From bytes to a [`Request`]: the line, then the fields, then what they mean together.

use crate::fields::{Known, KnownFields, offset_in, trim};
use crate::line::{self, RequestLine};
use crate::{FIELDS_BOUND, Framing, Limits, Reject, Request, Version, authority, framing};

/// Parses the request at the begin of `buf`. `None`: the head is not all there yet; ask again with more. Each time it
/// is read from its begin, which the bound on its size keeps cheap.
///
/// # Errors
/// [`Reject`]: answer it and close. No bytes that follow would change the verdict.
///
/// # Panics
/// When `limits` do not pass [`Limits::check`].
pub fn parse<'a>(buf: &'a [u8], limits: &Limits) -> Result<Option<Request<'a>>, Reject> {
    assert!(limits.fields_max <= FIELDS_BOUND, "limits were not checked");
    // Nothing beyond the limit is ever looked at, so it cannot change a verdict.
    let head = &buf[..buf.len().min(limits.head_bytes_max)];
    let is_cut = limits.head_bytes_max <= buf.len();

    // RFC 9112 §2.2: one empty line before the request line is ignored.
    if head == b"\r" {
        return Ok(None);
    }
    let blank_bytes = if head.starts_with(b"\r\n") { 2 } else { 0 };
    let Some(line) = line::parse(&head[blank_bytes..], limits)? else {
        return more_or(is_cut, Reject::with(414, "the request line is too long"));
    };
    let section_begin = blank_bytes + line.bytes;
    let Some((section_bytes, known)) = parse_fields(&head[section_begin..], limits.fields_max)?
    else {
        return more_or(is_cut, Reject::with(431, "the fields are too large"));
    };
    let section = &head[section_begin..section_begin + section_bytes];
    judge(line, known, section, section_begin + section_bytes + 2).map(Some)
}

fn more_or<'a>(is_cut: bool, reject: Reject) -> Result<Option<Request<'a>>, Reject> {
    if is_cut { Err(reject) } else { Ok(None) }
}

/// Fields that nearly every request stays below. Its table costs less to clear than that of [`FIELDS_BOUND`].
const FIELDS_USUAL: usize = 32;

/// The length of the field lines, without the empty line after them, and where the known ones stand.
fn parse_fields(
    bytes: &[u8],
    fields_max: usize,
) -> Result<Option<(usize, KnownFields<'_>)>, Reject> {
    let usual_max = fields_max.min(FIELDS_USUAL);
    match parse_into::<FIELDS_USUAL>(bytes, usual_max) {
        Err(TOO_MANY) if usual_max < fields_max => parse_into::<FIELDS_BOUND>(bytes, fields_max),
        parsed => parsed,
    }
}

/// The same with a table of `TABLE`, of which `fields_max` may be used.
fn parse_into<const TABLE: usize>(
    bytes: &[u8],
    fields_max: usize,
) -> Result<Option<(usize, KnownFields<'_>)>, Reject> {
    const BARE_LF: Reject = Reject::bad("a line does not end in CRLF");
    let mut table = [httparse::EMPTY_HEADER; TABLE];
    let (head_bytes, fields) = match httparse::parse_headers(bytes, &mut table[..fields_max]) {
        Ok(httparse::Status::Complete(complete)) => complete,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(refused(error)),
    };
    // httparse takes a bare LF for a line's end; RFC 9112 §2.2 allows that, and smugglers count on it. No LF can stand
    // inside a name or value, so it is enough to look at the line ends.
    let Some(section) = bytes[..head_bytes].strip_suffix(b"\r\n") else {
        return Err(BARE_LF);
    };
    let mut known = KnownFields::default();
    for field in fields {
        let line_begin = offset_in(section, field.name.as_bytes());
        if line_begin != 0 && !section[..line_begin].ends_with(b"\r\n") {
            return Err(BARE_LF);
        }
        if let Some(name) = Known::from_name(field.name) {
            known.note(name, section, field.value);
        }
    }
    if !section.is_empty() && !section.ends_with(b"\r\n") {
        return Err(BARE_LF);
    }
    Ok(Some((section.len(), known)))
}

const TOO_MANY: Reject = Reject::with(431, "too many fields");

/// httparse's verdict in our words. Its errors are final: it reads from left to right.
fn refused(error: httparse::Error) -> Reject {
    match error {
        httparse::Error::TooManyHeaders => TOO_MANY,
        // RFC 9112 §5.1 (space before the colon: exactly 400), §5.2 (obs-fold), §2.2 (white space before the first).
        httparse::Error::HeaderName => {
            Reject::bad("a field line does not begin with a name and a colon")
        }
        // RFC 9110 §5.5.
        httparse::Error::HeaderValue => Reject::bad("a field value has a control character"),
        _ => Reject::bad("a line does not end in CRLF"),
    }
}

/// What the fields mean for the message as a whole.
fn judge<'a>(
    line: RequestLine<'a>,
    known: KnownFields<'a>,
    section: &'a [u8],
    head_bytes: usize,
) -> Result<Request<'a>, Reject> {
    let host = judge_host(&known, line.version)?;
    let framing = framing::judge(&known, line.version)?;
    let expects = judge_expect(&known)?;
    Ok(Request {
        method: line.method,
        method_name: line.method_name,
        target: line.target,
        version: line.version,
        // RFC 9112 §3.2.2: an absolute target's authority replaces the Host field.
        host: line.authority.or(host),
        keep_alive: judge_connection(&known, line.version),
        // RFC 9110 §10.1.1: an expectation in HTTP/1.0, or without a body to wait for, is ignored.
        expect_continue: expects && line.version == Version::Http11 && framing != Framing::None,
        framing,
        head_bytes,
        known,
        section,
    })
}

/// RFC 9112 §3.2: exactly one Host in HTTP/1.1, at most one in HTTP/1.0, and valid even if it is overridden.
fn judge_host<'a>(known: &KnownFields<'a>, version: Version) -> Result<Option<&'a str>, Reject> {
    let values = known.values(Known::Host);
    if values.is_empty() {
        return match version {
            Version::Http10 => Ok(None),
            Version::Http11 => Err(Reject::bad("no Host")),
        };
    }
    let host = values.only().ok_or(Reject::bad("more than one Host"))?;
    if !authority::is_valid(host) {
        return Err(Reject::bad("Host is not a host and a port"));
    }
    Ok(Some(
        str::from_utf8(host).expect("a valid authority is ASCII"),
    ))
}

/// Whether `100-continue` is expected; RFC 9110 §10.1.1 lets any other expectation fail with 417.
fn judge_expect(known: &KnownFields<'_>) -> Result<bool, Reject> {
    let values = known.values(Known::Expect);
    if values.is_empty() {
        return Ok(false);
    }
    let mut expects = false;
    for expectation in values.into_iter().flat_map(members) {
        if !expectation.eq_ignore_ascii_case(b"100-continue") {
            return Err(Reject::with(417, "an expectation other than 100-continue"));
        }
        expects = true;
    }
    Ok(expects)
}

/// RFC 9112 §9.3: `close` wins; otherwise HTTP/1.1 persists, and HTTP/1.0 only when it says so.
fn judge_connection(known: &KnownFields<'_>, version: Version) -> bool {
    let values = known.values(Known::Connection);
    let mut keep_alive = version == Version::Http11;
    if values.is_empty() {
        return keep_alive;
    }
    for option in values.into_iter().flat_map(members) {
        if option.eq_ignore_ascii_case(b"close") {
            return false;
        }
        keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
    }
    keep_alive
}

/// The members of a list of tokens; RFC 9110 §5.6.1.2: empty ones do not count.
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(trim)
        .filter(|member| !member.is_empty())
}
