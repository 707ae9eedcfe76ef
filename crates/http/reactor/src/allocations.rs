//! Counting what threads allocate, so that "a hit allocates nothing" can be seen from outside.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    /// Without a destructor and without lazy initialisation, so that it may be used from inside an allocator.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// An allocator that counts for each thread how often it is asked for memory; a core's count is
/// [`crate::Counters::allocations`]. It costs an addition to a thread's own word.
#[derive(Debug)]
pub struct CountingAllocator<A>(pub A);

fn count() {
    COUNT.set(COUNT.get().wrapping_add(1));
}

/// How often this thread has asked for memory.
pub(crate) fn of_this_thread() -> u64 {
    COUNT.get()
}

// SAFETY: every call is passed on as it came, and its answer passed back, so what `A` promises holds. Breaks if `count`
//         ever allocates, unwinds or touches what it is given.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is the one that `A` asks for.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is the one that `A` asks for.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: `block` came from `A` by one of the calls above, and the caller's promises are the ones `A` asks for.
        unsafe { self.0.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `A` by one of the calls above, with this layout.
        unsafe { self.0.dealloc(block, layout) }
    }
}
