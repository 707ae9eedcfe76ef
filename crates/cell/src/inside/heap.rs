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

fn checked(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        last_words::out_of_memory();
    }
    block
}
