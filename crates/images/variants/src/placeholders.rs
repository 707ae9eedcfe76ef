//! Placeholders of originals: dominant colour, BlurHash and ThumbHash. Pages can show them until
//! the picture arrives. The worker computes the placeholder during the first conversion of an
//! original.
//!
//! ```text
//! placeholders    file of records; bytes of each: key 16 · placeholder 64 · checksum 8
//! ```
//!
//! The key is a hash of the original's identity (inode, size and times), so each version of an
//! original has its own key. Each record is appended by one write. The checksum reveals records
//! that are damaged or were truncated by a crash; these are skipped. The file may be deleted at any
//! time.
//!
//! Threads: conversion threads and threads of the blocking pool, which may block. The only lock is
//! held during operations on the map and its file, and at the first use while the file is read.

#[cfg(test)]
mod tests;

use parking_lot::{Mutex, MutexGuard};
use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use image_plan::{PLACEHOLDER_BYTES, Placeholder};
use lru::LruCache;

use crate::library::Identity;

const KEY_BYTES: usize = 16;
const CHECKED_BYTES: usize = KEY_BYTES + PLACEHOLDER_BYTES;
const RECORD_BYTES: usize = CHECKED_BYTES + 8;
/// Maximum size of the file, as a multiple of the size of `placeholders_max` records. A larger file
/// is rewritten.
const FILE_FACTOR: u64 = 2;

type Key = [u8; KEY_BYTES];

/// Map from versions of originals to their placeholders.
#[derive(Debug)]
pub struct Placeholders {
    path: PathBuf,
    placeholders_max: NonZeroUsize,
    /// Placeholders in memory and the file that contains them. `None` before the first use, when
    /// the file is read.
    kept: Mutex<Option<Loaded>>,
}

#[derive(Debug)]
struct Loaded {
    placeholders: LruCache<Key, Placeholder>,
    /// File to which records are appended. `None` after a failed write, which was logged.
    file: Option<File>,
    file_bytes: u64,
}

impl Placeholders {
    /// Returns the placeholders in the data directory `data`. At most `placeholders_max` are kept
    /// in memory. The file is read at the first use.
    #[must_use]
    pub fn open(data: &Path, placeholders_max: NonZeroUsize) -> Placeholders {
        Placeholders {
            path: data.join("placeholders"),
            placeholders_max,
            kept: Mutex::default(),
        }
    }

    /// Returns the placeholder of this version of an original, if one is stored. The first call
    /// reads the file, which may block.
    #[must_use]
    pub fn find(&self, identity: &Identity) -> Option<Placeholder> {
        let mut kept = self.lock();
        let kept = kept.get_or_insert_with(|| self.load());
        kept.placeholders.get(&key(identity)).copied()
    }

    /// Stores the placeholder of this version of an original in memory and in the file. May block.
    pub fn keep(&self, identity: &Identity, placeholder: Placeholder) {
        let mut kept = self.lock();
        let kept = kept.get_or_insert_with(|| self.load());
        let key = key(identity);
        if kept.placeholders.put(key, placeholder) == Some(placeholder) {
            return;
        }
        let written = match &mut kept.file {
            Some(file) => file.write_all(&record(&key, &placeholder)),
            None => return,
        };
        kept.file_bytes += RECORD_BYTES as u64;
        let bytes_max = self.placeholders_max.get() as u64 * RECORD_BYTES as u64 * FILE_FACTOR;
        let written = written.and_then(|()| match bytes_max < kept.file_bytes {
            true => self.rewrite(kept),
            false => Ok(()),
        });
        if let Err(err) = written {
            tracing::warn!(file = %self.path.display(), %err, "placeholders of pictures cannot be stored on the disk; they are kept in memory only");
            kept.file = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Loaded>> {
        self.kept.lock()
    }

    fn load(&self) -> Loaded {
        let mut kept = Loaded {
            placeholders: LruCache::new(self.placeholders_max),
            file: None,
            file_bytes: 0,
        };
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(err) if err.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(err) => {
                tracing::warn!(file = %self.path.display(), %err, "placeholders of pictures cannot be read");
                return kept;
            }
        };
        let (records, rest) = bytes.as_chunks::<RECORD_BYTES>();
        let mut is_sound = rest.is_empty();
        for found in records {
            match read(found) {
                Some((key, placeholder)) => drop(kept.placeholders.put(key, placeholder)),
                None => is_sound = false,
            }
        }
        kept.file_bytes = bytes.len() as u64;
        let opened = match is_sound {
            true => self.append(&mut kept),
            false => self.rewrite(&mut kept),
        };
        if let Err(err) = opened {
            tracing::warn!(file = %self.path.display(), %err, "placeholders of pictures cannot be stored on the disk; they are kept in memory only");
        }
        kept
    }

    fn append(&self, kept: &mut Loaded) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::options().append(true).create(true).open(&self.path)?;
        kept.file = Some(file);
        Ok(())
    }

    /// Rewrites the file with the placeholders that are in memory, the least recently used first.
    fn rewrite(&self, kept: &mut Loaded) -> io::Result<()> {
        let placeholders = kept.placeholders.iter().rev();
        let bytes: Vec<u8> = placeholders
            .flat_map(|(key, placeholder)| record(key, placeholder))
            .collect();
        let partial = self.path.with_extension(format!("{}", std::process::id()));
        fs::write(&partial, &bytes)?;
        fs::rename(&partial, &self.path)?;
        kept.file_bytes = bytes.len() as u64;
        self.append(kept)
    }
}

fn key(identity: &Identity) -> Key {
    let hash = blake3::hash(&identity.to_bytes());
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}

fn record(key: &Key, placeholder: &Placeholder) -> [u8; RECORD_BYTES] {
    let mut out = [0; RECORD_BYTES];
    out[..KEY_BYTES].copy_from_slice(key);
    out[KEY_BYTES..CHECKED_BYTES].copy_from_slice(&placeholder.to_bytes());
    let check = blake3::hash(&out[..CHECKED_BYTES]);
    out[CHECKED_BYTES..].copy_from_slice(&check.as_bytes()[..RECORD_BYTES - CHECKED_BYTES]);
    out
}

fn read(found: &[u8; RECORD_BYTES]) -> Option<(Key, Placeholder)> {
    let key = *found.first_chunk().expect("a record begins with a key");
    let placeholder = Placeholder::from_bytes(&found[KEY_BYTES..CHECKED_BYTES])?;
    (record(&key, &placeholder) == *found).then_some((key, placeholder))
}
