//! Quarantine of originals that crashed workers. After a few crashes, an original is not converted
//! again. Originals are identified by a hash of their bytes. So the quarantine also applies to
//! other requested sizes, and to copies of the file under other names.
//!
//! ```text
//! quarantine/BLAKE3                description of an original in quarantine, line by line
//! ```
//!
//! Removing a file from the folder lifts the quarantine of its original. At its start, the server
//! removes files that were written with other versions of the encoders.
//!
//! An original is hashed only after a crash, or if its length equals that of an original in
//! quarantine. For all other originals, one lookup in a map is sufficient. The one lock is held for
//! map operations only.

use parking_lot::{Mutex, MutexGuard};
use std::fs::{self, File};
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use lru::LruCache;
use wall_clock::unix_ms;

use variants::cache::ENCODER_VERSION;

/// Number of crashes after which an original is not converted again. Crashes of background
/// conversions at higher effort have a separate count. If only this count reaches the number, only
/// the background conversions of the original stop.
const CRASHES_MAX: u32 = 3;
/// Maximum number of file lengths for which crashes are remembered. Beyond this number, the least
/// recently used length is forgotten.
const LENGTHS_MAX: NonZeroUsize = NonZeroUsize::new(1_024).expect("not zero");
/// Maximum number of originals of one file length that are remembered.
const SUSPECTS_MAX: usize = 8;
/// Maximum number of files in the folder of the quarantine. Further originals are in quarantine
/// only until the next start of the server.
const ENTRIES_MAX: usize = 1_024;
/// Maximum size, in bytes, of a file in the quarantine folder (the description of one original).
/// Larger files are not read.
const ENTRY_BYTES_MAX: u64 = 16 << 10;
/// First line of a file that describes an original in quarantine.
const TITLE: &str = "pelton quarantine 1";

/// Originals that crashed workers, grouped by file length, and the folder with the descriptions of
/// those in quarantine.
#[derive(Debug)]
pub struct Quarantine {
    folder: PathBuf,
    by_length: Mutex<LruCache<u64, Vec<Suspect>>>,
}

#[derive(Debug)]
struct Suspect {
    hash: blake3::Hash,
    /// Number of crashes, except those of background conversions at higher effort.
    crash_count: u32,
    /// Number of crashes of background conversions at higher effort.
    improvement_crash_count: u32,
    /// True if the folder contains a file for this original. If that file is removed later, the
    /// quarantine of the original is lifted.
    is_written: bool,
}

/// Crash of a worker while it processed an original.
pub struct Crash<'a> {
    /// Path of the original in the library.
    pub path: &'a Path,
    /// Cause of the crash.
    pub cause: String,
    /// True if the job was a background conversion at higher effort.
    pub is_improvement: bool,
}

/// Description of an original in quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// BLAKE3 hash of the original's bytes, in hexadecimal.
    pub hash: String,
    /// Path of the original at the time of the last crash, with unprintable characters escaped.
    pub path: String,
    /// Size of the original in bytes.
    pub bytes: u64,
    /// Start of the quarantine, in seconds since 1970.
    pub since_unix_s: u64,
    /// Cause of the last crash, with unprintable characters escaped.
    pub cause: String,
}

impl Quarantine {
    /// Opens the quarantine in the data directory `data`.
    pub fn open(data: &Path) -> Quarantine {
        let mut by_length = LruCache::new(LENGTHS_MAX);
        let folder = folder(data);
        match read_folder(&folder) {
            Ok(found) => {
                for (entry, encoders) in found {
                    if encoders == ENCODER_VERSION {
                        load_entry(&mut by_length, &entry);
                    } else if let Err(err) = fs::remove_file(folder.join(&entry.hash)) {
                        tracing::warn!(
                            path = entry.path,
                            %err,
                            "cannot remove an entry of the quarantine that an earlier build of \
                             Pelton wrote"
                        );
                    }
                }
            }
            Err(err) => {
                tracing::warn!(folder = %folder.display(), %err, "the list of originals in quarantine cannot be read");
            }
        }
        Quarantine {
            folder,
            by_length: Mutex::new(by_length),
        }
    }

    /// Counts a crash of a worker that processed `original`, a file of `bytes` bytes.
    ///
    /// # Errors
    /// If the original cannot be read.
    pub fn note(&self, original: &File, bytes: u64, crash: &Crash<'_>) -> io::Result<()> {
        let hash = hash(original, bytes)?;
        let mut by_length = self.lock();
        let suspects = by_length.get_or_insert_mut(bytes, Vec::new);
        let known = suspects.iter().position(|suspect| suspect.hash == hash);
        let at = known.unwrap_or(suspects.len());
        if at == SUSPECTS_MAX {
            return Ok(());
        }
        if known.is_none() {
            suspects.push(Suspect {
                hash,
                crash_count: 0,
                improvement_crash_count: 0,
                is_written: false,
            });
        }
        let suspect = &mut suspects[at];
        if crash.is_improvement {
            suspect.improvement_crash_count += 1;
            return Ok(());
        }
        suspect.crash_count += 1;
        if suspect.crash_count != CRASHES_MAX {
            return Ok(());
        }
        drop(by_length);
        let entry = Quarantined {
            hash: hash.to_string(),
            path: crash.path.to_string_lossy().escape_debug().to_string(),
            bytes,
            since_unix_s: unix_ms() / 1_000,
            cause: crash.cause.escape_debug().to_string(),
        };
        let is_written = self.write(&entry);
        let mut by_length = self.lock();
        let mut suspects = by_length.get_mut(&bytes).into_iter().flatten();
        if let Some(suspect) = suspects.find(|suspect| suspect.hash == hash) {
            suspect.is_written = is_written;
        }
        Ok(())
    }

    /// Logs that an original is in quarantine, and writes its description to the folder. Returns
    /// whether the file could be written.
    fn write(&self, entry: &Quarantined) -> bool {
        let Quarantined { hash, path, .. } = entry;
        tracing::error!(
            path,
            hash,
            cause = entry.cause,
            "an original is in quarantine after {CRASHES_MAX} crashes: the server sends the \
             original unconverted until `pelton quarantine lift` releases it"
        );
        let written = write_entry(&self.folder, entry);
        written
            .inspect_err(|err| {
                let folder = self.folder.display();
                tracing::warn!(
                    %folder,
                    %err,
                    "the quarantine of an original cannot be written to the disk: the quarantine \
                     ends when the server restarts"
                );
            })
            .is_ok()
    }

    /// Returns whether `original`, a file of `bytes` bytes, is in quarantine. `is_improvement`
    /// states that the job would only replace a variant by one of higher effort. For such a job,
    /// also returns true if earlier such jobs crashed too often.
    ///
    /// # Errors
    /// If the original cannot be read.
    pub fn contains(&self, original: &File, bytes: u64, is_improvement: bool) -> io::Result<bool> {
        let has_crashed_too_often = |suspect: &Suspect| {
            CRASHES_MAX <= suspect.crash_count
                || (is_improvement && CRASHES_MAX <= suspect.improvement_crash_count)
        };
        let may_contain = |suspects: &Vec<Suspect>| suspects.iter().any(has_crashed_too_often);
        if !self.lock().get(&bytes).is_some_and(may_contain) {
            return Ok(false);
        }
        let hash = hash(original, bytes)?;
        let name = self.folder.join(hash.to_string());
        let is_lifted = matches!(name.try_exists(), Ok(false));
        let mut by_length = self.lock();
        let Some(suspects) = by_length.get_mut(&bytes) else {
            return Ok(false);
        };
        if is_lifted {
            suspects.retain(|suspect| !(suspect.hash == hash && suspect.is_written));
        }
        let mut found = suspects
            .iter()
            .filter(|suspect| has_crashed_too_often(suspect));
        Ok(found.any(|suspect| suspect.hash == hash))
    }

    /// Returns the number of originals in quarantine.
    pub fn count(&self) -> u64 {
        let by_length = self.lock();
        let suspects = by_length.iter().flat_map(|(_, suspects)| suspects);
        let held = suspects.filter(|suspect| CRASHES_MAX <= suspect.crash_count);
        held.count() as u64
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<u64, Vec<Suspect>>> {
        self.by_length.lock()
    }
}

/// Returns the originals that are in quarantine according to the data directory `data`, newest
/// first.
///
/// # Errors
/// If the folder of the quarantine exists but cannot be listed.
pub fn list(data: &Path) -> io::Result<Vec<Quarantined>> {
    let found = read_folder(&folder(data))?;
    let mut entries: Vec<_> = found.into_iter().map(|(entry, _)| entry).collect();
    entries.sort_by(|a, b| (b.since_unix_s, &a.hash).cmp(&(a.since_unix_s, &b.hash)));
    Ok(entries)
}

/// Lifts the quarantine of the original with this hash, or of all originals with this path. Returns
/// their descriptions. A running server may refuse to convert such an original for up to one more
/// minute.
///
/// # Errors
/// If the folder cannot be listed, or a file cannot be removed.
pub fn lift(data: &Path, hash_or_path: &str) -> io::Result<Vec<Quarantined>> {
    let mut entries = list(data)?;
    let path = hash_or_path.trim_start_matches('/');
    entries.retain(|entry| entry.hash == hash_or_path || entry.path == path);
    for entry in &entries {
        match fs::remove_file(folder(data).join(&entry.hash)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
            _ => {}
        }
    }
    Ok(entries)
}

fn folder(data: &Path) -> PathBuf {
    data.join("quarantine")
}

/// Loads an original that was in quarantine before the server was started.
fn load_entry(by_length: &mut LruCache<u64, Vec<Suspect>>, entry: &Quarantined) {
    let Ok(hash) = blake3::Hash::from_hex(&entry.hash) else {
        return;
    };
    let suspects = by_length.get_or_insert_mut(entry.bytes, Vec::new);
    if suspects.len() < SUSPECTS_MAX {
        suspects.push(Suspect {
            hash,
            crash_count: CRASHES_MAX,
            improvement_crash_count: 0,
            is_written: true,
        });
    }
}

/// Reads all descriptions in `folder`. Returns each with the version of the encoders at the time
/// when it was written. Skips other files.
fn read_folder(folder: &Path) -> io::Result<Vec<(Quarantined, u32)>> {
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(err) => return Err(err),
    };
    let mut found = Vec::new();
    for file in files.take(2 * ENTRIES_MAX) {
        let file = file?;
        let mut text = String::new();
        let read = File::open(file.path())
            .and_then(|open| open.take(ENTRY_BYTES_MAX).read_to_string(&mut text));
        match (read, parse_entry(&text)) {
            (Ok(_), Some((entry, encoders))) if file.file_name() == *entry.hash => {
                found.push((entry, encoders));
            }
            (Err(err), _) => {
                tracing::warn!(file = %file.path().display(), %err, "the list of originals in quarantine cannot be read");
            }
            // A file that is still being written, or does not describe an original, is skipped.
            (Ok(_), _) => {}
        }
    }
    Ok(found)
}

fn write_entry(folder: &Path, entry: &Quarantined) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    if ENTRIES_MAX <= fs::read_dir(folder)?.count() {
        return Err(io::Error::other(format!(
            "{ENTRIES_MAX} originals, the maximum, are in quarantine already"
        )));
    }
    let part = folder.join(format!("{}.{}.part", entry.hash, std::process::id()));
    fs::write(&part, format_entry(entry))?;
    fs::rename(&part, folder.join(&entry.hash))
}

fn format_entry(entry: &Quarantined) -> String {
    let Quarantined {
        hash,
        path,
        bytes,
        since_unix_s,
        cause,
    } = entry;
    format!(
        "{TITLE}\nencoders {ENCODER_VERSION}\nblake3 {hash}\npath {path}\nbytes {bytes}\nsince {since_unix_s}\ncause {cause}\n"
    )
}

/// Parses a description. Also returns the version of the encoders that the text contains.
fn parse_entry(text: &str) -> Option<(Quarantined, u32)> {
    let mut lines = text.strip_prefix(TITLE)?.strip_prefix('\n')?.lines();
    let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    let encoders = field("encoders")?.parse().ok()?;
    let entry = Quarantined {
        hash: field("blake3")?.to_owned(),
        path: field("path")?.to_owned(),
        bytes: field("bytes")?.parse().ok()?,
        since_unix_s: field("since")?.parse().ok()?,
        cause: field("cause")?.to_owned(),
    };
    Some((entry, encoders))
}

fn hash(original: &File, bytes: u64) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; 64 << 10];
    let mut at = 0;
    while at < bytes {
        match original.read_at(&mut piece, at)? {
            // The file has become shorter since its length was read. The content that crashed a
            // worker no longer exists, so its exact hash is not needed.
            0 => break,
            read => {
                hasher.update(&piece[..read]);
                at += read as u64;
            }
        }
    }
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests;
