//! Whether a disk rotates.

use std::fs;

/// Asks the kernel about the disk of a device number; what it does not know has no moving parts.
pub(crate) fn rotates(device: u64) -> bool {
    let name = format!("/sys/dev/block/{}:{}", device >> 32, device & 0xffff_ffff);
    // A partition's queue is its disk's.
    let files = [
        format!("{name}/queue/rotational"),
        format!("{name}/../queue/rotational"),
    ];
    let mut said = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    said.next().is_some_and(|said| said.trim() == "1")
}
