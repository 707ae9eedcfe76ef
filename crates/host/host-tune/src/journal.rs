//! Journal of the changes: a file of JSON lines, each synced before the next step.
//!
//! A line that was cut off is the last one, and its step was not made, because each step waits
//! until its line is on disk.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use host::Setting;
use report::Error;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Goal;

/// Name of the journal in its directory.
const JOURNAL: &str = "journal";
/// Maximum length of a journal that is read.
const JOURNAL_BYTES_MAX: u64 = 4 << 20;

/// Line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// Begin of an apply.
    Begin {
        session: u32,
        boot: String,
        namespace: String,
        goal: Goal,
    },
    /// Intention to write `new` to a setting whose value is `old`.
    Intent {
        id: String,
        setting: Setting,
        old: String,
        new: String,
    },
    /// Value that the kernel made of the value of the last intention, if it is another.
    Seen { value: String },
    /// End of an apply. Without a confirmation, the changes end at this time of `CLOCK_BOOTTIME`.
    Applied { deadline_ms: u64 },
    /// Confirmation by the operator.
    Confirmed,
    /// The change is taken back: the `change`th intention of the journal, from 0.
    Restored { change: usize },
}

/// Change of the journal with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) session: u32,
    pub(crate) id: String,
    pub(crate) setting: Setting,
    pub(crate) old: String,
    pub(crate) new: String,
    /// Value that the kernel made of `new`, if it is another.
    pub(crate) seen: Option<String>,
    pub(crate) is_restored: bool,
}

/// Progress of the newest apply of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The apply runs, or it was interrupted.
    Incomplete,
    /// The changes end at the deadline unless they are confirmed.
    Waiting {
        deadline_ms: u64,
    },
    Confirmed,
}

/// State that the lines of a journal describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) session: u32,
    pub(crate) boot: String,
    pub(crate) namespace: String,
    pub(crate) goal: Goal,
    pub(crate) phase: Phase,
    pub(crate) items: Vec<Item>,
}

impl State {
    /// Reads the lines of a journal. Returns `None` if the line `number`, from 1, is damaged.
    pub(crate) fn parse(text: &str) -> Result<Option<State>, usize> {
        let mut state: Option<State> = None;
        for (line, number) in text.split_inclusive('\n').zip(1..) {
            // The step of a line that was cut off was not made.
            let Some(line) = line.strip_suffix('\n') else {
                break;
            };
            let record = serde_json::from_str(line).map_err(|_| number)?;
            state = Some(match (state, record) {
                (
                    state,
                    Record::Begin {
                        session,
                        boot,
                        namespace,
                        goal,
                    },
                ) => State {
                    session,
                    boot,
                    namespace,
                    goal,
                    phase: Phase::Incomplete,
                    items: state.map_or(Vec::new(), |state| state.items),
                },
                (Some(state), record) => state.with(record).ok_or(number)?,
                (None, _) => return Err(number),
            });
        }
        Ok(state)
    }

    fn with(mut self, record: Record) -> Option<State> {
        match record {
            Record::Begin { .. } => return None,
            Record::Intent {
                id,
                setting,
                old,
                new,
            } => {
                setting.scope().ok()?;
                self.items.push(Item {
                    session: self.session,
                    id,
                    setting,
                    old,
                    new,
                    seen: None,
                    is_restored: false,
                });
            }
            Record::Seen { value } => self.items.last_mut()?.seen = Some(value),
            Record::Applied { deadline_ms } => self.phase = Phase::Waiting { deadline_ms },
            Record::Confirmed => self.phase = Phase::Confirmed,
            Record::Restored { change } => self.items.get_mut(change)?.is_restored = true,
        }
        Some(self)
    }

    /// Returns the changes that are not taken back, with their numbers.
    pub(crate) fn open(&self) -> impl DoubleEndedIterator<Item = (usize, &Item)> {
        self.items
            .iter()
            .enumerate()
            .filter(|(_, item)| !item.is_restored)
    }

    /// Returns whether the newest apply has changes that are neither confirmed nor taken back.
    pub(crate) fn is_unconfirmed(&self) -> bool {
        let mut open = self.open();
        self.phase != Phase::Confirmed && open.any(|(_, item)| item.session == self.session)
    }
}

/// Directory of the journal, whose lock this process holds if it took the lock. The directory stays
/// open, because the owner of the data directory could put another one in its place.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    open: File,
    /// Lock, released when the file is closed.
    _lock: Option<File>,
}

fn failed(path: &Path, what: &str, err: impl std::fmt::Display) -> Error {
    Error::host(format!("tune: cannot {what} {}: {err}", path.display()))
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::host(format!("tune: {}: {what}", path.display())).hint(
        "if the host has restarted since pelton tune apply, the changes are gone: delete the file",
    )
}

impl Folder {
    /// Returns the directory, if it exists, for a process that only reads.
    pub(crate) fn unlocked(data: &Path) -> Result<Option<Folder>, Error> {
        let path = data.join("tune");
        let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
        let open = File::options()
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(&path);
        let open = match open {
            Ok(open) => open,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => {
                let hint = "run pelton tune as the user that applied the changes";
                return Err(failed(&path, "open", err).hint(hint));
            }
        };
        let found = open.metadata();
        require_own(&found.map_err(|err| failed(&path, "read", err))?, &path)?;
        Ok(Some(Folder {
            path,
            open,
            _lock: None,
        }))
    }

    /// Creates the directory if necessary, and locks it.
    pub(crate) fn lock(data: &Path) -> Result<Folder, Error> {
        let folder = Folder::lock_if_free(data)?;
        folder.ok_or_else(|| {
            let path = data.join("tune");
            let what = format!("tune: another pelton tune is using {}", path.display());
            Error::host(what).hint("wait until that command has ended")
        })
    }

    /// As [`Folder::lock`]; returns `None` if another process holds the lock.
    pub(crate) fn lock_if_free(data: &Path) -> Result<Option<Folder>, Error> {
        let path = data.join("tune");
        // The data directory belongs to the server, the journal to the user who tunes.
        fs::create_dir_all(data).map_err(|err| failed(data, "create", err))?;
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(err) if err.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(&path, "create", err));
            }
            _ => {}
        }
        let Some(folder) = Folder::unlocked(data)? else {
            return Err(failed(
                &path,
                "open",
                "the directory was removed in the meantime",
            ));
        };
        let name = path.join("lock");
        let file = options().open(folder.at("lock"));
        let file = file.map_err(|err| failed(&name, "open", err))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Folder {
                _lock: Some(file),
                ..folder
            })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(err) => Err(failed(&name, "lock", err)),
        }
    }

    /// Returns the path by which this process opens a file of the directory.
    fn at(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd")
            .join(self.open.as_raw_fd().to_string())
            .join(name)
    }

    /// Opens the file to which the guard writes, and whose lock it holds.
    pub(crate) fn guard_log(&self) -> io::Result<File> {
        options().append(true).open(self.at("guard.log"))
    }

    /// Opens the file of the guard, which must exist, for its lock only.
    pub(crate) fn existing_guard_log(&self) -> io::Result<File> {
        File::open(self.at("guard.log"))
    }

    /// Reads the journal, if there is one.
    pub(crate) fn state(&self) -> Result<Option<State>, Error> {
        let path = self.path.join(JOURNAL);
        let file = File::options()
            .read(true)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(self.at(JOURNAL));
        let file = match file {
            Ok(file) => file,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(failed(&path, "read", err)),
        };
        let found = file.metadata();
        require_own(&found.map_err(|err| failed(&path, "read", err))?, &path)?;
        let mut text = String::new();
        file.take(JOURNAL_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(|err| failed(&path, "read", err))?;
        if JOURNAL_BYTES_MAX < text.len() as u64 {
            let what = format!("the journal is longer than {JOURNAL_BYTES_MAX} bytes");
            return Err(damaged(&path, &what));
        }
        State::parse(&text)
            .map_err(|line| damaged(&path, &format!("the journal is damaged in line {line}")))
    }

    /// Refuses a journal that has no room for a further apply.
    pub(crate) fn require_room(&self) -> Result<(), Error> {
        let path = self.path.join(JOURNAL);
        let found = fs::symlink_metadata(self.at(JOURNAL));
        let found = found.map_err(|err| failed(&path, "read", err))?;
        match found.len() < JOURNAL_BYTES_MAX / 2 {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "tune apply: {} has little room left, because it contains many earlier changes",
                path.display()
            ))
            .hint("run pelton tune revert, which reverts the earlier changes")),
        }
    }

    /// Begins a journal, which replaces an earlier one.
    pub(crate) fn begin(&self, record: &Record) -> Result<Journal, Error> {
        let path = self.path.join(JOURNAL);
        let first = line(record);
        let begun = (|| {
            let new = self.at("journal.new");
            let mut file = options().truncate(true).open(&new)?;
            file.write_all(first.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, self.at(JOURNAL))?;
            self.open.sync_all()?;
            Ok::<File, io::Error>(file)
        })();
        let file = begun.map_err(|err| failed(&path, "write", err))?;
        Ok(Journal {
            file,
            path,
            whole_bytes: first.len() as u64,
        })
    }

    /// Opens the journal for further lines. A line that was cut off is removed.
    pub(crate) fn append(&self) -> Result<Journal, Error> {
        let path = self.path.join(JOURNAL);
        let opened = (|| {
            let mut file = options().open(self.at(JOURNAL))?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            let whole = text.iter().rposition(|byte| *byte == b'\n');
            let whole = whole.map_or(0, |at| at as u64 + 1);
            if whole < text.len() as u64 {
                file.set_len(whole)?;
            }
            file.seek(io::SeekFrom::Start(whole))?;
            Ok::<(File, u64), io::Error>((file, whole))
        })();
        let (file, whole_bytes) = opened.map_err(|err| failed(&path, "open", err))?;
        Ok(Journal {
            file,
            path,
            whole_bytes,
        })
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options
}

/// Refuses a directory or journal that another user may have written: its values would be written
/// with the privileges of the caller.
fn require_own(found: &Metadata, path: &Path) -> Result<(), Error> {
    let user = rustix::process::geteuid().as_raw();
    let is_shared = found.permissions().mode() & 0o022 != 0;
    match found.uid() == user && !is_shared && !found.is_symlink() {
        true => Ok(()),
        false => Err(Error::host(format!(
            "tune: {} belongs to another user, or other users may write to it",
            path.display()
        ))
        .hint("run pelton tune as the user that applied the changes")),
    }
}

fn line(record: &Record) -> String {
    let text = serde_json::to_string(record).expect("records have text keys only");
    format!("{text}\n")
}

/// Journal that is open for further lines.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    /// Length of the lines that are on disk.
    whole_bytes: u64,
}

impl Journal {
    /// Writes a line, and returns when the line is on disk. If the disk refuses the line, the file
    /// keeps none of it, so that a later line is whole.
    pub(crate) fn write(&mut self, record: &Record) -> Result<(), Error> {
        let line = line(record);
        let written = self.file.write_all(line.as_bytes());
        let Err(err) = written.and_then(|()| self.file.sync_data()) else {
            self.whole_bytes += line.len() as u64;
            return Ok(());
        };
        let whole = self.whole_bytes;
        let cut = self.file.set_len(whole);
        let cut = cut.and_then(|()| self.file.seek(io::SeekFrom::Start(whole)));
        let failure = failed(&self.path, "write", err);
        Err(match cut {
            Ok(_) => failure,
            Err(second) => failure.because(format!(
                "an incomplete line stays at the end of the file: {second}"
            )),
        })
    }
}
