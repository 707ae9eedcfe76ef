//! Subcommands of DEBUG. Those with which Redis crashes itself on purpose are not implemented.

use std::time::Duration;

use keyspace::{Keyspace, Lifetime};
use resp::Proto;

use super::call::Call;
use crate::config::{Allowed, Config};
use crate::pause::Pause;
use crate::persist::Persist;

const NOT_ALLOWED: &str = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you \
                           can run it from a local connection, otherwise you need to set this option in the \
                           configuration file, and then restart the server.";

const HELP: &[&str] = &[
    "DIGEST",
    "    Returns a hash of all data; equal data has equal hashes.",
    "DIGEST-VALUE <key> ...",
    "    Returns a hash of the value of each <key>.",
    "ERROR <text>",
    "    Replies with <text> as an error.",
    "LOADAOF",
    "    Writes pending changes to the append-only file, and loads all data from that file.",
    "LOG <text>",
    "    Writes <text> to the log.",
    "OBJECT <key>",
    "    Describes how the value of <key> is stored.",
    "POPULATE <count> [<prefix> [<size>]]",
    "    Creates <count> keys; keys that exist keep their values.",
    "PROTOCOL <type>",
    "    Replies with an example value of <type>.",
    "RELOAD",
    "    Writes a snapshot to memory, and loads all data from that snapshot.",
    "SET-ACTIVE-EXPIRE (0 | 1)",
    "    Sets whether the server removes expired keys in the background.",
    "SLEEP <seconds>",
    "    Blocks all commands for <seconds>.",
];

/// Maximum number of keys that POPULATE creates; POPULATE occupies the core until all are created.
const POPULATE_MAX: i64 = 2_000_000;

/// DEBUG: runs the subcommand that the first argument names, if `enable-debug-command` allows the
/// client to use DEBUG.
pub(super) fn debug(call: &mut Call<'_>) {
    let allowed = match call.state.config.enable_debug_command {
        Allowed::Yes => true,
        Allowed::No => false,
        Allowed::Local => call.state.clients[call.key].peer.is_local,
    };
    if !allowed {
        return call.error(NOT_ALLOWED);
    }
    match (call.word(1).as_str(), call.args.len()) {
        ("sleep", 3) => sleep(call),
        ("log", 3) => {
            let message = String::from_utf8_lossy(&call.args[2]).into_owned();
            tracing::info!(message, "DEBUG LOG");
            call.out().ok();
        }
        ("set-active-expire", 3) => {
            call.state.keyspace.set_active_expire(call.word(2) != "0");
            call.out().ok();
        }
        (
            "jmap"
            | "replybuffer"
            | "pause-cron"
            | "set-disable-deny-scripts"
            | "dict-resizing"
            | "change-repl-id",
            _,
        ) => call.out().ok(),
        ("populate", 3..=5) => populate(call),
        ("help", 2) => keyspace::send_help("debug", HELP, call.out()),
        ("error", 3) => {
            let text = call.args[2].clone();
            call.out().error(text);
        }
        ("protocol", 3) => protocol(call),
        ("reload", _) => reload(call, |persist, config, keyspace, now_ms| {
            persist.reload(config, keyspace, now_ms)
        }),
        ("loadaof", 2) => reload(call, Persist::reload_journal),
        _ => {
            let client = &mut call.state.clients[call.key];
            let known = call
                .state
                .keyspace
                .debug(&client.session, call.args, &mut client.out);
            if !known {
                call.unknown_subcommand();
            }
        }
    }
}

/// Function that saves the data, in a snapshot in memory or in the append-only file, and then loads
/// the data again.
type Reload = fn(&mut Persist, &Config, &mut Keyspace, u64) -> Result<(), String>;

fn reload(call: &mut Call<'_>, run: Reload) {
    let now_ms = call.state.now_ms();
    let (config, keyspace) = (&call.state.config, &mut call.state.keyspace);
    let reloaded = run(&mut call.state.persist, config, keyspace, now_ms);
    match reloaded {
        Ok(()) => {
            call.state.load_functions();
            call.out().ok();
        }
        Err(text) => {
            // The libraries that are loaded stay, and so must their sources.
            call.state.keep_functions();
            call.error(&text);
        }
    }
}

/// DEBUG POPULATE count [prefix] [size]: creates strings at keys that do not exist yet. Each string
/// is padded with zeros to `size` bytes.
fn populate(call: &mut Call<'_>) {
    let number = |at: usize| call.args.get(at).map(|arg| resp::parse_int(arg));
    let (Some(Some(count)), Some(size)) = (number(2), number(4).unwrap_or(Some(0))) else {
        return call.error("ERR value is not an integer or out of range");
    };
    if !(0..=POPULATE_MAX).contains(&count) {
        return call.error("ERR value is out of range, must be positive");
    }
    let prefix = call.args.get(3).map_or(&b"key"[..], |prefix| prefix);
    let db = call.state.clients[call.key].session.db();
    let size = usize::try_from(size).unwrap_or(0);
    let size = size.min(call.state.config.proto_max_bulk_len.0 as usize);
    let now_ms = call.state.now_ms();
    let until = Lifetime {
        now_ms,
        deadline_ms: None,
    };
    for number in 0..count {
        let key = [prefix, format!(":{number}").as_bytes()].concat();
        if call.state.keyspace.contains(db, &key, now_ms) {
            continue;
        }
        let mut value = format!("value:{number}").into_bytes();
        if 0 < size {
            value.resize(size, 0);
        }
        call.state.keyspace.set(db, &key, &value.into(), until);
    }
    call.out().ok();
}

/// DEBUG SLEEP seconds: delays all further commands of all clients, including the caller, for this
/// duration. The core itself does not block.
fn sleep(call: &mut Call<'_>) {
    // An invalid number or duration counts as 0, as in Redis.
    let secs = String::from_utf8_lossy(&call.args[2]).parse::<f64>();
    let duration = Duration::try_from_secs_f64(secs.unwrap_or(0.0)).unwrap_or_default();
    if duration.is_zero() {
        return call.out().ok();
    }
    let until_ms = call
        .state
        .now_ms()
        .saturating_add(duration.as_millis() as u64);
    call.state.pauses.set(Pause {
        until_ms,
        all: true,
    });
    call.out().ok();
}

/// DEBUG PROTOCOL type: replies with a value of that type.
fn protocol(call: &mut Call<'_>) {
    let kind = call.word(2);
    let out = call.out();
    match kind.as_str() {
        "string" => out.bulk(b"Hello World"),
        "integer" => out.int(12345),
        #[expect(
            clippy::approx_constant,
            reason = "it is Redis's example and no circle"
        )]
        "double" => out.double(3.141),
        "null" => out.null(),
        "array" | "set" => {
            match kind.as_str() {
                "array" => out.array(3),
                _ => out.set(3),
            }
            for value in 0..3 {
                out.int(value);
            }
        }
        "map" => {
            out.map(3);
            for value in 0..3 {
                out.int(value);
                out.bool(value == 1);
            }
        }
        "bignum" => out.big_number("1234567999999999999999999999999999999"),
        "verbatim" => out.verbatim(*b"txt", b"This is a verbatim\nstring"),
        "true" => out.bool(true),
        "false" => out.bool(false),
        "push" if out.proto() == Proto::Resp2 => {
            out.error("ERR RESP2 is not supported by this command");
        }
        "attrib" => {
            if out.proto() == Proto::Resp3 {
                out.attribute(1);
                out.bulk(b"key-popularity");
                out.array(2);
                out.bulk(b"key:123");
                out.int(90);
            }
            out.bulk(b"Some real reply following the attribute");
        }
        "push" => {
            out.push(2);
            out.bulk(b"server-cpu-usage");
            out.int(42);
            out.bulk(b"Some real reply following the push reply");
        }
        _ => out.error(
            "ERR Wrong protocol type name. Please use one of the following: \
             string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
        ),
    }
}
