//! A pipeline's commands, looked at together before they run one after the other.
//!
//! A key that was not asked for lately costs three or four waits for memory: its bucket, its entry, its value. Each wait
//! is as long as a hundred instructions, and none can begin before the one before it is over. Those of different keys
//! can: so the keys of a whole batch are looked up first, step by step side by side, and what the commands need is in
//! the caches when they run.

use std::hint::black_box;

use bytes::Bytes;

use crate::command::{Command, Keys};
use crate::dict::WARM_MAX;
use crate::keyspace::Keyspace;
use crate::session::Session;
use crate::table;
use crate::value::Value;

/// What was found out about a command before its turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Foreseen {
    /// Which it is.
    pub(crate) command: Option<&'static Command>,
    /// Hash of its first argument, where that is a key.
    pub(crate) hash: Option<u64>,
}

impl Keyspace {
    /// Finds the commands that calls mean, and fetches what their keys hold. Changes nothing, and promises nothing of
    /// what the commands will find.
    pub fn foresee<'a>(
        &self,
        session: &Session,
        mut calls: impl Iterator<Item = &'a [Bytes]>,
        found: &mut impl Extend<Foreseen>,
    ) {
        // One command alone looks its keys up itself, and there is nothing to do meanwhile.
        let Some(first) = calls.next() else {
            return;
        };
        let Some(second) = calls.next() else {
            let command = table::command(first);
            let hash = None;
            return found.extend([Foreseen { command, hash }]);
        };
        self.foresee_many([first, second].into_iter().chain(calls), session, found);
    }

    fn foresee_many<'a>(
        &self,
        calls: impl Iterator<Item = &'a [Bytes]>,
        session: &Session,
        found: &mut impl Extend<Foreseen>,
    ) {
        let mut keys: [(u64, &[u8]); WARM_MAX] = [(0, &[]); WARM_MAX];
        let mut count = 0;
        for call in calls {
            let command = table::command(call);
            let mut foreseen = Foreseen {
                command,
                hash: None,
            };
            for (index, key) in command.into_iter().flat_map(|it| range(it.keys, call)) {
                let hash = self.seed.hash(key);
                if index == 1 {
                    foreseen.hash = Some(hash);
                }
                if count == WARM_MAX {
                    self.warm(session, &keys);
                    count = 0;
                }
                keys[count] = (hash, key);
                count += 1;
            }
            found.extend([foreseen]);
        }
        self.warm(session, &keys[..count]);
    }

    fn warm(&self, session: &Session, keys: &[(u64, &[u8])]) {
        black_box(
            self.dbs[session.db]
                .dict
                .warm(keys, |entry| entry.value.touch()),
        );
    }
}

/// The keys of a call, where they stand in a fixed place, with their indices.
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

impl Value {
    /// Reads a little of what it points to.
    fn touch(&self) -> usize {
        match self {
            Self::Str(string) => string.touch(),
            Self::List(list) => list.len(),
            Self::Hash(hash) => hash.len(),
            Self::Set(set) => set.len(),
            Self::Zset(zset) => zset.len(),
        }
    }
}
