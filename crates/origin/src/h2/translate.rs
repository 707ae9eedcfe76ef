//! A stream's head in the words of HTTP/1.1, so that one set of rules judges both: targets, hosts, limits, preconditions.
//!
//! These words never touch a wire, and nothing in them can break out of its line: `http`'s types hold no CR, LF or NUL.
//! What frames a message or speaks of its connection is HTTP/2's own business and left out.

use std::net::IpAddr;

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, REFERER, TRANSFER_ENCODING, USER_AGENT};
use http::request::Parts;
use http1::{Limits, Method, Reject, Request};

use crate::access::Asked;
use crate::trace::Traceparent;

/// Judges `head` by way of `text`, which must be empty and which the request borrows.
///
/// # Errors
/// As [`http1::parse`]. The stream gets the answer, and the connection goes on: HTTP/2's framing is not in doubt.
pub(super) fn request<'t>(
    head: &Parts,
    text: &'t mut Vec<u8>,
    limits: &Limits,
) -> Result<Request<'t>, Reject> {
    const TWO_HOSTS: Reject = Reject {
        status: 400,
        reason: "Host and :authority differ",
    };
    // RFC 9113 §8.3.1: :authority takes Host's place, and a Host that differs makes the request malformed.
    let authority = head.uri.authority().map(|authority| authority.as_str());
    for host in head.headers.get_all(HOST) {
        if authority
            .is_some_and(|authority| !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()))
        {
            return Err(TWO_HOSTS);
        }
    }
    for part in [head.method.as_str(), " ", target(head), " HTTP/1.1\r\n"] {
        text.extend_from_slice(part.as_bytes());
    }
    if let Some(authority) = authority {
        line(text, b"host", authority.as_bytes());
    }
    for (name, value) in &head.headers {
        let left_out = match *name {
            HOST => authority.is_some(),
            CONNECTION | CONTENT_LENGTH | TRANSFER_ENCODING => true,
            _ => false,
        };
        if !left_out {
            line(text, name.as_str().as_bytes(), value.as_bytes());
        }
    }
    text.extend_from_slice(b"\r\n");
    const NOT_WHOLE: Reject = Reject {
        status: 400,
        reason: "the request cannot be told in HTTP/1.1",
    };
    http1::parse(text, limits)?.ok_or(NOT_WHOLE)
}

/// The method of `head`, as it is counted.
pub(super) fn method(head: &Parts) -> Method {
    match head.method {
        http::Method::GET => Method::Get,
        http::Method::HEAD => Method::Head,
        http::Method::OPTIONS => Method::Options,
        _ => Method::Other,
    }
}

/// What `head` says, also where it is refused, for the access log.
pub(super) fn asked(head: &Parts, remote: IpAddr) -> Asked<'_> {
    let field = |name| head.headers.get(name).map_or(&b""[..], |it| it.as_bytes());
    let mut traceparents = head.headers.get_all("traceparent").iter();
    let traceparent = match (traceparents.next(), traceparents.next()) {
        (Some(only), None) => Traceparent::parse(only.as_bytes()),
        _ => None,
    };
    let authority = head.uri.authority();
    Asked {
        remote,
        protocol: "HTTP/2.0",
        method: head.method.as_str().as_bytes(),
        target: target(head).as_bytes(),
        host: authority.map_or_else(|| field(HOST), |it| it.as_str().as_bytes()),
        referer: field(REFERER),
        user_agent: field(USER_AGENT),
        traceparent,
    }
}

fn target(head: &Parts) -> &str {
    head.uri.path_and_query().map_or("/", |it| it.as_str())
}

fn line(text: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        text.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests;
