//! Clients blocked on keys, in the order in which they blocked.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use keyspace::{Block, Keyspace};
use tokio::sync::Notify;

use crate::client::{BlockedCommand, ClientKey};
use crate::clients::Clients;

/// Location of a key: the index of its database, and its name.
type KeyLocation = (usize, Bytes);

/// Blocked clients by key and by deadline.
#[derive(Debug)]
pub(crate) struct BlockedClients {
    by_key: HashMap<KeyLocation, VecDeque<ClientKey>>,
    /// Deadlines of the blocked clients that have one, in Unix milliseconds.
    due: BTreeSet<(u64, ClientKey)>,
    /// Number of blocked clients.
    clients: usize,
    /// Notified when a client blocks with a deadline.
    deadline_changed: Rc<Notify>,
}

impl BlockedClients {
    pub(crate) fn new(deadline_changed: Rc<Notify>) -> BlockedClients {
        BlockedClients {
            by_key: HashMap::new(),
            due: BTreeSet::new(),
            clients: 0,
            deadline_changed,
        }
    }

    /// Returns the number of blocked clients.
    pub(crate) fn len(&self) -> usize {
        self.clients
    }

    /// Returns the earliest deadline of a blocked client, in Unix milliseconds, if any.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.due.first().map(|(due_ms, _)| *due_ms)
    }

    /// Returns the blocked client with the earliest deadline, if that deadline has passed.
    pub(crate) fn first_due(&self, now_ms: u64) -> Option<ClientKey> {
        let first = self.due.first().filter(|(due_ms, _)| *due_ms <= now_ms);
        first.map(|(_, key)| *key)
    }

    /// Returns the number of blocked clients with a deadline.
    pub(crate) fn with_deadline(&self) -> usize {
        self.due.len()
    }

    /// Returns the number of keys that clients wait for.
    pub(crate) fn keys(&self) -> usize {
        self.by_key.len()
    }

    /// Returns the clients that wait for a key, the longest-waiting first.
    pub(crate) fn waiting_for(&self, db: usize, name: &Bytes) -> Vec<ClientKey> {
        let queue = self.by_key.get(&(db, name.clone()));
        queue.map_or(Vec::new(), |queue| queue.iter().copied().collect())
    }

    /// Blocks a client until one of the keys is ready or the deadline passes.
    pub(crate) fn park(
        &mut self,
        clients: &mut Clients,
        keyspace: &mut Keyspace,
        key: ClientKey,
        args: &[Bytes],
        mut block: Block,
    ) {
        let db = clients[key].session.db();
        for name in &block.keys {
            let queue = self.by_key.entry((db, name.clone())).or_default();
            queue.push_back(key);
            keyspace.wait(db, name);
        }
        if let Some(deadline_ms) = block.deadline_ms {
            self.due.insert((deadline_ms, key));
            self.deadline_changed.notify_one();
        }
        self.clients += 1;
        let again = block.again.take();
        let args = again.as_deref().unwrap_or(args);
        let args = args.iter().map(keep).collect();
        clients[key].blocked_command = Some(BlockedCommand { args, block, db });
    }

    /// Blocks a client until an event that is not about keys wakes it.
    pub(crate) fn park_without_keys(&mut self, clients: &mut Clients, key: ClientKey) {
        self.clients += 1;
        let block = Block {
            keys: Vec::new(),
            deadline_ms: None,
            again: None,
        };
        let (args, db) = (Vec::new(), clients[key].session.db());
        clients[key].blocked_command = Some(BlockedCommand { args, block, db });
    }

    /// Unblocks a client: removes it from the queues of the keys that it waits for. Returns the
    /// command with which it was blocked, if any.
    pub(crate) fn unpark(
        &mut self,
        clients: &mut Clients,
        keyspace: &mut Keyspace,
        key: ClientKey,
    ) -> Option<BlockedCommand> {
        let blocked_command = clients[key].blocked_command.take()?;
        for name in &blocked_command.block.keys {
            keyspace.unwait(blocked_command.db, name);
            let location = (blocked_command.db, name.clone());
            if let Some(queue) = self.by_key.get_mut(&location) {
                queue.retain(|waiting| *waiting != key);
                if queue.is_empty() {
                    self.by_key.remove(&location);
                }
            }
        }
        if let Some(deadline_ms) = blocked_command.block.deadline_ms {
            self.due.remove(&(deadline_ms, key));
        }
        self.clients -= 1;
        clients[key].wake();
        Some(blocked_command)
    }
}

/// Returns `arg` in a form that a blocked client may keep. A short argument is a slice of the read
/// buffer, so it is copied: the slice would keep the whole buffer alive.
fn keep(arg: &Bytes) -> Bytes {
    match arg.len() < resp::BLOB_BYTES_MIN {
        true => Bytes::copy_from_slice(arg),
        false => arg.clone(),
    }
}
