//! Blobs of a file that is being written, held by reference until they are copied to the caller's
//! buffer.

use std::collections::VecDeque;

use bytes::Bytes;

/// Blobs in the order in which they appear in the file.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    pub(crate) queue: VecDeque<Blob>,
    /// Number of bytes of the blobs that were not copied to the caller's buffer yet.
    pub(crate) waiting_bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Blob {
    /// Position of the blob in the file. A separate buffer holds all bytes of the file except
    /// blobs, and the blob belongs at this offset of the buffer.
    pub(crate) at: usize,
    pub(crate) bytes: Bytes,
    pub(crate) passed_bytes: usize,
}

impl Blob {
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.bytes.len() - self.passed_bytes
    }
}

impl Blobs {
    pub(crate) fn push(&mut self, at: usize, bytes: Bytes) {
        self.waiting_bytes += bytes.len();
        self.queue.push_back(Blob {
            at,
            bytes,
            passed_bytes: 0,
        });
    }
}
