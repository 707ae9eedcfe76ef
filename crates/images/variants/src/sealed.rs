//! Results of sandbox jobs in sealed memory files.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Result of a sandboxed job, in a memory file that is sealed, so that no process can change it.
#[derive(Debug)]
pub struct Sealed {
    /// Memory file that contains the result.
    pub file: Arc<File>,
    /// Offset of the result in the file, in bytes.
    pub start: u64,
    /// Length of the result in bytes.
    pub bytes: u64,
    /// CPU time of the job in microseconds, as reported by the worker. If the job has several
    /// results, each result gets an equal share of this time.
    pub cpu_us: u64,
}

impl image_plan::ReadAt for Sealed {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let left = self.bytes.saturating_sub(offset);
        let count = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        FileExt::read_at(&*self.file, &mut buf[..count], self.start + offset)
    }
}
