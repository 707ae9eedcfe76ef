//! Authentication and protocol: AUTH, HELLO, RESET, QUIT and a minimal ACL.

use bytes::Bytes;
use resp::Proto;

use super::call::Call;
use super::client::valid_name;
use crate::client::{Closing, Replies};
use crate::process::REDIS_VERSION;

const WRONG_PASSWORD: &str = "WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD: &str = "ERR AUTH <password> called without any password configured for the default user. Are you \
                           sure your configuration is correct?";

/// AUTH \[username\] password: authenticates the client.
pub(super) fn auth(call: &mut Call<'_>) {
    let (user, password) = match &call.args[1..] {
        [password] => {
            if call.state.config.requirepass.is_empty() {
                return call.error(NO_PASSWORD);
            }
            (&b"default"[..], password)
        }
        [user, password] => (&user[..], password),
        _ => return call.error("ERR syntax error"),
    };
    match is_known(call, user, password) {
        true => {
            call.state.clients[call.key].authenticated = true;
            call.out().ok();
        }
        false => call.error(WRONG_PASSWORD),
    }
}

/// Returns whether the credentials are valid. There is one user, `default`; without a configured
/// password any password is accepted, as in Redis.
fn is_known(call: &Call<'_>, user: &[u8], password: &[u8]) -> bool {
    let expected = call.state.config.requirepass.as_bytes();
    user == b"default" && (expected.is_empty() || same(expected, password))
}

/// Compares two strings in constant time, so that the duration does not reveal the position of the
/// first difference.
fn same(expected: &[u8], actual: &[u8]) -> bool {
    let differing = expected
        .iter()
        .zip(actual)
        .fold(0, |all, (a, b)| all | (a ^ b));
    expected.len() == actual.len() && differing == 0
}

/// HELLO \[protover \[AUTH username password\] \[SETNAME name\]\]: selects the protocol version,
/// authenticates the client and sets its name, as requested, and replies with properties of the
/// server. Changes nothing unless every option is valid.
pub(super) fn hello(call: &mut Call<'_>) {
    let proto = match call.args.get(1) {
        None => call.state.clients[call.key].out.proto(),
        Some(version) => match resp::parse_int(version) {
            Some(2) => Proto::Resp2,
            Some(3) => Proto::Resp3,
            Some(_) => return call.error("NOPROTO unsupported protocol version"),
            None => {
                return call.error("ERR Protocol version is not an integer or out of range");
            }
        },
    };
    let mut name = None;
    let mut authenticated = call.state.clients[call.key].authenticated;
    let mut at = 2;
    while at < call.args.len() {
        match (call.word(at).as_str(), &call.args[at + 1..]) {
            ("auth", [user, password, ..]) => {
                if !is_known(call, user, password) {
                    return call.error(WRONG_PASSWORD);
                }
                authenticated = true;
                at += 3;
            }
            ("setname", [new_name, ..]) => {
                if !valid_name(new_name) {
                    return call.error(
                        "ERR Client names cannot contain spaces, newlines or special characters.",
                    );
                }
                name = Some(Bytes::copy_from_slice(new_name));
                at += 2;
            }
            (_, _) => {
                let option = String::from_utf8_lossy(&call.args[at]).into_owned();
                return call.error(&format!("ERR Syntax error in HELLO option '{option}'"));
            }
        }
    }
    if !authenticated {
        return call.error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
             <user> <pass> option can be used to authenticate the client and select the RESP protocol version at \
             the same time",
        );
    }
    let client = &mut call.state.clients[call.key];
    client.authenticated = true;
    client.name = name.unwrap_or(client.name.clone());
    client.set_proto(proto);
    let id = client.id;
    let out = call.out();
    out.map(7);
    out.bulk(b"server");
    out.bulk(b"redis");
    out.bulk(b"version");
    out.bulk(REDIS_VERSION.as_bytes());
    out.bulk(b"proto");
    out.int(proto.number());
    out.bulk(b"id");
    out.int(id as i64);
    out.bulk(b"mode");
    out.bulk(b"standalone");
    out.bulk(b"role");
    out.bulk(b"master");
    out.bulk(b"modules");
    out.array(0);
}

/// RESET: puts the connection back into the state of a new connection.
pub(super) fn reset(call: &mut Call<'_>) {
    let state = &mut *call.state;
    state.hub.unsubscribe_all(&mut state.clients, call.key);
    state.clients.end_monitor(call.key);
    let authenticated = state.config.requirepass.is_empty();
    let client = &mut state.clients[call.key];
    state.keyspace.close(&mut client.session);
    client.session = keyspace::Session::new();
    client.set_proto(Proto::Resp2);
    client.name = Bytes::new();
    client.replies = Replies::On;
    client.no_evict = false;
    client.no_touch = false;
    client.authenticated = authenticated;
    client.out.simple("RESET");
}

/// QUIT: replies, then closes the connection.
pub(super) fn quit(call: &mut Call<'_>) {
    call.out().ok();
    call.state.clients[call.key].close(Closing::AfterReply);
}

/// ACL: reports the only user, `default`.
pub(super) fn acl(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("whoami", 2) => call.out().bulk(b"default"),
        ("users", 2) => {
            call.out().array(1);
            call.out().bulk(b"default");
        }
        ("list", 2) => {
            let password = match call.state.config.requirepass.is_empty() {
                true => "nopass",
                false => "#",
            };
            let line = format!("user default on {password} ~* &* +@all");
            call.out().array(1);
            call.out().bulk(line.as_bytes());
        }
        _ => call.error("ERR this server has only the user 'default': ACL users are not supported"),
    }
}
