//! Prefetch for pipelines: the keys of all buffered commands are looked up together before the
//! commands run one after the other.
//!
//! A lookup of a key that was not used recently takes three or four accesses to memory: one to the
//! bucket, one or two to entries of its chain, and one to the value. Each access takes as long as a
//! hundred instructions, and depends on the previous access. Accesses for different keys do not
//! depend on each other. So all keys are looked up together, one step for all keys at a time; the
//! commands then find their data in the processor's caches.

use std::hint::black_box;

use bytes::Bytes;

use super::Keyspace;
use crate::command::Keys;
use crate::dict::PREFETCH_MAX;
use crate::session::{Prefetched, Session};
use crate::table;

impl Keyspace {
    /// Prepares a batch of calls; a call is the name of a command with its arguments. Appends the
    /// command of each call to `found`, with the hash of the first argument if this argument is a
    /// key. Brings the values of the keys into the processor's caches. Changes no data. The
    /// prefetch is only a hint: an earlier call of the batch may change a key that a later call
    /// uses.
    pub fn prefetch<'a>(
        &self,
        session: &Session,
        mut calls: impl Iterator<Item = &'a [Bytes]>,
        found: &mut impl Extend<Prefetched>,
    ) {
        // A prefetch helps only if several lookups overlap. A single call is not prefetched: its
        // command looks up the keys when it runs.
        let Some(first) = calls.next() else {
            return;
        };
        let Some(second) = calls.next() else {
            let command = table::command(first);
            let hash = None;
            return found.extend([Prefetched { command, hash }]);
        };
        self.prefetch_many([first, second].into_iter().chain(calls), session, found);
    }

    fn prefetch_many<'a>(
        &self,
        calls: impl Iterator<Item = &'a [Bytes]>,
        session: &Session,
        found: &mut impl Extend<Prefetched>,
    ) {
        let mut keys: [(u64, &[u8]); PREFETCH_MAX] = [(0, &[]); PREFETCH_MAX];
        let mut count = 0;
        for call in calls {
            let command = table::command(call);
            let mut prefetched = Prefetched {
                command,
                hash: None,
            };
            for (index, key) in command.into_iter().flat_map(|it| range(it.keys, call)) {
                let hash = self.seed.hash(key);
                if index == 1 {
                    prefetched.hash = Some(hash);
                }
                if count == PREFETCH_MAX {
                    self.prefetch_keys(session, &keys);
                    count = 0;
                }
                keys[count] = (hash, key);
                count += 1;
            }
            found.extend([prefetched]);
        }
        self.prefetch_keys(session, &keys[..count]);
    }

    fn prefetch_keys(&self, session: &Session, keys: &[(u64, &[u8])]) {
        black_box(
            self.dbs[session.db]
                .dict
                .prefetch(keys, |entry| entry.value.touch()),
        );
    }
}

/// Returns the keys of a call, each with the index of its argument. Returns no keys if their
/// positions are not fixed for the command.
fn range(keys: Keys, call: &[Bytes]) -> impl Iterator<Item = (usize, &[u8])> {
    let (first, last, step) = match keys {
        Keys::Range { first, last, step } => (first, last, step),
        _ => (1, 0, 1),
    };
    let last = match usize::try_from(last) {
        Ok(last) => last,
        Err(_) => call.len().saturating_sub(last.unsigned_abs() as usize),
    };
    let places = (first..=last.min(call.len() - 1)).step_by(step);
    places.map(|index| (index, &call[index][..]))
}
