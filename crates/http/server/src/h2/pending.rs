//! Responses that cannot be prepared at once. Each of them is prepared by a task on the core. The
//! number of concurrent tasks is limited.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::task::{AbortHandle, JoinSet};

use super::completed_stream::RequestInfo;
use super::translate;
use crate::core::Core;
use crate::request_context::RequestContext;
use crate::response::Response;

/// Request whose response is to be prepared.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) stream: u32,
    pub(super) request_info: RequestInfo,
    /// Validated head of the request, converted to HTTP/1.1 text.
    pub(super) text: Vec<u8>,
    pub(super) context: RequestContext,
}

/// Responses in preparation, and requests whose preparation has not started.
#[derive(Debug, Default)]
pub(super) struct PendingResponses {
    tasks: JoinSet<(u32, Response)>,
    running: Vec<(u32, RequestInfo, AbortHandle)>,
    waiting: VecDeque<PendingRequest>,
}

impl PendingResponses {
    /// Returns the number of responses in preparation and of waiting requests together.
    pub(super) fn len(&self) -> usize {
        self.running.len() + self.waiting.len()
    }

    pub(super) fn push(&mut self, pending_request: PendingRequest) {
        self.waiting.push_back(pending_request);
    }

    /// Starts waiting requests until `running_max` responses are in preparation. Returns whether it
    /// started any.
    pub(super) fn begin(&mut self, core: &Rc<Core>, running_max: usize) -> bool {
        let mut any = false;
        while self.running.len() < running_max
            && let Some(pending_request) = self.waiting.pop_front()
        {
            let PendingRequest {
                stream,
                request_info,
                text,
                mut context,
            } = pending_request;
            context.supports_streaming = true;
            let core = Rc::clone(core);
            let handle = self.tasks.spawn_local(async move {
                let limits = &core.service.settings.http;
                let request =
                    translate::read(&text, limits).expect("the request was parsed before");
                (stream, core.respond(&request, &mut context).await)
            });
            self.running.push((stream, request_info, handle));
            any = true;
        }
        any
    }

    /// Returns a response that is ready, if any. If a task panicked, resumes the panic, which ends
    /// the connection.
    pub(super) fn poll_response(
        &mut self,
        context: &mut Context<'_>,
    ) -> Option<(u32, RequestInfo, Response)> {
        while let Poll::Ready(Some(joined)) = self.tasks.poll_join_next(context) {
            match joined {
                Ok((stream, response)) => {
                    // A stream that was reset during the preparation is not in `running` any more.
                    if let Some(request_info) = self.take(stream) {
                        return Some((stream, request_info, response));
                    }
                }
                Err(err) if err.is_panic() => resume_unwind(err.into_panic()),
                Err(_) => {}
            }
        }
        None
    }

    fn take(&mut self, stream: u32) -> Option<RequestInfo> {
        let index = self
            .running
            .iter()
            .position(|(running, ..)| *running == stream)?;
        let (_, request_info, _) = self.running.swap_remove(index);
        Some(request_info)
    }

    /// Cancels the response on a stream, whether it is in preparation or waiting.
    pub(super) fn drop(&mut self, stream: u32) {
        self.waiting
            .retain(|pending_request| pending_request.stream != stream);
        if let Some(index) = self
            .running
            .iter()
            .position(|(running, ..)| *running == stream)
        {
            let (.., handle) = self.running.swap_remove(index);
            handle.abort();
        }
    }
}
