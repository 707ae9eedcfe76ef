//! HEIC and HEIF: the places of items that are JPEGs. The pictures themselves are HEVC, for which
//! there is no decoder with a permissive licence.
//!
//! ```text
//! meta ─┬─ iinf ─── infe   id and type of an item
//!       ├─ iloc            place of each item
//!       └─ iprp            properties of items, as in AVIF: irot, imir
//! ```
//! Sources: ISO/IEC 14496-12 §8.11 for the boxes, ISO/IEC 23008-12 §6.5 and annex H for JPEG items.

use super::avif::{find, item_id, item_id_bytes, next_box, stated_orientation};
use super::facts::ProbeError;
use super::head::HeaderReader;
use super::preview::Candidate;
use std::ops::Range;

/// Maximum number of items of a file that are examined. A picture of many tiles has about 60.
const ITEMS_MAX: u32 = 4096;
/// Maximum number of items of type JPEG that are located.
const JPEG_ITEMS_MAX: usize = 16;
/// Size of the version and flags at the start of a full box.
const VERSION_BYTES: u64 = 4;

/// Returns the places of the items that are JPEGs.
pub(super) fn candidates(head: &mut HeaderReader<'_>) -> Result<Vec<Candidate>, ProbeError> {
    let file = 0..head.len_bytes();
    let Some(meta) = find(head, &file, b"meta")? else {
        return Ok(Vec::new());
    };
    let meta = meta.start.saturating_add(VERSION_BYTES)..meta.end;
    let (Some(infos), Some(places)) = (find(head, &meta, b"iinf")?, find(head, &meta, b"iloc")?)
    else {
        return Ok(Vec::new());
    };
    let jpegs = jpeg_items(head, &infos)?;
    if jpegs.is_empty() {
        return Ok(Vec::new());
    }
    let mut candidates = Vec::new();
    for (item, range) in locate(head, &places, &jpegs)? {
        // In HEIF, only properties state the orientation; EXIF is ignored.
        let orientation = Some(stated_orientation(head, &meta, item)?);
        candidates.push(Candidate { range, orientation });
    }
    Ok(candidates)
}

/// Returns the ids of the items of type `jpeg`.
///
/// ```text
/// iinf: version u8 · flags u24 · count u16, or u32 from version 1 on · infe…
/// infe: version u8 · flags u24 · id u16, or u32 in version 3 · protection u16 · type
/// ```
fn jpeg_items(head: &mut HeaderReader<'_>, iinf: &Range<u64>) -> Result<Vec<u32>, ProbeError> {
    let [version] = head.field(iinf, 0)?;
    let skip = VERSION_BYTES + if version == 0 { 2 } else { 4 };
    let mut at = iinf.start.saturating_add(skip);
    let mut found = Vec::new();
    for _ in 0..ITEMS_MAX {
        let Some((kind, content)) = next_box(head, at..iinf.end)? else {
            break;
        };
        at = content.end;
        let [version] = head.field(&content, 0)?;
        if kind != *b"infe" || !matches!(version, 2 | 3) {
            continue;
        }
        let id_version = version - 2;
        let id = item_id(head, &content, VERSION_BYTES, id_version)?;
        let at = VERSION_BYTES + item_id_bytes(id_version) + 2;
        if head.field(&content, at)? == *b"jpeg" && found.len() < JPEG_ITEMS_MAX {
            found.push(id);
        }
    }
    Ok(found)
}

/// Returns the places of those items of `wanted` that consist of one part of the file.
///
/// ```text
/// iloc: version u8 · flags u24 · sizes of offset u4, length u4, base u4, index u4
///       count u16, or u32 in version 2 · items
/// item: id u16, or u32 in version 2 · [method u16 from version 1 on] · reference u16 · base
///       extents u16 · each: [index from version 1 on] · offset · length
/// ```
fn locate(
    head: &mut HeaderReader<'_>,
    iloc: &Range<u64>,
    wanted: &[u32],
) -> Result<Vec<(u32, Range<u64>)>, ProbeError> {
    let [version, _, _, _, sizes, more_sizes] = head.field(iloc, 0)?;
    let id_version = u8::from(version == 2);
    let count = item_id(head, iloc, 6, id_version)?;
    let mut fields = Fields {
        content: iloc,
        at: 6 + item_id_bytes(id_version),
    };
    let mut found = Vec::new();
    for _ in 0..count.min(ITEMS_MAX) {
        let id = item_id(head, iloc, fields.at, id_version)?;
        fields.at += item_id_bytes(id_version);
        let method = match version {
            0 => 0,
            _ => fields.number(head, 2)? & 15,
        };
        let reference = fields.number(head, 2)?;
        let base = fields.number(head, more_sizes >> 4)?;
        let extents = fields.number(head, 2)?;
        let index_bytes = if version == 0 { 0 } else { more_sizes & 15 };
        // Method 0 means an offset in the file, reference 0 means this file.
        if method == 0 && reference == 0 && extents == 1 && wanted.contains(&id) {
            fields.number(head, index_bytes)?;
            let offset = fields.number(head, sizes >> 4)?;
            let length = fields.number(head, sizes & 15)?;
            let start = base.saturating_add(offset);
            found.push((id, start..start.saturating_add(length)));
        } else {
            let extent_bytes = index_bytes + (sizes >> 4) + (sizes & 15);
            fields.at += extents * u64::from(extent_bytes);
        }
    }
    Ok(found)
}

/// Sequence of numbers in a box.
struct Fields<'a> {
    content: &'a Range<u64>,
    /// Offset of the next number in the box.
    at: u64,
}

impl Fields<'_> {
    /// Reads a number of 0, 2, 4 or 8 bytes. A number of 0 bytes is 0.
    fn number(&mut self, head: &mut HeaderReader<'_>, len_bytes: u8) -> Result<u64, ProbeError> {
        let at = self.at;
        self.at += u64::from(len_bytes);
        Ok(match len_bytes {
            0 => 0,
            2 => u16::from_be_bytes(head.field(self.content, at)?).into(),
            4 => u32::from_be_bytes(head.field(self.content, at)?).into(),
            8 => u64::from_be_bytes(head.field(self.content, at)?),
            _ => {
                return Err(ProbeError::malformed(
                    "heif with numbers that are not 0, 2, 4 or 8 bytes long",
                ));
            }
        })
    }
}
