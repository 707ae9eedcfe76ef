//! Commands for features that this server lacks: replicas, a cluster and modules.
//! Queries get the replies of a server that does not use these features. So clients that only ask
//! about a feature keep working.

use super::call::Call;

/// ROLE: reports a master without replicas.
pub(super) fn role(call: &mut Call<'_>) {
    let out = call.out();
    out.array(3);
    out.bulk(b"master");
    out.int(0);
    out.array(0);
}

/// WAIT numreplicas timeout: replies 0, because there are no replicas.
pub(super) fn wait(call: &mut Call<'_>) {
    if resp::parse_int(&call.args[1]).is_none() {
        return call.error("ERR value is not an integer or out of range");
    }
    if call.timeout_ms(2).is_some() {
        call.out().int(0);
    }
}

/// WAITAOF numlocal numreplicas timeout: replies when the AOF is as durable as `appendfsync`
/// requires.
pub(super) fn waitaof(call: &mut Call<'_>) {
    let local = i64::from(call.state.config.appendonly);
    let not_an_integer = "ERR value is not an integer or out of range";
    let wanted = match resp::parse_int(&call.args[1]) {
        None => return call.error(not_an_integer),
        Some(wanted @ 0..=1) => wanted,
        Some(_) => return call.error("ERR value is out of range, value must between 0 and 1"),
    };
    match resp::parse_int(&call.args[2]) {
        None => return call.error(not_an_integer),
        Some(..0) => return call.error("ERR value is out of range, must be positive"),
        Some(_) => {}
    }
    if call.timeout_ms(3).is_none() {
        return;
    }
    if local < wanted {
        return call
            .error("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
    }
    let out = call.out();
    out.array(2);
    out.int(local);
    out.int(0);
}

/// CLUSTER: replies that cluster support is disabled.
pub(super) fn cluster(call: &mut Call<'_>) {
    call.error("ERR This instance has cluster support disabled");
}

/// MODULE: replies with an empty list of modules, and refuses to load a module.
pub(super) fn module(call: &mut Call<'_>) {
    match call.word(1).as_str() {
        "list" => call.out().array(0),
        _ => call.error("ERR modules are not supported by this server"),
    }
}

/// LOLWUT: replies with the server's name and version.
pub(super) fn lolwut(call: &mut Call<'_>) {
    let text = format!(
        "{} {}\n",
        crate::process::SERVER_NAME,
        env!("CARGO_PKG_VERSION")
    );
    call.out().verbatim(*b"txt", text.as_bytes());
}

/// REPLICAOF NO ONE: succeeds, because there is no master.
pub(super) fn replicaof(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.word(2).as_str()) {
        ("no", "one") => call.out().ok(),
        _ => call.error("ERR this server does not support replication"),
    }
}

/// Replies that a known command is not implemented.
pub(super) fn not_implemented(call: &mut Call<'_>) {
    let name = call.word(0);
    call.error(&format!("ERR this server does not support '{name}' yet"));
}
