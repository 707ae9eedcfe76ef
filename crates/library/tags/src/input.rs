//! Reader of a file at given offsets, with one buffer, which is called the window. The number of
//! reads and the number of bytes read are limited.

use crate::{Error, Limits, ReadAt};
use std::io;
use std::ops::Range;

/// Maximum number of bytes that a parser may request at a time.
pub(crate) const WINDOW_BYTES_MAX: usize = 128 << 10;
/// Alignment of a read's end: the page cache reads whole pages anyway.
const PAGE_BYTES: u64 = 4096;
/// Minimum number of bytes that are read after the requested bytes.
const AHEAD_BYTES: u64 = 1024;

/// Reader of a file of which only a few bytes are needed.
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
    /// Creates an input. `window` is any buffer; its memory is reused.
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

    /// Returns the length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Counts one frame, comment, item, box or chunk against [`Limits::parts_max`].
    ///
    /// # Errors
    /// The file exceeds this limit.
    pub(crate) fn part(&mut self) -> Result<(), Error> {
        match self.parts_left.checked_sub(1) {
            Some(left) => self.parts_left = left,
            None => {
                return Err(Error::limit(
                    "the file has more parts than the limit allows",
                ));
            }
        }
        Ok(())
    }

    /// Returns the `count` bytes at the offset `at`.
    ///
    /// # Panics
    /// If `count` exceeds [`WINDOW_BYTES_MAX`]; parsers check lengths against their limits first.
    pub(crate) fn bytes(&mut self, at: u64, count: usize) -> Result<&[u8], Error> {
        assert!(count <= WINDOW_BYTES_MAX, "{count} bytes exceed the window");
        let end = at.checked_add(count as u64);
        if end.is_none_or(|end| self.len < end) {
            return Err(Error::truncated("the file ends too early"));
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

    /// Returns `count` bytes at the offset `at`, or fewer at the end of the file.
    pub(crate) fn up_to(&mut self, at: u64, count: usize) -> Result<&[u8], Error> {
        let left = self.len.saturating_sub(at);
        self.bytes(
            at.min(self.len),
            usize::try_from(left).map_or(count, |left| left.min(count)),
        )
    }

    /// Returns the `N` bytes at the offset `at`.
    pub(crate) fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Error> {
        let bytes = self.bytes(at, N)?;
        Ok(*bytes
            .first_chunk()
            .expect("`bytes` returns as many bytes as requested"))
    }

    /// Returns the `N` bytes at offset `skip` within the range `part` of the file. Fails if `part`
    /// is too short.
    pub(crate) fn field<const N: usize>(
        &mut self,
        part: &Range<u64>,
        skip: u64,
    ) -> Result<[u8; N], Error> {
        let at = part.start.saturating_add(skip);
        if part.end < at.saturating_add(N as u64) {
            return Err(Error::malformed(
                "a structure in the file is too short for its fields",
            ));
        }
        self.array(at)
    }

    /// Moves the window to `at` and fills it with at least `count` bytes. Bytes of the old window
    /// that lie at or after `at` are kept and not read again.
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
            return Err(Error::truncated("the file is shorter than its stated size"));
        }
        Ok(())
    }

    /// Reads into the window from `filled` on, until it holds at least `count` bytes or the source
    /// ends. Returns the number of bytes in the window.
    fn fill(&mut self, mut filled: usize, count: usize) -> Result<usize, Error> {
        while filled < count {
            let left = (self.window.len() - filled) as u64;
            if self.limits.reads_max <= self.reads {
                return Err(Error::limit(
                    "parsing the file takes more reads than the limit allows",
                ));
            }
            if self.limits.read_bytes_max < self.read_bytes + left {
                return Err(Error::limit(
                    "parsing the file reads more bytes than the limit allows",
                ));
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
