//! Clients blocked on keys, in the order in which they blocked.

use std::collections::{BTreeSet, HashMap, VecDeque};

use bytes::Bytes;
use keyspace::Block;
use resp::{Out, Proto};

use crate::client::ClientKey;
use crate::state::{Flow, State};

/// A command that waits for one of its keys.
#[derive(Debug)]
pub(crate) struct BlockedCommand {
    /// The command, which runs again when one of its keys is ready.
    pub(crate) args: Vec<Bytes>,
    pub(crate) block: Block,
    pub(crate) db: usize,
}

/// A database and a key.
type Place = (usize, Bytes);

/// Blocked clients by key and by deadline.
#[derive(Debug, Default)]
pub(crate) struct BlockedClients {
    by_key: HashMap<Place, VecDeque<ClientKey>>,
    /// Deadlines in Unix milliseconds.
    due: BTreeSet<(u64, ClientKey)>,
    /// Number of blocked clients.
    pub(crate) clients: usize,
}

impl BlockedClients {
    /// Returns the first deadline, if any.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.due.first().map(|(due_ms, _)| *due_ms)
    }

    /// Returns the number of blocked clients with a deadline.
    pub(crate) fn with_deadline(&self) -> usize {
        self.due.len()
    }

    /// Returns the number of keys that clients wait for.
    pub(crate) fn keys(&self) -> usize {
        self.by_key.len()
    }
}

impl State {
    /// Blocks a client until one of the keys is ready or the deadline passes.
    pub(crate) fn park(&mut self, key: ClientKey, args: &[Bytes], block: Block) -> Flow {
        let db = self.clients[key].session.db();
        for name in &block.keys {
            let queue = self.waiting.by_key.entry((db, name.clone())).or_default();
            queue.push_back(key);
            self.keyspace.wait(db, name);
        }
        if let Some(deadline_ms) = block.deadline_ms {
            self.waiting.due.insert((deadline_ms, key));
            self.deadline_changed.notify_one();
        }
        self.waiting.clients += 1;
        let args = args.iter().map(keep).collect();
        self.clients[key].parked = Some(BlockedCommand { args, block, db });
        Flow::Blocked
    }

    /// Blocks a client until an event other than a key wakes it.
    pub(crate) fn park_without_keys(&mut self, key: ClientKey) {
        let block = Block {
            keys: Vec::new(),
            deadline_ms: None,
        };
        self.park(key, &[], block);
    }

    /// Removes a client from every queue. Returns the command that it waited with, if any.
    pub(crate) fn unpark(&mut self, key: ClientKey) -> Option<BlockedCommand> {
        let parked = self.clients[key].parked.take()?;
        for name in &parked.block.keys {
            self.keyspace.unwait(parked.db, name);
            let place = (parked.db, name.clone());
            if let Some(queue) = self.waiting.by_key.get_mut(&place) {
                queue.retain(|waiting| *waiting != key);
                if queue.is_empty() {
                    self.waiting.by_key.remove(&place);
                }
            }
        }
        if let Some(deadline_ms) = parked.block.deadline_ms {
            self.waiting.due.remove(&(deadline_ms, key));
        }
        self.waiting.clients -= 1;
        self.clients[key].wake();
        Some(parked)
    }

    /// Runs the commands that wait for `name` again, the longest-waiting first, as long as they are
    /// served.
    pub(crate) fn serve_waiting(&mut self, db: usize, name: &Bytes) {
        let place = (db, name.clone());
        let waiting: Vec<_> = match self.waiting.by_key.get(&place) {
            Some(queue) => queue.iter().copied().collect(),
            None => return,
        };
        for key in waiting {
            // Serving an earlier client may also have served this one, so its command may be gone.
            if let Some(parked) = self.clients[key].parked.take() {
                let served = self.holds_wanted_type(key, &parked, name)
                    && self.run_again(key, &parked) != Flow::Blocked;
                self.clients[key].parked = Some(parked);
                if served {
                    self.unpark(key);
                }
            }
        }
    }

    /// Returns whether the key holds the type that the command waits for; other types do not wake
    /// it.
    fn holds_wanted_type(&mut self, key: ClientKey, parked: &BlockedCommand, name: &Bytes) -> bool {
        let wanted = match parked.args.first() {
            // GETORLOCK is served by a value of any type, or by a lock that was released.
            Some(command) if is_compute_command(command) => return true,
            Some(command) if command[1..].to_ascii_lowercase().starts_with(b"z") => "+zset\r\n",
            _ => "+list\r\n",
        };
        let now_ms = self.now_ms();
        let question = [Bytes::from_static(b"TYPE"), name.clone()];
        let mut out = Out::new(Proto::Resp2);
        let session = &mut self.clients[key].session;
        self.keyspace.execute(session, &question, now_ms, &mut out);
        out.to_bytes() == wanted
    }

    /// Answers the blocked clients whose deadline has passed.
    pub(crate) fn time_out(&mut self) {
        let now_ms = self.now_ms();
        while let Some((due_ms, key)) = self.waiting.due.first().copied() {
            if now_ms < due_ms {
                return;
            }
            let Some(parked) = self.unpark(key) else {
                continue;
            };
            match parked.args.first() {
                // The holder exceeded its time and lost the lock; the first waiter takes it.
                Some(command) if is_compute_command(command) => {
                    self.running = Some(key);
                    self.is_shown = true;
                    self.execute(key, &parked.args);
                    self.is_shown = false;
                    self.running = None;
                    self.clients[key].append_later();
                }
                _ => self.answer_blocked(key, None),
            }
        }
    }

    /// Answers a blocked command that got no key: with a null array, or with an error.
    pub(crate) fn answer_blocked(&mut self, key: ClientKey, error: Option<&str>) {
        let client = &mut self.clients[key];
        match error {
            None => client.out.null_array(),
            Some(text) => {
                client.out.error(text);
                self.stats
                    .error(text.as_bytes(), self.limits.error_names_max);
            }
        }
        if let Some(command) = client.last {
            self.stats.commands += 1;
            self.stats.calls_of(command).ran(0, error.is_some());
        }
    }
}

/// Returns whether a command waits for a value that another client computes.
fn is_compute_command(command: &Bytes) -> bool {
    command.eq_ignore_ascii_case(b"getorlock")
}

/// Returns an argument to keep beyond this turn. A short argument is a slice of the read buffer, so
/// it is copied.
pub(crate) fn keep(arg: &Bytes) -> Bytes {
    match arg.len() < resp::BLOB_BYTES_MIN {
        true => Bytes::copy_from_slice(arg),
        false => arg.clone(),
    }
}
