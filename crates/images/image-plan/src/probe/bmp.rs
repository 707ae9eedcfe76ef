//! BMP: parses the file header, and those fields of the bitmap header that exist in its version. In
//! the table, `@` precedes the offset of a field in the file, in bytes; the lines that begin with a
//! size show the fields of bitmap headers of that size.
//!
//! ```text
//! @0 "BM" · @2 size of the file · @10 offset of the pixels · @14 size of the bitmap header
//! size 12:      @18 width u16 · @20 height u16 · @24 bits per pixel
//! size 16…124:  @18 width i32 · @22 height i32, negative if top-down · @28 bits per pixel
//!               @30 compression
//! size 56…124:  @66 alpha mask
//! size 124:     @70 colour space · @130 size of the profile
//! ```
//! Sources: Microsoft, BITMAPINFOHEADER and BITMAPV5HEADER; OS/2's headers of 12, 16 and 64 bytes.

use super::facts::{Colour, Facts, ProbeError, Unsupported};
use super::head::HeaderReader;
use crate::{Format, Size};

const HEADER_OS2: u32 = 12;
const HEADER_INFO: u32 = 40;
const HEADER_V3: u32 = 56;
const HEADER_V5: u32 = 124;

const PLAIN: u32 = 0;
const RLE8: u32 = 1;
const RLE4: u32 = 2;
const BIT_FIELDS: u32 = 3;
const ALPHA_BIT_FIELDS: u32 = 6;

/// Value of the colour space field that means `PROFILE_EMBEDDED`: the file contains an ICC profile.
const SPACE_EMBEDDED: u32 = u32::from_be_bytes(*b"MBED");

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let header_bytes = u32::from_le_bytes(head.array(14)?);
    if header_bytes == HEADER_OS2 {
        let [w0, w1, h0, h1, _, _, bits, _] = head.array(18)?;
        let size = Size::new(
            u16::from_le_bytes([w0, w1]).into(),
            u16::from_le_bytes([h0, h1]).into(),
        );
        return Ok(facts(size, bits.into(), PLAIN));
    }
    let width = i32::from_le_bytes(head.array(18)?);
    let height = i32::from_le_bytes(head.array(22)?);
    let Ok(width_px) = u32::try_from(width) else {
        return Err(ProbeError::malformed("bmp with a negative width"));
    };
    let bits = u16::from_le_bytes(head.array(28)?);
    let compression = match header_bytes {
        HEADER_INFO.. => u32::from_le_bytes(head.array(30)?),
        _ => PLAIN,
    };
    let mut facts = facts(
        Size::new(width_px, height.unsigned_abs()),
        bits,
        compression,
    );
    let has_masks = matches!(compression, BIT_FIELDS | ALPHA_BIT_FIELDS);
    if has_masks && (HEADER_V3 <= header_bytes || compression == ALPHA_BIT_FIELDS) {
        facts.alpha = head.array(66)? != [0; 4];
    }
    if header_bytes == HEADER_V5 && u32::from_le_bytes(head.array(70)?) == SPACE_EMBEDDED {
        facts.profile_bytes = u32::from_le_bytes(head.array(130)?).into();
    }
    Ok(facts)
}

fn facts(size: Size, bits: u16, compression: u32) -> Facts {
    let usual = match compression {
        PLAIN => matches!(bits, 1 | 2 | 4 | 8 | 16 | 24 | 32),
        RLE8 => bits == 8,
        RLE4 => bits == 4,
        BIT_FIELDS | ALPHA_BIT_FIELDS => matches!(bits, 16 | 32),
        _ => false,
    };
    Facts {
        lossless: true,
        unsupported: (!usual).then_some(Unsupported::Compression),
        ..Facts::new(Format::Bmp, size, Colour::Rgb)
    }
}
