//! Memory map and page tables of a guest. This module only calculates both, and writes nothing to
//! the guest's memory.
//!
//! Guest-physical and guest-virtual addresses are equal, and one KVM slot holds all of them:
//!
//! ```text
//! 0            ring 0: descriptor tables, stub, its stack, page tables; no access from ring 3
//! 2 MB         not mapped, because a null pointer with an offset can point here
//! image        the program: code r-x, constants r--, data rw-
//! heap begin   brk grows up ►
//!              ◄ mappings grow down
//! guard        2 MB, not mapped
//! stack        rw-, its top just above a 2 MB boundary
//! ```
//!
//! The stub is the code of ring 0 that passes system calls to the host. Memory is mapped in pages
//! of 2 MB, except where the rights differ within 2 MB. The page tables never change while the
//! guest runs, because memory that the program has not allocated is mapped too, and zero. So the
//! host never serves a page fault of the guest.

use crate::elf::Image;
use std::fmt::Write as _;
use std::ops::Range;

pub(crate) const PAGE_BYTES: u64 = 4 << 10;
pub(crate) const LARGE_BYTES: u64 = 2 << 20;

/// Memory of ring 0, which the program may not touch.
pub(crate) const SYSTEM: Range<u64> = 0..LARGE_BYTES;
pub(crate) const GDT: u64 = 0x1000;
pub(crate) const IDT: u64 = 0x2000;
pub(crate) const TSS: u64 = 0x3000;
pub(crate) const STUB: u64 = 0x4000;
/// Two stacks of ring 0 in one page: one for the frames that exceptions push, and one for the frame
/// that the host writes and `iretq` pops.
pub(crate) const RING0_STACK: Range<u64> = 0x5000..0x6000;
pub(crate) const EXCEPTION_STACK_TOP: u64 = 0x5800;
pub(crate) const RETURN_FRAME: u64 = 0x5f00;
const TABLES: Range<u64> = 0x1_0000..LARGE_BYTES;

/// Minimum address of a program. Linkers put programs with fixed addresses at this address.
const IMAGE_MIN: u64 = 2 * LARGE_BYTES;
const STACK_BYTES: u64 = 8 << 20;
/// Size in bytes of the upper end of the stack, which lies above a 2 MB boundary. The snapshot
/// contains the pages that the program wrote before its first job; these pages normally lie in this
/// upper end. The stack below the boundary is then fresh memory for each job.
const STACK_HEAD_BYTES: u64 = 64 << 10;

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
/// Accessed and dirty bits. Both are set from the start, so that no page walk writes to a table.
const USED: u64 = 1 << 5 | 1 << 6;
const LARGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;

/// Rights to a page. A mapped page can always be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) user: bool,
    pub(crate) write: bool,
    pub(crate) execute: bool,
}

/// Division of a guest's memory into program, heap, mappings and stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Offset added to each address of the program.
    pub(crate) bias: u64,
    pub(crate) heap_begin: u64,
    /// Upper end of the program's mappings, which grow down.
    pub(crate) mappings_top: u64,
    pub(crate) stack_top: u64,
    /// Size of the guest's memory, which is one KVM slot.
    pub(crate) bytes: u64,
    /// Mapped ranges, sorted; an address outside of them is not mapped.
    regions: Vec<(Range<u64>, Rights)>,
}

/// Fresh random numbers for the addresses of a layout, so that no two snapshots of a guest share a
/// layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayoutSeed {
    pub(crate) bias: u16,
    pub(crate) heap: u16,
    pub(crate) stack: u16,
}

impl Layout {
    /// Creates the layout for the program `image`, with `memory_bytes` bytes for heap and mappings
    /// in addition to the image and the stack.
    pub(crate) fn new(
        image: &Image,
        memory_bytes: u64,
        seed: LayoutSeed,
    ) -> Result<Layout, String> {
        let memory = image.memory();
        let bias = if image.relocatable {
            let place = IMAGE_MIN + u64::from(seed.bias % 256) * LARGE_BYTES;
            place - memory.start / LARGE_BYTES * LARGE_BYTES
        } else {
            0
        };
        if memory.start + bias < IMAGE_MIN {
            return Err(format!(
                "the lowest address of the program, {:#x}, is below 4 MB",
                memory.start
            ));
        }
        let image_end = (memory.end + bias).next_multiple_of(PAGE_BYTES);
        let heap_begin = image_end + u64::from(seed.heap % 256) * PAGE_BYTES;
        let mappings_top = (heap_begin + memory_bytes).next_multiple_of(LARGE_BYTES);
        let stack_begin = mappings_top + LARGE_BYTES;
        let boundary = stack_begin + STACK_BYTES;
        let bytes = boundary + LARGE_BYTES;
        let data = Rights {
            user: true,
            write: true,
            execute: false,
        };
        let mut regions = system();
        for segment in &image.segments {
            let begin = (segment.memory.start + bias) / PAGE_BYTES * PAGE_BYTES;
            let end = (segment.memory.end + bias).next_multiple_of(PAGE_BYTES);
            let rights = Rights {
                user: true,
                write: segment.write,
                execute: segment.execute,
            };
            add(&mut regions, begin..end, rights)?;
        }
        regions.push((image_end..mappings_top, data));
        regions.push((stack_begin..bytes, data));
        Ok(Layout {
            bias,
            heap_begin,
            mappings_top,
            stack_top: boundary + STACK_HEAD_BYTES - u64::from(seed.stack % 1024) * 16,
            bytes,
            regions,
        })
    }

    /// Returns the ranges that ring 3 can access, merged where they adjoin.
    pub(crate) fn user_ranges(&self) -> Vec<Range<u64>> {
        self.ranges(|rights| rights.user)
    }

    /// Returns the ranges that ring 3 can write to by its page tables, merged where they adjoin.
    pub(crate) fn writable_ranges(&self) -> Vec<Range<u64>> {
        self.ranges(|rights| rights.user && rights.write)
    }

    fn ranges(&self, has: impl Fn(&Rights) -> bool) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (range, _) in self.regions.iter().filter(|(_, rights)| has(rights)) {
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => ranges.push(range.clone()),
            }
        }
        ranges
    }

    /// Returns the rights to the page at `address`, or `None` if the page is not mapped.
    fn rights(&self, address: u64) -> Option<Rights> {
        let after = self
            .regions
            .partition_point(|(range, _)| range.end <= address);
        let (range, rights) = self.regions.get(after)?;
        (range.start <= address).then_some(*rights)
    }

    /// Returns the rights of the mapped small pages within the large page at `begin`, or `None` if
    /// none is mapped. Returns an error if these rights differ. If they are equal, the guest gets
    /// one large page. Unmapped small pages within it then have the same rights, and are zero.
    fn rights_of_large(&self, begin: u64) -> Result<Option<Rights>, ()> {
        let pages = (begin..begin + LARGE_BYTES).step_by(PAGE_BYTES as usize);
        let mut rights = pages.filter_map(|page| self.rights(page));
        let first = rights.next();
        rights
            .all(|other| Some(other) == first)
            .then_some(first)
            .ok_or(())
    }

    /// Returns whether the content of the large page at `begin` may change: ring 3 can write to a
    /// part of it, or ring 0 uses it.
    pub(crate) fn changes(&self, begin: u64) -> bool {
        let end = begin + LARGE_BYTES;
        let touches = |range: &Range<u64>| range.start < end && begin < range.end;
        let mut regions = self.regions.iter();
        regions.any(|(range, rights)| touches(range) && (rights.write || !rights.user))
    }

    /// Returns the page tables, each with its address and its bytes. The first is the root.
    pub(crate) fn tables(&self) -> Result<Vec<(u64, Vec<u8>)>, String> {
        const TOO_MANY_TABLES: &str =
            "the memory needs more page tables than the microVM has room for";
        const GIGABYTE: u64 = 1 << 30;
        const TABLE_ENTRIES: usize = 512;
        let mut tables: Vec<[u64; TABLE_ENTRIES]> = vec![[0; TABLE_ENTRIES]; 2];
        let place = |index: usize| TABLES.start + index as u64 * PAGE_BYTES;
        tables[0][0] = place(1) | PRESENT | WRITABLE | USER | USED;
        for gigabyte in 0..self.bytes.div_ceil(GIGABYTE) {
            let directory = tables.len();
            tables.push([0; TABLE_ENTRIES]);
            tables[1][gigabyte as usize] = place(directory) | PRESENT | WRITABLE | USER | USED;
            for entry in 0..TABLE_ENTRIES {
                let begin = gigabyte * GIGABYTE + entry as u64 * LARGE_BYTES;
                match self.rights_of_large(begin) {
                    Ok(None) => {}
                    Ok(Some(rights)) => {
                        tables[directory][entry] = begin | LARGE | leaf(rights);
                    }
                    Err(()) => {
                        let table = tables.len();
                        tables[directory][entry] = place(table) | PRESENT | WRITABLE | USER | USED;
                        let pages = (begin..begin + LARGE_BYTES).step_by(PAGE_BYTES as usize);
                        let leaf = |page| Some(page | leaf(self.rights(page)?));
                        let leaves = pages.map(|page| leaf(page).unwrap_or(0));
                        let leaves: Vec<u64> = leaves.collect();
                        tables.push(leaves.try_into().expect("a large page has 512 pages"));
                    }
                }
                if TABLES.end <= place(tables.len()) {
                    return Err(TOO_MANY_TABLES.to_owned());
                }
            }
        }
        let tables = tables.iter().enumerate().map(|(index, table)| {
            let bytes = table.iter().flat_map(|entry| entry.to_le_bytes());
            (place(index), bytes.collect())
        });
        Ok(tables.collect())
    }

    /// Lists the page tables as text, one line per range of pages with equal size and rights.
    pub(crate) fn list(&self) -> String {
        let mut text = String::new();
        let mut line = |pages: Range<u64>, size: u64, rights: Rights| {
            let flag = |set, letter| if set { letter } else { '-' };
            let (count, unit) = ((pages.end - pages.start) / size, size >> 10);
            writeln!(
                text,
                "{:#014x} {count:>6} x {unit:>4} KB  r{}{} {}",
                pages.start,
                flag(rights.write, 'w'),
                flag(rights.execute, 'x'),
                if rights.user { "user" } else { "ring 0" },
            )
            .expect("writing to a string cannot fail");
        };
        let mut run: Option<(Range<u64>, u64, Rights)> = None;
        for (page, size, rights) in self.leaves() {
            match &mut run {
                Some((pages, of, like)) if pages.end == page && *of == size && *like == rights => {
                    pages.end += size;
                }
                _ => {
                    if let Some((pages, of, like)) = run.replace((page..page + size, size, rights))
                    {
                        line(pages, of, like);
                    }
                }
            }
        }
        if let Some((pages, of, like)) = run {
            line(pages, of, like);
        }
        text
    }

    /// Returns the address, size and rights of every mapped page, large or small.
    fn leaves(&self) -> impl Iterator<Item = (u64, u64, Rights)> {
        let large = (0..self.bytes).step_by(LARGE_BYTES as usize);
        large.flat_map(move |begin| {
            let (size, end) = match self.rights_of_large(begin) {
                Ok(_) => (LARGE_BYTES, begin + 1),
                Err(()) => (PAGE_BYTES, begin + LARGE_BYTES),
            };
            let pages = (begin..end).step_by(size as usize);
            pages.filter_map(move |page| Some((page, size, self.rights(page)?)))
        })
    }
}

/// Returns the pages of ring 0, with the rights to them.
fn system() -> Vec<(Range<u64>, Rights)> {
    let rights = |write, execute| Rights {
        user: false,
        write,
        execute,
    };
    vec![
        (GDT..STUB, rights(true, false)),
        (STUB..STUB + PAGE_BYTES, rights(false, true)),
        (RING0_STACK, rights(true, false)),
        (TABLES, rights(false, false)),
    ]
}

/// Adds a segment's pages. Two segments may share one page, which then has the rights of both.
fn add(
    regions: &mut Vec<(Range<u64>, Rights)>,
    mut pages: Range<u64>,
    rights: Rights,
) -> Result<(), String> {
    let (last, like) = regions
        .last_mut()
        .expect("the region of ring 0 was added first");
    if pages.start < last.end {
        let shared = Rights {
            user: true,
            write: like.write || rights.write,
            execute: like.execute || rights.execute,
        };
        if shared.write && shared.execute {
            return Err("a page contains both code and writable data".to_owned());
        }
        last.end = pages.start;
        let empty = last.is_empty();
        if empty {
            regions.pop();
        }
        regions.push((pages.start..pages.start + PAGE_BYTES, shared));
        pages.start += PAGE_BYTES;
    }
    if !pages.is_empty() {
        regions.push((pages, rights));
    }
    Ok(())
}

fn leaf(rights: Rights) -> u64 {
    let mut leaf = PRESENT | USED;
    if rights.write {
        leaf |= WRITABLE;
    }
    if rights.user {
        leaf |= USER;
    }
    if !rights.execute {
        leaf |= NO_EXECUTE;
    }
    leaf
}

#[cfg(test)]
mod tests;
