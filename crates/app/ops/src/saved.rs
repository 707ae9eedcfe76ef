//! Bytes that did not have to be sent because variants are smaller than their originals. The
//! numbers are stored in the data directory, so that they survive restarts.
//!
//! The file `ops/saved` has one line: the time of the first count, the total number of bytes, the
//! current day, and the bytes of that day. Several processes may write the file, for example during
//! an upgrade, so each write adds the bytes that its process has counted since its previous write.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const DAY_MS: u64 = 86_400_000;

/// Numbers of saved bytes, as stored in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Time at which counting began, in milliseconds since 1970.
    pub(crate) since_unix_ms: u64,
    pub(crate) ever_bytes: u64,
    /// Day of [`Sums::today_bytes`], in days since 1970, by UTC.
    day: u64,
    today_bytes: u64,
}

/// Counter of the bytes that were saved by sending variants instead of originals. Survives
/// restarts.
#[derive(Debug)]
pub(crate) struct Saved {
    path: PathBuf,
    /// Sums that the file contained when it was last read or written. While the file cannot be
    /// written, they also include the bytes that this process has saved.
    sums: Sums,
    /// Bytes that this process has counted and that [`Saved::sums`] already includes.
    counted_bytes: u64,
    /// True if the last write succeeded.
    is_kept: bool,
}

impl Sums {
    /// Parses the content of the file.
    fn parse(text: &str) -> Option<Sums> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Sums {
            since_unix_ms: next()?,
            ever_bytes: next()?,
            day: next()?,
            today_bytes: next()?,
        })
    }

    fn to_line(self) -> String {
        let Sums {
            since_unix_ms,
            ever_bytes,
            day,
            today_bytes,
        } = self;
        format!("{since_unix_ms} {ever_bytes} {day} {today_bytes}\n")
    }

    /// Adds `bytes`, the traffic that variants have avoided since the last call, to the total and
    /// to the sum of the day that contains `now_ms`.
    fn add(&mut self, bytes: u64, now_ms: u64) {
        let day = now_ms / DAY_MS;
        if self.day != day {
            (self.day, self.today_bytes) = (day, 0);
        }
        self.ever_bytes += bytes;
        self.today_bytes += bytes;
    }

    /// Returns the bytes that were counted on the day that contains `now_ms`.
    pub(crate) fn today_bytes(&self, now_ms: u64) -> u64 {
        match self.day == now_ms / DAY_MS {
            true => self.today_bytes,
            false => 0,
        }
    }
}

impl Saved {
    /// Reads the sums of earlier processes from the data directory `data`. Starts at zero if there
    /// are none.
    pub(crate) fn open(data: &Path, now_ms: u64) -> Saved {
        let path = data.join("ops").join("saved");
        let sums = read(&path).unwrap_or(Sums {
            since_unix_ms: now_ms,
            ..Sums::default()
        });
        Saved {
            path,
            sums,
            counted_bytes: 0,
            is_kept: true,
        }
    }

    /// Returns the sums, including all `process_bytes` that this process has counted so far.
    pub(crate) fn with(&self, process_bytes: u64, now_ms: u64) -> Sums {
        let mut sums = self.sums;
        sums.add(process_bytes.saturating_sub(self.counted_bytes), now_ms);
        sums
    }

    /// Returns whether the sums survive a restart.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Adds to the file the bytes that this process has counted since its previous write.
    /// `process_bytes` is the number that it has counted since its start. Blocks.
    pub(crate) fn write(&mut self, process_bytes: u64, now_ms: u64) {
        let new_bytes = process_bytes.saturating_sub(self.counted_bytes);
        if new_bytes == 0 && self.path.exists() {
            return;
        }
        let mut sums = read(&self.path).unwrap_or(self.sums);
        sums.add(new_bytes, now_ms);
        let written = replace(&self.path, &sums.to_line());
        if let (Err(err), true) = (&written, self.is_kept) {
            let path = self.path.display();
            tracing::warn!(
                %path,
                %err,
                "cannot store how many bytes variants have saved; the number is lost when this \
                 process ends"
            );
        }
        self.is_kept = written.is_ok();
        (self.sums, self.counted_bytes) = (sums, process_bytes);
    }
}

fn read(path: &Path) -> Option<Sums> {
    Sums::parse(&fs::read_to_string(path).ok()?)
}

/// Replaces a file, so that a crash leaves the old or the new content.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().expect("lies in a folder");
    fs::create_dir_all(folder)?;
    let new = folder.join(format!("saved.{}", std::process::id()));
    fs::write(&new, text)?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests;
