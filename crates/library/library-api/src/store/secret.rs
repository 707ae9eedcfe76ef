//! Encryption of stored passwords, and generation and hashing of API keys.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::StoreError;

const KEY_BYTES: usize = 32;

/// ChaCha20-Poly1305 key that encrypts passwords. Outside this process, it exists only in its file.
pub(crate) struct Secret(LessSafeKey);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Reads the key at `path`, if the file exists.
    pub(crate) fn open(path: &Path) -> Result<Option<Secret>, StoreError> {
        match read(path) {
            Ok(key) => Ok(Some(Secret::new(&key))),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(StoreError::new(
                "cannot read the key that encrypts passwords from",
                path,
            )(err)),
        }
    }

    /// Reads the key at `path`. If the file does not exist, creates it with a new key. Only the
    /// owner of the file can read it.
    pub(crate) fn open_or_make(path: &Path) -> Result<Secret, StoreError> {
        match Secret::open(path)? {
            Some(secret) => Ok(secret),
            None => {
                let key = make(path).map_err(StoreError::new(
                    "cannot create the key that encrypts passwords in",
                    path,
                ))?;
                Ok(Secret::new(&key))
            }
        }
    }

    fn new(key: &[u8; KEY_BYTES]) -> Secret {
        let key =
            UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has the length of the cipher");
        Secret(LessSafeKey::new(key))
    }

    /// Encrypts a string of the user `whose`. The user's name is authenticated data, so that the
    /// result cannot be decrypted under another user's name.
    pub(crate) fn seal(&self, whose: &str, text: &str) -> String {
        let nonce: [u8; NONCE_LEN] = random();
        let mut sealed = text.as_bytes().to_vec();
        let nonce_of = Nonce::assume_unique_for_key(nonce);
        let whose = Aad::from(whose.as_bytes());
        self.0
            .seal_in_place_append_tag(nonce_of, whose, &mut sealed)
            .expect("a password is short enough for the cipher");
        hex::encode(nonce) + &hex::encode(sealed)
    }

    /// Decrypts a string; `None` if it was not encrypted with this key for the user `whose`.
    pub(crate) fn open_sealed(&self, whose: &str, sealed: &str) -> Option<String> {
        let bytes = hex::decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.0.open_in_place(nonce, Aad::from(whose), &mut sealed);
        String::from_utf8(opened.ok()?.to_vec()).ok()
    }
}

/// Generates an API key.
pub(crate) fn new_key() -> String {
    hex::encode(random::<24>())
}

/// Returns the hash that is stored instead of an API key. Keys have 192 random bits, so that a
/// single fast hash protects them against guessing.
pub(crate) fn key_hash(key: &str) -> String {
    blake3::hash(key.as_bytes()).to_hex().to_string()
}

fn read(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    File::open(path)?.read_exact(&mut key)?;
    Ok(key)
}

fn make(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let key: [u8; KEY_BYTES] = random();
    let partial = path.with_extension("partial");
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&partial)?;
    file.write_all(&key)?;
    file.sync_all()?;
    // If two processes create the key at the same time, the first key is kept and both processes
    // use it.
    match std::fs::hard_link(&partial, path) {
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
        linked => linked?,
    }
    std::fs::remove_file(&partial)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    read(path)
}

/// Returns random bytes from the kernel.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.expect("the kernel provides random bytes");
    bytes
}
