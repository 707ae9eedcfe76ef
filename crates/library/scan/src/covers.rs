//! Extraction of embedded pictures from music files. Each distinct picture is written to a file
//! once. The server then treats that file like any other picture.

use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use std::time::SystemTime;

use catalog::{Cover, Stat};
use lru::LruCache;
use tags::{CoverError, Mime, Picture, read_cover};
use thiserror::Error;

use crate::ScanError;
use crate::read::{ReadMode, Source};
use crate::root::{open, open_root, stat};

#[cfg(test)]
mod tests;

/// Limits on the pictures that are extracted from music files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverLimits {
    /// Maximum total size of the extracted pictures, in bytes. Beyond this limit, the least
    /// recently used pictures are removed.
    pub bytes_max: u64,
    /// Maximum size of one picture, in bytes. Larger pictures are not extracted.
    pub cover_bytes_max: u64,
    /// Maximum number of embedded pictures for which the name of the extracted file is remembered.
    /// Each takes about 100 bytes of memory.
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

/// Reason why a picture could not be extracted.
#[derive(Debug, Error)]
pub enum ExtractError {
    /// The music file was changed after the scan, or cannot be read any more. The next scan reports
    /// it.
    #[error("file has changed since the scan")]
    Changed,
    /// The picture is larger than [`CoverLimits::cover_bytes_max`].
    #[error("picture is larger than the limit allows")]
    TooLarge,
    /// The picture could not be written to the disk.
    #[error("cannot write the extracted picture")]
    Host(#[source] io::Error),
}

/// Folder of extracted pictures. Its lock is held only for access to the lists in memory, never
/// during I/O.
#[derive(Debug)]
pub struct Covers {
    root: PathBuf,
    folder: PathBuf,
    limits: CoverLimits,
    extracted: Mutex<ExtractedFiles>,
    /// Counter that makes the names of incomplete files unique.
    writing: AtomicU64,
}

/// Location of an embedded picture: metadata of the music file, and offset of the picture in it.
type PicturePlace = (Stat, u64);

#[derive(Debug)]
struct ExtractedFiles {
    places: LruCache<PicturePlace, String>,
    /// Length in bytes of each extracted file, by file name.
    files: LruCache<String, u64>,
    bytes: u64,
}

impl Covers {
    /// Opens the folder of extracted pictures. For a file from an earlier run, the time of its last
    /// change counts as its last use, so the oldest files are removed first.
    pub fn open(root: &Path, folder: &Path, limits: CoverLimits) -> Result<Covers, ScanError> {
        let mut found = Vec::new();
        let listed = fs::create_dir_all(folder).and_then(|()| list(folder, &mut found));
        listed.map_err(|err| {
            ScanError::host("list the extracted covers in the folder", folder, err)
        })?;
        found.sort_unstable();
        let mut extracted = ExtractedFiles {
            places: LruCache::new(limits.places_max),
            files: LruCache::unbounded(),
            bytes: 0,
        };
        for (_, name, bytes) in found {
            extracted.bytes += bytes;
            extracted.files.put(name, bytes);
        }
        let covers = Covers {
            root: root.to_owned(),
            folder: folder.to_owned(),
            limits,
            extracted: Mutex::new(extracted),
            writing: AtomicU64::new(0),
        };
        covers.make_room();
        Ok(covers)
    }

    /// Extracts a picture from a music file, unless it was extracted before. Returns the name of
    /// the extracted file, relative to the folder. May block on the disk.
    ///
    /// # Errors
    /// [`ExtractError`] if the picture cannot be extracted.
    pub fn extract(&self, cover: &Cover, inside: &Picture) -> Result<String, ExtractError> {
        let place = (cover.stat, inside.offset);
        if let Some(name) = self.known(&place) {
            return Ok(name);
        }
        let bytes = self.read(cover, inside)?;
        let hash = blake3::hash(&bytes).to_hex();
        let name = format!("{}/{}.{}", &hash[..2], &hash[2..34], extension(inside.mime));
        let is_new = self.lock().files.get(&name).is_none();
        if is_new {
            self.write(&name, &bytes).map_err(ExtractError::Host)?;
        }
        let mut extracted = self.lock();
        if extracted
            .files
            .put(name.clone(), bytes.len() as u64)
            .is_none()
        {
            extracted.bytes += bytes.len() as u64;
        }
        extracted.places.put(place, name.clone());
        drop(extracted);
        self.make_room();
        Ok(name)
    }

    /// Returns the name of the file to which a picture was extracted earlier, if that file still
    /// exists.
    fn known(&self, place: &PicturePlace) -> Option<String> {
        let mut extracted = self.lock();
        let name = extracted.places.get(place)?.clone();
        extracted.files.get(&name).is_some().then_some(name)
    }

    fn read(&self, cover: &Cover, inside: &Picture) -> Result<Vec<u8>, ExtractError> {
        let root = open_root(&self.root).map_err(|_| ExtractError::Changed)?;
        let file = open(root.as_fd(), &cover.path).map_err(|_| ExtractError::Changed)?;
        let found = stat(file.as_fd(), b"").map_err(|_| ExtractError::Changed)?;
        if found != cover.stat {
            return Err(ExtractError::Changed);
        }
        let source = Source::new(file, ReadMode::Streaming);
        let limit = self.limits.cover_bytes_max;
        read_cover(&source, cover.stat.size, inside, limit).map_err(|err| match err {
            CoverError::TooLarge => ExtractError::TooLarge,
            CoverError::Changed(_) => ExtractError::Changed,
        })
    }

    /// Writes a temporary file and renames it, so that no reader gets an incomplete picture. The
    /// file is synced before it is renamed. Otherwise a truncated file could remain after a power
    /// failure, and the server could not distinguish it from a complete one.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        let number = self.writing.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let partial = self.folder.join(format!("partial-{process}-{number}"));
        fs::create_dir_all(
            path.parent()
                .expect("the name of a cover contains a folder"),
        )?;
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&partial, &path)
    }

    fn make_room(&self) {
        loop {
            let mut extracted = self.lock();
            if extracted.bytes <= self.limits.bytes_max {
                return;
            }
            let Some((name, bytes)) = extracted.files.pop_lru() else {
                return;
            };
            extracted.bytes -= bytes;
            drop(extracted);
            let path = self.folder.join(name);
            if let Err(err) = fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), %err, "cannot remove an evicted cover");
            }
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, ExtractedFiles> {
        self.extracted.lock()
    }
}

/// Adds all extracted files to `found`: time of the last change, name, and length in bytes. Removes
/// temporary and empty files.
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
            // The names of extracted files are ASCII. A name that is not UTF-8 belongs to another
            // program.
            if let (Some(first), Some(second)) = (first.to_str(), second.to_str()) {
                let about = file.metadata()?;
                // An empty file is not a picture. It may remain after a power failure.
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

/// Returns the file name extension for a picture format. It is only for people who browse the
/// folder; programs detect the format from the content.
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
