//! Subscriptions of clients, and the delivery of messages to subscribers.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;

use crate::client::{ClientKey, Subscriptions};
use crate::clients::Clients;

/// Kind of a subscription.
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

    /// Returns the number of subscriptions that the reply to a subscribe or unsubscribe command
    /// contains. For shard channels, this is the number of the client's shard channels. Otherwise
    /// it is the number of the client's channels and patterns together.
    pub(crate) fn count(self, subscriptions: &Subscriptions) -> usize {
        match self {
            Kind::Channel | Kind::Pattern => subscriptions.count(),
            Kind::Shard => subscriptions.shard_channels.len(),
        }
    }
}

type Listeners = HashMap<Bytes, BTreeSet<ClientKey>>;

/// All subscriptions by name of channel or pattern. [`Subscriptions`] lists the same subscriptions
/// by client; the two are always updated together.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    channels: Listeners,
    patterns: Listeners,
    shard_channels: Listeners,
}

/// Memory that a subscription uses besides the bytes of its name: one entry in the client's set and
/// one entry in the channel's set.
const NAME_BYTES: usize = 160;

impl Hub {
    /// Returns the subscriptions of one kind: the names of all channels, patterns or shard channels
    /// that have subscribers, each with its subscribers.
    pub(crate) fn of(&self, kind: Kind) -> &Listeners {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shard_channels,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut Listeners {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shard_channels,
        }
    }

    /// Adds a subscription. The caller sends the reply.
    pub(crate) fn subscribe(
        &mut self,
        clients: &mut Clients,
        key: ClientKey,
        kind: Kind,
        name: &Bytes,
    ) {
        // The name is copied, because `name` may be a slice of the read buffer and would keep the
        // buffer alive.
        let name = Bytes::copy_from_slice(name);
        let client = &mut clients[key];
        if kind.of(&mut client.subscriptions).insert(name.clone()) {
            client.subscribed_bytes += NAME_BYTES + name.len();
            self.of_mut(kind).entry(name).or_default().insert(key);
        }
    }

    /// Removes a subscription. The caller sends the reply.
    pub(crate) fn unsubscribe(
        &mut self,
        clients: &mut Clients,
        key: ClientKey,
        kind: Kind,
        name: &Bytes,
    ) {
        let client = &mut clients[key];
        if kind.of(&mut client.subscriptions).remove(name) {
            client.subscribed_bytes -= NAME_BYTES + name.len();
            self.forget(key, kind, name);
        }
    }

    /// Removes all subscriptions of a client. Sends no reply.
    pub(crate) fn unsubscribe_all(&mut self, clients: &mut Clients, key: ClientKey) {
        let client = &mut clients[key];
        client.subscribed_bytes = 0;
        let all = std::mem::take(&mut client.subscriptions);
        for (kind, names) in [
            (Kind::Channel, all.channels),
            (Kind::Pattern, all.patterns),
            (Kind::Shard, all.shard_channels),
        ] {
            for name in &names {
                self.forget(key, kind, name);
            }
        }
    }

    fn forget(&mut self, key: ClientKey, kind: Kind, name: &Bytes) {
        let listeners = self.of_mut(kind);
        if let Some(keys) = listeners.get_mut(name) {
            keys.remove(&key);
            if keys.is_empty() {
                listeners.remove(name);
            }
        }
    }

    /// Sends `message` to all clients that subscribed to `channel`, or to a pattern that matches
    /// `channel`. Returns the number of deliveries.
    pub(crate) fn publish(
        &self,
        clients: &mut Clients,
        now_ms: u64,
        channel: &Bytes,
        message: &Bytes,
    ) -> usize {
        let by_name = self.channels.get(channel).into_iter().flatten();
        let mut deliveries = 0;
        for key in by_name {
            deliveries += 1;
            clients.deliver(*key, now_ms, |out| {
                out.push(3);
                out.bulk(b"message");
                out.bulk(channel);
                out.blob(message);
            });
        }
        let by_pattern = self.patterns.iter();
        for (pattern, keys) in by_pattern.filter(|(it, _)| keyspace::glob(it, channel)) {
            for key in keys {
                deliveries += 1;
                clients.deliver(*key, now_ms, |out| {
                    out.push(4);
                    out.bulk(b"pmessage");
                    out.bulk(pattern);
                    out.bulk(channel);
                    out.blob(message);
                });
            }
        }
        deliveries
    }

    /// Sends `message` to all subscribers of the shard channel `channel`. Returns the number of
    /// subscribers.
    pub(crate) fn publish_shard(
        &self,
        clients: &mut Clients,
        now_ms: u64,
        channel: &Bytes,
        message: &Bytes,
    ) -> usize {
        let Some(keys) = self.shard_channels.get(channel) else {
            return 0;
        };
        for key in keys {
            clients.deliver(*key, now_ms, |out| {
                out.push(3);
                out.bulk(b"smessage");
                out.bulk(channel);
                out.blob(message);
            });
        }
        keys.len()
    }
}
