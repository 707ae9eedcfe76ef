//! Responses that need waiting: each a task on its core, a limited number at a time.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::task::{AbortHandle, JoinSet};

use super::told::Asker;
use super::translate;
use crate::answer::Answer;
use crate::core::Core;
use crate::mount::Came;

/// Request whose response is to be prepared.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) stream: u32,
    pub(super) asker: Asker,
    /// Validated head of the request in the form of HTTP/1.1.
    pub(super) text: Vec<u8>,
    pub(super) came: Came,
}

/// Responses in preparation, and requests that wait for their turn.
#[derive(Debug, Default)]
pub(super) struct Making {
    tasks: JoinSet<(u32, Answer)>,
    begun: Vec<(u32, Asker, AbortHandle)>,
    waiting: VecDeque<Order>,
}

impl Making {
    /// Returns the number of both.
    pub(super) fn len(&self) -> usize {
        self.begun.len() + self.waiting.len()
    }

    pub(super) fn push(&mut self, order: Order) {
        self.waiting.push_back(order);
    }

    /// Starts requests until `making_max` are in preparation.
    pub(super) fn begin(&mut self, core: &Rc<Core>, making_max: usize) -> bool {
        let mut any = false;
        while self.begun.len() < making_max
            && let Some(order) = self.waiting.pop_front()
        {
            let Order {
                stream,
                asker,
                text,
                mut came,
            } = order;
            came.takes_pieces = true;
            let core = Rc::clone(core);
            let handle = self.tasks.spawn_local(async move {
                let limits = &core.service.settings.http;
                let request = translate::read(&text, limits).expect("it was judged sound");
                (stream, core.answer_slowly(&request, &mut came).await)
            });
            self.begun.push((stream, asker, handle));
            any = true;
        }
        any
    }

    /// Returns a response that is ready. A panic propagates to the connection.
    pub(super) fn poll_made(&mut self, context: &mut Context<'_>) -> Option<(u32, Asker, Answer)> {
        while let Poll::Ready(Some(joined)) = self.tasks.poll_join_next(context) {
            match joined {
                Ok((stream, answer)) => {
                    // A stream that was reset meanwhile is no longer listed.
                    if let Some(asker) = self.take(stream) {
                        return Some((stream, asker, answer));
                    }
                }
                Err(err) if err.is_panic() => resume_unwind(err.into_panic()),
                Err(_) => {}
            }
        }
        None
    }

    fn take(&mut self, stream: u32) -> Option<Asker> {
        let index = self.begun.iter().position(|(begun, ..)| *begun == stream)?;
        let (_, asker, _) = self.begun.swap_remove(index);
        Some(asker)
    }

    /// Cancels the response of a stream.
    pub(super) fn drop(&mut self, stream: u32) {
        self.waiting.retain(|order| order.stream != stream);
        if let Some(index) = self.begun.iter().position(|(begun, ..)| *begun == stream) {
            let (.., handle) = self.begun.swap_remove(index);
            handle.abort();
        }
    }
}
