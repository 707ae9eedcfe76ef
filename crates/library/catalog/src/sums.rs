//! Checksums that detect a damaged index: one per block of the body, and a hash of the head, the
//! table of sections and these checksums.

use twox_hash::XxHash3_64;

use crate::layout::{BODY_START, HASH, HEAD_BYTES};

/// Length of a block in bytes. Each block of the body has a checksum. The last block may be
/// shorter.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;
pub(crate) const SUM_BYTES: usize = 8;

/// Returns the number of blocks, and so of checksums, of a body with `body_bytes` bytes.
pub(crate) fn count(body_bytes: usize) -> usize {
    body_bytes.div_ceil(BLOCK_BYTES)
}

/// Returns whether the checksum of the block `number` is correct.
pub(crate) fn is_whole(body: &[u8], sums: &[u8], number: usize) -> bool {
    let mut pairs = body.chunks(BLOCK_BYTES).zip(sums.chunks_exact(SUM_BYTES));
    let pair = pairs.nth(number);
    pair.is_some_and(|(block, sum)| block_sum(block) == *sum)
}

fn block_sum(block: &[u8]) -> [u8; SUM_BYTES] {
    XxHash3_64::oneshot(block).to_le_bytes()
}

/// Returns the checksums of all blocks of the body.
pub(crate) fn all(body: &[u8]) -> Vec<u8> {
    body.chunks(BLOCK_BYTES).flat_map(block_sum).collect()
}

/// Returns the hash that is stored in the head. It covers the fields of the head before it, the
/// table of sections, and the checksums.
pub(crate) fn hash(bytes: &[u8], sums: &[u8]) -> [u8; HASH.end - HASH.start] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..HASH.start]);
    hasher.update(&bytes[HEAD_BYTES..BODY_START]);
    hasher.update(sums);
    let hash = hasher.finalize();
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}
