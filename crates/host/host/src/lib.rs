//! What the host says of its disks: whether they have moving parts, and where on them a file lies; and files as memory. It
//! changes nothing, and draws no conclusions.
//!
//! Principal items: [`rotates`], [`first_extent`] and [`Mapped`].
//!
//! Units: devices are numbered as `statx` does it, major number above bit 32; places are bytes from the beginning of the
//! device. Errors: what the kernel does not tell is `None`, or its own error where that tells more. Threads: plain calls, which
//! may sleep on the disk; a map has a thread that sleeps. Sources: `Documentation/ABI/stable/sysfs-block` and
//! `Documentation/filesystems/fiemap.rst` of Linux.

mod disk;
mod extent;
mod mapped;

#[cfg(test)]
mod tests;

pub use disk::rotates;
pub use extent::first_extent;
pub use mapped::Mapped;
