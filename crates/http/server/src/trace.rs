//! `traceparent` in requests, as W3C Trace Context Level 1 §3.2 has it, and `traceresponse` in answers.
//!
//! Who asks within a trace is told which span the access log has the answer under, in the field that the editors' draft
//! of Trace Context has for it. Without a log there is no span, and nothing is told. A request without a trace begins
//! none: whether one is wanted is for whoever stands before us to say.

use crate::answer::Answer;
use crate::core::Core;
use crate::request_id::RequestId;

/// Who asked, in the trace that the request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traceparent<'a> {
    /// 32 hexadecimal digits.
    pub(crate) trace_id: &'a str,
    /// 16 hexadecimal digits: the caller's span.
    pub(crate) parent_id: &'a str,
}

impl<'a> Traceparent<'a> {
    /// Reads a field's value; `None` where it is not valid, and then §4.3 wants it ignored.
    pub(crate) fn parse(value: &'a [u8]) -> Option<Traceparent<'a>> {
        const LENGTH: usize = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".len();
        let text = str::from_utf8(value).ok()?;
        // §3.2.4: a later version may be longer, but begins like this one.
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

/// The trace that a logged request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId([u8; 32]);

impl TraceId {
    /// That of `traceparent`.
    pub(crate) fn of(traceparent: &Traceparent<'_>) -> TraceId {
        let digits = traceparent.trace_id.as_bytes();
        TraceId(digits.try_into().expect("a trace has 32 digits"))
    }

    /// Has `answer` say which span it is.
    pub(crate) fn tell(self, answer: &mut Answer, core: &Core) {
        let name = || core.next_request_id();
        let id = *answer.request_id.get_or_insert_with(name);
        answer
            .added
            .push(("traceresponse".into(), self.response(id).into()));
    }

    /// Version, trace, span, and that it was recorded.
    fn response(self, id: RequestId) -> String {
        let trace_id = str::from_utf8(&self.0).expect("digits are ASCII");
        format!("00-{trace_id}-{:016x}-01", id.span())
    }
}

#[cfg(test)]
mod tests;
