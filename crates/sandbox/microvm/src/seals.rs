//! Sealing of memory files.

use rustix::fs::{SealFlags, fcntl_add_seals};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Seals a file against writing. The kernel returns `EBUSY` while the file is mapped writable, and
/// also while one of the file's pages is pinned for a moment, by a read of the server or by the
/// kernel to age or move memory. In the second case the kernel has already waited, so a retry
/// suffices.
///
/// # Errors
/// As `fcntl`.
pub fn add_seals(file: BorrowedFd<'_>, seals: SealFlags) -> Result<(), Errno> {
    const TRIES_MAX: u32 = 10;
    for _ in 1..TRIES_MAX {
        match fcntl_add_seals(file, seals) {
            Err(Errno::BUSY) => {}
            sealed => return sealed,
        }
    }
    fcntl_add_seals(file, seals)
}
