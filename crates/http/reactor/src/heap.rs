//! The process's heap: jemalloc, its statistics, and the return of freed memory to the host.
//!
//! glibc's allocator does not return freed memory to the host if the memory lies between blocks in
//! use. After a store has deleted most of its small keys, nearly all of its memory may lie between
//! such blocks. jemalloc returns every page that contains no block in use. jemalloc also places new
//! blocks at the lowest free addresses first. So a program can compact its memory: it allocates a
//! new block for each old block, copies the content and frees the old block.
//!
//! jemalloc keeps freed pages for ten seconds. Without this delay, a program that frees a large
//! block and then allocates another one would pay a page fault for every page. jemalloc checks the
//! age of freed pages only when a thread allocates. A thread of this module therefore triggers the
//! check twice a second, so that an idle process returns memory, too.

use std::ffi::{CStr, c_char};
use std::io;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use tikv_jemalloc_sys::mallctl;
pub use tikv_jemallocator::Jemalloc;

/// Interval at which jemalloc is made to check for freed pages that are old enough to be returned.
const DECAY_EVERY: Duration = Duration::from_millis(500);

/// Option string that jemalloc reads when the process starts. By default, jemalloc returns freed
/// blocks of 8 MiB and more to the host at once. The next large block then costs a page fault for
/// every 4 KiB. The options switch this behaviour off.
#[repr(transparent)]
struct Options(*const c_char);

// SAFETY: the pointer refers to a literal, which is never written to.
unsafe impl Sync for Options {}

// SAFETY: jemalloc declares a symbol of this name as a pointer to a C string, and no other item of
// the program has this name. Breaks if a dependency defines the same name; the linker would report
// this error.
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: Options = Options(c"oversize_threshold:0".as_ptr());

/// Channel to the thread that returns freed pages to the host.
static PURGE_REQUESTS: OnceLock<Sender<()>> = OnceLock::new();

/// Statistics of the process's heap, in bytes; all 0 if the program's global allocator is not
/// jemalloc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapFigures {
    /// Bytes in blocks in use.
    pub allocated_bytes: usize,
    /// Bytes in pages with at least one block in use.
    pub active_bytes: usize,
    /// Bytes in pages that jemalloc obtained from the host, including pages with its own data.
    pub resident_bytes: usize,
    /// Bytes in freed pages that are kept for later allocations.
    pub dirty_bytes: usize,
}

/// Returns the current statistics of the heap.
pub fn heap_figures() -> HeapFigures {
    // jemalloc caches its statistics until the epoch is advanced.
    write(c"epoch", 1u64);
    HeapFigures {
        allocated_bytes: read(c"stats.allocated"),
        active_bytes: read(c"stats.active"),
        resident_bytes: read(c"stats.resident"),
        dirty_bytes: read(c"stats.arenas.4096.pdirty") * rustix::param::page_size(),
    }
}

/// Starts the thread that returns freed pages to the host. The thread runs until the process ends.
///
/// # Errors
/// The host cannot create a thread.
pub fn return_freed_memory() -> io::Result<()> {
    let (sender, requests) = channel();
    let work = move || {
        loop {
            match requests.recv_timeout(DECAY_EVERY) {
                Ok(()) => act(c"arena.4096.purge"),
                Err(RecvTimeoutError::Timeout) => act(c"arena.4096.decay"),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    };
    thread::Builder::new().name("heap".to_owned()).spawn(work)?;
    // If this function is called a second time, `set` fails and drops the new sender, which ends
    // the second thread.
    drop(PURGE_REQUESTS.set(sender));
    Ok(())
}

/// Returns all freed pages to the host now. Uses the thread that [`return_freed_memory`] started,
/// if there is one.
pub fn purge_heap() {
    // Blocks in this thread's cache keep their pages in use, so the cache is emptied first.
    act(c"thread.tcache.flush");
    let is_sent = PURGE_REQUESTS
        .get()
        .is_some_and(|sender| sender.send(()).is_ok());
    if !is_sent {
        act(c"arena.4096.purge");
    }
}

/// Runs `work` with this thread's block cache off. New blocks are then allocated at the lowest free
/// addresses, as compaction needs. With the cache on, each new block would be the block that was
/// freed last.
pub fn without_block_cache<R>(work: impl FnOnce() -> R) -> R {
    write(c"thread.tcache.enabled", false);
    let result = work();
    write(c"thread.tcache.enabled", true);
    result
}

/// Returns the jemalloc statistic or option called `name`, or 0 if this name does not exist.
fn read(name: &CStr) -> usize {
    let mut value = 0usize;
    let mut bytes = size_of::<usize>();
    // SAFETY: jemalloc writes at most `bytes` bytes to `value`, and both outlive the call.
    let failed = unsafe {
        mallctl(
            name.as_ptr(),
            (&raw mut value).cast(),
            &raw mut bytes,
            null_mut(),
            0,
        )
    };
    if failed == 0 { value } else { 0 }
}

/// Sets the jemalloc option called `name`. A failure, for example because the name is unknown, is
/// logged.
fn write<T: Copy>(name: &CStr, mut value: T) {
    // SAFETY: jemalloc reads `value` only during the call. It rejects the call if the option has
    // another size than `value`.
    let failed = unsafe {
        mallctl(
            name.as_ptr(),
            null_mut(),
            null_mut(),
            (&raw mut value).cast(),
            size_of::<T>(),
        )
    };
    report(name, failed);
}

/// Makes jemalloc perform the action called `name`.
fn act(name: &CStr) {
    // SAFETY: an action takes no value and returns none, so all pointers may be null.
    let failed = unsafe { mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    report(name, failed);
}

fn report(name: &CStr, failed: i32) {
    if failed != 0 {
        let error = io::Error::from_raw_os_error(failed);
        tracing::debug!(%error, ?name, "a call of jemalloc failed");
    }
}

#[cfg(test)]
mod tests {
    use super::{heap_figures, read};

    #[test]
    fn the_allocator_has_our_options() {
        // The size from which freed blocks are returned to the host at once; 0 means never.
        assert_eq!(read(c"opt.oversize_threshold"), 0);
        // Checks that `read` works: the page size is never 0.
        assert_ne!(read(c"arenas.page"), 0);
    }

    #[test]
    fn figures_count_allocated_bytes() {
        use std::alloc::{GlobalAlloc, Layout};

        let layout = Layout::from_size_align(8 << 20, 16).expect("a sound layout");
        let before = heap_figures().allocated_bytes;
        // SAFETY: the layout has a non-zero size, and the block is freed below with the same
        // layout.
        let block = unsafe { super::Jemalloc.alloc(layout) };
        assert!(!block.is_null());
        let with_block = heap_figures().allocated_bytes;
        // SAFETY: the block came from the same allocator with this layout, and nothing refers to it
        // any more.
        unsafe { super::Jemalloc.dealloc(block, layout) };
        assert!(before + (8 << 20) <= with_block, "{before} {with_block}");
    }
}
