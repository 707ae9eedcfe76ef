//! Records of streams for the metrics and the access log.

use std::net::IpAddr;
use std::time::Instant;

use http1::Method;
use http2::Head;
use variants::clock::unix_ms;

use super::translate;
use crate::access::Said;
use crate::answer::Answer;
use crate::core::Core;
use crate::metrics::{Answered, Protocol};
use crate::request_id::RequestId;
use crate::trace::TraceId;

/// Record of a request.
#[derive(Debug)]
pub(super) struct Asker {
    begun: Instant,
    pub(super) method: Method,
    /// Record for the access log; empty if the log is off.
    asked: Vec<u8>,
    /// Trace of the request, if it is logged.
    trace: Option<TraceId>,
}

impl Asker {
    /// Records the client and time of a request with `head`, rejected or not.
    pub(super) fn new(core: &Core, head: &Head, peer: IpAddr, begun: Instant) -> Asker {
        let mut asker = Asker {
            begun,
            method: translate::method(head),
            asked: Vec::new(),
            trace: None,
        };
        if let Some(access) = &core.service.access {
            let mut asked = translate::asked(head, peer);
            asked.target = core.service.mounts.loggable(asked.target);
            asked.write(access.field_bytes_max(), &mut asker.asked);
            asker.trace = asked.traceparent.as_ref().map(TraceId::of);
        }
        asker
    }

    /// Adds the field that names the span of the trace.
    pub(super) fn tell_trace(&self, answer: &mut Answer, core: &Core) {
        if let Some(trace) = self.trace {
            trace.tell(answer, core);
        }
    }
}

/// Record of a response; bytes of its body count when they are handed over.
#[derive(Debug)]
pub(super) struct Told {
    asker: Asker,
    pub(super) answered: Answered,
    id: RequestId,
}

impl Told {
    pub(super) fn new(asker: Asker, answer: &Answer, core: &Core) -> Told {
        let answered = Answered {
            method: asker.method,
            status: answer.status,
            served: answer.served,
            body_bytes: 0,
        };
        let id = answer.request_id;
        Told {
            asker,
            answered,
            id: id.unwrap_or_else(|| core.next_request_id()),
        }
    }

    /// Counts and logs the response, which ended at `now`.
    pub(super) fn tell(&self, core: &Core, now: Instant) {
        let duration_us = now.duration_since(self.asker.begun).as_micros() as u64;
        let index = core.reactor.index();
        let metrics = core.service.metrics.core(index);
        metrics.answered(&self.answered, duration_us);
        metrics.spoke(Protocol::Http2);
        if let Some(access) = &core.service.access {
            let said = Said::to(&self.answered, self.id, duration_us, unix_ms());
            access.add(index, &self.asker.asked, &said);
        }
    }
}
