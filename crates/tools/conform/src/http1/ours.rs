//! Interpretation of a case by our own parser. This module calls the parser as the crate `server`
//! does for a connection, but without a socket.

use http1::body::BodyDecoder;
use http1::{Framing, Limits, Reject, Request, parse};

use super::reading::{End, ParsedRequest, Reading, text};

pub(crate) fn read(bytes: &[u8]) -> Reading {
    let limits = Limits::default();
    let mut requests = Vec::new();
    let mut rest = bytes;
    let end = loop {
        let request = match parse(rest, &limits) {
            Ok(Some(request)) => request,
            Ok(None) => break End::Waits,
            Err(reject) => break refuses(reject),
        };
        let after = &rest[request.head_bytes..];
        let drained = BodyDecoder::new(request.framing, &limits)
            .and_then(|mut drain| Ok((drain.feed(after)?, drain.is_done())));
        let whole = matches!(drained, Ok((_, true)));
        requests.push(parsed_request(&request, rest, whole));
        match drained {
            Err(reject) => break refuses(reject),
            Ok((_, false)) => break End::Waits,
            Ok(_) if !request.keep_alive => break End::Closes,
            Ok((drained, true)) => rest = &after[drained.bytes..],
        }
    };
    Reading { requests, end }
}

fn refuses(reject: Reject) -> End {
    End::Refuses(format!("{} {}", reject.status, reject.reason))
}

fn parsed_request(request: &Request<'_>, bytes: &[u8], whole: bool) -> ParsedRequest {
    let line = bytes.strip_prefix(b"\r\n").unwrap_or(bytes);
    let words: Vec<&[u8]> = line.splitn(3, |&byte| byte == b' ').collect();
    ParsedRequest {
        line: text(&words[..2].join(&b' ')),
        content_bytes: match request.framing {
            Framing::None => Some(0),
            Framing::Length(length) => Some(length),
            Framing::Chunked => None,
        },
        whole,
    }
}
