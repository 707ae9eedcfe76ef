//! Values of directory entries.

use image_plan::{TiffArray, TiffPage};

/// Returns the bytes of a directory entry's values.
pub(super) fn part<'a>(bytes: &'a [u8], array: &TiffArray) -> Option<&'a [u8]> {
    let start = usize::try_from(array.offset).ok()?;
    bytes
        .get(start..)?
        .get(..usize::try_from(array.len_bytes()).ok()?)
}

/// Returns one value of a directory entry.
pub(super) fn value(bytes: &[u8], page: &TiffPage, array: &TiffArray, index: u64) -> Option<u64> {
    if array.count <= index {
        return None;
    }
    let value_bytes = u64::from(array.value_bytes);
    let start = array.offset.checked_add(index.checked_mul(value_bytes)?)?;
    let value = bytes
        .get(usize::try_from(start).ok()?..)?
        .get(..usize::from(array.value_bytes))?;
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    Some(match page.is_big_endian {
        true => value.iter().fold(0, join),
        false => value.iter().rev().fold(0, join),
    })
}
