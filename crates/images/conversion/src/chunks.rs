//! A file in pieces, for those whose bytes the kernel cannot send by itself: TLS and HTTP/2.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use reactor::{Ended, read_cached};
use tokio::task::JoinHandle;

/// Bytes read at a time: what a TLS record and, unless the client asks for more, an HTTP/2 frame can hold. A slow reader
/// costs a few of these.
pub const CHUNK_BYTES: usize = 16 << 10;

/// What is left to be read of a file.
#[derive(Debug)]
pub struct Chunks {
    left: Range<u64>,
    /// A read that has to wait for the disk.
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    /// What was read and was more than is wanted by now.
    rest: Vec<u8>,
}

impl Chunks {
    /// Returns the chunks of a range of bytes.
    pub fn new(range: Range<u64>) -> Chunks {
        Chunks {
            left: range,
            reading: None,
            rest: Vec::new(),
        }
    }

    /// Bytes still to come.
    pub fn left(&self) -> u64 {
        self.left.end - self.left.start + self.rest.len() as u64
    }

    /// The next piece of `file`, which must be the same each time, of `bytes_max` and [`CHUNK_BYTES`] at most; `None` at the
    /// end of the range. What the page cache lacks is read on the blocking pool.
    ///
    /// # Errors
    /// [`Ended::File`] and [`Ended::ShortFile`], as the reactor has them.
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
        // While a disk was waited for, less may have come to be wanted.
        self.rest = chunk;
        Poll::Ready(Ok(Some(self.take_rest(bytes_max))))
    }

    fn take_rest(&mut self, bytes_max: usize) -> Vec<u8> {
        let behind = self.rest.split_off(self.rest.len().min(bytes_max));
        std::mem::replace(&mut self.rest, behind)
    }

    /// Reads what need not be waited for; with `None` a read has begun that must be.
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
