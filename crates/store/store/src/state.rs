//! State owned by the one core: the data, the clients and their subscriptions and waits.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use keyspace::Keyspace;
use reactor::Stop;
use slab::Slab;
use tokio::sync::Notify;

use crate::Limits;
use crate::block::BlockedClients;
use crate::client::{Client, ClientKey, Closing, Peer};
use crate::clock::Clock;
use crate::config::{Config, LogLevel, OutputLimit};
use crate::latency::Latency;
use crate::persist::Persist;
use crate::pubsub::Hub;
use crate::redact::redacted;
use crate::rewrite::RewriteWaiters;
use crate::slowlog::Slowlog;
use crate::stats::Stats;

/// The next step of a connection after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The command was answered: continue.
    Next,
    /// The command waits for a key.
    Blocked,
    /// The command runs again when the pause is over.
    Postponed,
}

/// A `CLIENT PAUSE`: commands are held back until a deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    pub(crate) until_ms: u64,
    /// True if reads are held back too.
    pub(crate) all: bool,
}

pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) keyspace: Keyspace,
    pub(crate) clients: Slab<Client>,
    client_bytes: usize,
    /// Maximum bytes that all clients together may hold (`maxmemory-clients`); 0 for no limit.
    pub(crate) client_bytes_max: u64,
    /// Clients by id; an id is never reused.
    pub(crate) by_id: BTreeMap<u64, ClientKey>,
    next_id: u64,
    pub(crate) hub: Hub,
    pub(crate) monitors: Vec<ClientKey>,
    pub(crate) waiting: BlockedClients,
    /// Notified when [`BlockedClients`] or the pause has an earlier deadline.
    pub(crate) deadline_changed: Rc<Notify>,
    pub(crate) pause: Option<Pause>,
    /// The client whose command runs, if any.
    pub(crate) running: Option<ClientKey>,
    /// True if the running command was blocked before; if it has to wait again, it keeps its place
    /// in the queue.
    pub(crate) retrying: bool,
    /// True if the running command was already shown to monitors, when it began to wait.
    pub(crate) is_shown: bool,
    pub(crate) stats: Stats,
    pub(crate) slowlog: Slowlog,
    pub(crate) latency: Latency,
    pub(crate) persist: Persist,
    pub(crate) rewrite_waiters: RewriteWaiters,
    /// Notified when a defragmentation is requested.
    pub(crate) defrag_wanted: Rc<Notify>,
    /// Function that changes the level of the process's log, if the store may do so.
    pub(crate) set_log_level: Option<fn(LogLevel)>,
    pub(crate) stop: Stop,
    /// The reactor's counters; `None` if this store accepts no connections.
    pub(crate) accepting: Option<Arc<[reactor::Counters]>>,
    pub(crate) run_id: String,
}

impl State {
    pub(crate) fn new(
        config: Config,
        limits: Limits,
        keyspace: Keyspace,
        persist: Persist,
        stop: Stop,
    ) -> State {
        let clock = Clock::new();
        let mut state = State {
            keyspace,
            persist,
            run_id: run_id(Clock::seed()),
            slowlog: Slowlog::default(),
            latency: Latency::default(),
            stats: Stats::new(clock.unix_ms()),
            config,
            limits,
            clock,
            clients: Slab::new(),
            client_bytes: 0,
            client_bytes_max: 0,
            by_id: BTreeMap::new(),
            next_id: 1,
            hub: Hub::default(),
            monitors: Vec::new(),
            waiting: BlockedClients::default(),
            deadline_changed: Rc::new(Notify::new()),
            rewrite_waiters: RewriteWaiters::default(),
            defrag_wanted: Rc::new(Notify::new()),
            set_log_level: None,
            pause: None,
            running: None,
            retrying: false,
            accepting: None,
            is_shown: false,
            stop,
        };
        state.keyspace.set_journaling(state.persist.is_journaling());
        state.keyspace.set_blob_freezer(reactor::zero_copy);
        state.apply_settings();
        state
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.unix_ms()
    }

    /// Registers a new client.
    ///
    /// # Errors
    /// The error reply for a client that is refused.
    pub(crate) fn admit(&mut self, peer: Peer) -> Result<ClientKey, &'static str> {
        if self.config.maxclients.0 as usize <= self.clients.len() {
            self.stats.rejected_connections += 1;
            return Err("ERR max number of clients reached");
        }
        let needs_password = !self.config.requirepass.is_empty();
        if self.config.protected_mode && !needs_password && !peer.is_local {
            self.stats.rejected_connections += 1;
            return Err(
                "DENIED protected mode is on and no password is set, so only clients of this machine are served: \
                 set requirepass, or protected-mode no where nobody else can connect",
            );
        }
        self.stats.connections_received += 1;
        let id = self.next_id;
        self.next_id += 1;
        let mut client = Client::new(id, peer, !needs_password, self.now_ms());
        client.out.set_bytes_max(self.limits.out_bytes_max);
        let key = self.clients.insert(client);
        self.by_id.insert(id, key);
        Ok(key)
    }

    /// Returns the number of refused connections: for `maxclients`, for protected mode, or for lack
    /// of a descriptor.
    pub(crate) fn rejected_connections(&self) -> u64 {
        let cores = self.accepting.iter().flat_map(|cores| cores.iter());
        self.stats.rejected_connections + cores.map(reactor::Counters::shed).sum::<u64>()
    }

    /// Removes a client whose connection has ended.
    pub(crate) fn forget(&mut self, key: ClientKey) {
        self.unpark(key);
        self.unsubscribe_all(key);
        self.monitors.retain(|monitor| *monitor != key);
        self.persist.save_waiters.retain(|saver| *saver != key);
        self.rewrite_waiters.forget(key);
        self.clients[key].closing = Closing::Now;
        self.recount(key);
        let mut client = self.clients.remove(key);
        self.keyspace.close(&mut client.session);
        self.by_id.remove(&client.id);
    }

    /// Closes a client whose waiting output exceeds the limits of its class.
    pub(crate) fn enforce_output_limit(&mut self, key: ClientKey) {
        let now_ms = self.now_ms();
        let limits = &self.config.client_output_buffer_limit;
        let client = &mut self.clients[key];
        let OutputLimit {
            hard_bytes,
            soft_bytes,
            soft_seconds,
        } = match client.class() {
            "pubsub" => limits.pubsub,
            _ => limits.normal,
        };
        let waits = client.out.len() as u64;
        let hard = passes(waits, hard_bytes) || self.limits.out_bytes_max as u64 <= waits;
        let soft = match passes(waits, soft_bytes) {
            true => {
                let since_ms = *client.over_soft_since_ms.get_or_insert(now_ms);
                soft_seconds * 1000 < now_ms.saturating_sub(since_ms)
            }
            false => {
                client.over_soft_since_ms = None;
                false
            }
        };
        if (hard || soft) && client.closing != Closing::Now {
            tracing::warn!(
                id = client.id,
                bytes = waits,
                "client exceeded its output buffer limit; connection closed"
            );
            client.close(Closing::Now);
            self.stats.output_limit_disconnections += 1;
        }
    }

    /// Removes expired keys and evicts, within the bounds of one turn. Returns whether there is
    /// more to do.
    pub(crate) fn turn(&mut self) -> bool {
        let more = self.keyspace.turn(self.now_ms());
        self.settle_effects();
        more
    }

    /// Defragments within the bounds of one turn; after the last turn the allocator returns free
    /// memory. Returns whether there is more to move.
    pub(crate) fn defrag_turn(&mut self) -> bool {
        if !self.keyspace.is_defragmenting() {
            return false;
        }
        let elements_max = self.limits.defrag_elements_per_turn;
        let goes_on = reactor::without_block_cache(|| self.keyspace.continue_defrag(elements_max));
        if !goes_on {
            reactor::purge_heap();
        }
        goes_on
    }

    /// Removes keys whose cache tags were dropped, within the bounds of one turn. Returns whether
    /// all are gone.
    pub(crate) fn sweep_tagged(&mut self) -> bool {
        let is_swept = self.keyspace.sweep_tagged();
        self.settle_effects();
        is_swept
    }

    /// Runs the housekeeping, `hz` times a second.
    pub(crate) fn tick(&mut self) {
        let now_ms = self.now_ms();
        self.stats.sample(now_ms, self.clock.turns());
        self.note_peak();
        let idle_ms = self.config.timeout.0 as u64 * 1000;
        let keys: Vec<_> = self.clients.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.enforce_output_limit(key);
            self.recount(key);
            let client = &mut self.clients[key];
            let exempt =
                client.parked.is_some() || !client.subscriptions.is_empty() || client.monitor;
            if 0 < idle_ms && !exempt && idle_ms < now_ms.saturating_sub(client.active_ms) {
                client.close(Closing::Now);
            }
        }
        self.evict_clients();
        self.persist_tick();
    }

    /// Returns the next deadline of a blocked client or of the pause, if any.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        let pause = self.pause.map(|pause| pause.until_ms);
        self.waiting.next_due_ms().into_iter().chain(pause).min()
    }

    /// Handles due deadlines: blocked clients get their timeout reply, and a pause ends.
    pub(crate) fn do_due(&mut self) {
        self.time_out();
        if let Some(pause) = self.pause
            && pause.until_ms <= self.now_ms()
        {
            self.unpause();
        }
    }

    pub(crate) fn unpause(&mut self) {
        self.pause = None;
        for (_, client) in &mut self.clients {
            if client.postponed {
                client.postponed = false;
                client.wake();
            }
        }
    }

    /// Closes every connection, as the server stops.
    pub(crate) fn close_all(&mut self) {
        for (_, client) in &mut self.clients {
            client.close(Closing::Now);
        }
    }

    /// Returns the bytes that all clients together hold; they count towards `maxmemory`.
    pub(crate) fn client_bytes(&self) -> usize {
        self.client_bytes
    }

    /// Updates the totals with the bytes that a client holds now.
    pub(crate) fn recount(&mut self, key: ClientKey) {
        let client = &mut self.clients[key];
        let held = client.held_bytes();
        let before = std::mem::replace(&mut client.counted_bytes, held);
        if held != before {
            self.client_bytes = self.client_bytes + held - before;
            self.keyspace.set_non_data_bytes(self.client_bytes);
        }
    }

    /// Closes clients, those that hold the most bytes first, until the rest is within
    /// `maxmemory-clients`.
    pub(crate) fn evict_clients(&mut self) {
        while 0 < self.client_bytes_max && self.client_bytes_max < self.client_bytes as u64 {
            let clients = self.clients.iter();
            let may_go = clients.filter(|(_, it)| !it.no_evict && it.closing != Closing::Now);
            let Some((key, client)) = may_go.max_by_key(|(_, it)| it.counted_bytes) else {
                return;
            };
            tracing::warn!(
                id = client.id,
                bytes = client.counted_bytes,
                "clients hold more than maxmemory-clients allows; connection closed"
            );
            self.clients[key].close(Closing::Now);
            self.stats.evicted_clients += 1;
            self.recount(key);
        }
    }

    /// Returns the bytes that `maxmemory` bounds: the data's and the clients'.
    pub(crate) fn used_bytes(&self) -> usize {
        self.keyspace.used_bytes() + self.client_bytes
    }

    /// Updates the peak of [`State::used_bytes`].
    pub(crate) fn note_peak(&mut self) {
        let used = self.used_bytes() as u64;
        self.stats.peak_bytes = self.stats.peak_bytes.max(used);
    }

    /// Applies a configuration that `CONFIG SET` changed from `before`.
    pub(crate) fn apply_config(&mut self, before: &Config) -> Result<(), String> {
        self.persist_config(before)?;
        self.apply_settings();
        if let Some(set) = self.set_log_level
            && before.loglevel != self.config.loglevel
        {
            set(self.config.loglevel);
        }
        let needs_password = !self.config.requirepass.is_empty();
        if !needs_password {
            // Without a password every client is the one user, `default`.
            for (_, client) in &mut self.clients {
                client.authenticated = true;
            }
        }
        Ok(())
    }

    /// Sends a command to all clients in `MONITOR` mode.
    pub(crate) fn show_monitors(&mut self, key: ClientKey, args: &[Bytes]) {
        let client = &self.clients[key];
        let now_us = self.clock.unix_us();
        let peer = &client.peer;
        let address = match peer.address.strip_suffix(":0") {
            Some(path) if peer.is_unix => format!("unix:{path}"),
            _ => peer.address.clone(),
        };
        let db = client.session.db();
        let (s, us) = (now_us / 1_000_000, now_us % 1_000_000);
        let mut line = format!("{s}.{us:06} [{db} {address}]");
        for arg in redacted(args).iter() {
            line.push(' ');
            crate::text::quote(arg, &mut line);
        }
        for monitor in self.monitors.clone() {
            self.deliver(monitor, |out| out.simple(&line));
        }
    }
}

fn passes(bytes: u64, bound: u64) -> bool {
    0 < bound && bound <= bytes
}

/// Returns the run id: forty hexadecimal digits, derived from `seed`.
fn run_id(seed: u64) -> String {
    let mut id = String::new();
    let mut state = seed;
    while id.len() < 40 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        id.push_str(&format!("{:08x}", state >> 32));
    }
    id
}
