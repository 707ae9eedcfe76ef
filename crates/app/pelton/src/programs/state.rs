//! What a program keeps from one request to the next: a small store of its own, which it asks in Redis's protocol on
//! [`SERVICE_FD`].

use std::io::IoSlice;
use std::sync::Arc;

use sandbox::{SERVICE_FD, Service};
use store::{Embedded, EmbeddedSession};

use crate::config::Entry;

/// Tells a program where its store is.
pub(super) fn variable() -> String {
    format!("PELTON_STATE={SERVICE_FD}")
}

/// An empty store, if the program is to have one.
pub(crate) fn empty(entry: &Entry) -> Option<Arc<Embedded>> {
    let bytes_max = entry.max_state.0;
    (0 < bytes_max).then(|| Arc::new(Embedded::new(bytes_max)))
}

/// What the program of `next` finds where that of `before` was: what it left.
pub(super) fn inherited(before: Option<&Arc<Embedded>>, next: &Entry) -> Option<Arc<Embedded>> {
    let store = before.filter(|_| 0 < next.max_state.0).map(Arc::clone);
    if let Some(store) = &store {
        store.set_bytes_max(next.max_state.0);
    }
    store.or_else(|| empty(next))
}

/// One run's questions to its store.
pub(crate) struct Questions<'a>(EmbeddedSession<'a>);

impl<'a> Questions<'a> {
    pub(crate) fn to(store: &'a Embedded) -> Questions<'a> {
        Questions(store.open_session())
    }
}

impl Service for Questions<'_> {
    fn hear(&mut self, bytes: &[u8]) {
        self.0.hear(bytes);
    }

    fn answer(&mut self) -> bool {
        self.0.answer()
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
