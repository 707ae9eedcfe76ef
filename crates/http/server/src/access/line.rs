//! Line of the access log: first the request, then the response. Writing a line allocates no memory
//! except for the output buffer.

use std::io::Write as _;
use std::net::IpAddr;

use http1::{Request, date};

use crate::metrics::{ResponseRecord, Served};
use crate::request_id::RequestId;
use crate::trace::Traceparent;

/// Request as the client sent it, for the log. If the request could not be parsed, only the address
/// is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRequest<'a> {
    pub(crate) remote: IpAddr,
    pub(crate) protocol: &'static str,
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    pub(crate) host: &'a [u8],
    pub(crate) referer: &'a [u8],
    pub(crate) user_agent: &'a [u8],
    pub(crate) traceparent: Option<Traceparent<'a>>,
}

impl<'a> LogRequest<'a> {
    /// Returns the record of a request that violated HTTP.
    pub(crate) fn unread(remote: IpAddr) -> LogRequest<'a> {
        LogRequest {
            remote,
            protocol: "",
            method: b"",
            target: b"",
            host: b"",
            referer: b"",
            user_agent: b"",
            traceparent: None,
        }
    }

    /// Returns the record of a request that was parsed from `head`.
    pub(crate) fn of(request: &Request<'a>, head: &'a [u8], remote: IpAddr) -> LogRequest<'a> {
        let line = head.trim_ascii_start().split(|byte| *byte == b'\r').next();
        let mut words = line.unwrap_or(b"").split(|byte| *byte == b' ');
        let mut word = || words.next().unwrap_or(b"");
        let (method, target) = (word(), word());
        let mut record = LogRequest {
            protocol: match request.version {
                http1::Version::Http10 => "HTTP/1.0",
                http1::Version::Http11 => "HTTP/1.1",
            },
            method,
            target,
            host: request.host.unwrap_or("").as_bytes(),
            ..LogRequest::unread(remote)
        };
        let mut traceparents = 0;
        for (name, value) in request.fields() {
            if name.eq_ignore_ascii_case("referer") {
                record.referer = value;
            } else if name.eq_ignore_ascii_case("user-agent") {
                record.user_agent = value;
            } else if name.eq_ignore_ascii_case("traceparent") {
                traceparents += 1;
                record.traceparent = Traceparent::parse(value);
            }
        }
        if traceparents != 1 {
            record.traceparent = None;
        }
        record
    }

    /// Appends the JSON members that describe the request. Strings are truncated to
    /// `field_bytes_max` bytes.
    pub(crate) fn write(&self, field_bytes_max: usize, out: &mut Vec<u8>) {
        write!(out, ",\"remote\":\"{}\"", self.remote).expect("writing to a Vec cannot fail");
        let texts = [
            ("protocol", self.protocol.as_bytes()),
            ("method", self.method),
            ("target", self.target),
            ("host", self.host),
            ("referer", self.referer),
            ("user_agent", self.user_agent),
        ];
        for (name, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
            write!(out, ",\"{name}\":").expect("writing to a Vec cannot fail");
            json_bytes(out, &text[..text.len().min(field_bytes_max)]);
        }
        if let Some(Traceparent {
            trace_id,
            parent_id,
        }) = self.traceparent
        {
            write!(
                out,
                ",\"trace_id\":\"{trace_id}\",\"parent_id\":\"{parent_id}\""
            )
            .expect("writing to a Vec cannot fail");
        }
    }
}

/// Response, and the time at which it was logged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogResponse {
    pub(crate) unix_ms: u64,
    pub(crate) id: RequestId,
    pub(crate) status: u16,
    pub(crate) served: Served,
    pub(crate) body_bytes: u64,
    pub(crate) duration_us: u64,
}

impl LogResponse {
    /// Maximum size of the JSON members that describe the response, in bytes.
    pub(crate) const BYTES_MAX: usize = 256;

    /// Returns the log record of the response that `record` describes, for the request `id`.
    pub(crate) fn to(
        record: &ResponseRecord,
        id: RequestId,
        duration_us: u64,
        unix_ms: u64,
    ) -> LogResponse {
        LogResponse {
            unix_ms,
            id,
            status: record.status,
            served: record.served,
            body_bytes: record.body_bytes,
            duration_us,
        }
    }

    /// Appends the whole line. Its middle part is `request`, the output of [`LogRequest::write`].
    pub(crate) fn write(&self, request: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"time\":\"");
        out.extend_from_slice(&timestamp(self.unix_ms));
        write!(
            out,
            "\",\"id\":\"{}\",\"span_id\":\"{:016x}\"",
            self.id,
            self.id.span()
        )
        .expect("writing to a Vec cannot fail");
        out.extend_from_slice(request);
        let LogResponse {
            status,
            body_bytes,
            duration_us,
            ..
        } = self;
        let served = self.served.name();
        writeln!(
            out,
            ",\"status\":{status},\"bytes\":{body_bytes},\"duration_us\":{duration_us},\"served\":\"{served}\"}}"
        )
        .expect("writing to a Vec cannot fail");
    }
}

/// Formats a Unix time in milliseconds as an RFC 3339 timestamp, such as
/// `1994-11-06T08:49:37.123Z`.
fn timestamp(unix_ms: u64) -> [u8; 24] {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let seconds = i64::try_from(unix_ms / 1000).unwrap_or(i64::MAX);
    // Layout of the date: `Sun, 06 Nov 1994 08:49:37 GMT`.
    let date = date::format(seconds);
    let months = MONTHS.chunks(3).take_while(|month| **month != date[8..11]);
    let month = months.count() + 1;
    let mut out = *b"0000-00-00T00:00:00.000Z";
    out[..4].copy_from_slice(&date[12..16]);
    out[5] += (month / 10) as u8;
    out[6] += (month % 10) as u8;
    out[8..10].copy_from_slice(&date[5..7]);
    out[11..19].copy_from_slice(&date[17..25]);
    let millis = unix_ms % 1000;
    for (at, unit) in [(20, 100), (21, 10), (22, 1)] {
        out[at] += (millis / unit % 10) as u8;
    }
    out
}

/// Appends `bytes` as a JSON string (RFC 8259 §7). Values of fields are ASCII, except for obs-text
/// (RFC 9110 §5.5), which has no defined encoding. Each byte of obs-text becomes the character
/// whose code is this byte.
fn json_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            0x20..=0x7e => out.push(*byte),
            other => write!(out, "\\u{other:04x}").expect("writing to a Vec cannot fail"),
        }
    }
    out.push(b'"');
}
