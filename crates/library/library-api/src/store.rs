//! What users leave: accounts, stars, ratings, plays, playlists, queues, bookmarks.
//!
//! ```text
//! change ─ lock the journal ─ read what others appended ─ decide ─ append, sync ─ apply ─► State
//! ```
//!
//! Everything is in memory, and the journal makes it again: records that each have a length and a checksum, behind each
//! other. A change is answered once it is on the disk. A tail that a crash left is cut by the next who writes; damage
//! elsewhere costs the records that it hit, see `journal.rs`. More than one process may have the journal open, as while one
//! takes over from another or `pelton user` adds a user: each reads what the others append, under the file's lock. When most
//! of the journal is history, it is written anew beside its name and renamed. Reading writes nothing, not even the folder.
//!
//! Passwords must be recoverable, since the protocol's tokens are made of them: they are sealed with a key that lies in a
//! file of its own, which only its owner reads.

mod change;
mod journal;
mod secret;
mod state;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};
use std::{error, fmt};

pub(crate) use change::Change;
pub use journal::Damage;
use journal::{Journal, Position};
pub(crate) use secret::{Secret, key_hash, new_key, unhex};
#[cfg(test)]
pub(crate) use state::Key;
pub(crate) use state::{Bookmark, Playlist, Plays, Queue, Role, Share, State, Station, User};

/// What users leave, in memory and on disk.
#[derive(Debug)]
pub struct Store {
    journal: Journal,
    key: PathBuf,
    /// Read when it is first needed.
    secret: OnceLock<Secret>,
    held: RwLock<Held>,
}

/// The state after so much of the journal.
#[derive(Debug, Default)]
struct Held {
    state: State,
    position: Position,
}

/// Why nothing can be kept.
#[derive(Debug)]
pub struct StoreError {
    /// What was done.
    pub doing: &'static str,
    /// To which path.
    pub path: PathBuf,
    /// What the host said.
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

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.doing, self.path.display())
    }
}

impl error::Error for StoreError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Store {
    /// Opens what is kept in `folder`. A folder that is not there is empty; the first change makes it.
    ///
    /// # Errors
    /// When the host refuses, or the journal is of another version.
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

    /// Returns what of the journal was skipped since this was opened.
    pub fn damage(&self) -> Damage {
        self.journal.damage()
    }

    /// Seals a password that belongs to `whose`. For changes alone: the key is made if there is none.
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

    /// Returns what opens sealed passwords, if it is there.
    pub(crate) fn secret(&self) -> Result<Option<&Secret>, StoreError> {
        if let Some(secret) = self.secret.get() {
            return Ok(Some(secret));
        }
        let found = Secret::open(&self.key)?;
        Ok(found.map(|secret| self.secret.get_or_init(|| secret)))
    }

    /// Looks at the state as it is now, whoever changed it last.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> Result<T, StoreError> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        if self.journal.is_at(&held.position)? {
            return Ok(look(&held.state));
        }
        drop(held);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let Held { state, position } = &mut *held;
        self.journal.follow(position, state)?;
        Ok(look(state))
    }

    /// Makes the changes that `decide` wants, all of them or none, and returns once they are on the disk.
    pub(crate) fn change<E>(
        &self,
        decide: impl FnOnce(&State) -> Result<Vec<Change>, E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
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
