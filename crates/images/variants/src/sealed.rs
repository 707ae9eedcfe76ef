//! Bytes of a cell's reply, in a sealed memory file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Result of a job in a sealed memory file, which no process can change.
#[derive(Debug)]
pub struct Sealed {
    /// Sealed memory file.
    pub file: Arc<File>,
    /// Offset of the bytes in the file.
    pub start: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// CPU time it took to make them, in the worker's words; of several that were made at once,
    /// their share.
    pub cpu_us: u64,
}

impl image_plan::ReadAt for Sealed {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let left = self.bytes.saturating_sub(offset);
        let count = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        FileExt::read_at(&*self.file, &mut buf[..count], self.start + offset)
    }
}
