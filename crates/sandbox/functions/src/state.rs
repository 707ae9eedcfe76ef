//! Store in which a program keeps its state between requests. The program sends commands of the
//! Redis protocol to its store on the descriptor [`SERVICE_FD`].

use std::io::IoSlice;
use std::sync::Arc;

use sandbox::{SERVICE_FD, Service};
use store::{Embedded, EmbeddedSession};

use config::Entry;

/// Returns the environment variable that contains the file descriptor of a program's store.
pub(super) fn variable() -> String {
    format!("PELTON_STATE={SERVICE_FD}")
}

/// Creates an empty store, if the entry allows state.
pub fn empty(entry: &Entry) -> Option<Arc<Embedded>> {
    let bytes_max = entry.max_state.0;
    (0 < bytes_max).then(|| Arc::new(Embedded::new(bytes_max)))
}

/// Returns the store for the program that the entry `next` configures: the store `before` of the
/// program's previous version with the new limit, or an empty one. Returns `None` if the entry
/// allows no state.
pub(super) fn inherited(before: Option<&Arc<Embedded>>, next: &Entry) -> Option<Arc<Embedded>> {
    let store = before.filter(|_| 0 < next.max_state.0).map(Arc::clone);
    if let Some(store) = &store {
        store.set_bytes_max(next.max_state.0);
    }
    store.or_else(|| empty(next))
}

/// Session in which one run of a program uses the program's store.
pub struct StoreSession<'a>(EmbeddedSession<'a>);

impl<'a> StoreSession<'a> {
    /// Opens a session with `store`.
    pub fn to(store: &'a Embedded) -> StoreSession<'a> {
        StoreSession(store.open_session())
    }
}

impl Service for StoreSession<'_> {
    fn receive(&mut self, bytes: &[u8]) {
        self.0.receive(bytes);
    }

    fn process(&mut self) -> bool {
        self.0.run_next()
    }

    fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>]) -> usize {
        self.0.parts(parts)
    }

    fn advance(&mut self, bytes: usize) {
        self.0.advance(bytes);
    }

    fn is_over(&self) -> bool {
        self.0.is_over()
    }
}
