//! The orientation in an EXIF block, which is a TIFF file of its own.
//!
//! ```text
//! 0  "II" little-endian or "MM" big-endian · 2  42 · 4  offset of the first directory
//! directory: count u16, then count × 12 bytes: tag u16 · type u16 · values u32 · value or its offset u32
//! ```

use super::head::Head;
use super::{ProbeError, ProbeErrorKind, ReadAt};
use crate::Orientation;
use std::ops::Range;

/// Entries of a directory that are looked at; cameras write about a dozen, sorted by tag.
const ENTRIES_MAX: u64 = 256;
const ENTRY_BYTES: u64 = 12;
const TAG_ORIENTATION: u16 = 0x0112;
const TYPE_SHORT: u16 = 3;

/// The orientation that the block at `block` states; upright where it states none, or is broken: EXIF is a remark
/// beside the picture, and what cannot be read of it must not cost the picture.
pub(super) fn orientation<S: ReadAt + ?Sized>(
    head: &mut Head<'_, S>,
    block: Range<u64>,
) -> Result<Orientation, ProbeError> {
    match stated(head, block) {
        Ok(stated) => Ok(stated.unwrap_or_default()),
        Err(err) if err.kind == ProbeErrorKind::Truncated => Ok(Orientation::Upright),
        Err(err) => Err(err),
    }
}

fn stated<S: ReadAt + ?Sized>(
    head: &mut Head<'_, S>,
    block: Range<u64>,
) -> Result<Option<Orientation>, ProbeError> {
    let Some(tiff) = skip_prefix(head, block)? else {
        return Ok(None);
    };
    let start: [u8; 8] = head.array(tiff.start)?;
    let big_endian = match start[..4] {
        [b'I', b'I', 42, 0] => false,
        [b'M', b'M', 0, 42] => true,
        _ => return Ok(None),
    };
    let u16 = |bytes: [u8; 2]| match big_endian {
        true => u16::from_be_bytes(bytes),
        false => u16::from_le_bytes(bytes),
    };
    let offset = [start[4], start[5], start[6], start[7]];
    let offset = match big_endian {
        true => u32::from_be_bytes(offset),
        false => u32::from_le_bytes(offset),
    };
    let directory = tiff.start + u64::from(offset);
    if tiff.end < directory + 2 {
        return Ok(None);
    }
    let count = u64::from(u16(head.array(directory)?));
    for index in 0..count.min(ENTRIES_MAX) {
        let at = directory + 2 + index * ENTRY_BYTES;
        if tiff.end < at + ENTRY_BYTES {
            return Ok(None);
        }
        let entry: [u8; 12] = head.array(at)?;
        if u16([entry[0], entry[1]]) == TAG_ORIENTATION {
            let is_short = u16([entry[2], entry[3]]) == TYPE_SHORT;
            let value = u16([entry[8], entry[9]]);
            return Ok(Orientation::from_exif(value).filter(|_| is_short));
        }
    }
    Ok(None)
}

/// The TIFF inside the block: JPEG puts `Exif\0\0` before it, and some writers of WebP and PNG do too.
fn skip_prefix<S: ReadAt + ?Sized>(
    head: &mut Head<'_, S>,
    block: Range<u64>,
) -> Result<Option<Range<u64>>, ProbeError> {
    const SHORTEST_BYTES: u64 = 8 + 2;
    if block.end - block.start < SHORTEST_BYTES {
        return Ok(None);
    }
    let prefix: [u8; 6] = head.array(block.start)?;
    let start = match &prefix {
        b"Exif\0\0" => block.start + 6,
        _ => block.start,
    };
    Ok((SHORTEST_BYTES <= block.end - start).then_some(start..block.end))
}
