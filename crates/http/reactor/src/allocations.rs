//! Counts allocations per thread, so that a test can check that a cache hit allocates no memory.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    /// Number of allocations by this thread. The initialiser is `const` and the type has no
    /// destructor, so the variable can be used inside an allocator.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Allocator that counts the allocations of each thread; a core's count is
/// [`crate::Counters::allocations`]. Counting costs one addition to a thread-local integer.
#[derive(Debug)]
pub struct CountingAllocator<A>(pub A);

fn count() {
    COUNT.set(COUNT.get().wrapping_add(1));
}

/// Returns how often this thread has requested memory.
pub(crate) fn of_this_thread() -> u64 {
    COUNT.get()
}

// SAFETY: every call is forwarded unchanged and its result returned unchanged, so the guarantees of
// `A` hold. Breaks if `count` ever allocates, unwinds or accesses the memory that these calls
// manage.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantee about `layout` is the one that `A` requires.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantee about `layout` is the one that `A` requires.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: `block` came from `A` by one of the calls above, and the caller's guarantees are
        // those that `A` requires.
        unsafe { self.0.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `A` by one of the calls above, with this layout.
        unsafe { self.0.dealloc(block, layout) }
    }
}
