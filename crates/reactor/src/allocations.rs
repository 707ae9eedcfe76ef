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

/// Keeps freed memory for what is allocated next: blocks below `block_bytes` are not mapped each for itself, and the heap
/// gives back to the host only what passes `kept_bytes` at its end. Without it, memory for a blob that replaces another
/// is new to the process each time, and each of its pages is a fault. For a process that lives from its memory.
pub fn keep_freed(kept_bytes: usize, block_bytes: usize) {
    let limit = |bytes: usize| libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    for (name, bytes) in [
        (libc::M_TRIM_THRESHOLD, kept_bytes),
        (libc::M_MMAP_THRESHOLD, block_bytes),
    ] {
        // SAFETY: sets a number of the allocator's, which takes its own lock. An allocator that does not know it says so,
        //         and allocates as before. Breaks if another thread were inside a signal handler that allocates.
        unsafe { libc::mallopt(name, limit(bytes)) };
    }
}

/// Bytes of the heap that are in use, the allocator's own words included, in the whole process.
pub fn in_use_bytes() -> u64 {
    // SAFETY: reads the allocator's numbers under its own locks. Breaks if another thread were inside a signal handler that
    //         allocates.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as u64
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
