//! Reads files without blocking on a disk, for `sendfile` and for callers that need the bytes in
//! memory.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;

use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::blocking::blocking;

/// Size of one read while a file is loaded into the page cache.
const CHUNK_BYTES: usize = 128 << 10;

/// Reads bytes at `offset` from the page cache. Returns `None` if the read would wait for a disk,
/// and 0 at the end of the file. May read fewer bytes than the buffer holds.
///
/// # Errors
/// Reading the file fails.
pub fn read_cached(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let mut buffers = [IoSliceMut::new(buffer)];
    match preadv2(file, &mut buffers, offset, ReadWriteFlags::NOWAIT) {
        Ok(read) => Ok(Some(read)),
        Err(Errno::AGAIN) => Ok(None),
        // The file system does not support `RWF_NOWAIT`, so the file is read normally, which may
        // wait for the disk.
        Err(Errno::OPNOTSUPP) => file.read_at(buffer, offset).map(Some),
        Err(error) => Err(error.into()),
    }
}

/// Loads a range of a file into the page cache, on the blocking pool, unless the range appears to
/// be cached.
///
/// Only the last page is checked, since files are read and evicted from front to back. If that page
/// is cached but an earlier one is not, `sendfile` waits for the disk. A file that ends before the
/// end of the range is not an error here.
pub(crate) async fn load(file: &File, offset: u64, len: u64) -> io::Result<()> {
    if len == 0 || is_cached(file, offset + len - 1)? {
        return Ok(());
    }
    let file = file.try_clone()?;
    blocking(move || read_through(&file, offset, len)).await
}

/// File ranges that were found in the page cache, each with the time of the check. A popular range
/// is thus checked once per tick instead of once per response. The number of a descriptor may be
/// reused for another file within the tick. In this case `sendfile` may wait for the disk once,
/// which does no other harm.
#[derive(Debug)]
pub(crate) struct CachedRanges([Cell<(RawFd, u64, u64)>; RANGES]);

/// Number of file ranges that are remembered. A newer range may overwrite an older range.
const RANGES: usize = 64;

impl Default for CachedRanges {
    fn default() -> CachedRanges {
        CachedRanges(std::array::from_fn(|_| Cell::new((-1, 0, 0))))
    }
}

impl CachedRanges {
    /// Returns whether the range that ends at `end` was found in the page cache during this tick of
    /// the clock.
    pub(crate) fn contains(&self, file: &File, end: u64, now_ms: u64) -> bool {
        self.entry(file, end).get() == (file.as_raw_fd(), end, now_ms)
    }

    /// Records that the range that ends at `end` is in the page cache.
    pub(crate) fn note(&self, file: &File, end: u64, now_ms: u64) {
        self.entry(file, end).set((file.as_raw_fd(), end, now_ms));
    }

    fn entry(&self, file: &File, end: u64) -> &Cell<(RawFd, u64, u64)> {
        // The multiplication spreads neighbouring descriptors, and ranges of one file, over
        // different entries.
        let mixed = (end ^ (file.as_raw_fd() as u64) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[(mixed >> 58) as usize]
    }
}

fn is_cached(file: &File, offset: u64) -> io::Result<bool> {
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    match preadv2(file, &mut bytes, offset, ReadWriteFlags::NOWAIT) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        // The file system does not support `RWF_NOWAIT`. It is one of two kinds. On a file system
        // in memory (before Linux 6.6), a read never waits. On a network file system, `sendfile`
        // may now wait.
        Err(Errno::OPNOTSUPP) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn read_through(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let end = offset + len;
    let mut offset = offset;
    while offset < end {
        let want = (end - offset).min(CHUNK_BYTES as u64) as usize;
        match file.read_at(&mut chunk[..want], offset)? {
            0 => break,
            read => offset += read as u64,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
