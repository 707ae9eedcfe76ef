//! A guest's memory in this process. It is one reservation of address space and one KVM slot, and
//! consists of chunks of 2 MB. A chunk has content from the template (the snapshot of a booted
//! guest), or is fresh. A wipe is the reset after a job.
//!
//! ```text
//! chunk     backed by                                      at a wipe
//! system    anonymous, copied from the template            its stack page is dropped, tables stay
//! code      anonymous huge page, copied, then read-only    stays: the guest cannot write it
//! data      private mapping of the template's memfd        dropped: next read gives the template
//! fresh     anonymous huge page                            dropped: next read gives zeros
//! ```
//!
//! The guest runs only in `Machine::run`, which borrows the memory mutably. So the guest cannot
//! change a slice of the memory that other code has borrowed. No page is ever offered to the kernel
//! for merging with equal pages (KSM).

use super::layout::{LARGE_BYTES, Layout, PAGE_BYTES, RING0_STACK, SYSTEM};
use super::seals::add_seals;
use rustix::fs::{MemfdFlags, SealFlags, ftruncate, memfd_create};
use rustix::io::{Errno, pread, pwrite};
use rustix::mm::{Advice, MprotectFlags, madvise, mprotect};
use std::ffi::c_void;
use std::ops::Range;
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};

pub(crate) struct Memory {
    /// Start of the memory, aligned to 2 MB.
    base: NonNull<u8>,
    bytes: u64,
    /// Ranges that the program's page tables map. On the program's behalf, the host reads only in
    /// these ranges.
    mapped: Vec<Range<u64>>,
    /// Ranges that the program's page tables make writable. On the program's behalf, the host
    /// writes only in these ranges. The ranges consist of pages, not chunks, because a chunk may
    /// hold code and data.
    writable: Vec<Range<u64>>,
    /// Ranges whose pages a wipe drops.
    wiped: Vec<Range<u64>>,
    /// Ranges that are zero until a job writes to them. A wipe makes these ranges zero again.
    fresh: Vec<Range<u64>>,
    /// True while the guest boots: its memory is not a copy of a snapshot, and its code can be
    /// written.
    boots: bool,
}

/// Snapshot of a guest's memory at the moment when it was ready for its first job. It is sealed, so
/// it never holds a byte of any job.
pub(crate) struct Template {
    file: OwnedFd,
    chunks: Vec<Chunk>,
    mapped: Vec<Range<u64>>,
    writable: Vec<Range<u64>>,
}

/// Kind of one chunk of 2 MB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    System,
    Code,
    Data,
    Fresh,
}

/// Random word at an address from which a wipe must remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Canary {
    address: u64,
    word: u64,
}

/// Error for an address that the program may not access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadAddress;

impl Memory {
    /// Returns memory of zeros, for a guest that boots.
    pub(crate) fn blank(layout: &Layout, hugepages: bool) -> Result<Memory, Errno> {
        let ranges = (layout.user_ranges(), layout.writable_ranges());
        let mut memory = Memory::reserve(layout.bytes, ranges)?;
        if hugepages {
            memory.advise(0..layout.bytes, Advice::LinuxHugepage)?;
        }
        memory.fresh.push(0..layout.bytes);
        memory.boots = true;
        Ok(memory)
    }

    /// Returns memory with the content of `template`. Guests share a page of the template's data
    /// until they write to the page. `hugepages` requests large pages for code, and
    /// `work_hugepages` requests large pages for memory that jobs allocate.
    pub(crate) fn of(
        template: &Template,
        hugepages: bool,
        work_hugepages: bool,
    ) -> Result<Memory, Errno> {
        let bytes = template.chunks.len() as u64 * LARGE_BYTES;
        let ranges = (template.mapped.clone(), template.writable.clone());
        let mut memory = Memory::reserve(bytes, ranges)?;
        for (chunk, range) in template.runs() {
            let large = match chunk {
                Chunk::Code => hugepages,
                Chunk::Fresh => work_hugepages,
                // No large pages. Ring 0 uses only a few small pages. Data is mapped from the
                // template's file, and `madvise` cannot request large pages for this file.
                Chunk::System | Chunk::Data => false,
            };
            if large {
                memory.advise(range.clone(), Advice::LinuxHugepage)?;
            }
            match chunk {
                Chunk::System => {
                    memory.copy(&template.file, range)?;
                    memory.wiped.push(RING0_STACK);
                }
                Chunk::Code => {
                    memory.copy(&template.file, range.clone())?;
                    memory.protect(range)?;
                }
                Chunk::Data => {
                    memory.map(&template.file, range.clone())?;
                    memory.wiped.push(range);
                }
                Chunk::Fresh => {
                    memory.wiped.push(range.clone());
                    memory.fresh.push(range);
                }
            }
        }
        Ok(memory)
    }

    /// Reserves address space for a guest. The guest's program can read the ranges `mapped` and
    /// write to the ranges `writable`.
    fn reserve(
        bytes: u64,
        (mapped, writable): (Vec<Range<u64>>, Vec<Range<u64>>),
    ) -> Result<Memory, Errno> {
        assert_eq!(bytes % LARGE_BYTES, 0, "layouts are whole large pages");
        let whole = (bytes + LARGE_BYTES) as usize;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let place = unsafe { libc::mmap(ptr::null_mut(), whole, protection, flags, -1, 0) };
        if place == libc::MAP_FAILED {
            return Err(Errno::NOMEM);
        }
        let skip = place.cast::<u8>().align_offset(LARGE_BYTES as usize);
        // SAFETY: `skip` is below LARGE_BYTES, so the pointer stays within the reservation. The
        // part before it is never used.
        let base = unsafe { place.cast::<u8>().add(skip) };
        let base = NonNull::new(base).expect("mmap never gives the null page");
        Ok(Memory {
            base,
            bytes,
            mapped,
            writable,
            wiped: Vec::new(),
            fresh: Vec::new(),
            boots: false,
        })
    }

    /// Returns the address of the memory in this process, for KVM's memory slot.
    pub(crate) fn host_address(&self) -> u64 {
        self.base.as_ptr().expose_provenance() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the `bytes` bytes at `address`. Fails if the program may not read them.
    pub(crate) fn slice(&self, address: u64, bytes: u64) -> Result<&[u8], BadAddress> {
        let place = self.within(&self.mapped, address, bytes)?;
        // SAFETY: `within` checked that the whole slice lies within the reservation, which lives as
        // long as this value and is readable throughout; the guest does not run while the memory is
        // borrowed.
        Ok(unsafe { std::slice::from_raw_parts(place, bytes as usize) })
    }

    /// Returns the `bytes` bytes at `address` for writing. Fails if the program may not write to
    /// them.
    pub(crate) fn slice_mut(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], BadAddress> {
        let place = self.within(&self.writable, address, bytes)?;
        // SAFETY: `within` checked that the whole slice lies within the reservation, which lives as
        // long as this value. The slice is writable, since only chunks without a writable page are
        // protected. `self` is borrowed mutably, and the guest does not run meanwhile.
        Ok(unsafe { std::slice::from_raw_parts_mut(place, bytes as usize) })
    }

    /// Returns the `bytes` bytes at `address` for writing while the guest boots. They may belong to
    /// the program's code.
    pub(crate) fn image_mut(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], BadAddress> {
        assert!(self.boots, "code can be written only while the guest boots");
        let place = self.within(&self.mapped, address, bytes)?;
        // SAFETY: `within` checked that the whole slice lies within the reservation, which lives as
        // long as this value. The slice is writable, since nothing is protected while the guest
        // boots. `self` is borrowed mutably, and the guest does not run meanwhile.
        Ok(unsafe { std::slice::from_raw_parts_mut(place, bytes as usize) })
    }

    /// Returns ring 0's memory.
    pub(crate) fn system_mut(&mut self) -> &mut [u8] {
        // SAFETY: the slice is the first chunk of the reservation, always writable; `self` is
        // borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), SYSTEM.end as usize) }
    }

    fn within(
        &self,
        ranges: &[Range<u64>],
        address: u64,
        bytes: u64,
    ) -> Result<*mut u8, BadAddress> {
        let end = address.checked_add(bytes).ok_or(BadAddress)?;
        let mut ranges = ranges.iter();
        if !ranges.any(|range| range.start <= address && end <= range.end) {
            return Err(BadAddress);
        }
        Ok(self.place(address))
    }

    fn place(&self, address: u64) -> *mut u8 {
        assert!(address <= self.bytes, "callers have checked the address");
        // SAFETY: the assertion keeps the pointer within the reservation, or at its end.
        unsafe { self.base.as_ptr().add(address as usize) }
    }

    /// Fills whole pages with zeros. Pages of fresh ranges are returned to the kernel, and are zero
    /// at their next use. Other pages are overwritten: if they were returned, they would have the
    /// content of the snapshot again.
    pub(crate) fn zero_pages(&mut self, pages: Range<u64>) -> Result<(), Errno> {
        let within = |fresh: &Range<u64>| fresh.start <= pages.start && pages.end <= fresh.end;
        if self.fresh.iter().any(within) {
            self.advise(pages, Advice::LinuxDontNeed)
        } else {
            let bytes = pages.end - pages.start;
            let slice = self.slice_mut(pages.start, bytes);
            slice.map_err(|_| Errno::FAULT)?.fill(0);
            Ok(())
        }
    }

    /// Drops every page that a job may have written to.
    pub(crate) fn wipe(&mut self) -> Result<(), Errno> {
        if cfg!(feature = "fault") {
            return Ok(());
        }
        let mut wiped = self.wiped.iter();
        wiped.try_for_each(|range| self.advise(range.clone(), Advice::LinuxDontNeed))
    }

    /// Writes a canary into a page that a wipe drops. `seed` selects the page.
    pub(crate) fn plant(&mut self, seed: u64) -> Canary {
        let pages = |range: &Range<u64>| (range.end - range.start) / PAGE_BYTES;
        let all: u64 = self.wiped.iter().map(pages).sum();
        assert_ne!(all, 0, "a template has at least one page that is wiped");
        let mut page = seed % all;
        let range = self.wiped.iter().find(|range| {
            let here = page < pages(range);
            page -= if here { 0 } else { pages(range) };
            here
        });
        let address =
            range.expect("`page` is below the sum of all pages").start + page * PAGE_BYTES;
        let canary = Canary {
            address,
            // The word is odd, so it differs from the zeros of a fresh page.
            word: seed | 1,
        };
        *self.word(canary.address) = canary.word;
        canary
    }

    /// Returns whether a canary survived a wipe.
    pub(crate) fn holds(&mut self, canary: &Canary) -> bool {
        *self.word(canary.address) == canary.word
    }

    fn word(&mut self, address: u64) -> &mut u64 {
        let place = self.place(address).cast::<u64>();
        assert!(
            address.is_multiple_of(PAGE_BYTES),
            "the address is the start of a page"
        );
        // SAFETY: the pointer is the start of a page of the reservation. The page belongs to a
        // range that is wiped between jobs; such ranges are always mapped writable. `self` is
        // borrowed mutably.
        unsafe { &mut *place }
    }

    /// Returns the number of bytes in use in the fresh ranges, which are zero until a job writes to
    /// them. The range `spare`, which lies unallocated between the heap and the mappings, is
    /// skipped: the kernel takes a third of a millisecond to count a gigabyte, however little of it
    /// is in use.
    pub(crate) fn used_bytes(&self, spare: &Range<u64>) -> Result<u64, Errno> {
        let around = |fresh: &Range<u64>| {
            [
                fresh.start..fresh.end.min(spare.start),
                fresh.start.max(spare.end)..fresh.end,
            ]
        };
        let mut used = 0;
        let ranges = self.fresh.iter().flat_map(around);
        for range in ranges.filter(|range| !range.is_empty()) {
            let pages = self.resident(range)?;
            used += pages.iter().filter(|page| **page & 1 != 0).count();
        }
        Ok(used as u64 * PAGE_BYTES)
    }

    /// Returns one byte per page of `range`. The lowest bit of the byte is 1 if the page is
    /// resident.
    fn resident(&self, range: Range<u64>) -> Result<Vec<u8>, Errno> {
        let bytes = range.end - range.start;
        let mut pages = vec![0_u8; (bytes / PAGE_BYTES) as usize];
        let place = self.place(range.start).cast::<c_void>();
        // SAFETY: the call writes one byte per page into `pages`, which has that length, for a
        // range of the reservation.
        match unsafe { libc::mincore(place, bytes as usize, pages.as_mut_ptr()) } {
            0 => Ok(pages),
            _ => {
                let error = std::io::Error::last_os_error();
                Err(Errno::from_io_error(&error).expect("the kernel's error has a number"))
            }
        }
    }

    fn advise(&self, range: Range<u64>, advice: Advice) -> Result<(), Errno> {
        let bytes = (range.end - range.start) as usize;
        let place = self.place(range.start).cast::<c_void>();
        assert!(
            range.end <= self.bytes,
            "the range lies within the reservation"
        );
        // SAFETY: the range lies within the reservation. Callers that drop pages borrow `self`
        // mutably, so nothing else refers to these pages. A dropped page shows its mapped content
        // again, as every caller expects.
        match unsafe { madvise(place, bytes, advice) } {
            // The kernel does not support huge pages, which are optional.
            Err(Errno::INVAL) if advice == Advice::LinuxHugepage => Ok(()),
            result => result,
        }
    }

    fn copy(&mut self, file: &OwnedFd, range: Range<u64>) -> Result<(), Errno> {
        let bytes = (range.end - range.start) as usize;
        // SAFETY: the range lies within the reservation, which is writable until `protect` is
        // called; `self` is borrowed mutably.
        let place = unsafe { std::slice::from_raw_parts_mut(self.place(range.start), bytes) };
        let mut done = 0;
        while done < bytes {
            match pread(file, &mut place[done..], range.start + done as u64)? {
                0 => return Err(Errno::IO),
                read => done += read,
            }
        }
        Ok(())
    }

    fn protect(&self, range: Range<u64>) -> Result<(), Errno> {
        let bytes = (range.end - range.start) as usize;
        let place = self.place(range.start).cast::<c_void>();
        // SAFETY: the range lies within the reservation, and nothing writes to it again, as
        // `slice_mut` refuses code.
        unsafe { mprotect(place, bytes, MprotectFlags::READ) }
    }

    fn map(&self, file: &OwnedFd, range: Range<u64>) -> Result<(), Errno> {
        let bytes = (range.end - range.start) as usize;
        let place = self.place(range.start).cast::<c_void>();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
        let offset = range.start as i64;
        // SAFETY: the call replaces a part of the reservation that nothing has used yet.
        let mapped =
            unsafe { libc::mmap(place, bytes, protection, flags, file.as_raw_fd(), offset) };
        if mapped == libc::MAP_FAILED {
            return Err(Errno::NOMEM);
        }
        Ok(())
    }

    /// Copies all nonzero pages of the guest to a template. Stack pages below the red zone (the 128
    /// bytes below the stack pointer) are left out, because nothing reads them again.
    pub(crate) fn freeze(&self, layout: &Layout, stack_pointer: u64) -> Result<Template, Errno> {
        const RED_ZONE_BYTES: u64 = 128;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("template", flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| memfd_create("template", flags))?;
        ftruncate(&file, self.bytes)?;
        let live = (stack_pointer - RED_ZONE_BYTES) / PAGE_BYTES * PAGE_BYTES;
        let dead = layout.mappings_top..live;
        let mut chunks = Vec::new();
        for begin in (0..self.bytes).step_by(LARGE_BYTES as usize) {
            let pages = self.resident(begin..begin + LARGE_BYTES)?;
            let mut holds = false;
            for (page, resident) in (begin..).step_by(PAGE_BYTES as usize).zip(pages) {
                if resident & 1 == 0 || dead.contains(&page) {
                    continue;
                }
                // SAFETY: the page lies within the reservation and is readable; the guest does not
                // run.
                let bytes =
                    unsafe { std::slice::from_raw_parts(self.place(page), PAGE_BYTES as usize) };
                if bytes.iter().any(|byte| *byte != 0) {
                    holds = true;
                    let written = pwrite(&file, bytes, page)?;
                    assert_eq!(written, bytes.len(), "a memory file takes a whole page");
                }
            }
            chunks.push(match holds {
                _ if begin == 0 => Chunk::System,
                false => Chunk::Fresh,
                true if layout.changes(begin) => Chunk::Data,
                true => Chunk::Code,
            });
        }
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        add_seals(file.as_fd(), seals)?;
        Ok(Template {
            file,
            chunks,
            mapped: self.mapped.clone(),
            writable: self.writable.clone(),
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let place = self.place(0).cast::<c_void>();
        // SAFETY: the range is all the address space that this value owns, and nothing borrows the
        // range any more.
        let gone = unsafe { libc::munmap(place, self.bytes as usize) };
        assert_eq!(gone, 0, "unmapping an own reservation cannot fail");
    }
}

impl Template {
    /// Returns the ranges of adjacent chunks of the same kind.
    fn runs(&self) -> impl Iterator<Item = (Chunk, Range<u64>)> {
        let mut begin = 0;
        self.chunks.chunk_by(|a, b| a == b).map(move |run| {
            let range = begin..begin + run.len() as u64 * LARGE_BYTES;
            begin = range.end;
            (run[0], range)
        })
    }
}

#[cfg(test)]
mod tests;
