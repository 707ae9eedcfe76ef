//! The worker's allocator.

use super::last_words;
use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, except that a job for which it has no memory left ends with a reply of
/// [`job::Status::TooLarge`]. A worker declares it as its global allocator:
///
/// ```
/// #[global_allocator]
/// static HEAP: cell::inside::Heap = cell::inside::Heap;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Heap;

// SAFETY: every block comes from `System` and goes back to it with the layout it was asked for with; a null pointer is
// passed on where there is no job to end.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: `block` came from `System` with `layout`, since all blocks of this allocator do.
        checked(unsafe { System.realloc(block, layout, new_size) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `System` with `layout`, since all blocks of this allocator do.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Has the next block from the top of libc's heap begin at a huge page that nothing has touched.
///
/// ```text
///             huge page                    huge page
/// … warm │ small │ top .................. │ ...................
///        │       └─ pad, never touched ┬──┴─ a child's first block
///        └ freed: the zygote's own     └ header of the top
///          small blocks
/// ```
///
/// A huge page that the zygote wrote to is copied in small pages when a child writes to it, and so is every page before
/// the first huge one: 2 MB of small pages cost a job 600 µs, a huge page 150.
pub(super) fn align() {
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    const HEADER_BYTES: usize = 16;
    const SMALL_BYTES: usize = 128 << 10;
    // SAFETY: freed below. The compiler may not see that nothing is done with it.
    let small = std::hint::black_box(unsafe { libc::malloc(SMALL_BYTES) });
    // SAFETY: only counts.
    let top_bytes = unsafe { libc::mallinfo2() }.keepcost;
    // SAFETY: moves nothing by 0 bytes.
    let end = unsafe { libc::sbrk(0) } as usize;
    let top = end - top_bytes;
    let data = (top + 2 * HEADER_BYTES).next_multiple_of(HUGE_PAGE_BYTES);
    // A block takes its size, a header of half the usual size, and is rounded up to a header's.
    let pad = data - HEADER_BYTES - top - HEADER_BYTES / 2;
    // SAFETY: never freed, never touched.
    let block = unsafe { libc::malloc(pad) };
    std::hint::black_box(block);
    // SAFETY: allocated above, used by nobody.
    unsafe { libc::free(small) };
}

fn checked(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        last_words::out_of_memory();
    }
    block
}
