//! The worker's allocator.

use super::last_message;
use std::alloc::{GlobalAlloc, Layout, System};

/// Allocator that passes each call to the system's allocator. If a job runs out of memory, this
/// allocator ends the job with a reply of [`sandbox_protocol::Status::TooLarge`]. A worker declares
/// this type as its global allocator:
///
/// ```
/// #[global_allocator]
/// static HEAP: sandbox::inside::Heap = sandbox::inside::Heap;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Heap;

// SAFETY: every block comes from `System` and returns to it with the layout with which it was
// allocated. A failed allocation ends the job, or returns the null pointer if no job is running.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees for `layout` everything that `System` requires.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees for `layout` everything that `System` requires.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: all blocks of this allocator come from `System`. The caller guarantees that
        // `layout` is the layout of the block.
        checked(unsafe { System.realloc(block, layout, new_size) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: all blocks of this allocator come from `System`. The caller guarantees that
        // `layout` is the layout of the block.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Prepares the heap for warm-up: large blocks get their own mappings, which disappear when the
/// blocks are freed. Otherwise freed blocks would leave holes in the heap, and the first blocks of
/// a child would lie in these holes. The pages of the holes belong to the zygote too, so the kernel
/// would copy each of them that the child writes to.
pub(super) fn prepare_for_warm_up() {
    const LARGE_BYTES: i32 = 16 << 10;
    tune(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
}

/// Prepares the heap for jobs, after warm-up. From here on, large blocks get no mappings of their
/// own. The next block that is taken from the free end (top) of the heap starts at an unused huge
/// page.
///
/// ```text
///             heap's end before here
///                     huge page │                  huge page
/// … warm │ small │ top ........ │ ................ │ ...................
///        │       └─ pad, never touched ──────────┬─┴─ a child's first block
///        └ freed again: the zygote's own blocks  └ header of the top
/// ```
///
/// A child must write to unused huge pages: page faults on 2 MB of memory cost a job 150 µs with
/// one huge page, and 600 µs with small pages. A huge page that the zygote has used does not help,
/// because the kernel copies it for the child in small pages. A huge page cannot contain the heap's
/// previous end: the zygote is a forked process, and the kernel extends the heap of such a process
/// by a separate mapping.
pub(super) fn prepare_for_jobs() {
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    const HEADER_BYTES: usize = 16;
    const SMALL_BYTES: usize = 8 << 10;
    /// Number of bytes by which the heap grows at a time. A job that allocates no more than this
    /// needs no system call for memory.
    const GROW_BYTES: i32 = 16 << 20;
    const NEVER: i32 = 1 << 30;
    tune(libc::M_MMAP_THRESHOLD, NEVER);
    tune(libc::M_TRIM_THRESHOLD, NEVER);
    fill_holes();
    tune(libc::M_TOP_PAD, GROW_BYTES);
    let small = block(SMALL_BYTES);
    let data = (end() + HEADER_BYTES).next_multiple_of(HUGE_PAGE_BYTES);
    // Half a header is subtracted, because libc adds it to a block's size. libc also rounds the sum
    // up to a multiple of a header.
    block(data - HEADER_BYTES - top() - HEADER_BYTES / 2);
    // SAFETY: `small` was allocated above, and is not used again.
    unsafe { libc::free(small) };
}

/// Fills the holes that warm-up left in the heap. First returns the pages of free blocks to the
/// kernel, then allocates all free blocks. Otherwise a child would use these blocks first, and the
/// kernel would copy each of their pages that the child writes to. libc has one list of small free
/// blocks per size, so this function allocates blocks of every size.
fn fill_holes() {
    const HOLE_BYTES_MAX: usize = 64 << 10;
    const HALVINGS: usize = 6;
    const SMALL_BYTES_MIN: usize = 24;
    const SMALL_STEP: usize = 16;
    const SMALL_SIZES: usize = 64;
    // SAFETY: the call returns free pages to the kernel, and moves no block.
    unsafe { libc::malloc_trim(0) };
    let top = top();
    let large = (0..HALVINGS).map(|halvings| HOLE_BYTES_MAX >> halvings);
    let small = (0..SMALL_SIZES).rev();
    let small = small.map(|steps| SMALL_BYTES_MIN + steps * SMALL_STEP);
    for bytes in large.chain(small) {
        // The loop ends at the first block that fits into no hole: its address is at least `top`,
        // or null.
        while (1..top).contains(&(block(bytes) as usize)) {}
    }
}

/// Returns the address of the heap's last and largest free block.
fn top() -> usize {
    // SAFETY: the call takes no pointer and returns its counts by value. It walks the heap's lists
    // under the heap's own lock, which no other thread holds, since this process has one thread.
    end() - unsafe { libc::mallinfo2() }.keepcost
}

fn end() -> usize {
    // SAFETY: an increment of 0 bytes moves nothing.
    unsafe { libc::sbrk(0) as usize }
}

/// Allocates a block directly from libc. No code uses its memory: the block only keeps later
/// allocations out of this part of the heap. `black_box` keeps the compiler from removing the call.
fn block(bytes: usize) -> *mut libc::c_void {
    // SAFETY: any size is allowed; if there is too little memory, the call returns null.
    std::hint::black_box(unsafe { libc::malloc(bytes) })
}

fn tune(parameter: i32, value: i32) {
    // SAFETY: the call sets a parameter of the allocator; this process has one thread.
    let done = unsafe { libc::mallopt(parameter, value) };
    assert_eq!(done, 1, "glibc knows parameter {parameter}");
}

fn checked(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        last_message::out_of_memory();
    }
    block
}

/// C's allocation functions. The linker option `--wrap` makes the C code of a worker call these
/// functions instead of libc's. As with [`Heap`], a job that runs out of memory ends with a reply.
/// Otherwise libavif would abort, and other codecs would report the missing memory as a fault of
/// the original.
#[cfg(target_env = "gnu")]
mod c {
    use super::checked;
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn __libc_malloc(bytes: usize) -> *mut c_void;
        fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
        fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
        fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    }

    #[unsafe(no_mangle)]
    extern "C" fn __wrap_malloc(bytes: usize) -> *mut c_void {
        // SAFETY: `malloc` accepts any size.
        checked(unsafe { __libc_malloc(bytes) }.cast()).cast()
    }

    #[unsafe(no_mangle)]
    extern "C" fn __wrap_calloc(count: usize, bytes: usize) -> *mut c_void {
        // SAFETY: `calloc` accepts any count and any size.
        checked(unsafe { __libc_calloc(count, bytes) }.cast()).cast()
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap_realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: the caller guarantees for `block` everything that glibc requires.
        let grown = unsafe { __libc_realloc(block, bytes) };
        // A size of 0 bytes frees the block and returns null without an error.
        match bytes {
            0 => grown,
            _ => checked(grown.cast()).cast(),
        }
    }

    #[unsafe(no_mangle)]
    extern "C" fn __wrap_memalign(alignment: usize, bytes: usize) -> *mut c_void {
        // SAFETY: `memalign` accepts any alignment and any size.
        checked(unsafe { __libc_memalign(alignment, bytes) }.cast()).cast()
    }

    #[unsafe(no_mangle)]
    extern "C" fn __wrap_aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
        __wrap_memalign(alignment, bytes)
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap_posix_memalign(
        place: *mut *mut c_void,
        alignment: usize,
        bytes: usize,
    ) -> c_int {
        if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
            return libc::EINVAL;
        }
        let block = __wrap_memalign(alignment, bytes);
        if block.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: POSIX requires the caller to pass an address to which a pointer can be written.
        unsafe { *place = block };
        0
    }
}
