//! The program's code in huge pages.
//!
//! Code mapped from a file is mapped anew in every child, sixteen small pages at a fault. Anonymous huge pages are
//! inherited by `fork`, one entry for 2 MB.

use crate::syscall::checked;
use rustix::io::Errno;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Moves the whole huge pages of the program's code into anonymous memory, where the host gives such pages: what fails
/// before the move leaves the code where it was, which costs jobs time and nothing else. For a process without other
/// threads, before its filter denies executable memory.
pub(super) fn enlarge() -> Result<(), Errno> {
    let code = code();
    let begin = code.start.next_multiple_of(HUGE_PAGE_BYTES);
    let end = code.end / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if end <= begin {
        return Ok(());
    }
    let bytes = end - begin;
    let copy = reserve(bytes + HUGE_PAGE_BYTES)?;
    let aligned = copy.next_multiple_of(HUGE_PAGE_BYTES);
    // SAFETY: advice on memory that was reserved above.
    checked(unsafe { libc::madvise(pointer(aligned), bytes, libc::MADV_HUGEPAGE) })?;
    // SAFETY: reads code, which is mapped readable, and writes memory that was reserved above for nothing else.
    unsafe { ptr::copy_nonoverlapping(pointer(begin), pointer(aligned), bytes) };
    let executable = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: memory that was reserved above, which nobody writes again.
    checked(unsafe { libc::mprotect(pointer(aligned), bytes, executable) })?;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: puts equal bytes in place of the code in one system call, during which no thread of this process runs. Breaks
    // if the code could have changed since it was copied.
    let moved = unsafe { libc::mremap(pointer(aligned), bytes, bytes, flags, pointer(begin)) };
    if moved == libc::MAP_FAILED {
        return Err(Errno::NOMEM);
    }
    Ok(())
}

fn pointer(address: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address)
}

fn reserve(bytes: usize) -> Result<usize, Errno> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: asks for fresh memory.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Err(Errno::NOMEM);
    }
    Ok(memory.expose_provenance())
}

/// Where the program's code lies.
fn code() -> Range<usize> {
    let mut code = 0..0;
    // SAFETY: calls `look` with `code`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut code).cast()) };
    code
}

/// Takes the first object, which is the program.
unsafe extern "C" fn look(
    object: *mut libc::dl_phdr_info,
    _bytes: libc::size_t,
    code: *mut c_void,
) -> c_int {
    // SAFETY: libc passes a valid description for the time of the call.
    let object = unsafe { &*object };
    // SAFETY: the program's headers stay mapped as long as it runs.
    let headers =
        unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    let executable = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0
    };
    if let Some(header) = headers.iter().find(executable) {
        let begin = (object.dlpi_addr + header.p_vaddr) as usize;
        let range = begin..begin + header.p_memsz as usize;
        // SAFETY: `code` is the range that `code()` passed.
        unsafe { code.cast::<Range<usize>>().write(range) };
    }
    1
}
