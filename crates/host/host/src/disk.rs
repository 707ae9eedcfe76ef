use std::fs;

/// Returns whether the disk of a device is rotational. Returns `None` if the device has no disk,
/// such as the device of a network file system, or if the kernel does not report this property.
#[must_use]
pub fn rotates(device: u64) -> Option<bool> {
    let name = format!("/sys/dev/block/{}:{}", device >> 32, device & 0xffff_ffff);
    // The first path is for whole disks, the second for partitions. A partition has no folder
    // `queue`; its parent folder belongs to the disk and has one.
    let files = [
        format!("{name}/queue/rotational"),
        format!("{name}/../queue/rotational"),
    ];
    let mut content = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    content.next().map(|content| content.trim() == "1")
}
