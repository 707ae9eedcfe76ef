//! Pictures inside music, taken out once for each content, so that they are files like any other.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use std::{error, fmt};

use catalog::{Cover, Stat};
use lru::LruCache;
use tags::{CoverError, Mime, Picture, read_cover};

use crate::ScanError;
use crate::read::{Manner, Source, open};
use crate::scan::open_root;

#[cfg(test)]
mod tests;

/// What covers may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverLimits {
    /// Bytes of all that were taken out; beyond, the least recently used go.
    pub bytes_max: u64,
    /// Bytes of one.
    pub cover_bytes_max: u64,
    /// Places in files whose content is remembered; about 100 bytes each.
    pub places_max: NonZeroUsize,
}

impl Default for CoverLimits {
    fn default() -> CoverLimits {
        CoverLimits {
            bytes_max: 1 << 30,
            cover_bytes_max: 32 << 20,
            places_max: NonZeroUsize::new(65_536).expect("not zero"),
        }
    }
}

/// Why a picture could not be taken out.
#[derive(Debug)]
pub enum TakeError {
    /// The file is not the one that was scanned, or not readable any more; the next scan tells.
    Changed,
    /// The picture is larger than [`CoverLimits::cover_bytes_max`].
    TooLarge,
    /// The host refused to write it, or to read on.
    Host(io::Error),
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TakeError::Changed => "file is not the one that was scanned",
            TakeError::TooLarge => "picture has more bytes than the limit allows",
            TakeError::Host(_) => "picture cannot be kept",
        })
    }
}

impl error::Error for TakeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            TakeError::Host(err) => Some(err),
            TakeError::Changed | TakeError::TooLarge => None,
        }
    }
}

/// Pictures that were taken out of music. One lock, held for map operations only.
#[derive(Debug)]
pub struct Covers {
    root: PathBuf,
    folder: PathBuf,
    limits: CoverLimits,
    kept: Mutex<Kept>,
    /// Tells files that are being written from each other.
    writing: AtomicU64,
}

/// Where a picture lies: in which file, and at what offset.
type Place = (Stat, u64);

#[derive(Debug)]
struct Kept {
    places: LruCache<Place, String>,
    /// Files by name, with their bytes.
    files: LruCache<String, u64>,
    bytes: u64,
}

impl Covers {
    /// Takes up what is in `folder`, the least recently written leaving first.
    ///
    /// # Errors
    /// When the folder cannot be made or listed.
    pub fn open(root: &Path, folder: &Path, limits: CoverLimits) -> Result<Covers, ScanError> {
        let mut found = Vec::new();
        let listed = fs::create_dir_all(folder).and_then(|()| list(folder, &mut found));
        listed.map_err(|err| ScanError::host("list covers in", folder, err))?;
        found.sort_unstable();
        let mut kept = Kept {
            places: LruCache::new(limits.places_max),
            files: LruCache::unbounded(),
            bytes: 0,
        };
        for (_, name, bytes) in found {
            kept.bytes += bytes;
            kept.files.put(name, bytes);
        }
        let covers = Covers {
            root: root.to_owned(),
            folder: folder.to_owned(),
            limits,
            kept: Mutex::new(kept),
            writing: AtomicU64::new(0),
        };
        covers.make_room();
        Ok(covers)
    }

    /// The name below the folder of the file that holds a picture. May sleep.
    ///
    /// # Errors
    /// [`TakeError`].
    pub fn take_out(&self, cover: &Cover, inside: &Picture) -> Result<String, TakeError> {
        let place = (cover.stat, inside.offset);
        if let Some(name) = self.known(&place) {
            return Ok(name);
        }
        let bytes = self.read(cover, inside)?;
        let hash = blake3::hash(&bytes).to_hex();
        let name = format!("{}/{}.{}", &hash[..2], &hash[2..34], extension(inside.mime));
        let is_new = self.lock().files.get(&name).is_none();
        if is_new {
            self.write(&name, &bytes).map_err(TakeError::Host)?;
        }
        let mut kept = self.lock();
        if kept.files.put(name.clone(), bytes.len() as u64).is_none() {
            kept.bytes += bytes.len() as u64;
        }
        kept.places.put(place, name.clone());
        drop(kept);
        self.make_room();
        Ok(name)
    }

    /// The file of a place that was read before, unless it had to go.
    fn known(&self, place: &Place) -> Option<String> {
        let mut kept = self.lock();
        let name = kept.places.get(place)?.clone();
        kept.files.get(&name).is_some().then_some(name)
    }

    fn read(&self, cover: &Cover, inside: &Picture) -> Result<Vec<u8>, TakeError> {
        let root = open_root(&self.root).map_err(|_| TakeError::Changed)?;
        let file = open(root.as_fd(), &cover.path).map_err(|_| TakeError::Changed)?;
        let found = crate::walk::stat(file.as_fd(), b"").map_err(|_| TakeError::Changed)?;
        if found != cover.stat {
            return Err(TakeError::Changed);
        }
        let source = Source::new(file, Manner::Streaming);
        let limit = self.limits.cover_bytes_max;
        read_cover(&source, cover.stat.size, inside, limit).map_err(|err| match err {
            CoverError::TooLarge => TakeError::TooLarge,
            CoverError::Changed(_) => TakeError::Changed,
        })
    }

    /// Writes beside the name and renames, so that no reader meets half a picture. The bytes are on the disk before the
    /// name is: no later start could tell a file that a power cut left short from a whole one, and would serve it.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        let number = self.writing.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let partial = self.folder.join(format!("partial-{process}-{number}"));
        fs::create_dir_all(path.parent().expect("names have a folder"))?;
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&partial, &path)
    }

    fn make_room(&self) {
        loop {
            let mut kept = self.lock();
            if kept.bytes <= self.limits.bytes_max {
                return;
            }
            let Some((name, bytes)) = kept.files.pop_lru() else {
                return;
            };
            kept.bytes -= bytes;
            drop(kept);
            let path = self.folder.join(name);
            if let Err(err) = fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), %err, "cover cannot be removed");
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds what is kept: when it was written, its name and its bytes. What was not finished, and what is empty, is removed.
fn list(folder: &Path, found: &mut Vec<(SystemTime, String, u64)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
            continue;
        }
        for file in fs::read_dir(entry.path())? {
            let file = file?;
            let (first, second) = (entry.file_name(), file.file_name());
            // Names that are no text are not ours.
            if let (Some(first), Some(second)) = (first.to_str(), second.to_str()) {
                let about = file.metadata()?;
                // A power cut left it so, before the bytes were synced.
                if about.len() == 0 {
                    fs::remove_file(file.path())?;
                    continue;
                }
                found.push((about.modified()?, format!("{first}/{second}"), about.len()));
            }
        }
    }
    Ok(())
}

/// For people who look into the folder; what a picture is, is told by its bytes.
fn extension(mime: Mime) -> &'static str {
    match mime {
        Mime::Jpeg => "jpg",
        Mime::Png => "png",
        Mime::Gif => "gif",
        Mime::Bmp => "bmp",
        Mime::Webp => "webp",
        Mime::Unknown | Mime::Link => "picture",
    }
}
