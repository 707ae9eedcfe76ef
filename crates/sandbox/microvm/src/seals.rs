//! Sealing of memory files (memfds).

use rustix::fs::{SealFlags, fcntl_add_seals};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Seals a file against writing. The kernel returns `EBUSY` while the file is mapped writable, and
/// also while a page of the file is pinned. A page is pinned briefly when the server reads it, and
/// when the kernel ages or moves it. The kernel itself waits for pinned pages before it returns
/// `EBUSY`, so this function retries without a pause.
///
/// # Errors
/// The error of the last `fcntl` call, for example `EBUSY` if the file is still mapped writable.
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
