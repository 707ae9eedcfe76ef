//! Connected clients: their table, the memory that they hold, and the delivery of messages.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use bytes::Bytes;
use resp::Out;
use slab::Slab;

use crate::Limits;
use crate::client::{Client, ClientKey, Closing, Peer};
use crate::config::{Config, OutputLimit, OutputLimits};
use crate::redact::redacted;

/// Table of all clients.
#[derive(Debug)]
pub(crate) struct Clients {
    table: Slab<Client>,
    /// Clients by id. Ids are never reused.
    by_id: BTreeMap<u64, ClientKey>,
    next_id: u64,
    /// Clients in `MONITOR` mode.
    monitors: Vec<ClientKey>,
    /// The client whose command runs, if any.
    pub(crate) running: Option<ClientKey>,
    /// Total number of bytes of memory that the clients use.
    bytes: usize,
    bounds: Bounds,
    pub(crate) counters: ClientCounters,
    /// The listeners' counters; `None` if this store accepts no connections.
    accepting: Option<Arc<[reactor::Counters]>>,
}

/// Limits on the memory that clients may use.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Maximum number of bytes that all clients together may use (`maxmemory-clients`); 0 for no
    /// limit.
    bytes_max: u64,
    output: OutputLimits,
    /// Maximum number of bytes of output that may wait for one client, even if
    /// `client-output-buffer-limit` allows more.
    out_bytes_max: u64,
    /// Number of bytes of waiting output below which a client exceeds no limit.
    output_bytes_min: u64,
}

/// Counters of connections, since the start or since `CONFIG RESETSTAT`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientCounters {
    pub(crate) received: u64,
    pub(crate) rejected: u64,
    pub(crate) output_limit_disconnections: u64,
    pub(crate) evicted: u64,
}

impl Bounds {
    fn new(config: &Config, limits: &Limits) -> Bounds {
        let output = config.client_output_buffer_limit;
        let out_bytes_max = limits.out_bytes_max as u64;
        Bounds {
            bytes_max: config.client_bytes_max(),
            output,
            out_bytes_max,
            output_bytes_min: output.least_bytes().min(out_bytes_max),
        }
    }
}

impl Clients {
    pub(crate) fn new(config: &Config, limits: &Limits) -> Clients {
        Clients {
            table: Slab::new(),
            by_id: BTreeMap::new(),
            next_id: 1,
            monitors: Vec::new(),
            running: None,
            bytes: 0,
            bounds: Bounds::new(config, limits),
            counters: ClientCounters::default(),
            accepting: None,
        }
    }

    /// Applies the limits of a changed configuration.
    pub(crate) fn set_bounds(&mut self, config: &Config, limits: &Limits) {
        self.bounds = Bounds::new(config, limits);
    }

    /// Sets the counters of the listeners. [`Clients::rejected`] includes the connections that the
    /// listeners refused.
    pub(crate) fn set_listeners(&mut self, accepting: Arc<[reactor::Counters]>) {
        self.accepting = Some(accepting);
    }

    /// Returns the number of connections that were refused because of `maxclients`, because of
    /// protected mode, or for lack of a descriptor.
    pub(crate) fn rejected(&self) -> u64 {
        let cores = self.accepting.iter().flat_map(|cores| cores.iter());
        self.counters.rejected + cores.map(reactor::Counters::shed).sum::<u64>()
    }

    /// Registers a new client.
    ///
    /// # Errors
    /// The error reply for a client that is refused.
    pub(crate) fn admit(
        &mut self,
        peer: Peer,
        config: &Config,
        now_ms: u64,
    ) -> Result<ClientKey, &'static str> {
        if config.maxclients.0 as usize <= self.table.len() {
            self.counters.rejected += 1;
            return Err("ERR max number of clients reached");
        }
        let needs_password = !config.requirepass.is_empty();
        if config.protected_mode && !needs_password && !peer.is_local {
            self.counters.rejected += 1;
            return Err(
                "DENIED protected mode is on and no password is set, so only clients on this machine are served: \
                 set requirepass, or set protected-mode no if only trusted machines can connect",
            );
        }
        self.counters.received += 1;
        let id = self.next_id;
        self.next_id += 1;
        let mut client = Client::new(id, peer, !needs_password, now_ms);
        client.out.set_bytes_max(self.bounds.out_bytes_max as usize);
        let key = self.table.insert(client);
        self.by_id.insert(id, key);
        Ok(key)
    }

    /// Removes a client, and returns it.
    pub(crate) fn remove(&mut self, key: ClientKey) -> Client {
        self.end_monitor(key);
        self.table[key].closing = Closing::Now;
        self.recount(key);
        let client = self.table.remove(key);
        self.by_id.remove(&client.id);
        client
    }

    /// Returns the number of clients.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns the key of the client with this id.
    pub(crate) fn with_id(&self, id: u64) -> Option<ClientKey> {
        self.by_id.get(&id).copied()
    }

    /// Returns the keys of all clients, in the order in which the clients connected.
    pub(crate) fn keys(&self) -> impl Iterator<Item = ClientKey> {
        self.by_id.values().copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ClientKey, &Client)> {
        self.table.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.table.iter_mut().map(|(_, client)| client)
    }

    /// Closes every connection, because the server stops.
    pub(crate) fn close_all(&mut self) {
        for client in self.iter_mut() {
            client.close(Closing::Now);
        }
    }

    /// Returns the number of bytes of memory that all clients together use. These bytes count
    /// towards `maxmemory`.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Updates the total of all clients by the change of this client's memory use since the
    /// previous call.
    pub(crate) fn recount(&mut self, key: ClientKey) {
        let client = &mut self.table[key];
        let held = client.held_bytes();
        let before = std::mem::replace(&mut client.counted_bytes, held);
        self.bytes = self.bytes + held - before;
    }

    /// Closes clients, in descending order of the bytes that they use, until the remaining clients
    /// are within `maxmemory-clients`.
    pub(crate) fn evict(&mut self) {
        while 0 < self.bounds.bytes_max && self.bounds.bytes_max < self.bytes as u64 {
            let clients = self.table.iter();
            let evictable = clients.filter(|(_, it)| !it.no_evict && it.closing != Closing::Now);
            let Some((key, client)) = evictable.max_by_key(|(_, it)| it.counted_bytes) else {
                return;
            };
            tracing::warn!(
                id = client.id,
                bytes = client.counted_bytes,
                "the clients together use more memory than maxmemory-clients allows; closed this connection"
            );
            self.table[key].close(Closing::Now);
            self.counters.evicted += 1;
            self.recount(key);
        }
    }

    /// Returns the number of bytes of waiting output below which a client exceeds no limit.
    #[inline]
    pub(crate) fn output_bytes_min(&self) -> u64 {
        self.bounds.output_bytes_min
    }

    /// Closes a client whose waiting output exceeds the limits that `client-output-buffer-limit`
    /// sets for its class, or the maximum for any client.
    pub(crate) fn enforce_output_limit(&mut self, key: ClientKey, now_ms: u64) {
        let client = &mut self.table[key];
        let OutputLimit {
            hard_bytes,
            soft_bytes,
            soft_seconds,
        } = match client.class() {
            "pubsub" => self.bounds.output.pubsub,
            _ => self.bounds.output.normal,
        };
        let waits = client.out.len() as u64;
        let hard = passes(waits, hard_bytes) || self.bounds.out_bytes_max <= waits;
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
                "the client exceeded its output buffer limit; closed its connection"
            );
            client.close(Closing::Now);
            self.counters.output_limit_disconnections += 1;
        }
    }

    /// Enforces the output limits of all clients, and closes clients that were idle for
    /// `idle_ms_max`. If `idle_ms_max` is 0, idle clients are not closed.
    pub(crate) fn tick(&mut self, now_ms: u64, idle_ms_max: u64) {
        let keys: Vec<_> = self.table.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.enforce_output_limit(key, now_ms);
            self.recount(key);
            let client = &mut self.table[key];
            let exempt = client.blocked_command.is_some()
                || !client.subscriptions.is_empty()
                || client.monitor;
            if 0 < idle_ms_max && !exempt && idle_ms_max < now_ms.saturating_sub(client.active_ms) {
                client.close(Closing::Now);
            }
        }
        self.evict();
    }

    /// Sends a message to a client. If a command of this client is running, the message follows the
    /// command's reply.
    pub(crate) fn deliver(&mut self, key: ClientKey, now_ms: u64, write: impl FnOnce(&mut Out)) {
        let client = &mut self.table[key];
        if self.running == Some(key) {
            write(&mut client.deferred_messages);
        } else {
            write(&mut client.out);
            client.wake();
            self.enforce_output_limit(key, now_ms);
            self.recount(key);
        }
    }

    /// Puts a client into `MONITOR` mode.
    pub(crate) fn start_monitor(&mut self, key: ClientKey) {
        let client = &mut self.table[key];
        if !client.monitor {
            client.monitor = true;
            self.monitors.push(key);
        }
    }

    /// Ends a client's `MONITOR` mode.
    pub(crate) fn end_monitor(&mut self, key: ClientKey) {
        self.table[key].monitor = false;
        self.monitors.retain(|monitor| *monitor != key);
    }

    /// Returns whether any client is in `MONITOR` mode.
    pub(crate) fn has_monitors(&self) -> bool {
        !self.monitors.is_empty()
    }

    /// Sends a client's command to all clients in `MONITOR` mode. `by_script` is true if the
    /// client's script calls the command.
    pub(crate) fn show_monitors(
        &mut self,
        key: ClientKey,
        by_script: bool,
        args: &[Bytes],
        now_us: u64,
    ) {
        let client = &self.table[key];
        let peer = &client.peer;
        let address = match peer.address.strip_suffix(":0") {
            _ if by_script => "lua".to_owned(),
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
            self.deliver(monitor, now_us / 1000, |out| out.simple(&line));
        }
    }
}

impl Index<ClientKey> for Clients {
    type Output = Client;

    #[inline]
    fn index(&self, key: ClientKey) -> &Client {
        &self.table[key]
    }
}

impl IndexMut<ClientKey> for Clients {
    #[inline]
    fn index_mut(&mut self, key: ClientKey) -> &mut Client {
        &mut self.table[key]
    }
}

fn passes(bytes: u64, bound: u64) -> bool {
    0 < bound && bound <= bytes
}
