//! Operations on users and their API keys, for the operator.

use thiserror::Error;

use super::{Change, Store, StoreError, User, key_hash, new_key};

/// Reason why an operation on users failed.
#[derive(Debug, Error)]
pub enum UserError {
    /// There is no user of this name, or the user has no API key with this label.
    #[error("there is no user of this name, or no key with this label")]
    Unknown,
    /// A user with this name, or an API key with this label, exists already.
    #[error("this name or label exists already")]
    Taken,
    /// The name or label is not 1 to 64 bytes long, or contains control characters.
    #[error("a name or label must have 1 to 64 bytes and no control characters")]
    BadName,
    /// The store cannot be read or written: a fault of the host.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Returns the names of all users in order, and for each whether the user is an admin.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn users(&self) -> Result<Vec<(String, bool)>, StoreError> {
        self.read(|state| {
            let users = state.users.iter();
            users
                .map(|(name, user)| (name.clone(), user.admin))
                .collect()
        })
    }

    /// Adds a user. The first user becomes an admin even if `admin` is false.
    pub fn add_user(
        &self,
        name: &str,
        password: &str,
        admin: bool,
        now_ms: i64,
    ) -> Result<(), UserError> {
        check_name(name)?;
        self.change(|state| match state.has_alike(name) {
            true => Err(UserError::Taken),
            false => Ok(vec![Change::User {
                name: name.to_owned(),
                password: self.seal(name, password)?,
                admin: admin || state.users.is_empty(),
                at_ms: now_ms,
            }]),
        })?
    }

    /// Sets the password of a user.
    ///
    /// # Errors
    /// [`UserError`]
    pub fn set_password(&self, name: &str, password: &str, now_ms: i64) -> Result<(), UserError> {
        self.change(|state| {
            let (name, user) = state.user_named(name).ok_or(UserError::Unknown)?;
            Ok(vec![Change::User {
                name: name.to_owned(),
                password: self.seal(name, password)?,
                admin: user.admin,
                at_ms: now_ms,
            }])
        })?
    }

    /// Returns the file name of a user's avatar.
    ///
    /// # Errors
    /// [`UserError`]
    pub fn avatar(&self, name: &str) -> Result<String, UserError> {
        self.read(|state| {
            let (name, user) = state.user_named(name).ok_or(UserError::Unknown)?;
            Ok(avatar_name(name, user))
        })?
    }

    /// Removes a user and all of the user's data.
    ///
    /// # Errors
    /// [`UserError`]
    pub fn remove_user(&self, name: &str) -> Result<(), UserError> {
        self.change(|state| {
            let (name, _) = state.user_named(name).ok_or(UserError::Unknown)?;
            Ok(vec![Change::UserGone {
                name: name.to_owned(),
            }])
        })?
    }

    /// Creates an API key and returns it. The key cannot be read again: only its hash is stored.
    ///
    /// # Errors
    /// [`UserError`]
    pub fn add_key(&self, name: &str, label: &str, now_ms: i64) -> Result<String, UserError> {
        check_name(label)?;
        let key = new_key();
        self.change(|state| {
            let (name, user) = state.user_named(name).ok_or(UserError::Unknown)?;
            match user.keys.contains_key(label) {
                true => Err(UserError::Taken),
                false => Ok(vec![Change::Key {
                    user: name.to_owned(),
                    label: label.to_owned(),
                    hash: key_hash(&key),
                    at_ms: now_ms,
                }]),
            }
        })??;
        Ok(key)
    }

    /// Returns the labels of a user's API keys.
    ///
    /// # Errors
    /// [`UserError`]
    pub fn keys(&self, name: &str) -> Result<Vec<String>, UserError> {
        self.read(|state| {
            let (_, user) = state.user_named(name).ok_or(UserError::Unknown)?;
            Ok(user.keys.keys().cloned().collect())
        })?
    }

    /// Revokes an API key.
    ///
    /// # Errors
    /// [`UserError`]
    pub fn remove_key(&self, name: &str, label: &str) -> Result<(), UserError> {
        self.change(|state| {
            let known = state.user_named(name);
            match known.filter(|(_, user)| user.keys.contains_key(label)) {
                None => Err(UserError::Unknown),
                Some((name, _)) => Ok(vec![Change::KeyGone {
                    user: name.to_owned(),
                    label: label.to_owned(),
                }]),
            }
        })?
    }
}

/// Returns an error unless `name` may name a user or label an API key.
pub(crate) fn check_name(name: &str) -> Result<(), UserError> {
    let fits = (1..=64).contains(&name.len()) && !name.chars().any(char::is_control);
    if fits {
        Ok(())
    } else {
        Err(UserError::BadName)
    }
}

/// Returns the file name of a user's avatar. It is a hash, which does not reveal the user's name. A
/// later user of the same name gets another file name.
pub(crate) fn avatar_name(name: &str, user: &User) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"avatar");
    hasher.update(&user.created_ms.to_le_bytes());
    hasher.update(name.as_bytes());
    let hash = hasher.finalize();
    hash.to_hex()[..32].to_owned()
}
