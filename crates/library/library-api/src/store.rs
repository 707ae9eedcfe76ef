//! Persistent data of users: accounts, stars, ratings, plays, playlists, queues, bookmarks, shares,
//! sessions.
//!
//! ```text
//! change ─ lock the journal ─ read appended records ─ decide ─ append, sync ─ apply ─► State
//! ```
//!
//! All data is in memory, and is restored from the journal, a file of records that each have a
//! length and a checksum. A change succeeds once it is synced to disk. If a crash leaves a partial
//! record at the end, the next writer cuts it off. If records elsewhere are damaged, only these are
//! lost, see `journal.rs`. Several processes may have the journal open, for example during a
//! handover, or while `pelton user` adds a user. Each process reads the records that the others
//! have appended, and locks the file to append its own. When most records are obsolete, the
//! remaining ones are written to a temporary file, which then replaces the journal. Reading writes
//! nothing, and does not create the folder.
//!
//! Passwords must be recoverable, since the tokens of the Subsonic protocol are hashes of password
//! and salt. Passwords are encrypted with a key in a file of its own, which only its owner can
//! read.

mod change;
mod journal;
mod secret;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod users;

use parking_lot::RwLock;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use thiserror::Error;

pub(crate) use change::Change;
pub use journal::Damage;
use journal::{Journal, Position};
pub(crate) use secret::{Secret, key_hash, new_key, random};
pub(crate) use session::{Session, TokenMatch};
#[cfg(test)]
pub(crate) use state::Key;
pub(crate) use state::{
    Bookmark, Playlist, Plays, Queue, Role, Share, SharedItem, State, Station, User,
};
pub use users::UserError;
pub(crate) use users::{avatar_name, check_name};

/// Persistent data of users, in memory and on disk.
#[derive(Debug)]
pub struct Store {
    journal: Journal,
    key: PathBuf,
    /// Key that encrypts passwords; read when it is first needed.
    secret: OnceLock<Secret>,
    held: RwLock<Held>,
}

/// State after applying all records of the journal up to `position`.
#[derive(Debug, Default)]
struct Held {
    state: State,
    position: Position,
}

/// Failure to read or write user data: a fault of the host.
#[derive(Debug, Error)]
#[error("{doing} {}", .path.display())]
pub struct StoreError {
    /// Text about the operation that failed, without the path, such as `cannot append to`.
    pub doing: &'static str,
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Error that the operating system reported.
    pub source: io::Error,
}

impl StoreError {
    fn new(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        move |source| StoreError {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}

impl Store {
    /// Opens the store in `folder`. A missing folder counts as empty; the first change creates it.
    ///
    /// # Errors
    /// The journal cannot be read, or is in the format of another version.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        let store = Store {
            key: folder.join("key"),
            secret: OnceLock::new(),
            journal: Journal::new(folder),
            held: RwLock::default(),
        };
        store.read(|_| ())?;
        Ok(store)
    }

    /// Returns the number and size of the damaged parts of the journal that were skipped since the
    /// store was opened.
    pub fn damage(&self) -> Damage {
        self.journal.damage()
    }

    /// Encrypts a password of the user `whose`. Creates the key file if there is none, so only
    /// functions that change the store may call this function.
    pub(crate) fn seal(&self, whose: &str, text: &str) -> Result<String, StoreError> {
        let secret = match self.secret.get() {
            Some(secret) => secret,
            None => {
                let secret = Secret::open_or_make(&self.key)?;
                self.secret.get_or_init(|| secret)
            }
        };
        Ok(secret.seal(whose, text))
    }

    /// Returns the key that encrypts passwords, if its file exists.
    pub(crate) fn secret(&self) -> Result<Option<&Secret>, StoreError> {
        if let Some(secret) = self.secret.get() {
            return Ok(Some(secret));
        }
        let found = Secret::open(&self.key)?;
        Ok(found.map(|secret| self.secret.get_or_init(|| secret)))
    }

    /// Calls a function with the current state, after applying the changes that other processes
    /// appended.
    pub(crate) fn read<T>(&self, view: impl FnOnce(&State) -> T) -> Result<T, StoreError> {
        let held = self.held.read();
        if self.journal.is_at(&held.position)? {
            return Ok(view(&held.state));
        }
        drop(held);
        let mut held = self.held.write();
        let Held { state, position } = &mut *held;
        self.journal.follow(position, state)?;
        Ok(view(state))
    }

    /// Applies the changes that `decide` returns, all or none of them. Returns once they are synced
    /// to disk.
    pub(crate) fn change<E>(
        &self,
        decide: impl FnOnce(&State) -> Result<Vec<Change>, E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut held = self.held.write();
        let Held { state, position } = &mut *held;
        let locked = self.journal.lock(position, state)?;
        let changes = match decide(state) {
            Ok(changes) => changes,
            Err(refused) => return Ok(Err(refused)),
        };
        locked.append(&changes, position)?;
        changes.into_iter().for_each(|change| state.apply(change));
        if locked.is_mostly_history(position, state) {
            locked.renew(state, position)?;
        }
        Ok(Ok(()))
    }
}
