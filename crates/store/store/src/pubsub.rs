//! Subscriptions and the delivery of messages.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use resp::Out;

use crate::client::{ClientKey, Subscriptions};
use crate::state::State;

/// The three kinds of subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Channel,
    Pattern,
    Shard,
}

impl Kind {
    pub(crate) fn subscribe(self) -> &'static [u8] {
        match self {
            Kind::Channel => b"subscribe",
            Kind::Pattern => b"psubscribe",
            Kind::Shard => b"ssubscribe",
        }
    }

    pub(crate) fn unsubscribe(self) -> &'static [u8] {
        match self {
            Kind::Channel => b"unsubscribe",
            Kind::Pattern => b"punsubscribe",
            Kind::Shard => b"sunsubscribe",
        }
    }

    pub(crate) fn of(self, subscriptions: &mut Subscriptions) -> &mut BTreeSet<Bytes> {
        match self {
            Kind::Channel => &mut subscriptions.channels,
            Kind::Pattern => &mut subscriptions.patterns,
            Kind::Shard => &mut subscriptions.shard_channels,
        }
    }

    /// Returns the number of subscriptions that a reply to (un)subscribing states.
    pub(crate) fn count(self, subscriptions: &Subscriptions) -> usize {
        match self {
            Kind::Channel | Kind::Pattern => subscriptions.count(),
            Kind::Shard => subscriptions.shard_channels.len(),
        }
    }
}

type Listeners = HashMap<Bytes, BTreeSet<ClientKey>>;

/// Every subscription by name. [`Subscriptions`] has the same by client; both change together.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    pub(crate) channels: Listeners,
    pub(crate) patterns: Listeners,
    pub(crate) shard_channels: Listeners,
}

impl Hub {
    pub(crate) fn of(&mut self, kind: Kind) -> &mut Listeners {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shard_channels,
        }
    }
}

/// Overhead of a subscription, besides its name: an entry of the client's set and one of the
/// channel's.
const NAME_BYTES: usize = 160;

impl State {
    /// Adds a subscription; the caller replies.
    pub(crate) fn subscribe(&mut self, key: ClientKey, kind: Kind, name: &Bytes) {
        // A name may be a slice of the read buffer, so it is copied.
        let name = Bytes::copy_from_slice(name);
        let client = &mut self.clients[key];
        if kind.of(&mut client.subscriptions).insert(name.clone()) {
            client.subscribed_bytes += NAME_BYTES + name.len();
            self.hub.of(kind).entry(name).or_default().insert(key);
        }
    }

    pub(crate) fn unsubscribe(&mut self, key: ClientKey, kind: Kind, name: &Bytes) {
        let client = &mut self.clients[key];
        if kind.of(&mut client.subscriptions).remove(name) {
            client.subscribed_bytes -= NAME_BYTES + name.len();
            self.hub_forget(key, kind, name);
        }
    }

    /// Removes all subscriptions of a client, without a reply.
    pub(crate) fn unsubscribe_all(&mut self, key: ClientKey) {
        let client = &mut self.clients[key];
        client.subscribed_bytes = 0;
        let all = std::mem::take(&mut client.subscriptions);
        for (kind, names) in [
            (Kind::Channel, all.channels),
            (Kind::Pattern, all.patterns),
            (Kind::Shard, all.shard_channels),
        ] {
            for name in &names {
                self.hub_forget(key, kind, name);
            }
        }
    }

    fn hub_forget(&mut self, key: ClientKey, kind: Kind, name: &Bytes) {
        let listeners = self.hub.of(kind);
        if let Some(keys) = listeners.get_mut(name) {
            keys.remove(&key);
            if keys.is_empty() {
                listeners.remove(name);
            }
        }
    }

    /// Sends `message` to all subscribers of `channel`, by name and by pattern. Returns the number
    /// of deliveries.
    pub(crate) fn publish(&mut self, channel: &Bytes, message: &Bytes) -> usize {
        let mut recipients = Vec::new();
        if let Some(keys) = self.hub.channels.get(channel) {
            recipients.extend(keys.iter().map(|key| (*key, None)));
        }
        for (pattern, keys) in &self.hub.patterns {
            if keyspace::glob(pattern, channel) {
                recipients.extend(keys.iter().map(|key| (*key, Some(pattern.clone()))));
            }
        }
        for (key, pattern) in &recipients {
            self.deliver(*key, |out| match pattern {
                None => {
                    out.push(3);
                    out.bulk(b"message");
                    out.bulk(channel);
                    out.blob(message);
                }
                Some(pattern) => {
                    out.push(4);
                    out.bulk(b"pmessage");
                    out.bulk(pattern);
                    out.bulk(channel);
                    out.blob(message);
                }
            });
        }
        recipients.len()
    }

    /// Sends `message` to all subscribers of the sharded `channel`. Returns their number.
    pub(crate) fn publish_shard(&mut self, channel: &Bytes, message: &Bytes) -> usize {
        let keys: Vec<_> = match self.hub.shard_channels.get(channel) {
            Some(keys) => keys.iter().copied().collect(),
            None => return 0,
        };
        for key in &keys {
            self.deliver(*key, |out| {
                out.push(3);
                out.bulk(b"smessage");
                out.bulk(channel);
                out.blob(message);
            });
        }
        keys.len()
    }

    /// Sends a message to a client. If the client's own command runs, the message follows that
    /// command's reply.
    pub(crate) fn deliver(&mut self, key: ClientKey, write: impl FnOnce(&mut Out)) {
        let client = &mut self.clients[key];
        if self.running == Some(key) {
            write(&mut client.later);
        } else {
            write(&mut client.out);
            client.wake();
            self.enforce_output_limit(key);
            self.recount(key);
        }
    }
}
