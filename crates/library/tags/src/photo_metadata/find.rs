//! Location of the EXIF block in a picture.

use crate::Error;
use crate::input::Input;
use crate::mp4::{self, Atom};
use std::ops::Range;

const PNG_MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";
const EXIF_PREFIX: &[u8; 6] = b"Exif\0\0";
/// Maximum number of bytes that are skipped between two JPEG segments. Decoders skip such bytes,
/// too.
const GARBAGE_BYTES_MAX: u64 = 4096;

/// Returns the range of the picture's EXIF block, which has the structure of a TIFF file.
pub(super) fn exif(input: &mut Input<'_>) -> Result<Option<Range<u64>>, Error> {
    let head = input.up_to(0, 16)?;
    let found = if head.starts_with(&[0xff, 0xd8, 0xff]) {
        app1(input, EXIF_PREFIX)?
    } else if head.starts_with(PNG_MAGIC) {
        chunks(input, 8, *b"eXIf")?
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        chunks(input, 12, *b"EXIF")?
    } else if mp4::is_mp4(head) {
        items(input)?
    } else if head.starts_with(b"II*\0") || head.starts_with(b"MM\0*") {
        // The whole file has the structure of an EXIF block.
        Some(0..input.len())
    } else {
        None
    };
    let Some(block) = found else {
        return Ok(None);
    };
    let is_prefixed = input.up_to(block.start, EXIF_PREFIX.len())? == EXIF_PREFIX;
    let skip = if is_prefixed {
        EXIF_PREFIX.len() as u64
    } else {
        0
    };
    Ok(Some(block.start + skip..block.end.min(input.len())))
}

/// Returns the content of the first segment APP1 of a JPEG file that begins with `prefix`, if there
/// is one before the first scan. A segment consists of FF · marker · length u16 · content.
pub(crate) fn app1(input: &mut Input<'_>, prefix: &[u8]) -> Result<Option<Range<u64>>, Error> {
    let (mut at, mut garbage) = (2, 0);
    loop {
        input.part()?;
        let [first, marker] = input.array(at)?;
        match (first, marker) {
            (0xff, 0xda | 0xd9) => return Ok(None),
            (0xff, 0x01 | 0xd0..=0xd8) => at += 2,
            (0xff, 0xff) => at += 1,
            (0xff, _) => {
                let length = u64::from(u16::from_be_bytes(input.array(at + 2)?));
                let body = at + 4..at + 2 + length.max(2);
                if marker == 0xe1
                    && prefix.len() as u64 <= body.end - body.start
                    && input.bytes(body.start, prefix.len())? == prefix
                {
                    return Ok(Some(body));
                }
                at = body.end;
            }
            _ if garbage < GARBAGE_BYTES_MAX => {
                garbage += 1;
                at += 1;
            }
            _ => {
                return Err(Error::malformed(
                    "a JPEG segment does not begin with a marker",
                ));
            }
        }
    }
}

/// Searches for the chunk of type `kind`. A PNG chunk consists of length u32 · type · content · CRC
/// u32. A RIFF chunk consists of type · length u32 little-endian · content, padded to even.
fn chunks(input: &mut Input<'_>, first: u64, kind: [u8; 4]) -> Result<Option<Range<u64>>, Error> {
    let is_png = &kind == b"eXIf";
    let mut at = first;
    while at + 8 <= input.len() {
        input.part()?;
        let [a, b, c, d, e, f, g, h] = input.array(at)?;
        let (found, bytes) = match is_png {
            true => ([e, f, g, h], u32::from_be_bytes([a, b, c, d])),
            false => ([a, b, c, d], u32::from_le_bytes([e, f, g, h])),
        };
        let bytes = u64::from(bytes);
        if found == kind {
            return Ok(Some(at + 8..at + 8 + bytes));
        }
        at += 8 + bytes + if is_png { 4 } else { bytes % 2 };
    }
    Ok(None)
}

/// Finds the EXIF block in a HEIF file. In the box `meta`, the box `iinf` states which item is
/// EXIF, and the box `iloc` states where the bytes of each item are.
fn items(input: &mut Input<'_>) -> Result<Option<Range<u64>>, Error> {
    let len = input.len();
    let Some(meta) = mp4::find(input, &(0..len), b"meta")? else {
        return Ok(None);
    };
    let meta = meta.start.saturating_add(4)..meta.end;
    let Some(names) = mp4::find(input, &meta, b"iinf")? else {
        return Ok(None);
    };
    let Some(places) = mp4::find(input, &meta, b"iloc")? else {
        return Ok(None);
    };
    let Some(id) = exif_item(input, &names)? else {
        return Ok(None);
    };
    let Some(block) = item_range(input, places, id)? else {
        return Ok(None);
    };
    // The first field states the number of bytes between itself and the TIFF data.
    let skip = u64::from(u32::from_be_bytes(input.field(&block, 0)?));
    Ok(Some(block.start.saturating_add(4 + skip)..block.end))
}

/// Returns the id of the EXIF item. The fields of the boxes `iinf` and `infe`:
///
/// ```text
/// iinf: version u8 · flags u24 · count · infe boxes
/// infe: version u8 · flags u24 · id · 2 bytes · type
/// ```
fn exif_item(input: &mut Input<'_>, names: &Range<u64>) -> Result<Option<u32>, Error> {
    let [version] = input.field(names, 0)?;
    let mut at = names.start + if version == 0 { 6 } else { 8 };
    while let Some(Atom { body, .. }) = mp4::next(input, &mut at, names)? {
        let [version] = input.field(&body, 0)?;
        let (id, kind): (u32, [u8; 4]) = match version {
            2 => (
                u16::from_be_bytes(input.field(&body, 4)?).into(),
                input.field(&body, 8)?,
            ),
            3 => (
                u32::from_be_bytes(input.field(&body, 4)?),
                input.field(&body, 10)?,
            ),
            _ => continue,
        };
        if &kind == b"Exif" {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Cursor over fields whose widths the file itself states.
struct Fields<'a, 'b> {
    input: &'a mut Input<'b>,
    at: u64,
    end: u64,
}

impl Fields<'_, '_> {
    fn number(&mut self, bytes: u8) -> Result<u64, Error> {
        let mut number = 0;
        for _ in 0..bytes.min(8) {
            let [byte] = self.input.field(&(self.at..self.end), 0)?;
            number = number << 8 | u64::from(byte);
            self.at += 1;
        }
        Ok(number)
    }
}

/// Returns the range of an item. The fields of the box `iloc`, where brackets mean "if present":
///
/// ```text
/// version u8 · flags u24 · widths of offset, length, base and index, 4 bits each · count · items
/// item: id · [method u16, in versions 1 and 2] · 2 bytes · base · count u16 · extents
/// extent: [index] · offset · length
/// ```
fn item_range(
    input: &mut Input<'_>,
    places: Range<u64>,
    wanted: u32,
) -> Result<Option<Range<u64>>, Error> {
    let (at, end) = (places.start, places.end);
    let mut fields = Fields { input, at, end };
    let version = fields.number(1)?;
    fields.number(3)?;
    let widths = fields.number(2)?;
    let width = |shift: u32| (widths >> shift & 15) as u8;
    let (offset, length, base, index) = (width(12), width(8), width(4), width(0));
    let id_bytes = if version < 2 { 2 } else { 4 };
    for _ in 0..fields.number(id_bytes)? {
        fields.input.part()?;
        let id = fields.number(id_bytes)?;
        let method = if version == 0 {
            0
        } else {
            fields.number(2)? & 15
        };
        fields.number(2)?;
        let from = fields.number(base)?;
        for _ in 0..fields.number(2)? {
            fields.input.part()?;
            if version != 0 {
                fields.number(index)?;
            }
            let start = from.saturating_add(fields.number(offset)?);
            let bytes = fields.number(length)?;
            if id == u64::from(wanted) && method == 0 {
                return Ok(Some(start..start.saturating_add(bytes)));
            }
        }
    }
    Ok(None)
}
