//! Facts of the host: whether a disk is rotational, and at which offset of its device a file
//! begins; settings, network cards and other facts that `pelton doctor` reports. The crate also
//! maps files into memory, samples CPU time, and reads and writes the settings that `pelton tune`
//! changes. Nothing else of the crate changes the host.
//!
//! Principal items: [`gather`], [`Setting`], [`rotates`], [`first_extent`] and [`Mapped`].
//!
//! ```text
//! /proc, /sys ──► files ──┐
//! kernel ──► netlink ─────┼─► gather ──► host_checks::Facts
//! a server ──► metrics ───┘
//! ```
//!
//! Units: device numbers hold the major number of `statx` in the upper 32 bits and the minor number
//! in the lower 32 bits; extents are byte offsets on the device. Errors: if the kernel does not
//! report a property, the result is `None`, or the kernel's error if that is more specific; a fact
//! is unknown with its reason. Limits: [`gather`] sends no request after 0.8 seconds, and bounds
//! each list that it reads. Threads: all functions are synchronous and may block on the disk, the
//! kernel or the server; each mapping has a thread that mostly sleeps. Sources:
//! `Documentation/ABI/stable/sysfs-block`, `Documentation/filesystems/fiemap.rst` and
//! `Documentation/netlink/specs` of Linux.

mod audit;
mod diag;
mod disk;
mod ethtool;
mod extent;
mod files;
mod gather;
mod interfaces;
mod kernel;
mod mapped;
mod metrics;
mod namespace;
mod netlink;
mod network;
mod process;
mod queueing;
mod route;
mod sampling;
mod server;
mod setting;

#[cfg(test)]
mod tests;

pub use disk::rotates;
pub use extent::first_extent;
pub use files::{Roots, token};
pub use gather::{Subject, gather};
pub use mapped::Mapped;
pub use namespace::{Namespace, is_sysfs_own, namespace};
pub use queueing::qdisc_replacement;
pub use sampling::{CpuSample, EVENTS_MAX, Mode, Record, Registers, Sampling, SamplingError};
pub use server::holder;
pub use setting::{Property, Scope, Setting, SettingFault};
