//! Uploads: requests whose body is being received. The response is prepared after the whole body
//! has arrived.

use std::time::Duration;

use http1::Reject;
use tokio::time::Instant;

use super::completed_stream::RequestInfo;
use crate::core::Core;
use crate::request_context::RequestContext;

/// Request whose body is being received.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) stream: u32,
    pub(super) request_info: RequestInfo,
    /// Head of the request, converted to HTTP/1.1 text.
    pub(super) text: Vec<u8>,
    pub(super) context: RequestContext,
    /// True if a mount needs the body; otherwise its bytes are dropped.
    pub(super) is_kept: bool,
    /// Number of body bytes that may still arrive before the body is too large.
    left: u64,
    /// Number of body bytes that have arrived since `due` was last set.
    window_bytes: u64,
    /// Time at which the upload is rejected as too slow: RFC 9110 §15.5.9.
    pub(super) due: Instant,
}

impl Upload {
    pub(super) fn new(
        core: &Core,
        (stream, request_info): (u32, RequestInfo),
        text: Vec<u8>,
        context: RequestContext,
        is_kept: bool,
    ) -> Upload {
        let settings = &core.service.settings;
        Upload {
            stream,
            request_info,
            text,
            context,
            is_kept,
            left: match is_kept {
                true => settings.limits.request_body_bytes as u64,
                false => settings.http.body_bytes_max,
            },
            window_bytes: 0,
            due: due(core),
        }
    }

    /// Appends the next part of the body, or drops the part if no mount needs the body.
    ///
    /// # Errors
    /// The body is too large, or the core is receiving too many bodies.
    pub(super) fn take(&mut self, core: &Core, part: &[u8]) -> Result<(), Reject> {
        const TOO_LARGE: Reject = Reject {
            status: 413,
            reason: "the body is too large",
        };
        let left = self.left.checked_sub(part.len() as u64);
        self.left = left.ok_or(TOO_LARGE)?;
        if self.is_kept {
            let all_bytes_max = core.service.settings.limits.core_request_body_bytes;
            self.context.body.add(part, all_bytes_max)?;
        }
        self.window_bytes += part.len() as u64;
        if core.reactor.limits().body_window_bytes() <= self.window_bytes {
            (self.window_bytes, self.due) = (0, due(core));
        }
        Ok(())
    }
}

fn due(core: &Core) -> Instant {
    Instant::now() + Duration::from_millis(core.reactor.limits().body_ms)
}
