//! Positioned reads of a file's header through one small buffer, with limits on their number and
//! size.

use super::facts::ProbeError;
use read_at::ReadAt;
use std::io;
use std::ops::Range;

/// Maximum number of reads per probe. A camera's JPEG needs one to five; a file with long chains of
/// XMP or ICC segments needs several hundred.
pub const PROBE_READS_MAX: u32 = 1024;
/// Maximum size of one read in bytes.
pub const PROBE_READ_BYTES_MAX: usize = 64 * 1024;
/// Maximum total size of all reads of one probe in bytes.
pub const PROBE_BYTES_MAX: u64 = 4 << 20;

/// Initial size of a read in bytes. A header is at the start of its file, and is seldom longer than
/// this.
const WINDOW_BYTES: usize = 4096;

/// Buffered reader of a file's header.
pub(super) struct HeaderReader<'a> {
    source: &'a dyn ReadAt,
    len_bytes: u64,
    /// Bytes of the file that the last read returned.
    window: Vec<u8>,
    /// Offset of `window` in the file.
    window_at: u64,
    window_bytes: usize,
    reads_left: u32,
    bytes_left: u64,
}

/// Part of a file, from `start` on.
struct Part<'a> {
    source: &'a dyn ReadAt,
    start: u64,
}

impl ReadAt for Part<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.source.read_at(self.start + offset, buf)
    }
}

impl<'a> HeaderReader<'a> {
    pub(super) fn new(source: &'a dyn ReadAt, len_bytes: u64) -> HeaderReader<'a> {
        HeaderReader {
            source,
            len_bytes,
            window: Vec::new(),
            window_at: 0,
            window_bytes: WINDOW_BYTES,
            reads_left: PROBE_READS_MAX,
            bytes_left: PROBE_BYTES_MAX,
        }
    }

    /// Returns the length of the file.
    pub(super) fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// Returns whether less than half of the permitted reads and bytes were used.
    pub(super) fn has_spare_reads(&self) -> bool {
        PROBE_READS_MAX / 2 < self.reads_left && PROBE_BYTES_MAX / 2 < self.bytes_left
    }

    /// Enlarges all following reads to the maximum, for parsers that read the file without gaps.
    pub(super) fn enlarge_window(&mut self) {
        self.window_bytes = PROBE_READ_BYTES_MAX;
    }

    /// Returns the result of `parse` on a reader of `part`, whose offsets count from the start of
    /// `part`. The reads of both readers count towards the same limits.
    pub(super) fn within<T>(
        &mut self,
        part: Range<u64>,
        parse: impl FnOnce(&mut HeaderReader<'_>) -> Result<T, ProbeError>,
    ) -> Result<T, ProbeError> {
        let source = Part {
            source: self.source,
            start: part.start,
        };
        let mut inner = HeaderReader {
            reads_left: self.reads_left,
            bytes_left: self.bytes_left,
            ..HeaderReader::new(&source, part.end - part.start)
        };
        let parsed = parse(&mut inner);
        (self.reads_left, self.bytes_left) = (inner.reads_left, inner.bytes_left);
        parsed
    }

    /// Returns the `count` bytes at `offset`.
    ///
    /// # Panics
    /// If `count` exceeds [`WINDOW_BYTES`]; no parser requests more bytes at once.
    pub(super) fn bytes(&mut self, offset: u64, count: usize) -> Result<&[u8], ProbeError> {
        assert!(count <= WINDOW_BYTES, "{count} bytes exceed the window");
        let end = offset.checked_add(count as u64);
        if end.is_none_or(|end| self.len_bytes < end) {
            return Err(ProbeError::truncated());
        }
        let inside = offset
            .checked_sub(self.window_at)
            .is_some_and(|skip| skip + count as u64 <= self.window.len() as u64);
        if !inside {
            self.fetch(offset, count)?;
        }
        let start = (offset - self.window_at) as usize;
        Ok(&self.window[start..start + count])
    }

    /// Returns the `N` bytes at `offset`.
    pub(super) fn array<const N: usize>(&mut self, offset: u64) -> Result<[u8; N], ProbeError> {
        let bytes = self.bytes(offset, N)?;
        Ok(*bytes
            .first_chunk()
            .expect("`bytes` returns as many bytes as requested"))
    }

    /// Returns the `N` bytes at `offset` within `part`, the extent of a segment, chunk or box.
    /// Fails if they exceed `part`.
    pub(super) fn field<const N: usize>(
        &mut self,
        part: &Range<u64>,
        offset: u64,
    ) -> Result<[u8; N], ProbeError> {
        let at = part.start.saturating_add(offset);
        if part.end < at.saturating_add(N as u64) {
            return Err(ProbeError::malformed(
                "a part of the file is shorter than its fields",
            ));
        }
        self.array(at)
    }

    /// Fills the window with at least `count` bytes of the file from `offset` on.
    fn fetch(&mut self, offset: u64, count: usize) -> Result<(), ProbeError> {
        let target_bytes = (self.len_bytes - offset).min(self.window_bytes as u64) as usize;
        self.window.resize(target_bytes, 0);
        self.window_at = offset;
        let mut filled = 0;
        while filled < count {
            let left = (target_bytes - filled) as u64;
            if self.reads_left == 0 || self.bytes_left < left {
                return Err(ProbeError::malformed(
                    "reading the header takes too many reads or too many bytes",
                ));
            }
            self.reads_left -= 1;
            self.bytes_left -= left;
            let at = offset + filled as u64;
            match self.source.read_at(at, &mut self.window[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read.min(target_bytes - filled),
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(ProbeError::io(err)),
            }
        }
        self.window.truncate(filled);
        if filled < count {
            return Err(ProbeError::truncated());
        }
        Ok(())
    }
}
