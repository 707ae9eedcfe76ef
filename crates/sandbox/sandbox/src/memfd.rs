//! Memory files: the worker's executable, and the file that receives a job's output.

use microvm::add_seals;
use rustix::fs::{
    MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create, open,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec, write};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Lowest number to which a descriptor is duplicated, so that it does not collide with the
/// descriptors of a new process, whose fixed numbers are lower.
const DESCRIPTOR_MIN: i32 = 16;

/// Creates a sealed, executable copy of `bytes`.
pub(crate) fn program(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Linux before 6.3 rejects MFD_EXEC; its memory files are always executable.
    let file = memfd_create("worker", flags | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("worker", flags))?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = write(&file, rest)?;
        rest = &rest[written..];
    }
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    add_seals(file.as_fd(), seals)?;
    dup_above(file.as_fd())
}

/// Opens the file again, read-only. The returned descriptor has an offset of its own, which the
/// worker shares with no other process. Needs `/proc`.
pub(crate) fn reopen(file: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Duplicates a descriptor to a number of at least [`DESCRIPTOR_MIN`], which no child uses.
pub(crate) fn dup_above(descriptor: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    fcntl_dupfd_cloexec(descriptor, DESCRIPTOR_MIN)
}

/// File that receives a job's output. Its size is sealed at the maximum length of an output, so the
/// worker cannot truncate it. A read of truncated pages through a mapping would raise `SIGBUS` in
/// the server.
pub(crate) struct OutputFile(OwnedFd);

impl OutputFile {
    pub(crate) fn new(bytes_max: u64) -> Result<OutputFile, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("answer", flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| memfd_create("answer", flags))?;
        ftruncate(&file, bytes_max)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        Ok(OutputFile(file))
    }

    /// Seals the file against all further writes and returns it. `EBUSY` means that the worker
    /// still has a writable mapping of the file.
    pub(crate) fn seal(self) -> Result<File, Errno> {
        add_seals(self.0.as_fd(), SealFlags::WRITE | SealFlags::SEAL)?;
        reopen(self.0.as_fd()).map(File::from)
    }
}

impl AsFd for OutputFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
