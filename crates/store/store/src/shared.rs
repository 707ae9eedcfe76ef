//! The core's state, as its connections and tasks share it.

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
    /// Read buffer of all sockets. Read bytes are split off, and their memory is reused once
    /// nothing refers to it.
    pub(crate) buffer: RefCell<BytesMut>,
    /// Zero-copy writer of large values; `None` if the host does not support it.
    pub(crate) zero_copy_writer: Option<ZeroCopyWriter>,
}

impl Shared {
    pub(crate) fn new(state: State) -> Shared {
        Shared {
            limits: state.limits,
            buffer: RefCell::new(BytesMut::new()),
            zero_copy_writer: ZeroCopyWriter::new()
                .inspect_err(|err| tracing::warn!(%err, "zero-copy writes are unavailable; large values are copied"))
                .ok(),
            state: RefCell::new(state),
        }
    }

    /// Waits until the changes of commands are as durable as a reply promises, or until writing
    /// fails. Returns whether they are durable.
    pub(crate) async fn committed(&self) -> bool {
        self.snapshot_drained().await;
        let journal_bytes_max = self.limits.journal_bytes_max;
        let commit = self.state.borrow().persist.commit(journal_bytes_max);
        match commit {
            Some(commit) => commit.settled().await,
            None => true,
        }
    }

    /// Waits until the snapshot after a flush of all databases is written, or has failed.
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

    /// Waits while too many bytes of a snapshot wait for a slow disk.
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

/// Guard of a client's entry in the table of clients; removes the entry on drop.
pub(crate) struct ClientGuard {
    pub(crate) shared: Rc<Shared>,
    pub(crate) key: ClientKey,
}

impl ClientGuard {
    /// Wraps a key returned by [`State::admit`].
    pub(crate) fn new(shared: Rc<Shared>, key: ClientKey) -> ClientGuard {
        ClientGuard { shared, key }
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        let mut state = self.shared.state.borrow_mut();
        state.forget(self.key);
        effects::settle(&mut state);
    }
}
