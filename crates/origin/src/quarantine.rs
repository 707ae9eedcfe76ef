//! Originals that killed cells, told by their bytes: after a few times they are not tried again, under whatever name and
//! in whatever size they are asked for.
//!
//! Only a death costs a hash of the original, and later one for originals of just that many bytes; everybody else pays a
//! look at a map. One lock, held for map operations.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

/// Deaths after which an original is not tried again.
const DEATHS_MAX: u32 = 3;
/// Lengths of originals that are remembered; beyond, the one that was asked for longest ago is forgotten.
const LENGTHS_MAX: NonZeroUsize = NonZeroUsize::new(1_024).expect("not zero");
/// Originals of one length that are told apart.
const SUSPECTS_MAX: usize = 8;

/// What killed cells so far.
#[derive(Debug)]
pub(crate) struct Quarantine {
    by_length: Mutex<LruCache<u64, Vec<Suspect>>>,
}

#[derive(Debug)]
struct Suspect {
    hash: [u8; 32],
    deaths: u32,
}

impl Quarantine {
    pub(crate) fn new() -> Quarantine {
        Quarantine {
            by_length: Mutex::new(LruCache::new(LENGTHS_MAX)),
        }
    }

    /// Notes that a cell died of `original`, which has `bytes` bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn note(&self, original: &File, bytes: u64) -> io::Result<()> {
        let hash = hash(original, bytes)?;
        let mut by_length = self.lock();
        let suspects = by_length.get_or_insert_mut(bytes, Vec::new);
        match suspects.iter().position(|suspect| suspect.hash == hash) {
            Some(at) => suspects[at].deaths += 1,
            None if suspects.len() < SUSPECTS_MAX => suspects.push(Suspect { hash, deaths: 1 }),
            None => {}
        }
        Ok(())
    }

    /// Whether `original` has killed enough.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn holds(&self, original: &File, bytes: u64) -> io::Result<bool> {
        let condemned = |suspect: &&Suspect| DEATHS_MAX <= suspect.deaths;
        let is_looked_at = |suspects: &Vec<Suspect>| suspects.iter().any(|one| condemned(&one));
        if !self.lock().get(&bytes).is_some_and(is_looked_at) {
            return Ok(false);
        }
        let hash = hash(original, bytes)?;
        let mut by_length = self.lock();
        let suspects = by_length.get(&bytes);
        Ok(suspects.is_some_and(|suspects| {
            let mut condemned = suspects.iter().filter(condemned);
            condemned.any(|suspect| suspect.hash == hash)
        }))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<u64, Vec<Suspect>>> {
        self.by_length
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(original: &File, bytes: u64) -> io::Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; 64 << 10];
    let mut at = 0;
    while at < bytes {
        match original.read_at(&mut piece, at)? {
            // Shorter than it was: then it is another one.
            0 => break,
            read => {
                hasher.update(&piece[..read]);
                at += read as u64;
            }
        }
    }
    Ok(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests;
