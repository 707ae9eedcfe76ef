//! Landlock: denies everything that this kernel can deny, except for reading allowed files. Open
//! descriptors keep their rights.
//!
//! Source: the kernel's `Documentation/userspace-api/landlock.rst`.

use crate::syscall::checked;
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// `struct landlock_ruleset_attr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// Size of the attributes and deniable rights per ABI version; the last row also stands for later
/// versions. Older kernels take a shorter structure.
const VERSIONS: [(usize, Attributes); 6] = [
    // Execute, read, write, list, remove and create files: 13 rights.
    (8, attributes((1 << 13) - 1, 0, 0)),
    // Version 2 adds renames and links across directories.
    (8, attributes((1 << 14) - 1, 0, 0)),
    // Version 3 adds truncation.
    (8, attributes((1 << 15) - 1, 0, 0)),
    // Version 4 adds bind and connect of TCP.
    (16, attributes((1 << 15) - 1, 0b11, 0)),
    // Version 5 adds ioctl on devices.
    (16, attributes((1 << 16) - 1, 0b11, 0)),
    // Version 6 adds abstract sockets and signals to processes outside the jail.
    (24, attributes((1 << 16) - 1, 0b11, 0b11)),
];

const fn attributes(fs: u64, net: u64, scoped: u64) -> Attributes {
    Attributes {
        handled_access_fs: fs,
        handled_access_net: net,
        scoped,
    }
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    allowed_access: u64,
    parent: i32,
}

/// Denies everything but reading `files`, for this process and those it forks. Returns the kernel's
/// ABI version; 0 without Landlock.
pub(super) fn deny_all_but(files: &[BorrowedFd<'_>]) -> Result<u32, Errno> {
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
        // Not built in, not enabled, or denied by a filter around the server.
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
    for file in files {
        const PATH_BENEATH: u32 = 1;
        const READ_FILE: u64 = 1 << 2;
        let beneath = Beneath {
            allowed_access: READ_FILE,
            parent: file.as_raw_fd(),
        };
        let (call, rule) = (libc::SYS_landlock_add_rule, &raw const beneath);
        // SAFETY: the kernel reads the structure of this kind of rule, which lives until the call
        // returns.
        checked(unsafe { libc::syscall(call, ruleset, PATH_BENEATH, rule, 0) })?;
    }
    // SAFETY: the call takes numbers only.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) })?;
    // SAFETY: the number is the ruleset's, which no other code knows.
    unsafe { rustix::io::close(ruleset as i32) };
    Ok(version as u32)
}
