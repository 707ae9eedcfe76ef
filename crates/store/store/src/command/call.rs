//! Argument of every command handler: the running command and the server's state.

use bytes::Bytes;
use resp::Out;

use crate::client::ClientKey;
use crate::state::State;

/// Argument of a command's handler: the running command, and the server's state.
pub(crate) struct Call<'a> {
    pub(crate) state: &'a mut State,
    /// The client that sent the command.
    pub(crate) key: ClientKey,
    pub(crate) args: &'a [Bytes],
}

impl Call<'_> {
    pub(crate) fn out(&mut self) -> &mut Out {
        &mut self.state.clients[self.key].out
    }

    /// Returns the argument at `index` in lower case, or an empty string if there is none.
    pub(crate) fn word(&self, index: usize) -> String {
        let word = self.args.get(index).map_or(&[][..], |arg| arg);
        String::from_utf8_lossy(word).to_ascii_lowercase()
    }

    pub(crate) fn error(&mut self, text: &str) {
        self.out().error(text);
    }

    /// Parses the argument at `at` as a timeout in milliseconds. If the argument is invalid, or the
    /// deadline would be out of range, replies with an error and returns `None`.
    pub(crate) fn timeout_ms(&mut self, at: usize) -> Option<u64> {
        let now_ms = self.state.now_ms() as i64;
        let fault = match resp::parse_int(&self.args[at]) {
            None => "ERR timeout is not an integer or out of range",
            Some(..0) => "ERR timeout is negative",
            Some(timeout) if now_ms.checked_add(timeout).is_none() => "ERR timeout is out of range",
            Some(timeout) => return Some(timeout.unsigned_abs()),
        };
        self.error(fault);
        None
    }

    /// Replies that a subcommand is unknown or has a wrong number of arguments.
    pub(crate) fn unknown_subcommand(&mut self) {
        let name = String::from_utf8_lossy(&self.args[0]).to_ascii_uppercase();
        let sub = String::from_utf8_lossy(&self.args[1]).into_owned();
        let container = self.word(0) + "|";
        let subs: Vec<&str> = keyspace::commands()
            .iter()
            .filter_map(|row| row.name.strip_prefix(&*container))
            .collect();
        let what = match subs.is_empty() || subs.contains(&&*self.word(1)) {
            true => "unknown subcommand or wrong number of arguments for",
            false => "unknown subcommand",
        };
        self.error(&format!("ERR {what} '{sub}'. Try {name} HELP."));
    }
}
