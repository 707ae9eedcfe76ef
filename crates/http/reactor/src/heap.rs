//! The heap of the process: jemalloc, its figures, and the way of freed memory back to the host.
//!
//! glibc's allocator keeps what was freed between blocks that are in use, which is nearly all of the memory of a store whose
//! small keys were deleted. jemalloc gives back every page without a block. It fills the slabs with the lowest addresses
//! first, so that to allocate blocks anew, and to free the old ones, moves them together.
//!
//! Freed pages are kept for ten seconds, since a blob that replaces another one would fault in each page anew. jemalloc looks
//! at that time only when a thread allocates, so a thread of ours looks for it twice a second: an idle process shrinks too.

use std::ffi::{CStr, c_char};
use std::io;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use tikv_jemalloc_sys::mallctl;
pub use tikv_jemallocator::Jemalloc;

/// Time between two looks for pages that have been unused for long enough.
const DECAY_EVERY: Duration = Duration::from_millis(500);

/// Option string that jemalloc reads when the process starts. Without it, blocks of 8 MiB and more go back to the host at
/// once, and each large blob that replaces another one costs a page fault for every 4 KiB.
#[repr(transparent)]
struct Options(*const c_char);

// SAFETY: the pointer is to a literal, which nothing writes to.
unsafe impl Sync for Options {}

// SAFETY: no other item of the program has this name, and jemalloc declares it as a pointer to a C string. Breaks if a
//         dependency defines it too, which the linker reports.
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: Options = Options(c"oversize_threshold:0".as_ptr());

/// The way to the thread that gives pages back.
static KEEPER: OnceLock<Sender<()>> = OnceLock::new();

/// Figures of the process's heap, in bytes; all 0 in a program whose global allocator is another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapFigures {
    /// Blocks in use.
    pub allocated_bytes: usize,
    /// Pages with at least one block in use.
    pub active_bytes: usize,
    /// Pages that the host has given, those of the allocator itself included.
    pub resident_bytes: usize,
    /// Freed pages that are kept for what is allocated next.
    pub dirty_bytes: usize,
}

/// Returns the figures of the heap as they are now.
pub fn heap_figures() -> HeapFigures {
    // Figures are those of the last epoch.
    write(c"epoch", 1u64);
    HeapFigures {
        allocated_bytes: read(c"stats.allocated"),
        active_bytes: read(c"stats.active"),
        resident_bytes: read(c"stats.resident"),
        dirty_bytes: read(c"stats.arenas.4096.pdirty") * rustix::param::page_size(),
    }
}

/// Starts the thread that gives freed pages back to the host. It has no end of its own.
///
/// # Errors
/// The host gives no thread.
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
    // A second thread would do the same again, and ends here.
    drop(KEEPER.set(sender));
    Ok(())
}

/// Has all freed pages given back to the host now: by the thread for that, if [`return_freed_memory`] started it.
pub fn purge_heap() {
    // Blocks that this thread keeps for itself hold their pages.
    act(c"thread.tcache.flush");
    let is_sent = KEEPER.get().is_some_and(|keeper| keeper.send(()).is_ok());
    if !is_sent {
        act(c"arena.4096.purge");
    }
}

/// Runs `work` with every block taken from, and given back to, the slabs themselves. Through the thread's own cache a block
/// that was just freed would be the next one that is allocated, and nothing would move.
pub fn without_block_cache<R>(work: impl FnOnce() -> R) -> R {
    write(c"thread.tcache.enabled", false);
    let result = work();
    write(c"thread.tcache.enabled", true);
    result
}

/// Returns one of the allocator's numbers; 0 if it keeps none of that name.
fn read(name: &CStr) -> usize {
    let mut value = 0usize;
    let mut bytes = size_of::<usize>();
    // SAFETY: jemalloc writes at most `bytes` to `value`, and both live until the call has ended.
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

/// Sets one of the allocator's values. One that it does not know is reported in the log.
fn write<T: Copy>(name: &CStr, mut value: T) {
    // SAFETY: jemalloc reads `value` before the call has ended, and refuses a value whose size is not the one that the name
    //         has.
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

/// Has the allocator do what the name says.
fn act(name: &CStr) {
    // SAFETY: names without a value take none and return none.
    let failed = unsafe { mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    report(name, failed);
}

fn report(name: &CStr, failed: i32) {
    if failed != 0 {
        let error = io::Error::from_raw_os_error(failed);
        tracing::debug!(%error, ?name, "the allocator refuses");
    }
}

#[cfg(test)]
mod tests {
    use super::{heap_figures, read};

    #[test]
    fn the_allocator_has_our_options() {
        // Bytes from which on a block would go back to the host at once; 0 is never.
        assert_eq!(read(c"opt.oversize_threshold"), 0);
        // A number that is not 0 by default: names are read at all.
        assert_ne!(read(c"arenas.page"), 0);
    }

    #[test]
    fn figures_count_what_jemalloc_has_given() {
        use std::alloc::{GlobalAlloc, Layout};

        let layout = Layout::from_size_align(8 << 20, 16).expect("a sound layout");
        let before = heap_figures().allocated_bytes;
        // SAFETY: the layout has a size, and the block goes back below with the same layout.
        let block = unsafe { super::Jemalloc.alloc(layout) };
        assert!(!block.is_null());
        let with_block = heap_figures().allocated_bytes;
        // SAFETY: the block came from the same allocator with this layout, and nothing refers to it.
        unsafe { super::Jemalloc.dealloc(block, layout) };
        assert!(before + (8 << 20) <= with_block, "{before} {with_block}");
    }
}
