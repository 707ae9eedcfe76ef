//! Conversion of a request head of HTTP/2 to HTTP/1.1 text, so that the same code validates
//! targets, hosts, limits and preconditions of both protocols.
//!
//! The converted text is never sent. No value can extend beyond its line, since values contain no
//! CR, LF or NUL. Fields for framing or for the connection are left out, since HTTP/2 handles both
//! itself.

use std::net::IpAddr;

use http1::{Limits, Method, Reject, Request};
use http2::Head;

use crate::access::LogRequest;
use crate::trace::Traceparent;

/// Validates `head`: converts it to HTTP/1.1 in `text`, which must be empty, and parses `text`. The
/// returned request borrows `text`.
///
/// # Errors
/// As [`http1::parse`]. The stream gets the error response and the connection continues, since the
/// framing of HTTP/2 remains intact.
pub(super) fn request<'t>(
    head: &Head,
    text: &'t mut Vec<u8>,
    limits: &Limits,
) -> Result<Request<'t>, Reject> {
    const TOO_LARGE: Reject = Reject {
        status: 431,
        reason: "the header fields are too large",
    };
    if head.is_too_large() {
        return Err(TOO_LARGE);
    }
    write(head, text)?;
    read(text, limits)
}

/// Parses `text`, which [`request`] has written before.
///
/// # Errors
/// As [`request`].
pub(super) fn read<'t>(text: &'t [u8], limits: &Limits) -> Result<Request<'t>, Reject> {
    const INCOMPLETE: Reject = Reject {
        status: 400,
        reason: "the request has no equivalent in HTTP/1.1",
    };
    http1::parse(text, limits)?.ok_or(INCOMPLETE)
}

fn write(head: &Head, text: &mut Vec<u8>) -> Result<(), Reject> {
    const TWO_HOSTS: Reject = Reject {
        status: 400,
        reason: "Host and :authority differ",
    };
    check_target(head)?;
    for part in [head.method(), b" ", target(head), b" HTTP/1.1\r\n"] {
        text.extend_from_slice(part);
    }
    let authority = head.authority();
    if let Some(authority) = authority {
        line(text, b"host", authority);
    }
    let mut has_cookie = false;
    for (name, value) in head.fields() {
        match (name, authority) {
            // RFC 9113 §8.3.1: :authority replaces Host, and a different Host makes the request
            // malformed.
            (b"host", Some(authority)) if !value.eq_ignore_ascii_case(authority) => {
                return Err(TWO_HOSTS);
            }
            (b"host", Some(_)) | (b"content-length", _) => {}
            (b"cookie", _) => {
                if !has_cookie {
                    cookies(text, head);
                }
                has_cookie = true;
            }
            _ => line(text, name, value),
        }
    }
    text.extend_from_slice(b"\r\n");
    Ok(())
}

/// Rejects targets whose meaning differs between HTTP/1.1 and HTTP/2. RFC 9113 §8.3.1: `:path` is a
/// path, and the scheme has a field of its own. A CONNECT request has neither path nor scheme.
fn check_target(head: &Head) -> Result<(), Reject> {
    const NO_PATH: Reject = Reject {
        status: 400,
        reason: ":path does not begin with a slash",
    };
    const NOT_HTTP: Reject = Reject {
        status: 400,
        reason: ":scheme is neither http nor https",
    };
    match head.path() {
        b"" | b"*" | [b'/', ..] => {}
        _ => return Err(NO_PATH),
    }
    let is_http = |scheme: &[u8]| {
        scheme.eq_ignore_ascii_case(b"https") || scheme.eq_ignore_ascii_case(b"http")
    };
    match head.scheme() {
        Some(scheme) if !is_http(scheme) => Err(NOT_HTTP),
        _ => Ok(()),
    }
}

/// Appends all Cookie fields as one line, because HTTP/1.1 allows only one Cookie field. An HTTP/2
/// client may send each cookie in its own field (RFC 9113 §8.2.3).
fn cookies(text: &mut Vec<u8>, head: &Head) {
    let is_crumb = |(name, value): &(&[u8], &[u8])| *name == b"cookie" && !value.is_empty();
    let crumbs = head.fields().filter(is_crumb);
    text.extend_from_slice(b"cookie: ");
    for (index, (_, crumb)) in crumbs.enumerate() {
        text.extend_from_slice(if index == 0 { b"" } else { b"; " });
        text.extend_from_slice(crumb);
    }
    text.extend_from_slice(b"\r\n");
}

/// Returns the method of `head` for the metrics.
pub(super) fn method(head: &Head) -> Method {
    match head.method() {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"OPTIONS" => Method::Options,
        _ => Method::Other,
    }
}

/// Returns the record of `head` for the access log. The head may be that of a request that is
/// rejected.
pub(super) fn log_request(head: &Head, remote: IpAddr) -> LogRequest<'_> {
    let field = |wanted: &[u8]| {
        let mut fields = head.fields();
        let found = fields.find(|(name, _)| *name == wanted);
        found.map_or(&b""[..], |(_, value)| value)
    };
    let mut traceparents = head.fields().filter(|(name, _)| *name == b"traceparent");
    let traceparent = match (traceparents.next(), traceparents.next()) {
        (Some((_, only)), None) => Traceparent::parse(only),
        _ => None,
    };
    LogRequest {
        remote,
        protocol: "HTTP/2.0",
        method: head.method(),
        target: target(head),
        host: head.authority().unwrap_or_else(|| field(b"host")),
        referer: field(b"referer"),
        user_agent: field(b"user-agent"),
        traceparent,
    }
}

/// Returns the target of a request: the path, or the authority for CONNECT, which has no path.
fn target(head: &Head) -> &[u8] {
    match (head.path(), head.authority()) {
        (b"", Some(authority)) => authority,
        (path, _) => path,
    }
}

fn line(text: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        text.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests;
