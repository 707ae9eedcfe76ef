//! `pelton user`: who may come in.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::time::SystemTime;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use subsonic::{Store, StoreError, UserError};

use crate::config::Resolved;
use crate::flags::UserDoes;
use crate::players::{self, unix_ms};
use crate::print;
use crate::report::{self, EXIT_OK, Error};

/// Bytes of a password.
const PASSWORD_BYTES_MAX: usize = 1024;

/// Does it, whether or not a server runs: that sees it with its next request.
pub(crate) fn run(does: &UserDoes, resolved: &Resolved) -> Result<u8, Vec<Error>> {
    report::notes(&resolved.notes);
    let folder = resolved.config.data.join(players::FOLDER);
    let store = Store::open(&folder).map_err(|err| vec![told(&UserError::Store(err))])?;
    let now_ms = unix_ms(SystemTime::now());
    let failed = |err: UserError| vec![told(&err)];
    match does {
        UserDoes::Add(add) => {
            let password = password().map_err(|err| vec![err])?;
            let added = store.add_user(&add.name, &password, add.admin, now_ms);
            added.map_err(failed)?;
        }
        UserDoes::Password(whose) => {
            let password = password().map_err(|err| vec![err])?;
            let set = store.set_password(&whose.name, &password, now_ms);
            set.map_err(failed)?;
        }
        UserDoes::Remove(whose) => store.remove_user(&whose.name).map_err(failed)?,
        UserDoes::List(_) => return list(&store),
        UserDoes::Key(key) => {
            let key = store
                .add_key(&key.name, &key.label, now_ms)
                .map_err(failed)?;
            return print(|out| writeln!(out, "{key}"));
        }
        UserDoes::RemoveKey(key) => store.remove_key(&key.name, &key.label).map_err(failed)?,
    }
    Ok(EXIT_OK)
}

/// A user a line: the name, what they may change, and the labels of their keys.
fn list(store: &Store) -> Result<u8, Vec<Error>> {
    let failed = |err: StoreError| vec![told(&UserError::Store(err))];
    let users = store.users().map_err(failed)?;
    let mut lines = String::new();
    for (name, admin) in users {
        let keys = store.keys(&name).map_err(|err| vec![told(&err)])?;
        let role = if admin { "admin" } else { "user" };
        lines += &format!("{name}\t{role}\t{}\n", keys.join(", "));
    }
    print(|out| write!(out, "{lines}"))
}

fn told(err: &UserError) -> Error {
    let what = format!("user: {err}");
    let error = match err {
        UserError::Store(_) => Error::host(what),
        _ => Error::usage(what),
    };
    match std::error::Error::source(err) {
        Some(source) => error.because(source.to_string()),
        None => error,
    }
}

/// A line of standard input; at a terminal it is asked for, and not shown.
fn password() -> Result<String, Error> {
    let failed = |err: io::Error| Error::host(format!("user: read the password: {err}"));
    let stdin = io::stdin();
    let mut line = String::new();
    if stdin.is_terminal() {
        eprint!("password: ");
        io::stderr().flush().map_err(failed)?;
        let shown = tcgetattr(&stdin).map_err(|err| failed(err.into()))?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &hidden).map_err(|err| failed(err.into()))?;
        let read = stdin.lock().read_line(&mut line);
        tcsetattr(&stdin, OptionalActions::Flush, &shown).map_err(|err| failed(err.into()))?;
        eprintln!();
        read.map_err(failed)?;
    } else {
        stdin.lock().read_line(&mut line).map_err(failed)?;
    }
    let password = line.trim_end_matches(['\r', '\n']);
    match password.len() {
        0 => {
            Err(Error::usage("user: the password is empty")
                .hint("echo SECRET | pelton user add NAME"))
        }
        length if PASSWORD_BYTES_MAX < length => {
            Err(Error::usage("user: the password is too long"))
        }
        _ => Ok(password.to_owned()),
    }
}
