//! Bytes of a snapshot file that wait to be appended to the caller's buffer. Blobs are held by
//! reference, and copied only when they are appended.

use bytes::{Bytes, BytesMut};

use crate::memory::release;
use crate::rdb::{Blob, Blobs, Writer};

#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    passed_bytes: usize,
    blobs: Blobs,
}

impl Buffer {
    pub(crate) fn writer(&mut self, compress: bool) -> Writer<'_> {
        Writer::with_blobs(&mut self.bytes, &mut self.blobs, compress)
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.bytes.len() - self.passed_bytes + self.blobs.waiting_bytes
    }

    /// Returns the number of bytes that remain of the blob at the front.
    pub(crate) fn next_blob_bytes(&self) -> usize {
        self.blobs.queue.front().map_or(0, Blob::waiting_bytes)
    }

    /// Moves the content of `other` to the end of this buffer. [`Buffer::hand_over`] must not have
    /// removed any byte of `other` before.
    pub(crate) fn append(&mut self, other: &mut Self) {
        assert!(
            other.passed_bytes == 0,
            "no part of the other buffer was passed to the writer"
        );
        let Self { bytes, blobs, .. } = std::mem::take(other);
        for blob in blobs.queue {
            self.blobs.push(self.bytes.len() + blob.at, blob.bytes);
        }
        self.bytes.extend_from_slice(&bytes);
    }

    /// Moves at most `bytes_max` bytes to `to`. Returns whether the buffer is empty afterwards.
    /// Blobs that are no longer used are freed through `keep`.
    pub(crate) fn hand_over(
        &mut self,
        bytes_max: usize,
        to: &mut Vec<u8>,
        keep: fn(BytesMut) -> Bytes,
    ) -> bool {
        let mut left = bytes_max.min(self.waiting_bytes());
        to.reserve(left);
        while 0 < left {
            let blob = self.blobs.queue.front_mut();
            let end = blob.as_ref().map_or(self.bytes.len(), |blob| blob.at);
            let many = left.min(end - self.passed_bytes);
            to.extend_from_slice(&self.bytes[self.passed_bytes..][..many]);
            self.passed_bytes += many;
            left -= many;
            if let Some(blob) = blob {
                let many = left.min(blob.waiting_bytes());
                to.extend_from_slice(&blob.bytes[blob.passed_bytes..][..many]);
                blob.passed_bytes += many;
                self.blobs.waiting_bytes -= many;
                left -= many;
                let whole = |blob: &mut Blob| blob.waiting_bytes() == 0;
                if let Some(blob) = self.blobs.queue.pop_front_if(whole) {
                    release(blob.bytes, keep);
                }
            }
        }
        let is_all = self.waiting_bytes() == 0;
        if is_all {
            self.bytes.clear();
            self.passed_bytes = 0;
        }
        is_all
    }
}
