//! State of the core that its connections and tasks share.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::BytesMut;
use reactor::ZeroCopyWriter;

use crate::Limits;
use crate::client::ClientKey;
use crate::effects;
use crate::state::State;

/// State shared by the connections of a core.
pub(crate) struct Shared {
    pub(crate) state: RefCell<State>,
    pub(crate) limits: Limits,
    /// Read buffer of all sockets. Received bytes are split off as slices, and the memory is reused
    /// when no slice refers to it any more.
    pub(crate) buffer: RefCell<BytesMut>,
    /// Writer that sends large values without a copy; `None` if the host does not support this.
    pub(crate) zero_copy_writer: Option<ZeroCopyWriter>,
}

impl Shared {
    pub(crate) fn new(state: State) -> Shared {
        Shared {
            limits: state.limits,
            buffer: RefCell::new(BytesMut::new()),
            zero_copy_writer: ZeroCopyWriter::new()
                .inspect_err(|err| tracing::warn!(%err, "zero-copy writes are unavailable; large values are copied before they are sent"))
                .ok(),
            state: RefCell::new(state),
        }
    }

    /// Waits until the changes of the commands so far are as durable as `appendfsync` requires, or
    /// until writing them fails. Returns whether they are durable.
    pub(crate) async fn committed(&self) -> bool {
        self.snapshot_drained().await;
        let journal_bytes_max = self.limits.journal_bytes_max;
        let commit = self.state.borrow().persist.commit(journal_bytes_max);
        match commit {
            Some(commit) => commit.done_or_failed().await,
            None => true,
        }
    }

    /// Waits until the snapshot after `FLUSHALL` number `flush` (counted since the start) is
    /// written, or has failed.
    pub(crate) async fn flushed(&self, flush: u64) {
        loop {
            let drained = {
                let state = self.state.borrow();
                if state.persist.is_flush_done(flush) {
                    return;
                }
                Rc::clone(&state.persist.drained)
            };
            drained.notified().await;
        }
    }

    /// Waits until at most `snapshot_bytes_max` bytes of a snapshot wait for the disk.
    async fn snapshot_drained(&self) {
        loop {
            let drained = {
                let state = self.state.borrow();
                if state.keyspace.snapshot_waiting_bytes() <= self.limits.snapshot_bytes_max {
                    return;
                }
                Rc::clone(&state.persist.drained)
            };
            drained.notified().await;
        }
    }
}

/// Guard of a client's entry in the table of clients. Dropping the guard removes the entry.
pub(crate) struct ClientGuard {
    pub(crate) shared: Rc<Shared>,
    pub(crate) key: ClientKey,
}

impl ClientGuard {
    /// Creates the guard of the client whose key [`State::admit`] returned.
    pub(crate) fn new(shared: Rc<Shared>, key: ClientKey) -> ClientGuard {
        ClientGuard { shared, key }
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        let mut state = self.shared.state.borrow_mut();
        state.forget(self.key);
        effects::apply(&mut state);
    }
}
