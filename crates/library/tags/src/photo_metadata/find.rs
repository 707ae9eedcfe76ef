//! Locations of the metadata blocks in a picture.

use super::Reading;
use crate::input::Input;
use crate::mp4::{self, Atom};
use crate::{Error, xmp};
use std::ops::Range;

const PNG_MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";
const EXIF_PREFIX: &[u8] = b"Exif\0\0";
/// Text before the image resources of Photoshop in a JPEG segment.
const PHOTOSHOP_PREFIX: &[u8] = b"Photoshop 3.0\0";
/// Bytes before the XMP in a PNG chunk: the keyword, no compression and no language (ISO 16684-3).
const PNG_XMP_PREFIX: &[u8] = b"XML:com.adobe.xmp\0\0\0\0\0";
/// Media type of a HEIF item with XMP.
const XMP_TYPE: &[u8] = b"application/rdf+xml\0";
/// Maximum bytes of the name and media type of a HEIF item; longer ones are not those of XMP.
const ITEM_NAME_BYTES_MAX: u64 = 256;
/// Maximum number of bytes that are skipped between two JPEG segments. Decoders skip such bytes,
/// too.
const GARBAGE_BYTES_MAX: u64 = 4096;

/// Part of a picture that has metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// EXIF, which has the structure of a TIFF file.
    Exif(Range<u64>),
    /// XMP.
    Xmp(Range<u64>),
    /// Datasets of IPTC-IIM.
    Iptc(Range<u64>),
    /// Image resources of Photoshop, which may contain IPTC-IIM.
    Resources(Range<u64>),
}

/// Passes the metadata blocks of a picture to `reading`, in the order of the file if possible,
/// since then no bytes are read twice.
pub(super) fn blocks(input: &mut Input<'_>, reading: &mut Reading) -> Result<(), Error> {
    let head = input.up_to(0, 16)?;
    if head.starts_with(&[0xff, 0xd8, 0xff]) {
        segments(input, reading)
    } else if head.starts_with(PNG_MAGIC) {
        png_chunks(input, reading)
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        webp_chunks(input, reading)
    } else if mp4::is_mp4(head) {
        items(input, reading)
    } else if head.starts_with(b"II*\0") || head.starts_with(b"MM\0*") {
        // The whole file has the structure of an EXIF block.
        let len = input.len();
        reading.take(input, Block::Exif(0..len))
    } else {
        Ok(())
    }
}

/// Returns the EXIF in `range`, without the text that precedes it in JPEG files and in some files
/// of other formats.
fn exif(input: &mut Input<'_>, range: Range<u64>) -> Result<Block, Error> {
    let skip = match input.up_to(range.start, EXIF_PREFIX.len())? {
        EXIF_PREFIX => EXIF_PREFIX.len() as u64,
        _ => 0,
    };
    Ok(Block::Exif(range.start + skip..range.end))
}

/// Passes the metadata blocks of a JPEG file to `reading`.
fn segments(input: &mut Input<'_>, reading: &mut Reading) -> Result<(), Error> {
    let mut segments = Segments::default();
    while let Some((marker, body)) = segments.next(input)? {
        let mut after = |prefix: &[u8]| -> Result<Option<Range<u64>>, Error> {
            let bytes = (body.end - body.start).min(prefix.len() as u64) as usize;
            let is_there = input.bytes(body.start, bytes)? == prefix;
            Ok(is_there.then(|| body.start + bytes as u64..body.end))
        };
        let block = match marker {
            0xe1 => match after(EXIF_PREFIX)? {
                Some(range) => Some(Block::Exif(range)),
                None => after(xmp::SEGMENT_PREFIX)?.map(Block::Xmp),
            },
            0xed => after(PHOTOSHOP_PREFIX)?.map(Block::Resources),
            _ => None,
        };
        if let Some(block) = block {
            reading.take(input, block)?;
        }
    }
    Ok(())
}

/// Returns the content of the first segment APP1 of a JPEG file that begins with `prefix`, if there
/// is one before the first scan.
pub(crate) fn app1(input: &mut Input<'_>, prefix: &[u8]) -> Result<Option<Range<u64>>, Error> {
    let mut segments = Segments::default();
    while let Some((marker, body)) = segments.next(input)? {
        if marker == 0xe1
            && prefix.len() as u64 <= body.end - body.start
            && input.bytes(body.start, prefix.len())? == prefix
        {
            return Ok(Some(body));
        }
    }
    Ok(None)
}

/// Cursor over the segments of a JPEG file before the first scan. A segment consists of FF · marker
/// · length u16 · content.
struct Segments {
    at: u64,
    /// Number of bytes that were skipped between segments.
    garbage: u64,
}

impl Default for Segments {
    fn default() -> Segments {
        Segments { at: 2, garbage: 0 }
    }
}

impl Segments {
    /// Returns the marker and the content of the next segment.
    fn next(&mut self, input: &mut Input<'_>) -> Result<Option<(u8, Range<u64>)>, Error> {
        loop {
            input.part()?;
            let [first, marker] = input.array(self.at)?;
            match (first, marker) {
                (0xff, 0xda | 0xd9) => return Ok(None),
                (0xff, 0x01 | 0xd0..=0xd8) => self.at += 2,
                (0xff, 0xff) => self.at += 1,
                (0xff, _) => {
                    let length = u64::from(u16::from_be_bytes(input.array(self.at + 2)?));
                    let body = self.at + 4..self.at + 2 + length.max(2);
                    self.at = body.end;
                    return Ok(Some((marker, body)));
                }
                _ if self.garbage < GARBAGE_BYTES_MAX => {
                    self.garbage += 1;
                    self.at += 1;
                }
                _ => {
                    return Err(Error::malformed(
                        "a JPEG segment does not begin with a marker",
                    ));
                }
            }
        }
    }
}

/// Passes the metadata blocks of a PNG file to `reading`. A chunk consists of length u32 · type ·
/// content · CRC u32.
fn png_chunks(input: &mut Input<'_>, reading: &mut Reading) -> Result<(), Error> {
    let mut at = 8;
    while at + 8 <= input.len() {
        input.part()?;
        let [a, b, c, d, kind @ ..] = input.array::<8>(at)?;
        let body = at + 8..at + 8 + u64::from(u32::from_be_bytes([a, b, c, d]));
        match &kind {
            b"eXIf" => {
                let block = exif(input, body.clone())?;
                reading.take(input, block)?;
            }
            b"iTXt" if input.up_to(body.start, PNG_XMP_PREFIX.len())? == PNG_XMP_PREFIX => {
                let start = body.start + PNG_XMP_PREFIX.len() as u64;
                reading.take(input, Block::Xmp(start..body.end))?;
            }
            // Writers have their metadata either before the pixels or after them. Pixels may have
            // thousands of chunks, so they are only skipped if no EXIF was before them.
            b"IDAT" if reading.has_exif => return Ok(()),
            _ => {}
        }
        at = body.end + 4;
    }
    Ok(())
}

/// Passes the metadata blocks of a WebP file to `reading`. A chunk consists of type · length u32
/// little-endian · content, padded to even.
fn webp_chunks(input: &mut Input<'_>, reading: &mut Reading) -> Result<(), Error> {
    let mut at = 12;
    while at + 8 <= input.len() {
        input.part()?;
        let [kind @ .., a, b, c, d] = input.array::<8>(at)?;
        let bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
        let body = at + 8..at + 8 + bytes;
        match &kind {
            b"EXIF" => {
                let block = exif(input, body)?;
                reading.take(input, block)?;
            }
            b"XMP " => reading.take(input, Block::Xmp(body))?,
            _ => {}
        }
        at += 8 + bytes + bytes % 2;
    }
    Ok(())
}

/// Passes the metadata blocks of a HEIF file to `reading`. In the box `meta`, the box `iinf` states
/// the types of items, and the box `iloc` states where the bytes of each item are.
fn items(input: &mut Input<'_>, reading: &mut Reading) -> Result<(), Error> {
    let len = input.len();
    let Some(meta) = mp4::find(input, &(0..len), b"meta")? else {
        return Ok(());
    };
    let meta = meta.start.saturating_add(4)..meta.end;
    let Some(names) = mp4::find(input, &meta, b"iinf")? else {
        return Ok(());
    };
    let Some(places) = mp4::find(input, &meta, b"iloc")? else {
        return Ok(());
    };
    let ids = metadata_items(input, &names)?;
    let [exif_range, xmp_range] = ids.map(|id| match id {
        Some(id) => item_range(input, places.clone(), id),
        None => Ok(None),
    });
    if let Some(range) = exif_range? {
        // The first field states the number of bytes between itself and the TIFF data.
        let skip = u64::from(u32::from_be_bytes(input.field(&range, 0)?));
        let block = exif(input, range.start.saturating_add(4 + skip)..range.end)?;
        reading.take(input, block)?;
    }
    if let Some(range) = xmp_range? {
        reading.take(input, Block::Xmp(range))?;
    }
    Ok(())
}

/// Returns the ids of the items with EXIF and XMP. The fields of the boxes `iinf` and `infe`:
///
/// ```text
/// iinf: version u8 · flags u24 · count · infe boxes
/// infe: version u8 · flags u24 · id · 2 bytes · type · name and zero · [media type and zero]
/// ```
fn metadata_items(input: &mut Input<'_>, names: &Range<u64>) -> Result<[Option<u32>; 2], Error> {
    let (mut exif, mut xmp) = (None, None);
    let [version] = input.field(names, 0)?;
    let mut at = names.start + if version == 0 { 6 } else { 8 };
    while let Some(Atom { body, .. }) = mp4::next(input, &mut at, names)? {
        let [version] = input.field(&body, 0)?;
        let (id, kind_at): (u32, u64) = match version {
            2 => (u16::from_be_bytes(input.field(&body, 4)?).into(), 8),
            3 => (u32::from_be_bytes(input.field(&body, 4)?), 10),
            _ => continue,
        };
        match &input.field(&body, kind_at)? {
            b"Exif" => exif = exif.or(Some(id)),
            b"mime" if is_xmp(input, body.start + kind_at + 4..body.end)? => xmp = xmp.or(Some(id)),
            _ => {}
        }
    }
    Ok([exif, xmp])
}

/// Returns whether the name and media type of an item are those of XMP.
fn is_xmp(input: &mut Input<'_>, text: Range<u64>) -> Result<bool, Error> {
    let bytes = text.end.saturating_sub(text.start).min(ITEM_NAME_BYTES_MAX);
    let mut texts = input
        .up_to(text.start, bytes as usize)?
        .split_inclusive(|&byte| byte == 0);
    Ok(texts.nth(1) == Some(XMP_TYPE))
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
