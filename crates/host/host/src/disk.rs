use std::fs;

/// Returns whether the disk of a device is rotational; `None` if the device has no disk, as is the
/// case for a network file system, or if the kernel does not report the property.
#[must_use]
pub fn rotates(device: u64) -> Option<bool> {
    let name = format!("/sys/dev/block/{}:{}", device >> 32, device & 0xffff_ffff);
    // The second path is for partitions. A partition has no folder `queue` of its own; its parent
    // folder, that of the disk, has one.
    let files = [
        format!("{name}/queue/rotational"),
        format!("{name}/../queue/rotational"),
    ];
    let mut content = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    content.next().map(|content| content.trim() == "1")
}
