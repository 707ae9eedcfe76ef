//! Positioned reads through one window, counted and bounded.

use crate::{Error, Limits};
use std::io;
use std::ops::Range;

/// Most bytes that a parser asks for at once.
pub(crate) const WINDOW_BYTES_MAX: usize = 128 << 10;
/// A read ends at a multiple of this, as the page cache does, and so costs no page that was not needed anyway…
const PAGE_BYTES: u64 = 4096;
/// … unless that would leave almost nothing behind what was asked for.
const AHEAD_BYTES: u64 = 1024;

/// Bytes that can be read at any offset: a file, memory, or an object behind HTTP.
pub trait ReadAt {
    /// Fills the beginning of `buf` with the bytes at `offset` and says how many there were; 0 is the end.
    ///
    /// # Errors
    /// Whatever the source meets.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |start| start.min(self.len()));
        let count = buf.len().min(self.len() - start);
        buf[..count].copy_from_slice(&self[start..start + count]);
        Ok(count)
    }
}

impl<S: ReadAt + ?Sized> ReadAt for &S {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buf)
    }
}

/// A file of which only a few bytes are wanted.
pub(crate) struct Input<'a> {
    source: &'a dyn ReadAt,
    len: u64,
    window: &'a mut Vec<u8>,
    window_at: u64,
    parts_left: u32,
    pub(crate) reads: u32,
    pub(crate) read_bytes: u64,
    pub(crate) limits: &'a Limits,
}

impl<'a> Input<'a> {
    /// `window` is any buffer, whose memory is used again.
    pub(crate) fn new(
        source: &'a dyn ReadAt,
        len: u64,
        window: &'a mut Vec<u8>,
        limits: &'a Limits,
    ) -> Input<'a> {
        window.clear();
        Input {
            source,
            len,
            window,
            window_at: 0,
            parts_left: limits.parts_max,
            reads: 0,
            read_bytes: 0,
            limits,
        }
    }

    /// Length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Counts a frame, comment, item, box or chunk.
    pub(crate) fn part(&mut self) -> Result<(), Error> {
        match self.parts_left.checked_sub(1) {
            Some(left) => self.parts_left = left,
            None => return Err(Error::limit("more parts than the limit allows")),
        }
        Ok(())
    }

    /// The `count` bytes at `at`.
    ///
    /// # Panics
    /// When `count` exceeds [`WINDOW_BYTES_MAX`]; parsers hold lengths against their limits first.
    pub(crate) fn bytes(&mut self, at: u64, count: usize) -> Result<&[u8], Error> {
        assert!(count <= WINDOW_BYTES_MAX, "{count} bytes at once");
        let end = at.checked_add(count as u64);
        if end.is_none_or(|end| self.len < end) {
            return Err(Error::truncated("file ends too early"));
        }
        let inside = at
            .checked_sub(self.window_at)
            .is_some_and(|skip| skip + count as u64 <= self.window.len() as u64);
        if !inside {
            self.fetch(at, count)?;
        }
        let start = (at - self.window_at) as usize;
        Ok(&self.window[start..start + count])
    }

    /// The bytes at `at`, `count` or as many as the file has.
    pub(crate) fn up_to(&mut self, at: u64, count: usize) -> Result<&[u8], Error> {
        let left = self.len.saturating_sub(at);
        self.bytes(
            at.min(self.len),
            usize::try_from(left).map_or(count, |left| left.min(count)),
        )
    }

    /// The `N` bytes at `at`.
    pub(crate) fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Error> {
        let bytes = self.bytes(at, N)?;
        Ok(*bytes.first_chunk().expect("as many bytes as asked for"))
    }

    /// The `N` bytes at `skip` in `part`, which must hold them.
    pub(crate) fn field<const N: usize>(
        &mut self,
        part: &Range<u64>,
        skip: u64,
    ) -> Result<[u8; N], Error> {
        let at = part.start.saturating_add(skip);
        if part.end < at.saturating_add(N as u64) {
            return Err(Error::malformed("part is shorter than its fields"));
        }
        self.array(at)
    }

    /// Moves the window to `at`, keeping what it already has from there on.
    fn fetch(&mut self, at: u64, count: usize) -> Result<(), Error> {
        let held_end = self.window_at + self.window.len() as u64;
        if (self.window_at..held_end).contains(&at) {
            self.window.drain(..(at - self.window_at) as usize);
        } else {
            self.window.clear();
        }
        self.window_at = at;
        let held = self.window.len();
        let needed_end = at + count as u64;
        let end = (needed_end + AHEAD_BYTES)
            .next_multiple_of(PAGE_BYTES)
            .min(self.len);
        let wanted = (end - at) as usize;
        self.window.resize(wanted, 0);
        let filled = self.fill(held, count);
        self.window.truncate(*filled.as_ref().unwrap_or(&held));
        if filled? < count {
            return Err(Error::truncated("file is shorter than its size says"));
        }
        Ok(())
    }

    /// Reads into the window from `filled` on, at least `count` bytes in all; says how many there are.
    fn fill(&mut self, mut filled: usize, count: usize) -> Result<usize, Error> {
        while filled < count {
            let left = (self.window.len() - filled) as u64;
            if self.limits.reads_max <= self.reads {
                return Err(Error::limit("more reads than the limit allows"));
            }
            if self.limits.read_bytes_max < self.read_bytes + left {
                return Err(Error::limit("more bytes read than the limit allows"));
            }
            self.reads += 1;
            self.read_bytes += left;
            let at = self.window_at + filled as u64;
            match self.source.read_at(at, &mut self.window[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read.min(self.window.len() - filled),
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(Error::io(err)),
            }
        }
        Ok(filled)
    }
}
