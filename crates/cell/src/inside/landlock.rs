//! Landlock without a single rule: all that this kernel can deny is denied. Open descriptors keep their rights.
//!
//! Source: the kernel's `Documentation/userspace-api/landlock.rst`.

use crate::syscall::checked;
use rustix::io::Errno;
use std::ptr;

/// `struct landlock_ruleset_attr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// What each version can deny; the last row stands for those after it. An older kernel takes a shorter structure.
const VERSIONS: [(usize, Attributes); 6] = [
    // Execute, read, write, list, remove and make files: 13 rights.
    (8, attributes((1 << 13) - 1, 0, 0)),
    // And rename or link across directories.
    (8, attributes((1 << 14) - 1, 0, 0)),
    // And truncate.
    (8, attributes((1 << 15) - 1, 0, 0)),
    // And bind or connect TCP.
    (16, attributes((1 << 15) - 1, 0b11, 0)),
    // And ioctl on devices.
    (16, attributes((1 << 16) - 1, 0b11, 0)),
    // And abstract sockets and signals out of the jail.
    (24, attributes((1 << 16) - 1, 0b11, 0b11)),
];

const fn attributes(fs: u64, net: u64, scoped: u64) -> Attributes {
    Attributes {
        handled_access_fs: fs,
        handled_access_net: net,
        scoped,
    }
}

/// Denies all it can, for this process and those it forks, and returns the kernel's version; 0 where there is none.
pub(super) fn deny_all() -> Result<u32, Errno> {
    const CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with the version flag the kernel reads no structure.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<Attributes>(),
            0,
            CREATE_RULESET_VERSION,
        )
    };
    let version = match checked(version) {
        Ok(version) => version as usize,
        // Not built in, not switched on, or denied by a filter around the server.
        Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => return Ok(0),
        Err(errno) => return Err(errno),
    };
    let (bytes, attributes) = VERSIONS[version.clamp(1, VERSIONS.len()) - 1];
    // SAFETY: the kernel reads `bytes` bytes, at most the size of the structure.
    let ruleset = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const attributes,
            bytes,
            0,
        )
    };
    let ruleset = checked(ruleset)?;
    // SAFETY: takes numbers only.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) })?;
    // SAFETY: the number is the ruleset's, which nothing else knows.
    unsafe { rustix::io::close(ruleset as i32) };
    Ok(version as u32)
}
