//! Memory of answers that are no files and that clients have not taken yet, of all cores together: mounts' answers, pages,
//! metrics, and what content codings make of them. Without a bound, slow readers of long documents would hold all memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// Count of the bytes that are held.
#[derive(Debug, Default)]
pub(crate) struct AnswerMemory(Arc<AtomicUsize>);

/// A body that counts until its last part is dropped.
struct Counted {
    body: Bytes,
    held: Arc<AtomicUsize>,
}

impl AnswerMemory {
    /// Counts `body`, unless bodies of `bytes_max` are held already. The one that reaches the bound may go beyond it, so that
    /// none is too large to be sent at all.
    pub(crate) fn hold(&self, body: Bytes, bytes_max: usize) -> Option<Bytes> {
        let length = body.len();
        if bytes_max <= self.0.fetch_add(length, Ordering::Relaxed) {
            self.0.fetch_sub(length, Ordering::Relaxed);
            return None;
        }
        let held = Arc::clone(&self.0);
        Some(Bytes::from_owner(Counted { body, held }))
    }

    /// Shares what is counted with a service that takes over.
    pub(crate) fn share(&self) -> AnswerMemory {
        AnswerMemory(Arc::clone(&self.0))
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.held.fetch_sub(self.body.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerMemory, Bytes};

    #[test]
    fn answers_are_refused_until_clients_have_taken_others() {
        let memory = AnswerMemory::default();
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
