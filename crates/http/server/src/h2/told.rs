//! Records of streams for the metrics and the access log.

use std::net::IpAddr;
use std::time::Instant;

use http1::Method;
use http2::Head;
use variants::clock::unix_ms;

use super::translate;
use crate::access::LogResponse;
use crate::answer::Answer;
use crate::core::Core;
use crate::metrics::{Protocol, ResponseRecord};
use crate::request_id::RequestId;
use crate::trace::TraceId;

/// Record of a request.
#[derive(Debug)]
pub(super) struct RequestInfo {
    begun: Instant,
    pub(super) method: Method,
    /// Record for the access log; empty if the log is off.
    asked: Vec<u8>,
    /// Trace of the request, if it is logged.
    trace: Option<TraceId>,
}

impl RequestInfo {
    /// Records the client and time of a request with `head`, rejected or not.
    pub(super) fn new(core: &Core, head: &Head, peer: IpAddr, begun: Instant) -> RequestInfo {
        let mut request_info = RequestInfo {
            begun,
            method: translate::method(head),
            asked: Vec::new(),
            trace: None,
        };
        if let Some(access) = &core.service.access {
            let mut asked = translate::asked(head, peer);
            asked.target = core.service.mounts.loggable(asked.target);
            asked.write(access.field_bytes_max(), &mut request_info.asked);
            request_info.trace = asked.traceparent.as_ref().map(TraceId::of);
        }
        request_info
    }

    /// Adds the field that names the span of the trace.
    pub(super) fn add_trace_field(&self, answer: &mut Answer, core: &Core) {
        if let Some(trace) = self.trace {
            trace.tell(answer, core);
        }
    }
}

/// Record of a response; bytes of its body count when they are handed over.
#[derive(Debug)]
pub(super) struct CompletedStream {
    request_info: RequestInfo,
    pub(super) answered: ResponseRecord,
    id: RequestId,
}

impl CompletedStream {
    pub(super) fn new(request_info: RequestInfo, answer: &Answer, core: &Core) -> CompletedStream {
        let answered = ResponseRecord {
            method: request_info.method,
            status: answer.status,
            served: answer.served,
            body_bytes: 0,
        };
        let id = answer.request_id;
        CompletedStream {
            request_info,
            answered,
            id: id.unwrap_or_else(|| core.next_request_id()),
        }
    }

    /// Counts and logs the response, which ended at `now`.
    pub(super) fn tell(&self, core: &Core, now: Instant) {
        let duration_us = now.duration_since(self.request_info.begun).as_micros() as u64;
        let index = core.reactor.index();
        let metrics = core.service.metrics.core(index);
        metrics.answered(&self.answered, duration_us);
        metrics.record_protocol(Protocol::Http2);
        if let Some(access) = &core.service.access {
            let said = LogResponse::to(&self.answered, self.id, duration_us, unix_ms());
            access.add(index, &self.request_info.asked, &said);
        }
    }
}
