//! The worker's allocator.

use super::last_message;
use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, except that a job that runs out of memory ends with a reply of
/// [`sandbox_protocol::Status::TooLarge`]. A worker declares it as its global allocator:
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
        // SAFETY: all blocks of this allocator come from `System`; the caller guarantees that
        // `layout` is the block's.
        checked(unsafe { System.realloc(block, layout, new_size) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: all blocks of this allocator come from `System`; the caller guarantees that
        // `layout` is the block's.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Prepares the heap for warm-up: large blocks get their own mappings, which disappear when the
/// blocks are freed. Otherwise freed blocks would leave holes in the heap. The first blocks of a
/// child would lie in these holes, and the kernel would have to copy each page there that the child
/// writes to, since the zygote has the page too.
pub(super) fn prepare_for_warm_up() {
    const LARGE_BYTES: i32 = 16 << 10;
    tune(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
}

/// Prepares the heap for jobs after warm-up. From here on, large blocks get no mappings of their
/// own, and the next block from the free end (top) of the heap starts at an unused huge page.
///
/// ```text
///             heap's end before here
///                     huge page │                  huge page
/// … warm │ small │ top ........ │ ................ │ ...................
///        │       └─ pad, never touched ──────────┬─┴─ a child's first block
///        └ freed again: the zygote's own blocks  └ header of the top
/// ```
///
/// When a child writes to a huge page that the zygote wrote to, the kernel copies the page in small
/// pages. The pages before the first huge page are small too. Faults on 2 MB of memory cost a job
/// 600 µs with small pages, and 150 µs with one huge page. No huge page spans the heap's previous
/// end, because the kernel extends the heap of a forked process, such as the zygote, by a separate
/// mapping.
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

/// Returns the pages of free blocks to the kernel, then allocates every block that warm-up freed.
/// Otherwise a child would reuse these blocks first, and the kernel would have to copy each of
/// their pages that the child writes to. libc keeps a list of small free blocks per size, so this
/// function requests each size.
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

/// Allocates a block directly from libc, only so that later allocations cannot use this part of
/// the heap; nothing touches its memory. The `black_box` keeps the compiler from removing the call.
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

/// C's allocation functions, with which a worker replaces those of libc (linker option `--wrap`).
/// As with [`Heap`], a job that runs out of memory ends with a reply. Otherwise libavif would
/// abort, and other codecs would report the missing memory as a fault of the original.
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
