//! Sorts files as they lie on the disk, so that its head goes one way.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use crate::Progress;
use crate::read::open;
use crate::walk::Seen;

/// In which order files were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// Of device and inode: enough where nothing moves.
    #[default]
    Inodes,
    /// Of device and the place of the first byte, for which each file is opened once more, in the order of inodes.
    Extents,
}

/// Sorts `to_read`, and says in which order.
pub(crate) fn sort(
    root: BorrowedFd<'_>,
    seen: &[Seen],
    to_read: &mut [usize],
    progress: &Progress,
) -> Sweep {
    to_read.sort_unstable_by_key(|&number| (seen[number].stat.device, seen[number].stat.inode));
    // Devices that rotate and tell where files lie.
    let mut telling = HashMap::new();
    let mut places = HashMap::new();
    for &number in &*to_read {
        if progress.is_cancelled() {
            break;
        }
        let stat = &seen[number].stat;
        let tells = telling
            .entry(stat.device)
            .or_insert_with(|| rotates(stat.device));
        // What cannot be opened is told when it is to be read.
        if *tells && let Ok(file) = open(root, &seen[number].path) {
            match host::first_extent(&file) {
                Ok(place) => drop(places.insert(number, place)),
                Err(_) => *tells = false,
            }
        }
    }
    if places.is_empty() {
        return Sweep::Inodes;
    }
    to_read.sort_by_key(|number| {
        let place = places.get(number).copied().flatten();
        (seen[*number].stat.device, place)
    });
    Sweep::Extents
}

/// What the kernel does not know has no moving parts.
pub(crate) fn rotates(device: u64) -> bool {
    host::rotates(device).unwrap_or(false)
}
