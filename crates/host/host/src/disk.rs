use std::fs;

/// Whether the disk of a device has moving parts; `None` where there is no disk, as with a network, or the kernel is silent.
#[must_use]
pub fn rotates(device: u64) -> Option<bool> {
    let name = format!("/sys/dev/block/{}:{}", device >> 32, device & 0xffff_ffff);
    // A partition's queue is its disk's.
    let files = [
        format!("{name}/queue/rotational"),
        format!("{name}/../queue/rotational"),
    ];
    let mut said = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    said.next().map(|said| said.trim() == "1")
}
