//! The command table: all known commands, one list of rows per family.

use std::sync::LazyLock;

use bytes::Bytes;

use crate::command::{Command, Handler};
use crate::fault::Fault;

mod collections;
mod deprecated;
mod keys;
mod rows;
mod scripting;
mod server;
mod streams;
mod strings;
mod syntax;
mod tips;
mod uses;

pub(crate) use deprecated::deprecated;
pub(crate) use syntax::{Argument, Kind, arguments, usage};
pub(crate) use tips::tips;
pub(crate) use uses::{KeyPosition, Spec, specs, uses};

/// Maximum length of a command's name, subcommand included.
const NAME_BYTES_MAX: usize = 32;
/// Number of hash buckets for names: a power of two that is at least twice the number of names.
const BUCKETS: usize = 1024;
const ABSENT: u16 = u16::MAX;

struct Table {
    commands: Vec<Command>,
    buckets: [u16; BUCKETS],
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::build);

impl Table {
    fn build() -> Self {
        let families = [
            strings::ROWS,
            keys::ROWS,
            collections::ROWS,
            streams::ROWS,
            server::ROWS,
            scripting::ROWS,
        ];
        let rows = families.into_iter().flatten().enumerate();
        let commands: Vec<Command> = rows
            .map(|(index, row)| Command {
                index: u16::try_from(index).expect("there are a few hundred commands"),
                ..*row
            })
            .collect();
        let mut buckets = [ABSENT; BUCKETS];
        for command in &commands {
            let mut at = bucket(command.name.bytes());
            while buckets[at] != ABSENT {
                at = (at + 1) % BUCKETS;
            }
            buckets[at] = command.index;
        }
        Self { commands, buckets }
    }

    /// Returns the command with this name, which must be in lower case.
    fn find(&self, name: &[u8]) -> Option<&Command> {
        let mut at = bucket(name.iter().copied());
        while self.buckets[at] != ABSENT {
            let command = &self.commands[usize::from(self.buckets[at])];
            if command.name.as_bytes() == name {
                return Some(command);
            }
            at = (at + 1) % BUCKETS;
        }
        None
    }
}

fn bucket(name: impl Iterator<Item = u8>) -> usize {
    let hash = name.fold(0u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte));
    (hash ^ hash >> 10) as usize % BUCKETS
}

/// Returns all commands and subcommands, in the order of their index.
#[must_use]
pub fn commands() -> &'static [Command] {
    &TABLE.commands
}

/// Returns the command or subcommand with this name, ignoring case. Names have the form `get`, or
/// `config|get` for a subcommand.
pub(crate) fn named(name: &[u8]) -> Option<&'static Command> {
    let mut small = [0; NAME_BYTES_MAX];
    let small = small.get_mut(..name.len())?;
    small.copy_from_slice(name);
    small.make_ascii_lowercase();
    TABLE.find(small)
}

/// Returns the command or subcommand that a call names, if that command exists.
#[must_use]
pub fn command(args: &[Bytes]) -> Option<&'static Command> {
    resolve(args).ok()
}

/// Returns the command or subcommand that a call names, or the error reply if there is none.
pub(crate) fn resolve(args: &[Bytes]) -> Result<&'static Command, Fault> {
    let name = args.first().expect("a call has a name");
    // Names with `|` are internal: a client sends a command and its subcommand as two arguments.
    let command = named(name).filter(|command| !command.name.contains('|'));
    let command = command.ok_or_else(|| unknown(args))?;
    if args.len() < 2 {
        return Ok(command);
    }
    match command.handler {
        Handler::Container => subcommand(args).ok_or_else(|| unknown_subcommand(name, &args[1])),
        // The server, not this crate, runs this command and most of its subcommands. So only the
        // subcommands that concern data have rows in this table.
        Handler::Service => Ok(subcommand(args).unwrap_or(command)),
        Handler::Run(_) | Handler::Wait(_) | Handler::Exec | Handler::Help => Ok(command),
    }
}

fn subcommand(args: &[Bytes]) -> Option<&'static Command> {
    let full = [args[0].as_ref(), args[1].as_ref()].join(&b'|');
    named(&full)
}

/// Returns the subcommands of a container, which are named `container|subcommand`.
pub(crate) fn subcommands(container: &Command) -> impl Iterator<Item = &'static Command> {
    let name = container.name;
    commands().iter().filter(move |command| {
        let rest = command.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('|'))
    })
}

/// Returns whether a command runs immediately inside MULTI, without being queued.
pub(crate) fn runs_at_once(name: &str) -> bool {
    matches!(
        name,
        "exec" | "discard" | "multi" | "watch" | "quit" | "reset"
    )
}

/// Limit of the error for an unknown command: it repeats at most this many bytes of the command's
/// name, and at most this many bytes of all arguments together.
const ECHO_BYTES_MAX: usize = 128;

/// Returns the error reply for a call with an unknown name.
#[must_use]
pub fn unknown_command(args: &[Bytes]) -> Vec<u8> {
    unknown(args).text().to_vec()
}

fn unknown(args: &[Bytes]) -> Fault {
    let name = &args[0][..args[0].len().min(ECHO_BYTES_MAX)];
    let mut tail = Vec::new();
    for arg in &args[1..] {
        if ECHO_BYTES_MAX <= tail.len() {
            break;
        }
        let room = ECHO_BYTES_MAX - tail.len();
        tail.push(b'\'');
        tail.extend_from_slice(&arg[..arg.len().min(room)]);
        tail.extend_from_slice(b"' ");
    }
    let text = [
        b"ERR unknown command '",
        name,
        b"', with args beginning with: ",
        &tail,
    ];
    Fault::new(text.concat())
}

fn unknown_subcommand(container: &[u8], name: &[u8]) -> Fault {
    let name = &name[..name.len().min(ECHO_BYTES_MAX)];
    let upper = container.to_ascii_uppercase();
    Fault::new(
        [
            b"ERR unknown subcommand '",
            name,
            b"'. Try ",
            &upper,
            b" HELP.",
        ]
        .concat(),
    )
}
