//! The handshakes of one core that are under way, and their bound.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use tokio::sync::oneshot::{self, Receiver, Sender};

/// Handshakes under way. When there are too many the oldest is ended, not the newest refused: whoever holds them all
/// would otherwise keep everybody out for as long as a handshake may take, and so needs a new one for each that he
/// stops, in the time that an honest one takes.
#[derive(Debug)]
pub(crate) struct Handshakes {
    max: usize,
    number: Cell<u64>,
    /// In order of their begin.
    running: RefCell<VecDeque<(u64, Sender<()>)>>,
}

/// One handshake's place.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    handshakes: &'a Handshakes,
    number: u64,
    ended: Receiver<()>,
}

impl Handshakes {
    pub(crate) fn new(max: usize) -> Handshakes {
        Handshakes {
            max,
            number: Cell::new(0),
            running: RefCell::default(),
        }
    }

    pub(crate) fn begin(&self) -> Place<'_> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let (end, ended) = oneshot::channel();
        let running = &mut *self.running.borrow_mut();
        running.push_back((number, end));
        if self.max < running.len() {
            // Dropping its sender wakes it.
            running.pop_front();
        }
        Place {
            handshakes: self,
            number,
            ended,
        }
    }
}

impl Place<'_> {
    /// Waits until the place is needed for another. Cancel-safe.
    pub(crate) async fn taken(&mut self) {
        // The sender is only ever dropped.
        drop((&mut self.ended).await);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let running = &mut *self.handshakes.running.borrow_mut();
        if let Ok(index) = running.binary_search_by_key(&self.number, |(number, _)| *number) {
            running.remove(index);
        }
    }
}
