//! The request line: RFC 9112 §3. It is parsed from left to right, and the first error is reported,
//! so bytes that arrive later never change a rejection.

use crate::authority;
use crate::class::{is_target, is_token};
use crate::{Limits, Method, Reject, Target, Version};

/// Maximum length of a method; the longest registered method has 17 bytes.
const METHOD_BYTES_MAX: usize = 24;

/// Known methods. CONNECT is excluded: the bytes after it are a tunnel, not a request.
const METHODS: [(&str, Method); 8] = [
    ("GET", Method::Get),
    ("HEAD", Method::Head),
    ("OPTIONS", Method::Options),
    ("POST", Method::Other),
    ("PUT", Method::Other),
    ("DELETE", Method::Other),
    ("PATCH", Method::Other),
    ("TRACE", Method::Other),
];

/// A validated request line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestLine<'a> {
    pub(crate) method: Method,
    pub(crate) method_name: &'static str,
    pub(crate) target: Target<'a>,
    pub(crate) version: Version,
    /// Authority of an absolute target; it overrides the Host field.
    pub(crate) authority: Option<&'a str>,
    /// Length of the line, including its CRLF.
    pub(crate) bytes: usize,
}

/// Parses the request line. Returns `None` if more bytes are needed.
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<Option<RequestLine<'a>>, Reject> {
    let Some((method, rest)) = split_method(bytes)? else {
        return Ok(None);
    };
    let Some((target, rest)) = split_target(rest, limits.target_bytes_max)? else {
        return Ok(None);
    };
    let Some((version, rest)) = split_version(rest)? else {
        return Ok(None);
    };
    // RFC 9110 §2.5: a request with a higher minor version is handled as the highest version known.
    let version = match version {
        b"HTTP/1.0\r\n" => Version::Http10,
        [b'H', b'T', b'T', b'P', b'/', b'1', ..] => Version::Http11,
        _ => {
            return Err(Reject::with(
                505,
                "only HTTP/1.0 and HTTP/1.1 are supported here",
            ));
        }
    };
    let Some((method_name, method)) = METHODS.iter().find(|(name, _)| name.as_bytes() == method)
    else {
        return Err(Reject::with(501, "the method is not implemented"));
    };
    let (authority, target) = resolve(target, *method)?;
    Ok(Some(RequestLine {
        method: *method,
        method_name,
        target,
        version,
        authority,
        bytes: bytes.len() - rest.len(),
    }))
}

type Split<'a> = Option<(&'a [u8], &'a [u8])>;

/// Returns the method, and the bytes after the single space that ends the method.
fn split_method(bytes: &[u8]) -> Result<Split<'_>, Reject> {
    let end = bytes.iter().position(|&byte| !is_token(byte));
    // RFC 9112 §3: a method longer than all implemented methods gets 501.
    if METHOD_BYTES_MAX < end.unwrap_or(bytes.len()) {
        return Err(Reject::with(501, "the method is not implemented"));
    }
    let Some(end) = end else {
        return Ok(None);
    };
    if end == 0 || bytes[end] != b' ' {
        return Err(Reject::bad(
            "the request line does not begin with a method and one space",
        ));
    }
    Ok(Some((&bytes[..end], &bytes[end + 1..])))
}

/// Returns the target, and the bytes after the single space that ends the target.
fn split_target(bytes: &[u8], target_bytes_max: usize) -> Result<Split<'_>, Reject> {
    let end = bytes.iter().position(|&byte| !is_target(byte));
    if target_bytes_max < end.unwrap_or(bytes.len()) {
        return Err(Reject::with(414, "the target is too long"));
    }
    let Some(end) = end else {
        return Ok(None);
    };
    match bytes[end] {
        b' ' if end == 0 => Err(Reject::bad("more than one space before the target")),
        b' ' => Ok(Some((&bytes[..end], &bytes[end + 1..]))),
        // RFC 9112 §3.2: a request target has no fragment.
        b'#' => Err(Reject::bad("the target has a fragment")),
        b'\r' | b'\n' => Err(Reject::bad("the request line has no version")),
        _ => Err(Reject::bad(
            "the target has a byte that must be percent-encoded",
        )),
    }
}

/// Returns the version with the line's CRLF, and the bytes after them.
fn split_version(bytes: &[u8]) -> Result<Split<'_>, Reject> {
    // RFC 9112 §2.3: the name `HTTP` is case-sensitive, and each number has one digit.
    const SHAPE: &[u8] = b"HTTP/d.d\r\n";
    for (&byte, &shape) in bytes.iter().zip(SHAPE) {
        let fits = match shape {
            b'd' => byte.is_ascii_digit(),
            _ => byte == shape,
        };
        if !fits {
            return Err(Reject::bad(
                "the request line does not end with one space, a version and CRLF",
            ));
        }
    }
    Ok(bytes.split_at_checked(SHAPE.len()))
}

/// Parses a target in asterisk form, origin form or absolute form (RFC 9112 §3.2). Rejects other
/// targets. Returns the target in origin form, and for an absolute target also its authority.
fn resolve(target: &[u8], method: Method) -> Result<(Option<&str>, Target<'_>), Reject> {
    const NOT_A_TARGET: Reject = Reject::bad("the target is neither a path nor an http URL");
    let text = str::from_utf8(target).map_err(|_| NOT_A_TARGET)?;
    if text == "*" {
        if method != Method::Options {
            return Err(Reject::bad("the target * is for OPTIONS only"));
        }
        return Ok((
            None,
            Target {
                path: "*",
                query: None,
            },
        ));
    }
    if text.starts_with('/') {
        return Ok((None, origin_form(text)));
    }
    let (scheme, rest) = text.split_once("://").ok_or(NOT_A_TARGET)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(NOT_A_TARGET);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    if !authority::is_valid(authority.as_bytes()) {
        return Err(Reject::bad(
            "the target's authority is not a host and a port",
        ));
    }
    let mut target = origin_form(rest);
    if target.path.is_empty() {
        // RFC 9112 §3.2.4: in OPTIONS, a URL with neither a path nor a query means the whole
        // server. In all other cases an empty path means the root.
        let whole = method == Method::Options && target.query.is_none();
        target.path = if whole { "*" } else { "/" };
    }
    Ok((Some(authority), target))
}

fn origin_form(text: &str) -> Target<'_> {
    match text.split_once('?') {
        Some((path, query)) => Target {
            path,
            query: Some(query),
        },
        None => Target {
            path: text,
            query: None,
        },
    }
}
