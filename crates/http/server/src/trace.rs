//! Fields of traces: `traceparent` in requests (W3C Trace Context Level 1 §3.2), and
//! `traceresponse` in responses.
//!
//! If a request belongs to a trace, the response names the span under which the access log records
//! the request. The field `traceresponse` is defined by the editors' draft of Trace Context.
//! If the access log is off, no span exists, so the field is omitted. The server itself does not
//! start traces; a proxy in front of the server can.

use crate::request_id::RequestId;
use crate::response::Response;

/// Parsed `traceparent` field: the trace of a request, and the caller's span in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traceparent<'a> {
    /// Id of the trace, 32 hexadecimal digits.
    pub(crate) trace_id: &'a str,
    /// Id of the caller's span, 16 hexadecimal digits.
    pub(crate) parent_id: &'a str,
}

impl<'a> Traceparent<'a> {
    /// Parses the value of a field. Returns `None` for an invalid value, which §4.3 requires to be
    /// ignored.
    pub(crate) fn parse(value: &'a [u8]) -> Option<Traceparent<'a>> {
        const LENGTH: usize = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".len();
        let text = str::from_utf8(value).ok()?;
        // W3C Trace Context §3.2.4: the value of a later version may be longer, but has the same
        // beginning.
        let (known, rest) = text.split_at_checked(LENGTH)?;
        let mut parts = known.split('-');
        let mut next = |digits| {
            let part: &str = parts.next()?;
            let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            (part.len() == digits && part.bytes().all(hex)).then_some(part)
        };
        let (version, trace_id, parent_id) = (next(2)?, next(32)?, next(16)?);
        next(2)?;
        let ends = match version {
            "ff" => false,
            "00" => rest.is_empty(),
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let named = [trace_id, parent_id]
            .iter()
            .all(|id| id.bytes().any(|byte| byte != b'0'));
        (ends && named).then_some(Traceparent {
            trace_id,
            parent_id,
        })
    }
}

/// Trace id of a logged request, as hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId([u8; 32]);

impl TraceId {
    /// Returns the trace id of `traceparent`.
    pub(crate) fn of(traceparent: &Traceparent<'_>) -> TraceId {
        let digits = traceparent.trace_id.as_bytes();
        TraceId(digits.try_into().expect("a trace id has 32 digits"))
    }

    /// Adds the `traceresponse` field to `response`. The span derives from the request id of the
    /// response; if the response has no id yet, `next_id` supplies one.
    pub(crate) fn add_field(self, response: &mut Response, next_id: impl FnOnce() -> RequestId) {
        let id = *response.request_id.get_or_insert_with(next_id);
        response
            .added
            .push(("traceresponse".into(), self.response(id).into()));
    }

    /// Formats the value of `traceresponse`: version, trace id, span id, and a flag that means that
    /// the span is recorded.
    fn response(self, id: RequestId) -> String {
        let trace_id = str::from_utf8(&self.0).expect("hexadecimal digits are ASCII");
        format!("00-{trace_id}-{:016x}-01", id.span())
    }
}

#[cfg(test)]
mod tests;
