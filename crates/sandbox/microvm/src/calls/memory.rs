//! System calls on memory. All memory of a guest is mapped and zero from the start. So these calls
//! only record which ranges are allocated, and fill freed ranges with zeros.

use super::linux::{CallResult, Linux, Stop, fails};
use crate::layout::PAGE_BYTES;
use crate::machine::Machine;
use std::ops::Range;

pub(super) fn brk(linux: &mut Linux, machine: &mut Machine, [end, ..]: [u64; 6]) -> CallResult {
    let (end, dropped) = linux.space.set_break(end);
    if !dropped.is_empty() {
        machine.memory.zero_pages(dropped)?;
    }
    Ok(end)
}

pub(super) fn mmap(linux: &mut Linux, machine: &mut Machine, arguments: [u64; 6]) -> CallResult {
    let [address, bytes, protection, flags, ..] = arguments;
    let flags = flags as i32;
    if flags & libc::MAP_ANONYMOUS == 0 {
        return fails(libc::ENODEV);
    }
    if protection as i32 & libc::PROT_EXEC != 0 {
        return fails(libc::EPERM);
    }
    if flags & libc::MAP_FIXED == 0 {
        return match linux.space.map(bytes) {
            Some(place) => Ok(place),
            None => fails(libc::ENOMEM),
        };
    }
    let range = pages(address, bytes).ok_or(Stop::Errno(libc::EINVAL))?;
    if !linux.space.is_mapping(&range) || !linux.space.take(&range) {
        return fails(libc::ENOMEM);
    }
    machine.memory.zero_pages(range)?;
    Ok(address)
}

pub(super) fn munmap(linux: &mut Linux, machine: &mut Machine, arguments: [u64; 6]) -> CallResult {
    let [address, bytes, ..] = arguments;
    let range = pages(address, bytes).ok_or(Stop::Errno(libc::EINVAL))?;
    if linux.space.is_mapping(&range) {
        machine.memory.zero_pages(range.clone())?;
        linux.space.unmap(range);
    }
    Ok(0)
}

/// Changes nothing, but refuses to make memory executable.
pub(super) fn mprotect(_: &mut Linux, _: &mut Machine, arguments: [u64; 6]) -> CallResult {
    match arguments[2] as i32 & libc::PROT_EXEC {
        0 => Ok(0),
        _ => fails(libc::EPERM),
    }
}

pub(super) fn madvise(linux: &mut Linux, machine: &mut Machine, arguments: [u64; 6]) -> CallResult {
    let [address, bytes, advice, ..] = arguments;
    if advice as i32 == libc::MADV_DONTNEED {
        let range = pages(address, bytes).ok_or(Stop::Errno(libc::EINVAL))?;
        if !linux.space.is_mapping(&range) {
            return fails(libc::ENOMEM);
        }
        machine.memory.zero_pages(range)?;
    }
    Ok(0)
}

/// Returns the whole pages that contain `bytes` bytes from `address` on. Returns `None` if
/// `address` is not the start of a page, or if `bytes` is 0.
fn pages(address: u64, bytes: u64) -> Option<Range<u64>> {
    let bytes = bytes.checked_next_multiple_of(PAGE_BYTES)?;
    let end = address.checked_add(bytes)?;
    (address.is_multiple_of(PAGE_BYTES) && bytes != 0).then_some(address..end)
}
