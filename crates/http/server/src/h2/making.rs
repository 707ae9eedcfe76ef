//! Answers that take their time: each a task on its core, so many at a time.

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

/// What an answer is to be made for.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) stream: u32,
    pub(super) asker: Asker,
    /// The request's head in the words of HTTP/1.1, which was judged sound.
    pub(super) text: Vec<u8>,
    pub(super) came: Came,
}

/// Answers in the making, and those that wait for their turn.
#[derive(Debug, Default)]
pub(super) struct Making {
    tasks: JoinSet<(u32, Answer)>,
    begun: Vec<(u32, Asker, AbortHandle)>,
    waiting: VecDeque<Order>,
}

impl Making {
    /// Those begun and those that wait.
    pub(super) fn len(&self) -> usize {
        self.begun.len() + self.waiting.len()
    }

    pub(super) fn push(&mut self, order: Order) {
        self.waiting.push_back(order);
    }

    /// Begins those whose turn it is, until `making_max` are under way.
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

    /// One that is ready; a panic goes on in the connection.
    pub(super) fn poll_made(&mut self, context: &mut Context<'_>) -> Option<(u32, Asker, Answer)> {
        while let Poll::Ready(Some(joined)) = self.tasks.poll_join_next(context) {
            match joined {
                Ok((stream, answer)) => {
                    // One that was given up meanwhile is not here any more.
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

    /// Gives one up.
    pub(super) fn drop(&mut self, stream: u32) {
        self.waiting.retain(|order| order.stream != stream);
        if let Some(index) = self.begun.iter().position(|(begun, ..)| *begun == stream) {
            let (.., handle) = self.begun.swap_remove(index);
            handle.abort();
        }
    }
}
