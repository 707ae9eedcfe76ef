use std::fs;

/// Returns whether the disk of a device is rotational; `None` if the device has no disk, as a
/// network file system, or the kernel does not report it.
#[must_use]
pub fn rotates(device: u64) -> Option<bool> {
    let name = format!("/sys/dev/block/{}:{}", device >> 32, device & 0xffff_ffff);
    // A partition has no queue of its own, so the second path is that of its disk.
    let files = [
        format!("{name}/queue/rotational"),
        format!("{name}/../queue/rotational"),
    ];
    let mut content = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    content.next().map(|content| content.trim() == "1")
}
