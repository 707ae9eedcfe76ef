//! Memory of responses that clients have not read yet and that do not come from files, over all
//! cores: responses of mounts, pages, metrics, and their compressed forms. Without a limit, slow
//! readers of long documents could occupy all memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// Total bytes of the responses in memory.
#[derive(Debug, Default)]
pub(crate) struct ResponseMemory(Arc<AtomicUsize>);

/// Body that is counted until its last reference is dropped.
struct CountedBody {
    body: Bytes,
    held: Arc<AtomicUsize>,
}

impl ResponseMemory {
    /// Counts `body`; returns `None` if `bytes_max` bytes or more are counted already. The body
    /// that reaches the limit may exceed it, so that a body of any size can be sent.
    pub(crate) fn hold(&self, body: Bytes, bytes_max: usize) -> Option<Bytes> {
        let length = body.len();
        if bytes_max <= self.0.fetch_add(length, Ordering::Relaxed) {
            self.0.fetch_sub(length, Ordering::Relaxed);
            return None;
        }
        let held = Arc::clone(&self.0);
        Some(Bytes::from_owner(CountedBody { body, held }))
    }

    /// Returns the total bytes that are counted now.
    pub(crate) fn held_bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns a second handle to the counter, for the service that replaces the current service
    /// after a change of its settings.
    pub(crate) fn share(&self) -> ResponseMemory {
        ResponseMemory(Arc::clone(&self.0))
    }
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        self.held.fetch_sub(self.body.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, ResponseMemory};

    #[test]
    fn answers_are_refused_until_clients_have_taken_others() {
        let memory = ResponseMemory::default();
        let hold = |bytes: usize| memory.hold(Bytes::from(vec![0; bytes]), 100);
        let (first, second) = (hold(60), hold(60));
        assert!(first.is_some() && second.is_some(), "the last goes beyond");
        assert!(hold(1).is_none());
        let slice = first.expect("it was held").slice(10..20);
        assert!(hold(1).is_none(), "a part of it is still to be sent");
        drop(slice);
        assert!(hold(1000).is_some());
    }
}
