//! Block sizes of the memory allocator, reallocation, and the release of large blobs.

use bytes::{Bytes, BytesMut};

/// Minimum size of a blob that is passed to `LazyFreeQueue::keep` before it is freed. Smaller blobs
/// are freed directly.
const RELEASED_BYTES_MIN: usize = 1 << 20;

/// Returns the number of bytes that the allocator uses for a block. The program links jemalloc. Its
/// size classes are 8 bytes, then steps of 16 bytes up to 128, then four classes per doubling. A
/// block of more than 14 KiB has its own pages. The pages between the block's length and its size
/// class are never touched, and do not count.
pub(crate) const fn allocated(bytes: usize) -> usize {
    const QUANTUM: usize = 16;
    const PAGE: usize = 4096;
    match bytes {
        0 => 0,
        1..=8 => 8,
        9..=128 => bytes.next_multiple_of(QUANTUM),
        129..=14_336 => bytes.next_multiple_of(bytes.next_power_of_two() / 8),
        _ => bytes.next_multiple_of(PAGE),
    }
}

/// Returns the heap bytes of a vector with this capacity.
pub(crate) const fn room_bytes<T>(elements: usize) -> usize {
    allocated(elements * size_of::<T>())
}

/// Moves the content of a box into a new box. The placeholder stands in for the content during the
/// move, and must not allocate.
#[expect(
    clippy::replace_box,
    reason = "the new allocation is the purpose: it lies where fewer pages are in use"
)]
pub(crate) fn reallocate_box<T>(boxed: &mut Box<T>, placeholder: impl FnOnce() -> T) -> &mut T {
    let inner = std::mem::replace(&mut **boxed, placeholder());
    *boxed = Box::new(inner);
    boxed
}

/// Moves the elements of a vector into a new allocation of the same capacity.
pub(crate) fn reallocate_vec<T>(vec: &mut Vec<T>) {
    let mut moved = Vec::with_capacity(vec.capacity());
    moved.append(vec);
    *vec = moved;
}

/// Frees a blob. A large blob that a command built, and that is not shared, is first wrapped by
/// `keep`, so that another thread can free the memory of a very large blob. A blob that a client
/// sent was wrapped when it arrived.
pub(crate) fn release(blob: Bytes, keep: fn(BytesMut) -> Bytes) {
    if RELEASED_BYTES_MIN <= blob.len()
        && let Ok(alone) = blob.try_into_mut()
    {
        drop(keep(alone));
    }
}
