//! TLS handshakes in progress on one core, and their limit.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use tokio::sync::oneshot::{self, Receiver, Sender};

/// TLS handshakes in progress. When the limit is reached, a new handshake closes the oldest one.
///
/// If new handshakes were refused instead, an attacker could occupy all slots and lock out other
/// clients. As it is, an attacker locks out a client only by starting as many handshakes as there
/// are slots while the client's handshake runs.
#[derive(Debug)]
pub(crate) struct Handshakes {
    max: usize,
    number: Cell<u64>,
    /// Handshakes in order of their start.
    running: RefCell<VecDeque<(u64, Sender<()>)>>,
}

/// Slot of one handshake, which counts towards the limit until the slot is dropped.
#[derive(Debug)]
pub(crate) struct HandshakeSlot<'a> {
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

    pub(crate) fn begin(&self) -> HandshakeSlot<'_> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let (end, ended) = oneshot::channel();
        let running = &mut *self.running.borrow_mut();
        running.push_back((number, end));
        if self.max < running.len() {
            // Dropping the sender wakes the handshake, which then fails.
            running.pop_front();
        }
        HandshakeSlot {
            handshakes: self,
            number,
            ended,
        }
    }
}

impl HandshakeSlot<'_> {
    /// Waits until the slot is taken for a newer handshake. Cancel-safe.
    pub(crate) async fn taken(&mut self) {
        // The sender sends nothing, so this future waits until the sender is dropped.
        drop((&mut self.ended).await);
    }
}

impl Drop for HandshakeSlot<'_> {
    fn drop(&mut self) {
        let running = &mut *self.handshakes.running.borrow_mut();
        if let Ok(index) = running.binary_search_by_key(&self.number, |(number, _)| *number) {
            running.remove(index);
        }
    }
}
