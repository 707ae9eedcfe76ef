//! Sorts files as they lie on the disk, so that its head goes one way.

use std::io;

use crate::walk::Seen;

/// In which order files were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// Of device and inode: enough where nothing moves, or nothing has to be read from the disk.
    #[default]
    Inodes,
    /// Of device and the place of the first byte, for what the page cache did not have.
    Extents,
}

/// Sorts by device and inode.
pub(crate) fn by_inode(seen: &[Seen], to_read: &mut [usize]) {
    to_read.sort_unstable_by_key(|&number| (seen[number].stat.device, seen[number].stat.inode));
}

/// Where the first byte of a file lies, as far as its disk tells.
pub(crate) type Place = io::Result<Option<u64>>;

/// Files that have to be read from the disk, by device and place; those of a disk that does not tell stay as they were.
pub(crate) fn by_place(seen: &[Seen], mut cold: Vec<(usize, Place)>) -> (Vec<usize>, Sweep) {
    let told = cold.iter().any(|(_, place)| place.is_ok());
    cold.sort_by_key(|(number, place)| {
        let place = place.as_ref().ok().copied().flatten();
        (seen[*number].stat.device, place)
    });
    let numbers = cold.into_iter().map(|(number, _)| number).collect();
    (numbers, if told { Sweep::Extents } else { Sweep::Inodes })
}

/// What the kernel does not know has no moving parts.
pub(crate) fn rotates(device: u64) -> bool {
    host::rotates(device).unwrap_or(false)
}
