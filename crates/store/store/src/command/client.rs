//! CLIENT and its subcommands, which show and change the connections of clients.

use bytes::Bytes;

use super::call::Call;
use crate::client::{Client, ClientKey, Closing, Replies};
use crate::pause::Pause;

/// CLIENT: runs the subcommand that the first argument names.
pub(super) fn client(call: &mut Call<'_>) {
    let count = call.args.len();
    match (call.word(1).as_str(), count) {
        ("id", 2) => {
            let id = call.state.clients[call.key].id;
            call.out().int(id as i64);
        }
        ("info", 2) => {
            let now_ms = call.state.now_ms();
            let mut line = call.state.clients[call.key].describe(now_ms);
            line.push(b'\n');
            call.out().verbatim(*b"txt", &line);
        }
        ("list", _) => list(call),
        ("kill", 3..) => kill(call),
        ("getname", 2) => {
            let name = call.state.clients[call.key].name.clone();
            match name.is_empty() {
                true => call.out().null(),
                false => call.out().bulk(&name),
            }
        }
        ("setname", 3) => set_name(call),
        ("setinfo", 4) => set_info(call),
        ("reply", 3) => reply(call),
        ("pause", 3 | 4) => pause(call),
        ("unpause", 2) => {
            call.state.pauses.end(&mut call.state.clients);
            call.out().ok();
        }
        ("unblock", 3 | 4) => unblock(call),
        ("no-evict", 3) => switch(call, |client, on| client.no_evict = on),
        ("no-touch", 3) => switch(call, |client, on| {
            client.no_touch = on;
            client.session.set_no_touch(on);
        }),
        ("getredir", 2) => call.out().int(-1),
        ("trackinginfo", 2) => tracking_info(call),
        ("tracking" | "caching", 3..) => {
            call.error("ERR this server does not support client-side caching yet");
        }
        _ => call.unknown_subcommand(),
    }
}

/// Returns whether a client may have this name. A valid name has only printable characters and no
/// spaces, because `CLIENT LIST` shows the name between spaces.
pub(super) fn valid_name(name: &[u8]) -> bool {
    name.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

fn set_name(call: &mut Call<'_>) {
    let name = Bytes::copy_from_slice(&call.args[2]);
    if !valid_name(&name) {
        return call
            .error("ERR Client names cannot contain spaces, newlines or special characters.");
    }
    call.state.clients[call.key].name = name;
    call.out().ok();
}

fn set_info(call: &mut Call<'_>) {
    let value = Bytes::copy_from_slice(&call.args[3]);
    let option = call.word(2);
    if !matches!(option.as_str(), "lib-name" | "lib-ver") {
        let word = String::from_utf8_lossy(&call.args[2]).into_owned();
        return call.error(&format!("ERR Unrecognized option '{word}'"));
    }
    if !valid_name(&value) {
        let text = format!("ERR {option} cannot contain spaces, newlines or special characters.");
        return call.error(&text);
    }
    let library = &mut call.state.clients[call.key].library;
    match option.as_str() {
        "lib-name" => library.0 = value,
        _ => library.1 = value,
    }
    call.out().ok();
}

fn reply(call: &mut Call<'_>) {
    let replies = match call.word(2).as_str() {
        "on" => Replies::On,
        "off" => Replies::Off,
        "skip" => Replies::SkipNext,
        _ => return call.error("ERR syntax error"),
    };
    let client = &mut call.state.clients[call.key];
    match replies {
        Replies::On => {
            client.replies = replies;
            client.out.ok();
        }
        // SKIP has no effect if replies are off.
        Replies::SkipNext if client.replies == Replies::Off => {}
        replies => client.replies = replies,
    }
}

fn pause(call: &mut Call<'_>) {
    let all = match call.word(3).as_str() {
        "" | "all" => true,
        "write" => false,
        _ => return call.error("ERR CLIENT PAUSE mode must be WRITE or ALL"),
    };
    let Some(for_ms) = call.timeout_ms(2) else {
        return;
    };
    let until_ms = call.state.now_ms() + for_ms;
    call.state.pauses.extend(Pause { until_ms, all });
    call.out().ok();
}

fn unblock(call: &mut Call<'_>) {
    let with_error = match call.word(3).as_str() {
        "" | "timeout" => false,
        "error" => true,
        _ => {
            return call.error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        }
    };
    let Some(id) = resp::parse_int(&call.args[2]) else {
        return call.error("ERR value is not an integer or out of range");
    };
    let target = call.state.clients.with_id(id as u64);
    // CLIENT UNBLOCK unblocks only clients that wait for keys.
    let waits = |target: &ClientKey| {
        let blocked_command = call.state.clients[*target].blocked_command.as_ref();
        blocked_command.is_some_and(|blocked_command| !blocked_command.block.keys.is_empty())
    };
    let Some(target) = target.filter(waits) else {
        return call.out().int(0);
    };
    call.state.unpark(target);
    let error = with_error.then_some("UNBLOCKED client unblocked via CLIENT UNBLOCK");
    call.state.answer_blocked(target, error);
    call.out().int(1);
}

fn switch(call: &mut Call<'_>, set: fn(&mut Client, bool)) {
    let on = match call.word(2).as_str() {
        "on" => true,
        "off" => false,
        _ => return call.error("ERR syntax error"),
    };
    set(&mut call.state.clients[call.key], on);
    call.out().ok();
}

fn tracking_info(call: &mut Call<'_>) {
    let out = call.out();
    out.map(3);
    out.bulk(b"flags");
    out.set(1);
    out.bulk(b"off");
    out.bulk(b"redirect");
    out.int(-1);
    out.bulk(b"prefixes");
    out.array(0);
}

/// CLIENT LIST \[TYPE type\] \[ID id …\]: describes clients, one per line.
fn list(call: &mut Call<'_>) {
    let keys: Vec<ClientKey> = match (call.word(2).as_str(), call.args.len()) {
        ("", 2) => call.state.clients.keys().collect(),
        ("type", 4) => {
            let Some(class) = class(&call.word(3)) else {
                let word = String::from_utf8_lossy(&call.args[3]).into_owned();
                return call.error(&format!("ERR Unknown client type '{word}'"));
            };
            let clients = &call.state.clients;
            let of_class = |key: &ClientKey| clients[*key].class() == class;
            clients.keys().filter(of_class).collect()
        }
        ("id", 4..) => {
            let ids: Option<Vec<i64>> = call.args[3..]
                .iter()
                .map(|id| resp::parse_int(id))
                .collect();
            let Some(ids) = ids else {
                return call.error("ERR Invalid client ID");
            };
            let clients = &call.state.clients;
            let known = ids.iter().filter_map(|id| clients.with_id(*id as u64));
            known.collect()
        }
        _ => return call.error("ERR syntax error"),
    };
    let now_ms = call.state.now_ms();
    let mut text = Vec::new();
    for key in keys {
        text.extend_from_slice(&call.state.clients[key].describe(now_ms));
        text.push(b'\n');
    }
    call.out().verbatim(*b"txt", &text);
}

fn class(word: &str) -> Option<&'static str> {
    match word {
        "normal" => Some("normal"),
        "pubsub" => Some("pubsub"),
        "master" => Some("master"),
        "replica" | "slave" => Some("replica"),
        _ => None,
    }
}

/// Filter of CLIENT KILL.
#[derive(Default)]
struct Filter {
    id: Option<u64>,
    address: Option<String>,
    local: Option<String>,
    class: Option<&'static str>,
    /// Minimum age of the clients, in seconds.
    age_secs_min: Option<u64>,
    user: Option<String>,
    spares_self: bool,
}

/// CLIENT KILL address, or CLIENT KILL filter value …: closes the connections of matching clients.
fn kill(call: &mut Call<'_>) {
    let old_form = call.args.len() == 3;
    let filter = match old_form {
        true => Ok(Filter {
            address: Some(String::from_utf8_lossy(&call.args[2]).into_owned()),
            ..Filter::default()
        }),
        false => read_filter(call),
    };
    let filter = match filter {
        Ok(filter) => filter,
        Err(text) => return call.error(&text),
    };
    let now_ms = call.state.now_ms();
    let killed: Vec<ClientKey> = call
        .state
        .clients
        .iter()
        .filter(|(key, client)| filter.means(client, *key == call.key, now_ms))
        .map(|(key, _)| key)
        .collect();
    for key in &killed {
        // If a client closes its own connection, the reply is sent first.
        let closing = match *key == call.key {
            true => Closing::AfterReply,
            false => Closing::Now,
        };
        call.state.clients[*key].close(closing);
    }
    match (old_form, killed.len()) {
        (true, 0) => call.error("ERR No such client"),
        (true, _) => call.out().ok(),
        (false, count) => call.out().int(count as i64),
    }
}

fn read_filter(call: &Call<'_>) -> Result<Filter, String> {
    let mut filter = Filter {
        spares_self: true,
        ..Filter::default()
    };
    let options = &call.args[2..];
    if options.len() % 2 == 1 {
        return Err("ERR syntax error".to_owned());
    }
    for (index, pair) in options.chunks_exact(2).enumerate() {
        let text = String::from_utf8_lossy(&pair[1]).into_owned();
        match call.word(2 + 2 * index).as_str() {
            "id" => match resp::parse_int(&pair[1]) {
                Some(id) if 0 < id => filter.id = Some(id as u64),
                _ => return Err("ERR client-id should be greater than 0".to_owned()),
            },
            "addr" => filter.address = Some(text),
            "laddr" => filter.local = Some(text),
            "type" => match class(&text.to_ascii_lowercase()) {
                Some(class) => filter.class = Some(class),
                None => return Err(format!("ERR Unknown client type '{text}'")),
            },
            "maxage" => match resp::parse_int(&pair[1]) {
                Some(secs) if 0 < secs => filter.age_secs_min = Some(secs as u64),
                Some(_) => return Err("ERR maxage should be greater than 0".to_owned()),
                None => return Err("ERR maxage is not an integer or out of range".to_owned()),
            },
            "user" if text == "default" => filter.user = Some(text),
            "user" => return Err(format!("ERR No such user '{text}'")),
            "skipme" => match text.to_ascii_lowercase().as_str() {
                "yes" => filter.spares_self = true,
                "no" => filter.spares_self = false,
                _ => return Err("ERR syntax error".to_owned()),
            },
            _ => return Err("ERR syntax error".to_owned()),
        }
    }
    Ok(filter)
}

impl Filter {
    fn means(&self, client: &Client, is_self: bool, now_ms: u64) -> bool {
        let age_secs = now_ms.saturating_sub(client.created_ms) / 1000;
        self.id.is_none_or(|id| id == client.id)
            && is_or_any(self.address.as_deref(), &client.peer.address)
            && is_or_any(self.local.as_deref(), &client.peer.local)
            && is_or_any(self.class, client.class())
            && self.age_secs_min.is_none_or(|least| least <= age_secs)
            && !(self.spares_self && is_self)
    }
}

fn is_or_any(wanted: Option<&str>, is: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == is)
}
