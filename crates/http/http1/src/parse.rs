//! Parsing of a request's head: first the request line, then the fields. At last, rules that
//! concern both are checked.

use crate::fields::{Known, KnownFields, offset_in, trim};
use crate::line::{self, RequestLine};
use crate::{FIELDS_BOUND, Framing, Limits, Reject, Request, Version, authority, framing};

/// Parses the request at the start of `buf`. Returns `None` if the head is incomplete; call again
/// with more bytes. Each call parses from the start, which is cheap since the size of a head is
/// bounded.
///
/// # Errors
/// [`Reject`]: send the response and close. No bytes that follow would change the outcome.
///
/// # Panics
/// `limits` do not pass [`Limits::check`].
pub fn parse<'a>(buf: &'a [u8], limits: &Limits) -> Result<Option<Request<'a>>, Reject> {
    assert!(limits.fields_max <= FIELDS_BOUND, "limits were not checked");
    // Bytes beyond the limit are never read, so they cannot change the outcome.
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
    let section_start = blank_bytes + line.bytes;
    let Some((section_bytes, known)) = parse_fields(&head[section_start..], limits.fields_max)?
    else {
        return more_or(is_cut, Reject::with(431, "the header fields are too large"));
    };
    let section = &head[section_start..section_start + section_bytes];
    validate(line, known, section, section_start + section_bytes + 2).map(Some)
}

fn more_or<'a>(is_cut: bool, reject: Reject) -> Result<Option<Request<'a>>, Reject> {
    if is_cut { Err(reject) } else { Ok(None) }
}

/// Number of fields that almost no request exceeds. A table of this size is tried first, since it
/// is faster to clear than a table of [`FIELDS_BOUND`] entries.
const FIELDS_USUAL: usize = 32;

/// Returns the length of the field lines without the empty line after them, and the positions of
/// the known fields.
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

/// Parses the fields. The table has room for `TABLE` fields, but at most `fields_max` fields are
/// accepted.
fn parse_into<const TABLE: usize>(
    bytes: &[u8],
    fields_max: usize,
) -> Result<Option<(usize, KnownFields<'_>)>, Reject> {
    const BARE_LF: Reject = Reject::bad("a line does not end in CRLF");
    let mut table = [httparse::EMPTY_HEADER; TABLE];
    let (head_bytes, fields) = match httparse::parse_headers(bytes, &mut table[..fields_max]) {
        Ok(httparse::Status::Complete(complete)) => complete,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(translate_error(error)),
    };
    // httparse accepts a bare LF as the end of a line, and RFC 9112 §2.2 allows this. Here a bare
    // LF is an error, because request smuggling exploits it. Names and values cannot contain LF, so
    // only the ends of lines are checked.
    let Some(section) = bytes[..head_bytes].strip_suffix(b"\r\n") else {
        return Err(BARE_LF);
    };
    let mut known = KnownFields::default();
    for field in fields {
        let line_start = offset_in(section, field.name.as_bytes());
        if line_start != 0 && !section[..line_start].ends_with(b"\r\n") {
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

const TOO_MANY: Reject = Reject::with(431, "the request has too many fields");

/// Translates an error of httparse. httparse parses from left to right and stops at the first
/// error, so bytes that arrive later cannot change that error.
fn translate_error(error: httparse::Error) -> Reject {
    match error {
        httparse::Error::TooManyHeaders => TOO_MANY,
        // RFC 9112 §5.1 requires status 400 for a space before the colon. §5.2 allows this status
        // for obs-fold, and §2.2 for white space before the first field.
        httparse::Error::HeaderName => {
            Reject::bad("a field line does not begin with a name and a colon")
        }
        // RFC 9110 §5.5: a field value contains no control characters other than tabs.
        httparse::Error::HeaderValue => Reject::bad("a field value has a control character"),
        _ => Reject::bad("a line does not end in CRLF"),
    }
}

/// Combines the request line and the fields into a request.
fn validate<'a>(
    line: RequestLine<'a>,
    known: KnownFields<'a>,
    section: &'a [u8],
    head_bytes: usize,
) -> Result<Request<'a>, Reject> {
    let host = parse_host(&known, line.version)?;
    let framing = framing::validate(&known, line.version)?;
    let expects = parse_expect(&known)?;
    Ok(Request {
        method: line.method,
        method_name: line.method_name,
        target: line.target,
        version: line.version,
        // RFC 9112 §3.2.2: an absolute target's authority replaces the Host field.
        host: line.authority.or(host),
        keep_alive: parse_keep_alive(&known, line.version),
        // RFC 9110 §10.1.1: an expectation in HTTP/1.0, or in a request without a body, is ignored.
        expect_continue: expects && line.version == Version::Http11 && framing != Framing::None,
        framing,
        head_bytes,
        known,
        section,
    })
}

/// Returns the value of the Host field. RFC 9112 §3.2: HTTP/1.1 requires exactly one Host field,
/// and HTTP/1.0 allows at most one. The value must be valid even if an absolute target overrides
/// it.
fn parse_host<'a>(known: &KnownFields<'a>, version: Version) -> Result<Option<&'a str>, Reject> {
    let values = known.values(Known::Host);
    if values.is_empty() {
        return match version {
            Version::Http10 => Ok(None),
            Version::Http11 => Err(Reject::bad("the request has no Host field")),
        };
    }
    let host = values
        .only()
        .ok_or(Reject::bad("the request has more than one Host field"))?;
    if !authority::is_valid(host) {
        return Err(Reject::bad(
            "the Host field is not a host with an optional port",
        ));
    }
    Ok(Some(
        str::from_utf8(host).expect("a valid authority is ASCII"),
    ))
}

/// Returns whether the client expects `100-continue`. Any other expectation gets 417, as RFC 9110
/// §10.1.1 allows.
fn parse_expect(known: &KnownFields<'_>) -> Result<bool, Reject> {
    let values = known.values(Known::Expect);
    if values.is_empty() {
        return Ok(false);
    }
    let mut expects = false;
    for expectation in values.into_iter().flat_map(members) {
        if !expectation.eq_ignore_ascii_case(b"100-continue") {
            return Err(Reject::with(
                417,
                "the request has an expectation other than 100-continue",
            ));
        }
        expects = true;
    }
    Ok(expects)
}

/// Returns whether the connection persists. RFC 9112 §9.3: with `close`, the connection does not
/// persist. Otherwise an HTTP/1.1 connection persists, and an HTTP/1.0 connection only with
/// `keep-alive`.
fn parse_keep_alive(known: &KnownFields<'_>, version: Version) -> bool {
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

/// Returns the members of a list of tokens. RFC 9110 §5.6.1.2: empty members are ignored.
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(trim)
        .filter(|member| !member.is_empty())
}
