//! Records of HTTP/2 streams for the metrics and the access log.

use std::net::IpAddr;
use std::time::Instant;

use http1::Method;
use http2::Head;
use wall_clock::unix_ms;

use super::translate;
use crate::access::LogResponse;
use crate::core::Core;
use crate::metrics::{Protocol, ResponseRecord};
use crate::request_id::RequestId;
use crate::response::Response;
use crate::trace::TraceId;

/// Record of a request on one stream.
#[derive(Debug)]
pub(super) struct RequestInfo {
    begun: Instant,
    pub(super) method: Method,
    /// The request's record for the access log; empty if the log is off.
    request_log: Vec<u8>,
    /// Trace id of the request, if the request is logged.
    trace: Option<TraceId>,
}

impl RequestInfo {
    /// Records the client, the time and the head of a request, which may be rejected later.
    pub(super) fn new(core: &Core, head: &Head, peer: IpAddr, begun: Instant) -> RequestInfo {
        let mut request_info = RequestInfo {
            begun,
            method: translate::method(head),
            request_log: Vec::new(),
            trace: None,
        };
        if let Some(access) = &core.service.access {
            let mut request_log = translate::log_request(head, peer);
            request_log.target = core.service.mounts.loggable(request_log.target);
            request_log.write(access.field_bytes_max(), &mut request_info.request_log);
            request_info.trace = request_log.traceparent.as_ref().map(TraceId::of);
        }
        request_info
    }

    /// Adds the `traceresponse` field to `response`, if the request has a trace.
    pub(super) fn add_trace_field(&self, response: &mut Response, core: &Core) {
        if let Some(trace) = self.trace {
            trace.add_field(response, || core.next_request_id());
        }
    }
}

/// Record of a response. The bytes of its body are counted when they are queued for writing.
#[derive(Debug)]
pub(super) struct CompletedStream {
    request_info: RequestInfo,
    pub(super) record: ResponseRecord,
    id: RequestId,
}

impl CompletedStream {
    pub(super) fn new(
        request_info: RequestInfo,
        response: &Response,
        core: &Core,
    ) -> CompletedStream {
        let record = ResponseRecord {
            method: request_info.method,
            status: response.status,
            served: response.served,
            body_bytes: 0,
            saved_bytes: response.saved_bytes(),
        };
        let id = response.request_id;
        CompletedStream {
            request_info,
            record,
            id: id.unwrap_or_else(|| core.next_request_id()),
        }
    }

    /// Counts and logs the response, which ended at `now`.
    pub(super) fn count_and_log(&self, core: &Core, now: Instant) {
        let duration_us = now.duration_since(self.request_info.begun).as_micros() as u64;
        let index = core.reactor.index();
        let metrics = core.service.metrics.core(index);
        metrics.record(&self.record, duration_us);
        metrics.record_protocol(Protocol::Http2);
        if let Some(access) = &core.service.access {
            let log_response = LogResponse::to(&self.record, self.id, duration_us, unix_ms());
            access.add(index, &self.request_info.request_log, &log_response);
        }
    }
}
