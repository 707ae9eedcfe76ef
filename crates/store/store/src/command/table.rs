//! Table of the commands about the server, and of the special rules that dispatch applies to some
//! commands. The other properties of the commands are in the table of `keyspace`.

use std::sync::LazyLock;

use bytes::Bytes;
use keyspace::Command;

use super::call::Call;
use super::{
    auth, client, config, debug, emulated, function, info, latency, pubsub, script, server, slowlog,
};
use crate::client::ClientKey;
use crate::state::State;

/// Set of special rules that apply to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules(u8);

impl Rules {
    const NONE: Rules = Rules(0);
    /// A RESP2 client may send the command in pub/sub mode.
    pub(crate) const IN_PUBSUB_MODE: Rules = Rules(1);
    /// The reply consists of messages, which `CLIENT REPLY OFF` does not suppress.
    pub(crate) const REPLIES_BY_MESSAGE: Rules = Rules(1 << 1);
    /// A pause of writes delays the command, although it is not flagged as a write.
    pub(crate) const WAITS_LIKE_WRITE: Rules = Rules(1 << 2);
    /// Clients use the command (PING) as a health check, so it is refused like a write while
    /// snapshots fail.
    pub(crate) const REPORTS_DISK: Rules = Rules(1 << 3);
    /// Clients in `MONITOR` mode see the command only after it ran.
    pub(crate) const SHOWN_LATE: Rules = Rules(1 << 4);

    const fn and(self, other: Rules) -> Rules {
        Rules(self.0 | other.0)
    }

    pub(crate) fn has(self, rule: Rules) -> bool {
        self.0 & rule.0 == rule.0
    }
}

/// Handler of a command about the server.
type Handler = fn(&mut Call<'_>);

/// Handler and rules of a command. If the command has subcommands, as `config` does, they share the
/// command's row.
#[derive(Clone, Copy)]
struct Row {
    /// Handler; `None` if `keyspace` runs the command, or if the command is not implemented.
    handler: Option<Handler>,
    rules: Rules,
}

const SUBSCRIBING: Rules = Rules::IN_PUBSUB_MODE.and(Rules::REPLIES_BY_MESSAGE);

/// Rows of the commands about the server.
const ROWS: &[(&str, Handler, Rules)] = &[
    (
        "ping",
        pubsub::ping,
        Rules::IN_PUBSUB_MODE.and(Rules::REPORTS_DISK),
    ),
    ("publish", pubsub::publish, Rules::WAITS_LIKE_WRITE),
    ("spublish", pubsub::spublish, Rules::WAITS_LIKE_WRITE),
    ("subscribe", pubsub::subscribe, SUBSCRIBING),
    ("psubscribe", pubsub::psubscribe, SUBSCRIBING),
    ("ssubscribe", pubsub::ssubscribe, SUBSCRIBING),
    ("unsubscribe", pubsub::unsubscribe, SUBSCRIBING),
    ("punsubscribe", pubsub::punsubscribe, SUBSCRIBING),
    ("sunsubscribe", pubsub::sunsubscribe, SUBSCRIBING),
    ("pubsub", pubsub::pubsub, Rules::NONE),
    ("auth", auth::auth, Rules::NONE),
    ("hello", auth::hello, Rules::NONE),
    ("reset", auth::reset, Rules::IN_PUBSUB_MODE),
    ("quit", auth::quit, Rules::IN_PUBSUB_MODE),
    ("acl", auth::acl, Rules::NONE),
    ("client", client::client, Rules::NONE),
    ("config", config::config, Rules::NONE),
    ("info", info::info, Rules::NONE),
    ("slowlog", slowlog::slowlog, Rules::NONE),
    ("latency", latency::latency, Rules::NONE),
    ("debug", debug::debug, Rules::NONE),
    ("monitor", server::monitor, Rules::NONE),
    ("save", server::save, Rules::NONE),
    ("bgsave", server::bgsave, Rules::NONE),
    ("bgrewriteaof", server::bgrewriteaof, Rules::NONE),
    ("lastsave", server::lastsave, Rules::NONE),
    ("shutdown", server::shutdown, Rules::NONE),
    ("memory", server::memory, Rules::NONE),
    ("role", emulated::role, Rules::NONE),
    ("wait", emulated::wait, Rules::NONE),
    ("waitaof", emulated::waitaof, Rules::NONE),
    ("cluster", emulated::cluster, Rules::NONE),
    ("module", emulated::module, Rules::NONE),
    ("function", function::function, Rules::NONE),
    ("fcall", function::fcall, Rules::WAITS_LIKE_WRITE),
    ("fcall_ro", function::fcall, Rules::NONE),
    ("script", script::script, Rules::NONE),
    ("eval", script::eval, Rules::WAITS_LIKE_WRITE),
    ("eval_ro", script::eval, Rules::NONE),
    ("evalsha", script::eval, Rules::WAITS_LIKE_WRITE),
    ("evalsha_ro", script::eval, Rules::NONE),
    ("lolwut", emulated::lolwut, Rules::NONE),
    ("replicaof", emulated::replicaof, Rules::NONE),
    ("slaveof", emulated::replicaof, Rules::NONE),
];

/// Rules of commands that are not in [`ROWS`].
const OTHER_RULES: &[(&str, Rules)] = &[("exec", Rules::SHOWN_LATE), ("select", Rules::SHOWN_LATE)];

/// Rows of all commands. A command's row is at the command's index.
static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let commands = keyspace::commands().iter();
    commands.map(|command| row(command.name)).collect()
});

fn row(name: &str) -> Row {
    let whole = name.split('|').next().unwrap_or(name);
    let row = ROWS.iter().find(|(name, ..)| *name == whole);
    let other = OTHER_RULES.iter().find(|(name, _)| *name == whole);
    match (row, other) {
        (Some((_, handler, rules)), _) => Row {
            handler: Some(*handler),
            rules: *rules,
        },
        (None, other) => Row {
            handler: None,
            rules: other.map_or(Rules::NONE, |(_, rules)| *rules),
        },
    }
}

/// Returns the rules of a command.
pub(crate) fn rules(command: &Command) -> Rules {
    TABLE[command.index()].rules
}

/// Runs a command that `keyspace` does not run itself.
pub(crate) fn run(state: &mut State, key: ClientKey, command: &'static Command, args: &[Bytes]) {
    let handler = TABLE[command.index()].handler;
    let handler = handler.unwrap_or(emulated::not_implemented);
    handler(&mut Call { state, key, args });
}

#[cfg(test)]
mod tests {
    use super::{OTHER_RULES, ROWS, TABLE};

    #[test]
    fn each_row_has_a_command_of_its_own() {
        let names = ROWS.iter().map(|row| row.0);
        let names: Vec<&str> = names.chain(OTHER_RULES.iter().map(|row| row.0)).collect();
        for (index, name) in names.iter().enumerate() {
            let known = keyspace::commands().iter().any(|it| it.name == *name);
            assert!(known, "{name} is a command");
            assert!(!names[index + 1..].contains(name), "{name} stands once");
        }
        assert_eq!(TABLE.len(), keyspace::commands().len());
    }
}
