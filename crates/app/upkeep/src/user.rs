//! `pelton user`: management of users.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use config::{Config, Key, REQUIRE_LOGIN, Raw, Resolved, Source, components};
use library_api::{Damage, Store, StoreError, UserError};
use report::{EXIT_OK, Error, print};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use variants::source::FileSource;
use wall_clock::unix_ms;

/// Maximum size of an avatar in bytes.
const AVATAR_BYTES_MAX: u64 = 16 << 20;
/// Maximum length of a password in bytes.
const PASSWORD_BYTES_MAX: usize = 1024;

/// Query or change of the users.
#[derive(Clone, Copy, Debug)]
pub enum UserAction<'a> {
    /// Prints all users.
    List,
    /// Changes the user of this name.
    Change(&'a str, UserChange<'a>),
}

/// Change of one user.
#[derive(Clone, Copy, Debug)]
pub enum UserChange<'a> {
    /// Adds the user; the password is read from standard input.
    Add,
    /// Adds the user as an admin; the password is read from standard input.
    AddAdmin,
    /// Changes the password; the new one is read from standard input.
    SetPassword,
    /// Removes the user with everything that is stored for this user.
    Remove,
    /// Creates an API key with this label, and prints it.
    AddKey(&'a str),
    /// Revokes the API key with this label.
    RemoveKey(&'a str),
    /// Copies the picture in this file as the avatar.
    SetAvatar(&'a Path),
    /// Removes the avatar.
    RemoveAvatar,
}

/// Carries out the action, whether or not a server runs. A running server sees the change with its
/// next request.
pub fn run(action: UserAction<'_>, resolved: &Resolved) -> Result<u8, Vec<Error>> {
    report::notes(&resolved.notes);
    let folder = resolved.config.data.join(components::USERS);
    let store = Store::open(&folder).map_err(|err| vec![user_error(&UserError::Store(err))])?;
    let done = match action {
        UserAction::List => list(&store),
        UserAction::Change(name, change) => apply(change, name, &store, resolved),
    };
    let Some(found) = damaged(store.damage(), &folder, action) else {
        return done;
    };
    match (done, action) {
        (Ok(_), UserAction::List) => Err(vec![found]),
        (Ok(code), _) => {
            report::line(&found);
            Ok(code)
        }
        (Err(mut errors), _) => {
            errors.push(found);
            Err(errors)
        }
    }
}

/// Returns a finding about damaged parts of the users' journal, if there are any.
fn damaged(damage: Damage, folder: &Path, action: UserAction<'_>) -> Option<Error> {
    let Damage { parts, bytes } = damage;
    let hint = match action {
        UserAction::List => {
            "at the next change of a user, the journal is renamed to journal.bad, and a new \
             journal is written without the damaged parts"
        }
        _ => "the damaged journal is kept in the same folder, renamed to journal.bad",
    };
    (parts != 0).then(|| {
        let journal = folder.join("journal");
        let what = format!(
            "user: number of damaged parts in {}: {parts}",
            journal.display()
        );
        let cause =
            format!(
                "{bytes} bytes of the file are not complete records; the changes that they recorded are lost"
            );
        Error::finding(what).because(cause).hint(hint)
    })
}

/// Applies `change` to the user `name`.
fn apply(
    change: UserChange<'_>,
    name: &str,
    store: &Store,
    resolved: &Resolved,
) -> Result<u8, Vec<Error>> {
    let avatars = &resolved.config.data.join(components::AVATARS);
    let now_ms = unix_ms() as i64;
    let failed = |err: UserError| vec![user_error(&err)];
    match change {
        UserChange::Add | UserChange::AddAdmin => {
            let password = password().map_err(|err| vec![err])?;
            let users = store
                .users()
                .map_err(|err| vec![user_error(&UserError::Store(err))])?;
            // The value of `require_login` is requested before the first user exists. If the prompt
            // is aborted, the next command prompts again.
            let answer = match users.is_empty() {
                true => first_require_login(resolved).map_err(|err| vec![err])?,
                false => None,
            };
            let is_admin = matches!(change, UserChange::AddAdmin);
            let added = store.add_user(name, &password, is_admin, now_ms);
            added.map_err(failed)?;
            if let Some(answer) = answer {
                store_require_login(&resolved.config.data, &answer).map_err(|err| vec![err])?;
            }
        }
        UserChange::SetPassword => {
            let password = password().map_err(|err| vec![err])?;
            let set = store.set_password(name, &password, now_ms);
            set.map_err(failed)?;
        }
        UserChange::Remove => {
            let avatar = store.avatar(name).map_err(failed)?;
            store.remove_user(name).map_err(failed)?;
            // The avatar is no longer reachable. If its removal fails, the file only takes space.
            drop(fs::remove_file(avatars.join(avatar)));
        }
        UserChange::SetAvatar(file) => {
            let avatar = store.avatar(name).map_err(failed)?;
            store_avatar(file, avatars, &avatar).map_err(|err| vec![err])?;
        }
        UserChange::RemoveAvatar => {
            let path = avatars.join(store.avatar(name).map_err(failed)?);
            let removed = fs::remove_file(&path);
            removed.map_err(|err| vec![not_there(name, &err)])?;
        }
        UserChange::AddKey(label) => {
            let key = store.add_key(name, label, now_ms).map_err(failed)?;
            return print(|out| writeln!(out, "{key}"));
        }
        UserChange::RemoveKey(label) => store.remove_key(name, label).map_err(failed)?,
    }
    Ok(EXIT_OK)
}

/// Returns the value of `require_login` to store with the first user: the value of the flag, or the
/// answer to the prompt at the terminal. Returns `None` if no value needs to be stored, because a
/// server gets the value from a file, a variable or the default.
fn first_require_login(resolved: &Resolved) -> Result<Option<String>, Error> {
    let key = Key::named(REQUIRE_LOGIN).expect("the table of settings contains this key");
    match resolved.source(key) {
        // The server does not see the flags of this command, so the value must be stored.
        Source::Flag(_) => Ok(Some((key.show)(&resolved.config))),
        Source::Default if io::stdin().is_terminal() => prompt_for_require_login(key).map(Some),
        Source::Default => {
            report::line(
                "note:   files, /-/plain/music and /-/api need no login; set require_login to \"music\" or \"all\" to protect them",
            );
            Ok(None)
        }
        Source::File { .. } | Source::Variable(_) => Ok(None),
    }
}

/// Stores `answer` as the value of `require_login` for servers that start or reload later.
fn store_require_login(data: &Path, answer: &str) -> Result<(), Error> {
    let path = config::answer_file(data);
    let kept = replace(&path, |mut file| writeln!(file, "{answer}"));
    kept.map_err(|err| Error::host(format!("user: {}: {err}", path.display())))?;
    report::line(format_args!(
        "note:   require_login is stored in {}; servers apply it when they start, and on SIGHUP",
        path.display()
    ));
    Ok(())
}

/// Replaces the file at `path` with the output of `write`. The new file is written in the same
/// folder, synced and renamed, so that a power cut leaves either the old file or the new one.
fn replace(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}", std::process::id()));
    let written = File::create(&partial).and_then(|file| {
        write(&file)?;
        file.sync_all()?;
        fs::rename(&partial, path)?;
        let folder = path
            .parent()
            .expect("the path of a file has a parent folder");
        File::open(folder)?.sync_all()
    });
    written.inspect_err(|_| drop(fs::remove_file(&partial)))
}

/// Prompts at the terminal for the value of `require_login`, until the answer is valid.
fn prompt_for_require_login(key: &Key) -> Result<String, Error> {
    let failed = |err: io::Error| {
        Error::host(format!(
            "user: cannot read the value of require_login: {err}"
        ))
    };
    loop {
        report::line("For which parts must clients log in?");
        report::line("  music  the music library: its pages, its covers and the API at /-/api");
        report::line("  all    everything, pictures too");
        report::line(
            "  off    only the API of music players; everyone who can reach the server can read the \
             rest without a login",
        );
        io::stderr()
            .write_all(b"require_login [music]: ")
            .map_err(failed)?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).map_err(failed)? == 0 {
            return Err(Error::usage("user: no value of require_login was entered")
                .hint("give the value with --require-login"));
        }
        let word = match line.trim() {
            "" => "music",
            word => word,
        };
        let mut scratch = Config::default();
        if (key.set)(&mut scratch, &Raw::Word(word.into())).is_ok() {
            return Ok(word.to_owned());
        }
    }
}

fn not_there(name: &str, err: &io::Error) -> Error {
    match err.kind() {
        io::ErrorKind::NotFound => Error::usage(format!("user: {name} has no avatar")),
        _ => Error::host(format!("user: cannot remove the avatar of {name}: {err}")),
    }
}

/// Copies the picture in `file` to the file `name` in the folder `avatars`. Writes a temporary file
/// and then renames it, because a server may be reading the old avatar.
fn store_avatar(file: &Path, avatars: &Path, name: &str) -> Result<(), Error> {
    let unfit = |why: &dyn Display| Error::usage(format!("user: {}: {why}", file.display()));
    let picture = File::open(file).map_err(|err| unfit(&err))?;
    let bytes = picture.metadata().map_err(|err| unfit(&err))?.len();
    if AVATAR_BYTES_MAX < bytes {
        let mib = AVATAR_BYTES_MAX >> 20;
        return Err(unfit(&"the picture is too large")
            .hint(format!("a picture may have at most {mib} MiB")));
    }
    let facts = image_plan::probe(&FileSource(&picture), bytes).map_err(|err| unfit(&err))?;
    if facts.unsupported.is_some() {
        return Err(unfit(&"this kind of picture is not supported")
            .hint("use JPEG, PNG, WebP, AVIF, GIF or BMP"));
    }
    let failed = |err: io::Error| Error::host(format!("user: {}: {err}", avatars.display()));
    fs::create_dir_all(avatars).map_err(failed)?;
    let copied = replace(&avatars.join(name), |mut copy| {
        io::copy(&mut io::Read::take(&picture, bytes), &mut copy).map(drop)
    });
    copied.map_err(failed)
}

/// Prints one line per user: the name, the role, and the labels of the API keys.
fn list(store: &Store) -> Result<u8, Vec<Error>> {
    let failed = |err: StoreError| vec![user_error(&UserError::Store(err))];
    let users = store.users().map_err(failed)?;
    let mut lines = String::new();
    for (name, admin) in users {
        let keys = store.keys(&name).map_err(|err| vec![user_error(&err)])?;
        let role = if admin { "admin" } else { "user" };
        lines += &format!("{name}\t{role}\t{}\n", keys.join(", "));
    }
    print(|out| write!(out, "{lines}"))
}

fn user_error(err: &UserError) -> Error {
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

/// Reads the password, one line of standard input. At a terminal, it shows a prompt and hides the
/// input.
fn password() -> Result<String, Error> {
    let failed = |err: io::Error| Error::host(format!("user: cannot read the password: {err}"));
    let stdin = io::stdin();
    let mut line = String::new();
    if stdin.is_terminal() {
        io::stderr().write_all(b"password: ").map_err(failed)?;
        let shown = tcgetattr(&stdin).map_err(|err| failed(err.into()))?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &hidden).map_err(|err| failed(err.into()))?;
        let read = stdin.lock().read_line(&mut line);
        tcsetattr(&stdin, OptionalActions::Flush, &shown).map_err(|err| failed(err.into()))?;
        report::line("");
        read.map_err(failed)?;
    } else {
        stdin.lock().read_line(&mut line).map_err(failed)?;
    }
    let password = line.trim_end_matches(['\r', '\n']);
    match password.len() {
        0 => Err(Error::usage("user: the password is empty")
            .hint("pass the password on standard input: echo SECRET | pelton user add NAME")),
        length if PASSWORD_BYTES_MAX < length => {
            Err(Error::usage("user: the password is too long"))
        }
        _ => Ok(password.to_owned()),
    }
}
