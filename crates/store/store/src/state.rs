//! State that the core owns, with one field per component.

use std::rc::Rc;

use keyspace::Keyspace;
use tokio::sync::Notify;

use crate::Limits;
use crate::block::BlockedClients;
use crate::client::{BlockedCommand, ClientKey, Closing, Peer};
use crate::clients::Clients;
use crate::clock::Clock;
use crate::config::{Config, LogLevel};
use crate::functions::Functions;
use crate::pause::{Pause, Pauses};
use crate::persist::Persist;
use crate::pubsub::Hub;
use crate::rewrite::RewriteWaiters;
use crate::scripts::Scripts;
use crate::settings::keyspace_limits;
use crate::statistics::Statistics;

/// All state that the core owns. A function that needs one component gets only that component; a
/// function that needs several components gets the whole state.
pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) keyspace: Keyspace,
    pub(crate) clients: Clients,
    /// Subscriptions of all clients.
    pub(crate) hub: Hub,
    pub(crate) blocked: BlockedClients,
    pub(crate) pauses: Pauses,
    pub(crate) stats: Statistics,
    pub(crate) persist: Persist,
    pub(crate) rewrite_waiters: RewriteWaiters,
    pub(crate) scripts: Scripts,
    pub(crate) tasks: TaskSignals,
    /// Function that changes the level of the process's log; `None` if the store may not change the
    /// level.
    pub(crate) set_log_level: Option<fn(LogLevel)>,
    pub(crate) run_id: String,
}

/// Notifications that wake the core's own tasks.
#[derive(Debug, Default)]
pub(crate) struct TaskSignals {
    /// Notified when a client blocks with a deadline, or when the deadline of a pause changes.
    pub(crate) deadline_changed: Rc<Notify>,
    /// Notified when a defragmentation is requested.
    pub(crate) defrag_wanted: Rc<Notify>,
    /// Notified when a script has run for `busy-reply-threshold` and goes on.
    pub(crate) script_busy: Rc<Notify>,
}

impl State {
    pub(crate) fn new(
        config: Config,
        limits: Limits,
        keyspace: Keyspace,
        persist: Persist,
    ) -> State {
        let clock = Clock::new();
        let tasks = TaskSignals::default();
        let mut state = State {
            keyspace,
            persist,
            run_id: run_id(Clock::seed()),
            stats: Statistics::new(&limits, clock.unix_ms()),
            clients: Clients::new(&config, &limits),
            hub: Hub::default(),
            blocked: BlockedClients::new(Rc::clone(&tasks.deadline_changed)),
            pauses: Pauses::new(Rc::clone(&tasks.deadline_changed)),
            rewrite_waiters: RewriteWaiters::default(),
            scripts: Scripts::new(limits.scripts),
            tasks,
            set_log_level: None,
            config,
            limits,
            clock,
        };
        state.keyspace.set_journaling(state.persist.is_journaling());
        state.keyspace.set_blob_freezer(reactor::zero_copy);
        state.apply_settings();
        state.load_functions();
        state
    }

    /// Loads the functions whose sources are in the keyspace, in place of those that are loaded.
    /// Sources that cannot be loaded are kept.
    pub(crate) fn load_functions(&mut self) {
        // Ends the old interpreter first, so that there are never two.
        self.scripts.functions.flush();
        let sources = self.keyspace.functions();
        self.scripts.functions = Functions::of_sources(self.limits.scripts, sources);
    }

    /// Sets the sources in the keyspace, which snapshots contain, to those of the libraries.
    pub(crate) fn keep_functions(&mut self) {
        let sources = self.scripts.functions.sources();
        self.keyspace.set_functions(sources);
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.unix_ms()
    }

    /// Registers a new client.
    ///
    /// # Errors
    /// The error reply for a client that is refused.
    pub(crate) fn admit(&mut self, peer: Peer) -> Result<ClientKey, &'static str> {
        self.clients.admit(peer, &self.config, self.clock.unix_ms())
    }

    /// Removes a client whose connection has ended. If the client's script is still running, the
    /// client is removed when the script ends.
    pub(crate) fn forget(&mut self, key: ClientKey) {
        if self.scripts.note_departure(key) {
            return;
        }
        self.unpark(key);
        self.hub.unsubscribe_all(&mut self.clients, key);
        self.persist.forget(key);
        self.rewrite_waiters.forget(key);
        let mut client = self.clients.remove(key);
        self.keyspace.close(&mut client.session);
    }

    /// Unblocks a client: removes it from the queues in which it waits. Returns the command with
    /// which it was blocked, if any.
    pub(crate) fn unpark(&mut self, key: ClientKey) -> Option<BlockedCommand> {
        self.blocked
            .unpark(&mut self.clients, &mut self.keyspace, key)
    }

    /// Blocks a client that waits for something other than a key, such as the end of a snapshot.
    pub(crate) fn park_without_keys(&mut self, key: ClientKey) {
        self.blocked.park_without_keys(&mut self.clients, key);
    }

    /// Replies to a blocked command that ends although none of its keys became ready. The reply is
    /// `error`, or a null array if `error` is `None`.
    pub(crate) fn answer_blocked(&mut self, key: ClientKey, error: Option<&str>) {
        let client = &mut self.clients[key];
        match error {
            None => client.out.null_array(),
            Some(text) => {
                client.out.error(text);
                self.stats.error(text.as_bytes());
            }
        }
        if let Some(command) = client.last {
            self.stats.ran(command, 0, error.is_some());
        }
    }

    /// Releases a client's replies when their wait for the disk is over. If writing failed, the
    /// replies to commands that changed data are replaced by errors.
    pub(crate) fn release_replies(&mut self, key: ClientKey, is_written: bool) {
        let replies = std::mem::take(&mut self.clients[key].unwritten);
        if is_written {
            return;
        }
        let text = self.persist.unwritten_reply();
        for (from, to) in replies.into_iter().rev().filter(|(from, to)| from != to) {
            self.clients[key].out.replace_with_error(from, to, &text);
            self.stats.error(text.as_bytes());
        }
    }

    /// Replies to an invalid request with an error, and closes the connection. A request that
    /// exceeds the limit of the query buffer gets no reply.
    pub(crate) fn protocol_error(&mut self, key: ClientKey, error: resp::ProtocolError) {
        let client = &mut self.clients[key];
        if error == resp::ProtocolError::QueryTooLarge {
            client.close(Closing::Now);
            return;
        }
        let text = format!("ERR {error}");
        client.out.error(&text);
        client.close(Closing::AfterReply);
        self.stats.error(text.as_bytes());
    }

    /// Stops the server, after a snapshot if `save` is set. No further command runs, unless that
    /// snapshot fails.
    pub(crate) fn shut_down(&mut self, save: bool) {
        if self.persist.start_stop(save) {
            self.pauses.set(Pause {
                until_ms: u64::MAX,
                all: true,
            });
        }
    }

    /// Returns the number of bytes that count towards `maxmemory`: the data and the memory that
    /// clients use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.keyspace.used_bytes() + self.clients.bytes()
    }

    /// Applies the configuration to the components that keep a copy of some settings.
    fn apply_settings(&mut self) {
        self.keyspace.set_limits(keyspace_limits(&self.config));
        self.keyspace
            .set_notify(self.config.notify_keyspace_events.0);
        self.clients.set_bounds(&self.config, &self.limits);
    }

    /// Applies the current configuration, which `CONFIG SET` has changed. `before` is the
    /// configuration before the change.
    pub(crate) fn apply_config(&mut self, before: &Config) -> Result<(), String> {
        self.persist
            .apply_config(before, &self.config, &mut self.keyspace)?;
        self.apply_settings();
        if let Some(set) = self.set_log_level
            && before.loglevel != self.config.loglevel
        {
            set(self.config.loglevel);
        }
        if self.config.requirepass.is_empty() {
            // If no password is set, every client is authenticated as the only user, `default`.
            for client in self.clients.iter_mut() {
                client.authenticated = true;
            }
        }
        Ok(())
    }
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
