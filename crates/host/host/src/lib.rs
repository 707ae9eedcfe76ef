//! Facts about the host's disks: whether they are rotational, and where on them a file lies; and
//! files mapped into memory. The crate changes nothing on the host, and draws no conclusions from
//! the facts.
//!
//! Principal items: [`rotates`], [`first_extent`] and [`Mapped`].
//!
//! Units: devices are numbered as by `statx`, with the major number above bit 32; places are byte
//! offsets on the device. Errors: a fact that the kernel does not report is `None`, or the kernel's
//! error if that is more specific. Threads: plain calls, which may block on the disk; each map has
//! a thread that sleeps. Sources: `Documentation/ABI/stable/sysfs-block` and
//! `Documentation/filesystems/fiemap.rst` of Linux.

mod disk;
mod extent;
mod mapped;

#[cfg(test)]
mod tests;

pub use disk::rotates;
pub use extent::first_extent;
pub use mapped::Mapped;
