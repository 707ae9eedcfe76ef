//! The file: records behind each other.
//!
//! ```text
//! "PELTUSR1" · records: bytes u32 · BLAKE3 of the JSON, first 8 bytes · JSON of a list of changes
//! ```
//! Little-endian. A record is whole or does not count, and with it all of its changes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{Change, State, StoreError};

const MAGIC: &[u8; 8] = b"PELTUSR1";
const HEAD_BYTES: usize = 12;
/// A record's JSON; a playlist of a hundred thousand tracks has fewer.
const RECORD_BYTES_MAX: usize = 16 << 20;
/// Below, a journal is not worth writing anew.
const HISTORY_BYTES_MIN: u64 = 1 << 20;

/// Where the journal is.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    partial: PathBuf,
}

/// How much of which file was read.
#[derive(Debug, Default)]
pub(super) struct Position {
    inode: u64,
    bytes: u64,
    /// How long the file was when it was last written anew.
    renewed_bytes: u64,
}

/// The journal under its lock, read to its end.
pub(super) struct Locked<'j> {
    journal: &'j Journal,
    file: File,
}

impl Journal {
    pub(super) fn new(folder: &Path) -> Journal {
        Journal {
            path: folder.join("journal"),
            partial: folder.join("journal.partial"),
        }
    }

    /// Whether nothing was appended since.
    pub(super) fn is_at(&self, position: &Position) -> Result<bool, StoreError> {
        let found = std::fs::metadata(&self.path).map_err(self.failed("look at"))?;
        Ok(found.ino() == position.inode && found.len() == position.bytes)
    }

    /// Reads on to the end of what is whole by now.
    pub(super) fn follow(
        &self,
        position: &mut Position,
        state: &mut State,
    ) -> Result<(), StoreError> {
        let file = File::open(&self.path).map_err(self.failed("open"))?;
        self.read_on(&file, position, state)
    }

    /// Takes the lock, and reads on. What is not whole then is nobody's, and cut.
    pub(super) fn lock(
        &self,
        position: &mut Position,
        state: &mut State,
    ) -> Result<Locked<'_>, StoreError> {
        let file = loop {
            let mut options = OpenOptions::new();
            let options = options.read(true).append(true).create(true).mode(0o600);
            let file = options.open(&self.path).map_err(self.failed("open"))?;
            flock(&file, FlockOperation::LockExclusive)
                .map_err(|err| self.failed("lock")(err.into()))?;
            // Somebody may have written it anew while we waited.
            let is_it = |file: &File| {
                let (here, there) = (file.metadata()?, std::fs::metadata(&self.path)?);
                io::Result::Ok(here.ino() == there.ino())
            };
            if is_it(&file).map_err(self.failed("look at"))? {
                break file;
            }
        };
        let length = file.metadata().map_err(self.failed("look at"))?.len();
        if length < MAGIC.len() as u64 {
            let begin = || {
                file.set_len(0)?;
                (&file).write_all(MAGIC)?;
                file.sync_all()
            };
            begin().map_err(self.failed("begin"))?;
        }
        self.read_on(&file, position, state)?;
        if position.bytes < length {
            file.set_len(position.bytes).map_err(self.failed("cut"))?;
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
        let found = file.metadata().map_err(self.failed("look at"))?;
        if found.ino() != position.inode || found.len() < position.bytes {
            *state = State::default();
            *position = Position {
                inode: found.ino(),
                ..Position::default()
            };
        }
        let begin = position.bytes;
        let mut bytes = vec![0; (found.len() - begin) as usize];
        file.read_exact_at(&mut bytes, begin)
            .map_err(self.failed("read"))?;
        let mut rest = &bytes[..];
        if begin == 0 {
            rest = rest.strip_prefix(MAGIC).ok_or_else(|| {
                let what = "it is not a journal of this version";
                self.failed("read")(io::Error::new(io::ErrorKind::InvalidData, what))
            })?;
        }
        while let Some((changes, behind)) = take_record(rest) {
            changes.into_iter().for_each(|change| state.apply(change));
            rest = behind;
        }
        position.bytes = begin + (bytes.len() - rest.len()) as u64;
        if begin == 0 {
            position.renewed_bytes = position.bytes;
        }
        Ok(())
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        StoreError::new(doing, &self.path)
    }
}

impl Locked<'_> {
    /// Appends changes, and waits for the disk.
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
            // Half a record would hide all that follow it.
            let cut = self.file.set_len(position.bytes);
            return Err(self.journal.failed("append to")(cut.err().unwrap_or(err)));
        }
        position.bytes += record.len() as u64;
        Ok(())
    }

    /// Whether writing it anew would make it a quarter.
    pub(super) fn is_mostly_history(&self, position: &Position, state: &State) -> bool {
        // The state is looked at only when the journal has doubled since.
        let grown = position.renewed_bytes.max(HISTORY_BYTES_MIN) * 2 < position.bytes;
        let records = || state.changes().into_iter();
        grown
            && records()
                .filter_map(|change| Some(record(&[change]).ok()?.len() as u64))
                .sum::<u64>()
                * 4
                < position.bytes
    }

    /// Writes the journal anew, without its history.
    pub(super) fn renew(&self, state: &State, position: &mut Position) -> Result<(), StoreError> {
        let Journal { path, partial } = self.journal;
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
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
            io::Result::Ok(Position {
                inode: file.metadata()?.ino(),
                bytes: bytes.len() as u64,
                renewed_bytes: bytes.len() as u64,
            })
        };
        *position = write().map_err(self.journal.failed("write anew"))?;
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

/// Takes a record off the front, if there is a whole one.
fn take_record(bytes: &[u8]) -> Option<(Vec<Change>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (json, rest) = rest.split_at_checked(length)?;
    if checksum(json) != *sum {
        return None;
    }
    Some((serde_json::from_slice(json).ok()?, rest))
}

fn checksum(json: &[u8]) -> [u8; 8] {
    let hash = blake3::hash(json);
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}
