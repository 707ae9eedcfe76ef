//! Reader of a file in chunks, for connections on which the kernel cannot send a file by itself:
//! TLS and HTTP/2.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use reactor::{Ended, read_cached};
use tokio::task::JoinHandle;

/// Maximum number of bytes per read: the size of a TLS record and, by default, of an HTTP/2 frame.
/// A connection to a slow client holds a few chunks of this size in memory.
pub const CHUNK_BYTES: usize = 16 << 10;

/// Reader of a byte range of a file.
#[derive(Debug)]
pub struct Chunks {
    left: Range<u64>,
    /// Read in progress that waits for the disk, if any.
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    /// Bytes that were read but not returned yet, because the caller requested fewer bytes.
    rest: Vec<u8>,
}

impl Chunks {
    /// Returns a reader of the bytes in `range`.
    pub fn new(range: Range<u64>) -> Chunks {
        Chunks {
            left: range,
            reading: None,
            rest: Vec::new(),
        }
    }

    /// Returns the number of bytes that [`Chunks::poll_next`] has not returned yet.
    pub fn left(&self) -> u64 {
        self.left.end - self.left.start + self.rest.len() as u64
    }

    /// Returns the next piece of `file`, or `None` at the end of the range. A piece has at most
    /// `bytes_max` bytes and at most [`CHUNK_BYTES`]. `file` must be the same at each call. Bytes
    /// that are not in the page cache are read on the blocking pool.
    ///
    /// # Errors
    /// [`Ended::File`] if a read fails, [`Ended::ShortFile`] if the file ends before the range.
    pub fn poll_next(
        &mut self,
        file: &File,
        bytes_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, Ended>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Ok(Some(self.take_rest(bytes_max))));
        }
        if self.left.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let read = match &mut self.reading {
            Some(reading) => {
                let read = ready!(Pin::new(reading).poll(context));
                self.reading = None;
                read.map_err(io::Error::other).flatten()
            }
            None => match self.read_now(file, bytes_max) {
                Ok(Some(chunk)) => Ok(chunk),
                Ok(None) => return self.poll_next(file, bytes_max, context),
                Err(error) => Err(error),
            },
        };
        let chunk = read.map_err(Ended::File)?;
        if chunk.is_empty() {
            return Poll::Ready(Err(Ended::ShortFile {
                missing_bytes: self.left(),
            }));
        }
        self.left.start += chunk.len() as u64;
        // The caller may have reduced `bytes_max` since the read from the disk started.
        self.rest = chunk;
        Poll::Ready(Ok(Some(self.take_rest(bytes_max))))
    }

    fn take_rest(&mut self, bytes_max: usize) -> Vec<u8> {
        let remaining = self.rest.split_off(self.rest.len().min(bytes_max));
        std::mem::replace(&mut self.rest, remaining)
    }

    /// Reads bytes from the page cache. If they are not in the cache, starts a read from the disk
    /// and returns `None`.
    fn read_now(&mut self, file: &File, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        let offset = self.left.start;
        let length = CHUNK_BYTES.min(bytes_max).min(self.left() as usize);
        let mut chunk = vec![0; length];
        if let Some(read) = read_cached(file, offset, &mut chunk)? {
            chunk.truncate(read);
            return Ok(Some(chunk));
        }
        let file = file.try_clone()?;
        self.reading = Some(tokio::task::spawn_blocking(move || {
            let read = file.read_at(&mut chunk, offset)?;
            chunk.truncate(read);
            Ok(chunk)
        }));
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
