//! Queries of the host's disks (if a disk is rotational, and the offset on its disk at which a file
//! begins), and files mapped into memory. The crate changes nothing on the host.
//!
//! Principal items: [`rotates`], [`first_extent`] and [`Mapped`].
//!
//! Units: device numbers are as in `statx`, with the major number above bit 32; extents are byte
//! offsets on the device. Errors: if the kernel does not report a property, the result is `None`,
//! or the kernel's error if that is more specific. Threads: all functions are synchronous and may
//! block on the disk; each mapping has a thread that mostly sleeps. Sources:
//! `Documentation/ABI/stable/sysfs-block` and `Documentation/filesystems/fiemap.rst` of Linux.

mod disk;
mod extent;
mod mapped;

#[cfg(test)]
mod tests;

pub use disk::rotates;
pub use extent::first_extent;
pub use mapped::Mapped;
