//! Journal file: a sequence of records.
//!
//! ```text
//! "PELTUSR1" · records: length of the JSON u32 · first 8 bytes of its BLAKE3 hash · JSON
//! JSON: a list of changes
//! ```
//! Integers are little-endian. A record is applied as a whole or not at all.
//!
//! A crash leaves a partial record at the end of the file; the next writer cuts it off. Any other
//! bytes that are not a whole record are damage: readers skip them and continue with the next whole
//! record. One wrong bit in the first 8 bytes of the file counts as damage too, so a later version
//! of the format must change more than one bit of them. The next writer keeps the damaged file as
//! `journal.bad` and rewrites the journal. Readers write nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use super::{Change, State, StoreError};

const MAGIC: &[u8; 8] = b"PELTUSR1";
const HEAD_BYTES: usize = 12;
/// First bytes of the JSON of every record: a non-empty list of objects.
const JSON_BEGIN: &[u8] = b"[{";
/// Maximum length of a record's JSON; the JSON of a playlist of 100,000 tracks is shorter.
const RECORD_BYTES_MAX: usize = 16 << 20;
/// Minimum size that is assumed for a journal at its last rewrite. A journal is rewritten only
/// after its size has doubled since the last rewrite, so a journal of at most twice this minimum is
/// never rewritten.
const HISTORY_BYTES_MIN: u64 = 1 << 20;

/// Maximum number of damaged files that are kept beside the journal: `journal.bad`, `journal.bad-1`
/// and so on.
const KEPT_MAX: usize = 10;

/// Paths of the journal, and the damage found in it.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    path: PathBuf,
    partial: PathBuf,
    /// Number of damaged parts that were skipped since this value was created, see [`Damage`].
    damaged_parts: AtomicU64,
    damaged_bytes: AtomicU64,
}

/// Position up to which a journal file was read.
#[derive(Debug, Default)]
pub(super) struct Position {
    inode: u64,
    bytes: u64,
    /// Length of the file after it was last rewritten, or when it was first read.
    renewed_bytes: u64,
    /// True if a damaged part was skipped.
    is_damaged: bool,
}

/// Damaged parts of a journal that were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Number of contiguous damaged parts; each may cover several records.
    pub parts: u64,
    /// Total length of the damaged parts in bytes.
    pub bytes: u64,
}

/// Locked journal, read to its end.
pub(super) struct Locked<'j> {
    journal: &'j Journal,
    file: File,
}

impl Journal {
    pub(super) fn new(folder: &Path) -> Journal {
        Journal {
            folder: folder.to_owned(),
            path: folder.join("journal"),
            partial: folder.join("journal.partial"),
            damaged_parts: AtomicU64::new(0),
            damaged_bytes: AtomicU64::new(0),
        }
    }

    /// Returns the number and size of the damaged parts that were skipped since this value was
    /// created.
    pub(super) fn damage(&self) -> Damage {
        Damage {
            parts: self.damaged_parts.load(Ordering::Relaxed),
            bytes: self.damaged_bytes.load(Ordering::Relaxed),
        }
    }

    /// Returns whether the journal is unchanged since it was read up to `position`. A journal that
    /// does not exist counts as empty.
    pub(super) fn is_at(&self, position: &Position) -> Result<bool, StoreError> {
        match std::fs::metadata(&self.path) {
            Ok(found) => Ok(found.ino() == position.inode && found.len() == position.bytes),
            Err(err) if err.kind() == io::ErrorKind::NotFound && position.inode == 0 => Ok(true),
            Err(err) => Err(self.failed("stat")(err)),
        }
    }

    /// Reads the complete records after `position`, and applies them to `state`.
    pub(super) fn follow(
        &self,
        position: &mut Position,
        state: &mut State,
    ) -> Result<(), StoreError> {
        let file = File::open(&self.path).map_err(self.failed("open"))?;
        self.read_on(&file, position, state)
    }

    /// Locks the journal and reads to its end. A damaged journal is kept as `journal.bad` and
    /// rewritten.
    pub(super) fn lock(
        &self,
        position: &mut Position,
        state: &mut State,
    ) -> Result<Locked<'_>, StoreError> {
        let locked = self.lock_file(position, state)?;
        if !position.is_damaged {
            return Ok(locked);
        }
        let kept = self
            .keep_damaged()
            .map_err(self.failed("keep a copy of the damaged file"))?;
        tracing::error!(kept = %kept.display(), "rewrote the journal of users without its damaged parts; a copy of the damaged file is kept");
        locked.renew(state, position)?;
        drop(locked);
        self.lock_file(position, state)
    }

    /// Locks the journal, reads to its end, and cuts off a partial record that a crash left at the
    /// end.
    fn lock_file(
        &self,
        position: &mut Position,
        state: &mut State,
    ) -> Result<Locked<'_>, StoreError> {
        let made = std::fs::create_dir_all(&self.folder);
        made.map_err(StoreError::new("create", &self.folder))?;
        let file = loop {
            let mut options = OpenOptions::new();
            let options = options.read(true).append(true).create(true).mode(0o600);
            let file = options.open(&self.path).map_err(self.failed("open"))?;
            flock(&file, FlockOperation::LockExclusive)
                .map_err(|err| self.failed("lock")(err.into()))?;
            // Another process may have replaced the file while this process waited for the lock.
            let is_it = |file: &File| {
                let (here, there) = (file.metadata()?, std::fs::metadata(&self.path)?);
                io::Result::Ok(here.ino() == there.ino())
            };
            if is_it(&file).map_err(self.failed("stat"))? {
                break file;
            }
        };
        let mut length = file.metadata().map_err(self.failed("stat"))?.len();
        if length < MAGIC.len() as u64 {
            let begin = || {
                file.set_len(0)?;
                (&file).write_all(MAGIC)?;
                file.sync_all()?;
                // Without syncing the folders, a power failure could remove the name of the new
                // file, and with the name all records in the file.
                sync_folders(&self.folder)
            };
            begin().map_err(self.failed("initialize"))?;
            length = MAGIC.len() as u64;
        }
        self.read_on(&file, position, state)?;
        if position.bytes < length {
            let (path, dropped) = (self.path.display(), length - position.bytes);
            tracing::warn!(%path, at = position.bytes, dropped, "dropped the last record of the users' journal, which a crash left incomplete");
            file.set_len(position.bytes)
                .map_err(self.failed("truncate"))?;
        }
        Ok(Locked {
            journal: self,
            file,
        })
    }

    fn read_on(
        &self,
        file: &File,
        position: &mut Position,
        state: &mut State,
    ) -> Result<(), StoreError> {
        let found = file.metadata().map_err(self.failed("stat"))?;
        if found.ino() != position.inode || found.len() < position.bytes {
            *state = State::default();
            *position = Position {
                inode: found.ino(),
                ..Position::default()
            };
        }
        let begin = position.bytes;
        let bytes = read_from(file, begin, found.len() - begin).map_err(self.failed("read"))?;
        let mut rest = &bytes[..];
        if begin == 0 {
            let head = rest.split_first_chunk::<{ MAGIC.len() }>();
            let (wrong_bits, records) = head.map_or((u32::MAX, rest), |(head, records)| {
                (wrong_bits(head, MAGIC), records)
            });
            rest = records;
            match wrong_bits {
                0 => {}
                1 => self.note_damage(position, 0, MAGIC.len()),
                _ => {
                    let what = "the file is not a journal of users, or it has an unknown version";
                    let err = io::Error::new(io::ErrorKind::InvalidData, what);
                    return Err(self.failed("read")(err));
                }
            }
        }
        while let Some(next) = find_record(rest) {
            if next.skipped_bytes != 0 {
                let at = begin + (bytes.len() - rest.len()) as u64;
                self.note_damage(position, at, next.skipped_bytes);
            }
            for change in next.changes {
                if position.is_damaged {
                    state.adopt(&change);
                }
                state.apply(change);
            }
            rest = next.rest;
        }
        position.bytes = begin + (bytes.len() - rest.len()) as u64;
        if begin == 0 {
            position.renewed_bytes = position.bytes;
        }
        Ok(())
    }

    /// Logs and counts a damaged part that was skipped.
    fn note_damage(&self, position: &mut Position, at: u64, skipped: usize) {
        let path = self.path.display();
        tracing::error!(%path, at, skipped, "skipped a damaged part of the users' journal; the changes in that part are lost");
        self.damaged_parts.fetch_add(1, Ordering::Relaxed);
        let bytes = &self.damaged_bytes;
        bytes.fetch_add(skipped as u64, Ordering::Relaxed);
        position.is_damaged = true;
    }

    /// Creates a hard link to the damaged journal under an unused name in the same folder, and
    /// returns the path of the link.
    fn keep_damaged(&self) -> io::Result<PathBuf> {
        let kept = |number| match number {
            0 => self.folder.join("journal.bad"),
            number => self.folder.join(format!("journal.bad-{number}")),
        };
        for path in (0..KEPT_MAX).map(kept) {
            match std::fs::hard_link(&self.path, &path) {
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
                linked => return linked.map(|()| path),
            }
        }
        // All names are taken, so the newest file is replaced. The older files are kept, because
        // they contain damaged parts that later journals no longer contain.
        let last = kept(KEPT_MAX - 1);
        std::fs::remove_file(&last)?;
        std::fs::hard_link(&self.path, &last).map(|()| last)
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        StoreError::new(doing, &self.path)
    }
}

impl Locked<'_> {
    /// Appends a record of these changes and syncs it to disk.
    pub(super) fn append(
        &self,
        changes: &[Change],
        position: &mut Position,
    ) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        let record = record(changes).map_err(self.journal.failed("append to"))?;
        let append = || {
            (&self.file).write_all(&record)?;
            self.file.sync_data()
        };
        if let Err(err) = append() {
            // Remove the partial record. With further records after it, readers would count it as
            // damage.
            let cut = self.file.set_len(position.bytes);
            return Err(self.journal.failed("append to")(cut.err().unwrap_or(err)));
        }
        position.bytes += record.len() as u64;
        Ok(())
    }

    /// Returns whether rewriting the journal would shrink it to less than a quarter of its size.
    pub(super) fn is_mostly_history(&self, position: &Position, state: &State) -> bool {
        // The size of the state is computed only if the journal has doubled since the last rewrite.
        let grown = position.renewed_bytes.max(HISTORY_BYTES_MIN) * 2 < position.bytes;
        let records = || state.changes().into_iter();
        grown
            && records()
                .filter_map(|change| Some(record(&[change]).ok()?.len() as u64))
                .sum::<u64>()
                * 4
                < position.bytes
    }

    /// Rewrites the journal so that it contains only the changes that restore `state`.
    pub(super) fn renew(&self, state: &State, position: &mut Position) -> Result<(), StoreError> {
        let Journal { path, partial, .. } = self.journal;
        let write = || {
            let mut options = OpenOptions::new();
            let options = options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(partial)?;
            let mut bytes = MAGIC.to_vec();
            for change in state.changes() {
                bytes.extend(record(&[change])?);
            }
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(partial, path)?;
            File::open(&self.journal.folder)?.sync_all()?;
            io::Result::Ok(Position {
                inode: file.metadata()?.ino(),
                bytes: bytes.len() as u64,
                renewed_bytes: bytes.len() as u64,
                is_damaged: false,
            })
        };
        *position = write().map_err(self.journal.failed("rewrite"))?;
        Ok(())
    }
}

fn record(changes: &[Change]) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(changes)?;
    let length = u32::try_from(json.len()).ok();
    let length = length.filter(|length| *length as usize <= RECORD_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut record = Vec::with_capacity(HEAD_BYTES + json.len());
    record.extend(length.to_le_bytes());
    record.extend(checksum(&json));
    record.extend(json);
    Ok(record)
}

/// Reads `bytes` bytes from the offset `begin` on, or fewer if the file is shorter.
fn read_from(file: &File, begin: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut read = vec![0; bytes as usize];
    let mut filled = 0;
    while filled < read.len() {
        match file.read_at(&mut read[filled..], begin + filled as u64) {
            // Another process has shortened the file since its length was read.
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    read.truncate(filled);
    Ok(read)
}

/// Syncs `folder` and its parent, so that the names of the files in `folder` and the name of
/// `folder` are on disk.
fn sync_folders(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()?;
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

/// Next part of a journal. For a record: its changes, and no skipped bytes. For a damaged part: its
/// length in `skipped_bytes`, and no changes.
struct Next<'b> {
    skipped_bytes: usize,
    changes: Vec<Change>,
    /// Bytes after the record or the damaged part.
    rest: &'b [u8],
}

/// Record with a valid length and checksum.
struct Whole<'b> {
    json: &'b [u8],
    rest: &'b [u8],
}

/// Returns the part with which `bytes` begin: a whole record or a damaged part. Returns `None` if
/// no bytes are left, or if the rest is a partial record or zeros that a crash left.
fn find_record(bytes: &[u8]) -> Option<Next<'_>> {
    if let Some(whole) = take_record(bytes) {
        let skipped_bytes = bytes.len() - whole.rest.len();
        // A whole record with a change that this version cannot parse counts as damage.
        let next = |changes, skipped_bytes| Next {
            skipped_bytes,
            changes,
            rest: whole.rest,
        };
        return Some(match serde_json::from_slice(whole.json) {
            Ok(changes) => next(changes, 0),
            Err(_) => next(Vec::new(), skipped_bytes),
        });
    }
    // Searches for the next record. The head of a record states the length in four bytes. The
    // length is at most RECORD_BYTES_MAX, so one of these bytes is zero. JSON contains no zero
    // byte, so users' text in a record cannot look like the head of another record.
    let begins = bytes.windows(HEAD_BYTES + JSON_BEGIN.len()).enumerate();
    let mut begins = begins.filter(|(_, head)| head.ends_with(JSON_BEGIN));
    let found = begins.find(|(at, _)| take_record(&bytes[*at..]).is_some());
    let skipped_bytes = match found {
        Some((at, _)) => at,
        None => damaged_record_bytes(bytes)?,
    };
    Some(Next {
        skipped_bytes,
        changes: Vec::new(),
        rest: &bytes[skipped_bytes..],
    })
}

/// Returns the length of the first record in `bytes`, if the record is complete but its checksum is
/// wrong. A partial record and zeros are not damage: a crash leaves them.
fn damaged_record_bytes(bytes: &[u8]) -> Option<usize> {
    let (length, _) = bytes.split_first_chunk()?;
    let record_bytes = HEAD_BYTES + u32::from_le_bytes(*length) as usize;
    let is_zeros = bytes.iter().all(|byte| *byte == 0);
    (record_bytes <= bytes.len() && !is_zeros).then_some(record_bytes)
}

/// Splits the first record off `bytes`, if it is whole.
fn take_record(bytes: &[u8]) -> Option<Whole<'_>> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    if RECORD_BYTES_MAX < length {
        return None;
    }
    let (json, rest) = rest.split_at_checked(length)?;
    (checksum(json) == *sum).then_some(Whole { json, rest })
}

/// Counts the bits in which the first bytes of a file differ from the magic number.
fn wrong_bits(found: &[u8; MAGIC.len()], wanted: &[u8; MAGIC.len()]) -> u32 {
    (u64::from_le_bytes(*found) ^ u64::from_le_bytes(*wanted)).count_ones()
}

fn checksum(json: &[u8]) -> [u8; 8] {
    let hash = blake3::hash(json);
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}
