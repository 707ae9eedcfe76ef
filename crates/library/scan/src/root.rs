//! Functions that open the root folder of the library, and the files and folders inside it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use catalog::Stat;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags, StatxTimestamp, openat2, statx};
use rustix::io::Errno;

use crate::ScanError;

/// Opens the root folder of a library.
pub(crate) fn open_root(root: &Path) -> Result<OwnedFd, ScanError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, Mode::empty())
        .map_err(|err| ScanError::host("cannot open library", root, err))
}

/// Opens the file or folder at `path` inside `root` for reading, or `root` itself if `path` is
/// empty. The kernel refuses paths that leave the root and paths with symbolic links. So a linked
/// file is indexed only at its real path, if this path is in the library.
pub(crate) fn open_below(
    root: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
    let path = if path.is_empty() { b"." } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    loop {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            // A file was renamed while the kernel resolved the path, so the call is repeated.
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
}

/// Opens the file at `path` inside `root` for reading.
pub(crate) fn open(root: BorrowedFd<'_>, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    // Without `NONBLOCK`, opening a pipe would wait for a writer.
    open_below(root, path, OFlags::NONBLOCK)
}

/// Returns the metadata of the file `name` in a folder, or of the open file `folder` if `name` is
/// empty.
pub(crate) fn stat(folder: impl AsFd, name: &[u8]) -> rustix::io::Result<Stat> {
    let found = statx(
        folder,
        name,
        AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH,
        StatxFlags::BASIC_STATS | StatxFlags::BTIME,
    )?;
    let ns = |time: StatxTimestamp| {
        let s = time.tv_sec.saturating_mul(1_000_000_000);
        s.saturating_add(time.tv_nsec.into())
    };
    let says_born = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    Ok(Stat {
        device: u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor),
        inode: found.stx_ino,
        size: found.stx_size,
        mtime_ns: ns(found.stx_mtime),
        born_ns: if says_born { ns(found.stx_btime) } else { 0 },
    })
}
