//! `pelton user`: who may come in.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::SystemTime;

use origin::FileSource;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use subsonic::{Store, StoreError, UserError};

use crate::config::Resolved;
use crate::flags::UserDoes;
use crate::house;
use crate::players::{self, unix_ms};
use crate::print;
use crate::report::{self, EXIT_OK, Error};

/// Bytes of a picture.
const AVATAR_BYTES_MAX: u64 = 16 << 20;
/// Bytes of a password.
const PASSWORD_BYTES_MAX: usize = 1024;

/// Does it, whether or not a server runs: that sees it with its next request.
pub(crate) fn run(does: &UserDoes, resolved: &Resolved) -> Result<u8, Vec<Error>> {
    report::notes(&resolved.notes);
    let folder = resolved.config.data.join(players::FOLDER);
    let store = Store::open(&folder).map_err(|err| vec![told(&UserError::Store(err))])?;
    let avatars = resolved.config.data.join(house::AVATARS);
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
        UserDoes::Remove(whose) => {
            let avatar = store.avatar(&whose.name).map_err(failed)?;
            store.remove_user(&whose.name).map_err(failed)?;
            // Nobody finds it any more; one that stays takes room and nothing else.
            drop(fs::remove_file(avatars.join(avatar)));
        }
        UserDoes::Avatar(portrait) => {
            let name = store.avatar(&portrait.name).map_err(failed)?;
            keep_avatar(&portrait.file, &avatars, &name).map_err(|err| vec![err])?;
        }
        UserDoes::RemoveAvatar(whose) => {
            let path = avatars.join(store.avatar(&whose.name).map_err(failed)?);
            let removed = fs::remove_file(&path);
            removed.map_err(|err| vec![not_there(&whose.name, &err)])?;
        }
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

fn not_there(name: &str, err: &io::Error) -> Error {
    match err.kind() {
        io::ErrorKind::NotFound => Error::usage(format!("user: {name} has no avatar")),
        _ => Error::host(format!("user: remove the avatar of {name}: {err}")),
    }
}

/// Keeps a copy of the picture in `file` as `name`, written beside it and renamed: a server may read it at the moment.
fn keep_avatar(file: &Path, avatars: &Path, name: &str) -> Result<(), Error> {
    let unfit = |why: &dyn Display| Error::usage(format!("user: {}: {why}", file.display()));
    let picture = File::open(file).map_err(|err| unfit(&err))?;
    let bytes = picture.metadata().map_err(|err| unfit(&err))?.len();
    if AVATAR_BYTES_MAX < bytes {
        let mib = AVATAR_BYTES_MAX >> 20;
        return Err(unfit(&"the picture is too large").hint(format!("{mib} MiB are the most")));
    }
    let facts = picture::probe(&FileSource(&picture), bytes).map_err(|err| unfit(&err))?;
    if facts.unsupported.is_some() {
        return Err(unfit(&"pictures of this kind are not converted")
            .hint("JPEG, PNG, WebP, AVIF, GIF and BMP are"));
    }
    let failed = |err: io::Error| Error::host(format!("user: {}: {err}", avatars.display()));
    fs::create_dir_all(avatars).map_err(failed)?;
    let partial = avatars.join(format!("{name}.{}", std::process::id()));
    let copied = File::create(&partial).and_then(|mut copy| {
        io::copy(&mut io::Read::take(&picture, bytes), &mut copy)?;
        copy.sync_all()?;
        fs::rename(&partial, avatars.join(name))
    });
    copied.map_err(|err| {
        drop(fs::remove_file(&partial));
        failed(err)
    })
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
