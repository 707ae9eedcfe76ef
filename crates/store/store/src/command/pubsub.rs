//! PING and the commands of pub/sub.

use bytes::Bytes;

use super::call::Call;
use crate::pubsub::Kind;

/// PING \[message\]: replies with PONG or the message. A RESP2 client in pub/sub mode gets the
/// reply in the form of a message.
pub(super) fn ping(call: &mut Call<'_>) {
    if 2 < call.args.len() {
        return call.error("ERR wrong number of arguments for 'ping' command");
    }
    let listens = call.state.clients[call.key].only_subscribes();
    let message = call.args.get(1).cloned();
    let out = call.out();
    match message {
        message if listens => {
            out.array(2);
            out.bulk(b"pong");
            out.blob(&message.unwrap_or(Bytes::new()));
        }
        Some(message) => out.blob(&message),
        None => out.simple("PONG"),
    }
}

/// PUBLISH channel message: sends the message to the channel's subscribers.
pub(super) fn publish(call: &mut Call<'_>) {
    let now_ms = call.state.now_ms();
    let (hub, clients) = (&call.state.hub, &mut call.state.clients);
    let recipients = hub.publish(clients, now_ms, &call.args[1], &call.args[2]);
    call.out().int(recipients as i64);
}

/// SPUBLISH channel message: sends the message to the subscribers of a sharded channel.
pub(super) fn spublish(call: &mut Call<'_>) {
    let now_ms = call.state.now_ms();
    let (hub, clients) = (&call.state.hub, &mut call.state.clients);
    let recipients = hub.publish_shard(clients, now_ms, &call.args[1], &call.args[2]);
    call.out().int(recipients as i64);
}

pub(super) fn subscribe(call: &mut Call<'_>) {
    add(call, Kind::Channel);
}

pub(super) fn psubscribe(call: &mut Call<'_>) {
    add(call, Kind::Pattern);
}

pub(super) fn ssubscribe(call: &mut Call<'_>) {
    add(call, Kind::Shard);
}

pub(super) fn unsubscribe(call: &mut Call<'_>) {
    remove(call, Kind::Channel);
}

pub(super) fn punsubscribe(call: &mut Call<'_>) {
    remove(call, Kind::Pattern);
}

pub(super) fn sunsubscribe(call: &mut Call<'_>) {
    remove(call, Kind::Shard);
}

fn add(call: &mut Call<'_>, kind: Kind) {
    let client = &call.state.clients[call.key];
    // A transaction refuses SSUBSCRIBE, as in Redis. It allows SUBSCRIBE and PSUBSCRIBE, for
    // compatibility with old clients.
    if client.session.in_exec() && kind == Kind::Shard {
        return call.error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
    }
    for name in &call.args[1..] {
        let (hub, clients) = (&mut call.state.hub, &mut call.state.clients);
        hub.subscribe(clients, call.key, kind, name);
        let client = &mut clients[call.key];
        let count = kind.count(&client.subscriptions);
        client.out.push(3);
        client.out.bulk(kind.subscribe());
        client.out.bulk(name);
        client.out.int(count as i64);
    }
}

/// Removes the named subscriptions, and sends one reply per name. If no name is given, removes all
/// subscriptions of this kind. If there are none, sends one reply, with a null in place of the
/// name.
fn remove(call: &mut Call<'_>, kind: Kind) {
    let named = !call.args[1..].is_empty();
    let names: Vec<Bytes> = match named {
        true => call.args[1..].to_vec(),
        false => {
            let subscriptions = &mut call.state.clients[call.key].subscriptions;
            kind.of(subscriptions).iter().cloned().collect()
        }
    };
    if names.is_empty() {
        return reply_removed(call, kind, None);
    }
    for name in &names {
        let (hub, clients) = (&mut call.state.hub, &mut call.state.clients);
        hub.unsubscribe(clients, call.key, kind, name);
        reply_removed(call, kind, Some(name));
    }
}

fn reply_removed(call: &mut Call<'_>, kind: Kind, name: Option<&Bytes>) {
    let client = &mut call.state.clients[call.key];
    let count = kind.count(&client.subscriptions);
    client.out.push(3);
    client.out.bulk(kind.unsubscribe());
    match name {
        Some(name) => client.out.bulk(name),
        None => client.out.null(),
    }
    client.out.int(count as i64);
}

/// PUBSUB CHANNELS | NUMSUB | NUMPAT | SHARDCHANNELS | SHARDNUMSUB: reports on subscriptions.
pub(super) fn pubsub(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("channels", 2 | 3) => channels(call, Kind::Channel),
        ("shardchannels", 2 | 3) => channels(call, Kind::Shard),
        ("numsub", _) => listeners(call, Kind::Channel),
        ("shardnumsub", _) => listeners(call, Kind::Shard),
        ("numpat", 2) => {
            let patterns = call.state.hub.of(Kind::Pattern).len();
            call.out().int(patterns as i64);
        }
        _ => call.unknown_subcommand(),
    }
}

fn channels(call: &mut Call<'_>, kind: Kind) {
    let pattern = call.args.get(2);
    let matches = |name: &&Bytes| pattern.is_none_or(|pattern| keyspace::glob(pattern, name));
    let names: Vec<Bytes> = call
        .state
        .hub
        .of(kind)
        .keys()
        .filter(matches)
        .cloned()
        .collect();
    let out = call.out();
    out.array(names.len());
    for name in &names {
        out.bulk(name);
    }
}

fn listeners(call: &mut Call<'_>, kind: Kind) {
    let names = &call.args[2..];
    call.out().array(2 * names.len());
    for name in names {
        let count = call
            .state
            .hub
            .of(kind)
            .get(name)
            .map_or(0, |keys| keys.len());
        let out = call.out();
        out.bulk(name);
        out.int(count as i64);
    }
}
