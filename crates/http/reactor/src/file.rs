//! Reading files without sleeping on a disk, for `sendfile` and for whoever must see the bytes.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;

use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Bytes read at a time to fill the page cache.
const CHUNK_BYTES: usize = 128 << 10;

/// Reads at `offset` what the page cache has of it, if anything: `None` means that a disk would have to be waited for,
/// and 0 that the file ends there. May read less than there is.
///
/// # Errors
/// As a read.
pub fn read_cached(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let mut buffers = [IoSliceMut::new(buffer)];
    match preadv2(file, &mut buffers, offset, ReadWriteFlags::NOWAIT) {
        Ok(read) => Ok(Some(read)),
        Err(Errno::AGAIN) => Ok(None),
        // As below: the file system cannot tell.
        Err(Errno::OPNOTSUPP) => file.read_at(buffer, offset).map(Some),
        Err(error) => Err(error.into()),
    }
}

/// Brings a part of a file into the page cache, on the blocking pool, unless it seems to be there.
///
/// "Seems": only the last page is asked for, since files are read and evicted front to back. A wrong guess lets
/// `sendfile` wait for the disk once. A file that ends before the part is no error here.
pub(crate) async fn load(file: &File, offset: u64, len: u64) -> io::Result<()> {
    if len == 0 || is_cached(file, offset + len - 1)? {
        return Ok(());
    }
    let file = file.try_clone()?;
    tokio::task::spawn_blocking(move || read_through(&file, offset, len))
        .await
        .map_err(io::Error::other)?
}

/// Parts of files that were in the page cache when last asked for, so that a part which many want is asked for once a tick
/// and not once an answer. A descriptor that is another file's by now is one more wrong guess.
#[derive(Debug)]
pub(crate) struct Found([Cell<(RawFd, u64, u64)>; FOUND]);

/// Parts remembered: those after push those before out.
const FOUND: usize = 64;

impl Default for Found {
    fn default() -> Found {
        Found(std::array::from_fn(|_| Cell::new((-1, 0, 0))))
    }
}

impl Found {
    /// Whether the part that ends at `end` was there in this tick of the clock.
    pub(crate) fn knows(&self, file: &File, end: u64, now_ms: u64) -> bool {
        self.place(file, end).get() == (file.as_raw_fd(), end, now_ms)
    }

    /// It is there.
    pub(crate) fn note(&self, file: &File, end: u64, now_ms: u64) {
        self.place(file, end).set((file.as_raw_fd(), end, now_ms));
    }

    fn place(&self, file: &File, end: u64) -> &Cell<(RawFd, u64, u64)> {
        // Odd, so that neither neighbours among descriptors nor parts of one file meet.
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
        // The file system cannot tell: memory (before Linux 6.6) or a network, and for the latter `sendfile` may wait.
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
