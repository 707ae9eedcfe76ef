//! Reads the orientation from an EXIF block, which has the structure of a TIFF file. In the table,
//! `@` precedes the offset of a field in bytes.
//!
//! ```text
//! @0 "II" little-endian or "MM" big-endian · @2 the number 42 · @4 offset of the first directory
//! directory: count u16, then count × 12 bytes: tag u16 · type u16 · values u32 · value or offset
//! ```

use super::facts::{ProbeError, ProbeErrorKind};
use super::head::HeaderReader;
use crate::Orientation;
use std::ops::Range;

/// Maximum number of directory entries that are examined. Cameras write about a dozen, sorted by
/// tag.
const ENTRIES_MAX: u64 = 256;
const ENTRY_BYTES: u64 = 12;
const TAG_ORIENTATION: u16 = 0x0112;
const TYPE_SHORT: u16 = 3;

/// Returns the orientation stated by the EXIF block at `block`. The result is `Upright` if the
/// block states no orientation or is malformed, because broken metadata must not make a valid
/// picture unreadable.
pub(super) fn orientation(
    head: &mut HeaderReader<'_>,
    block: Range<u64>,
) -> Result<Orientation, ProbeError> {
    match stated(head, block) {
        Ok(stated) => Ok(stated.unwrap_or_default()),
        Err(err) if err.kind == ProbeErrorKind::Io => Err(err),
        Err(_) => Ok(Orientation::Upright),
    }
}

fn stated(
    head: &mut HeaderReader<'_>,
    block: Range<u64>,
) -> Result<Option<Orientation>, ProbeError> {
    // JPEG has this prefix before the TIFF structure, and some writers of WebP and PNG add it too.
    let prefix: [u8; 6] = head.field(&block, 0)?;
    let tiff = match &prefix {
        b"Exif\0\0" => block.start + 6..block.end,
        _ => block,
    };
    let big_endian = match &head.field(&tiff, 0)? {
        b"II\x2a\0" => false,
        b"MM\0\x2a" => true,
        _ => return Ok(None),
    };
    let u16 = |bytes: [u8; 2]| match big_endian {
        true => u16::from_be_bytes(bytes),
        false => u16::from_le_bytes(bytes),
    };
    let directory = u64::from(match big_endian {
        true => u32::from_be_bytes(head.field(&tiff, 4)?),
        false => u32::from_le_bytes(head.field(&tiff, 4)?),
    });
    let count = u64::from(u16(head.field(&tiff, directory)?));
    for index in 0..count.min(ENTRIES_MAX) {
        let at = directory + 2 + index * ENTRY_BYTES;
        if u16(head.field(&tiff, at)?) == TAG_ORIENTATION {
            let is_short = u16(head.field(&tiff, at + 2)?) == TYPE_SHORT;
            let value = u16(head.field(&tiff, at + 8)?);
            return Ok(Orientation::from_exif(value).filter(|_| is_short));
        }
    }
    Ok(None)
}
