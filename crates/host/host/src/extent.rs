use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

/// `struct fiemap` of `linux/fiemap.h`, with room for one extent after it.
#[repr(C)]
#[derive(Default)]
struct Request {
    head: Head,
    extent: Extent,
}

#[repr(C)]
#[derive(Default)]
struct Head {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `struct fiemap_extent` of `linux/fiemap.h`.
#[repr(C)]
#[derive(Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `FS_IOC_FIEMAP`; its number encodes the size of `struct fiemap` without extents.
const FIEMAP: Opcode = opcode::read_write::<Head>(b'f', 11);
/// Flags of an extent whose position on the device is unknown (0x0002), or that is not allocated
/// yet (0x0004).
const UNKNOWN: u32 = 0x0002 | 0x0004;

/// Returns the position of a file's first extent, as an offset on the device. Returns `None` if the
/// file has no extent, or if the extent has no known position yet.
///
/// # Errors
/// The file system does not support FIEMAP.
pub fn first_extent(file: impl AsFd) -> io::Result<Option<u64>> {
    let mut request = Request {
        head: Head {
            length: u64::MAX,
            extent_count: 1,
            ..Head::default()
        },
        ..Request::default()
    };
    // SAFETY: the type fits the opcode. FIEMAP takes a `struct fiemap` with extents after it, and
    // `Request` has the same layout (`repr(C)`).
    let update = unsafe { Updater::<FIEMAP, Request>::new(&mut request) };
    // SAFETY: the kernel writes the head and at most `extent_count` extents after it, and `Request`
    // has room for one, which is the count that was set above. Breaks if `extent_count` is raised
    // without an array.
    unsafe { ioctl(file, update) }?;
    let Request { head, extent } = request;
    let is_known = head.mapped_extents == 1 && extent.flags & UNKNOWN == 0;
    Ok(is_known.then_some(extent.physical))
}
