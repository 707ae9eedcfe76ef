//! CR3, the raw format of Canon since 2018: a file of ISO boxes with JPEG previews.
//!
//! ```text
//! ftyp   major brand "crx "
//! moov ─┬─ uuid 85c0b687… ─── CMT1   EXIF block with the orientation
//!       └─ trak ─ mdia ─ minf ─ stbl ─┬─ stsz         size of the picture
//!                                     └─ co64 or stco  offset of the picture
//! uuid eaf42b5e… ─── PRVW ─── JPEG
//! ```
//! Source: the description of the format by Laurent Clévy and Phil Harvey (canon_cr3).

use super::avif::{find, next_box};
use super::exif;
use super::facts::ProbeError;
use super::head::HeaderReader;
use super::preview::Candidate;
use crate::Orientation;
use std::ops::Range;

/// Maximum number of tracks that are examined. Cameras write up to five.
const TRACKS_MAX: usize = 16;
/// Number of bytes at the start of a `PRVW` box that are searched for the JPEG.
const PREVIEW_HEAD_BYTES: u64 = 64;
/// Maximum number of boxes at the top level that are examined. Cameras write about six.
const TOP_BOXES_MAX: usize = 64;

const CANON: [u8; 16] = [
    0x85, 0xc0, 0xb6, 0x87, 0x82, 0x0f, 0x11, 0xe0, 0x81, 0x11, 0xf4, 0xce, 0x46, 0x2b, 0x6a, 0x48,
];
const PREVIEW: [u8; 16] = [
    0xea, 0xf4, 0x2b, 0x5e, 0x1c, 0x98, 0x4b, 0x88, 0xb9, 0xfb, 0xb7, 0xdc, 0x40, 0x6e, 0x4d, 0x16,
];

/// Returns whether the file has the brand of CR3.
pub(super) fn is_cr3(head: &mut HeaderReader<'_>) -> Result<bool, ProbeError> {
    Ok(12 <= head.len_bytes() && head.array(4)? == *b"ftypcrx ")
}

/// Returns the places of possible previews.
pub(super) fn candidates(head: &mut HeaderReader<'_>) -> Result<Vec<Candidate>, ProbeError> {
    let mut found = Vec::new();
    let mut orientation = None;
    let (mut at, end) = (0, head.len_bytes());
    for _ in 0..TOP_BOXES_MAX {
        let Some((kind, content)) = next_box(head, at..end)? else {
            break;
        };
        at = content.end;
        match &kind {
            b"moov" => {
                orientation = stated(head, &content)?;
                tracks(head, &content, &mut found)?;
            }
            b"uuid" if head.field(&content, 0)? == PREVIEW => {
                found.extend(preview(head, content.start + 16..content.end)?);
            }
            _ => {}
        }
    }
    let placed = found.into_iter();
    Ok(placed
        .map(|range| Candidate { range, orientation })
        .collect())
}

/// Returns the orientation that the EXIF block of the camera states.
fn stated(
    head: &mut HeaderReader<'_>,
    moov: &Range<u64>,
) -> Result<Option<Orientation>, ProbeError> {
    let Some(canon) = find(head, moov, b"uuid")? else {
        return Ok(None);
    };
    if head.field(&canon, 0)? != CANON {
        return Ok(None);
    }
    match find(head, &(canon.start + 16..canon.end), b"CMT1")? {
        Some(block) => exif::orientation(head, block).map(Some),
        None => Ok(None),
    }
}

/// Adds the place of each track's picture. Only some of these pictures are JPEGs.
fn tracks(
    head: &mut HeaderReader<'_>,
    moov: &Range<u64>,
    found: &mut Vec<Range<u64>>,
) -> Result<(), ProbeError> {
    let mut at = moov.start;
    for _ in 0..TRACKS_MAX {
        let Some((kind, content)) = next_box(head, at..moov.end)? else {
            break;
        };
        at = content.end;
        if kind == *b"trak" {
            found.extend(picture(head, content)?);
        }
    }
    Ok(())
}

/// Returns the place of the first sample of a track.
fn picture(
    head: &mut HeaderReader<'_>,
    trak: Range<u64>,
) -> Result<Option<Range<u64>>, ProbeError> {
    let mut area = trak;
    for kind in [b"mdia", b"minf", b"stbl"] {
        match find(head, &area, kind)? {
            Some(content) => area = content,
            None => return Ok(None),
        }
    }
    let Some(sizes) = find(head, &area, b"stsz")? else {
        return Ok(None);
    };
    // stsz: version and flags u32 · size of all samples u32, or 0 · count u32 · sizes u32 each
    let mut len_bytes = u32::from_be_bytes(head.field(&sizes, 4)?);
    if len_bytes == 0 {
        len_bytes = u32::from_be_bytes(head.field(&sizes, 12)?);
    }
    // co64 and stco: version and flags u32 · count u32 · offsets
    let start = match (find(head, &area, b"co64")?, find(head, &area, b"stco")?) {
        (Some(offsets), _) => u64::from_be_bytes(head.field(&offsets, 8)?),
        (None, Some(offsets)) => u32::from_be_bytes(head.field(&offsets, 8)?).into(),
        (None, None) => return Ok(None),
    };
    Ok(start.checked_add(len_bytes.into()).map(|end| start..end))
}

/// Returns the place of the JPEG in a `PRVW` box inside `area`. A few fields precede the JPEG.
fn preview(
    head: &mut HeaderReader<'_>,
    area: Range<u64>,
) -> Result<Option<Range<u64>>, ProbeError> {
    // Eight bytes precede the box.
    let Some(content) = find(head, &(area.start.saturating_add(8)..area.end), b"PRVW")? else {
        return Ok(None);
    };
    let len_bytes = (content.end - content.start).min(PREVIEW_HEAD_BYTES);
    let bytes = head.bytes(content.start, len_bytes as usize)?;
    let skip = bytes
        .windows(3)
        .position(|three| three == [0xff, 0xd8, 0xff]);
    Ok(skip.map(|skip| content.start + skip as u64..content.end))
}
