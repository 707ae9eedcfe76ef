//! Moves the program's code and constants to huge pages.
//!
//! After a fork, pages of a mapped file are mapped again in the child, sixteen small pages per page
//! fault. Anonymous huge pages are inherited, with one page table entry per 2 MB.

use crate::syscall::checked;
use rustix::io::Errno;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;

const HUGE_PAGE_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4 << 10;

/// Read-only segment of the program's executable.
struct Segment {
    range: Range<usize>,
    executable: bool,
}

/// Moves the program's code and constants into anonymous huge pages. Code that cannot be moved
/// stays in small pages, which only makes jobs slower. Call this function while the process has one
/// thread, and before the seccomp filter denies executable memory.
pub(super) fn enlarge() -> Result<(), Errno> {
    segments().iter().try_for_each(Segment::enlarge)
}

impl Segment {
    /// Returns the range of huge pages that replaces the segment, and reserves the unused addresses
    /// in this range. The linker puts no other segment into these huge pages (see the worker's
    /// `build.rs`). If the kernel has mapped something else into the first or the last huge page,
    /// the range does not include this page.
    fn huge(&self) -> Range<usize> {
        let (begin, end) = (self.range.start, self.range.end);
        let first = begin / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        let last = end.next_multiple_of(HUGE_PAGE_BYTES);
        let before = first..begin / PAGE_BYTES * PAGE_BYTES;
        let behind = end.next_multiple_of(PAGE_BYTES)..last;
        Range {
            start: if reserved(before) {
                first
            } else {
                begin.next_multiple_of(HUGE_PAGE_BYTES)
            },
            end: if reserved(behind) {
                last
            } else {
                end / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES
            },
        }
    }

    fn enlarge(&self) -> Result<(), Errno> {
        let huge = self.huge();
        if huge.end <= huge.start {
            return Ok(());
        }
        let bytes = huge.end - huge.start;
        let copy = reserve(bytes + HUGE_PAGE_BYTES)?;
        let aligned = copy.next_multiple_of(HUGE_PAGE_BYTES);
        // SAFETY: the call only advises on memory that was reserved above.
        checked(unsafe { libc::madvise(pointer(aligned), bytes, libc::MADV_HUGEPAGE) })?;
        let begin = self.range.start.max(huge.start);
        let end = self.range.end.min(huge.end);
        let to = pointer(aligned + (begin - huge.start));
        // SAFETY: the source is a segment, which is mapped readable; the destination was reserved
        // above and is used for nothing else.
        unsafe { ptr::copy_nonoverlapping(pointer(begin), to, end - begin) };
        let protection = match self.executable {
            true => libc::PROT_READ | libc::PROT_EXEC,
            false => libc::PROT_READ,
        };
        // SAFETY: the memory was reserved above, and no code writes to it again.
        checked(unsafe { libc::mprotect(pointer(aligned), bytes, protection) })?;
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let place = pointer(huge.start);
        // SAFETY: one system call replaces the segment by a copy with the same bytes, and no other
        // thread runs meanwhile. The addresses around the segment were reserved by `reserved`.
        // Breaks if something could write to the segment between the copy and this call.
        let moved = unsafe { libc::mremap(pointer(aligned), bytes, bytes, flags, place) };
        if moved == libc::MAP_FAILED {
            return Err(Errno::NOMEM);
        }
        Ok(())
    }
}

/// Reserves an unused range of addresses. Returns false if something is mapped there.
fn reserved(range: Range<usize>) -> bool {
    if range.is_empty() {
        return true;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let flags = flags | libc::MAP_FIXED_NOREPLACE;
    let (place, bytes) = (pointer(range.start), range.len());
    // SAFETY: MAP_FIXED_NOREPLACE replaces no mapping, and the reserved pages are inaccessible.
    place == unsafe { libc::mmap(place, bytes, libc::PROT_NONE, flags, -1, 0) }
}

fn pointer(address: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address)
}

fn reserve(bytes: usize) -> Result<usize, Errno> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the kernel chooses the addresses, so no existing mapping is replaced.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Err(Errno::NOMEM);
    }
    Ok(memory.expose_provenance())
}

/// Returns the read-only segments of the program's executable.
fn segments() -> Vec<Segment> {
    let mut segments = Vec::new();
    // SAFETY: libc calls `collect_segments` with `segments`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(collect_segments), (&raw mut segments).cast()) };
    segments
}

/// Adds the segments of the first object, which is the program itself, to a list, and stops the
/// iteration.
unsafe extern "C" fn collect_segments(
    object: *mut libc::dl_phdr_info,
    _bytes: libc::size_t,
    segments: *mut c_void,
) -> c_int {
    // SAFETY: libc passes a description of the object that is valid during the call.
    let object = unsafe { &*object };
    // SAFETY: the program's headers stay mapped as long as it runs.
    let headers =
        unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    // SAFETY: `segments` points to the list that `segments()` passed to libc.
    let segments = unsafe { &mut *segments.cast::<Vec<Segment>>() };
    let constant = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0
    };
    segments.extend(headers.iter().filter(constant).map(|header| {
        let begin = (object.dlpi_addr + header.p_vaddr) as usize;
        Segment {
            range: begin..begin + header.p_memsz as usize,
            executable: header.p_flags & libc::PF_X != 0,
        }
    }));
    1
}
