//! Order in which files are read from a rotating disk: by their position on the disk, so that its
//! head moves in one direction.

use std::io;

use crate::file::FoundFile;

/// Order in which a scan has read files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadOrder {
    /// By device and inode. Used if no disk rotates, or if all needed data is in the page cache.
    #[default]
    Inodes,
    /// By device and first extent. Used for files that are not in the page cache.
    Extents,
}

/// Sorts files by device and inode. Files are identified by their indices in `seen`.
pub(crate) fn by_inode(seen: &[FoundFile], to_read: &mut [usize]) {
    to_read.sort_unstable_by_key(|&number| (seen[number].stat.device, seen[number].stat.inode));
}

/// Offset of the first extent of a file on its disk. `None` if the offset is unknown, for example
/// because no extent is allocated yet; an error if the file system does not report extents.
pub(crate) type ExtentOffset = io::Result<Option<u64>>;

/// Sorts files that are not in the page cache by device and first extent. Files are identified by
/// their indices in `seen`. If the file system reports no extents, the order stays the same.
pub(crate) fn by_extent(
    seen: &[FoundFile],
    mut cold: Vec<(usize, ExtentOffset)>,
) -> (Vec<usize>, ReadOrder) {
    let is_sorted = cold.iter().any(|(_, place)| place.is_ok());
    cold.sort_by_key(|(number, place)| {
        let place = place.as_ref().ok().copied().flatten();
        (seen[*number].stat.device, place)
    });
    let numbers = cold.into_iter().map(|(number, _)| number).collect();
    (
        numbers,
        if is_sorted {
            ReadOrder::Extents
        } else {
            ReadOrder::Inodes
        },
    )
}

/// Returns whether a device is a rotating disk. Returns false if the kernel does not know.
pub(crate) fn rotates(device: u64) -> bool {
    host::rotates(device).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::{ReadOrder, by_extent, by_inode};
    use crate::file::{FoundFile, Kind};
    use catalog::Stat;

    /// Returns files with these device and inode numbers.
    fn seen(of: &[(u64, u64)]) -> Vec<FoundFile> {
        let seen = of.iter().map(|&(device, inode)| FoundFile {
            path: Vec::new(),
            stat: Stat {
                device,
                inode,
                size: 1,
                mtime_ns: 1,
                born_ns: 1,
            },
            kind: Kind::Music,
        });
        seen.collect()
    }

    #[test]
    fn files_are_opened_by_device_and_inode() {
        let seen = seen(&[(2, 1), (1, 9), (1, 3), (2, 0), (1, 4)]);
        let mut order = vec![0, 1, 2, 3];
        by_inode(&seen, &mut order);
        assert_eq!(order, [2, 1, 3, 0]);
    }

    #[test]
    fn what_a_head_has_to_read_is_sorted_by_where_it_lies() {
        let seen = seen(&[(1, 1), (1, 2), (1, 3), (2, 4)]);
        let cold = vec![
            (3, Ok(Some(10))),
            (0, Ok(Some(900))),
            (1, Ok(Some(20))),
            (2, Ok(Some(500))),
        ];
        assert_eq!(
            by_extent(&seen, cold),
            (vec![1, 2, 0, 3], ReadOrder::Extents)
        );
        // If the file system reports no extents, the files stay in the order of inodes.
        let refused = || Err(std::io::Error::from(std::io::ErrorKind::Unsupported));
        let cold = vec![(0, refused()), (1, refused())];
        assert_eq!(by_extent(&seen, cold), (vec![0, 1], ReadOrder::Inodes));
    }
}
