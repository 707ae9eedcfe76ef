//! PNG: parses the header chunk, then the length and type of each chunk before the first image
//! data.
//!
//! ```text
//! 8 bytes of signature · (length u32 · type · data · CRC u32)…
//! IHDR: width u32 · height u32 · bit depth · colour type · compression · filter · interlace
//! ```
//! Source: PNG (third edition), §5 and §11. The decoder checks the CRCs.

use super::exif;
use super::facts::{Colour, Facts, Frames, ProbeError, Unsupported};
use super::head::HeaderReader;
use crate::{Format, Size};

/// Number of bytes of a chunk in addition to its data: length, type, CRC.
const CHUNK_FRAME_BYTES: u64 = 12;
/// Maximum value of lengths and sides. PNG (third edition) §7.1 requires values below 2³¹.
const INTEGER_MAX: u32 = i32::MAX as u32;

/// Transfer characteristics of HDR, by ITU-T H.273.
pub(super) const TRANSFER_PQ: u16 = 16;
pub(super) const TRANSFER_HLG: u16 = 18;

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let mut facts = header(head)?;
    let mut at = 8 + CHUNK_FRAME_BYTES + 13;
    loop {
        let [l3, l2, l1, l0, kind @ ..]: [u8; 8] = head.array(at)?;
        let length = u32::from_be_bytes([l3, l2, l1, l0]);
        if INTEGER_MAX < length {
            return Err(ProbeError::malformed(
                "png with a chunk of impossible length",
            ));
        }
        if !kind.iter().all(u8::is_ascii_alphabetic) {
            return Err(ProbeError::malformed("png with a chunk without a name"));
        }
        let data = at + 8..at + 8 + u64::from(length);
        match &kind {
            b"IDAT" => return Ok(facts),
            b"IEND" => return Err(ProbeError::malformed("png without image data")),
            b"tRNS" => facts.alpha = true,
            b"acTL" => {
                facts.animated = true;
                let frames = u32::from_be_bytes(head.field(&data, 0)?);
                facts.frames = Frames::Exactly(frames.max(1));
            }
            b"iCCP" => facts.profile_bytes = u64::from(length),
            b"eXIf" => facts.orientation = exif::orientation(head, data)?,
            b"cICP" => {
                let [_, transfer, ..]: [u8; 4] = head.field(&data, 0)?;
                if matches!(u16::from(transfer), TRANSFER_PQ | TRANSFER_HLG) {
                    facts.unsupported = Some(Unsupported::Hdr);
                }
            }
            _ => {}
        }
        at += CHUNK_FRAME_BYTES + u64::from(length);
    }
}

fn header(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let start: [u8; 8] = head.array(8)?;
    if start != *b"\0\0\0\x0dIHDR" {
        return Err(ProbeError::malformed("png without a header"));
    }
    let [
        w3,
        w2,
        w1,
        w0,
        h3,
        h2,
        h1,
        h0,
        bit_depth,
        colour_type,
        _,
        _,
        interlace,
    ] = head.array(16)?;
    let size = Size::new(
        u32::from_be_bytes([w3, w2, w1, w0]),
        u32::from_be_bytes([h3, h2, h1, h0]),
    );
    if INTEGER_MAX < size.width_px || INTEGER_MAX < size.height_px {
        return Err(ProbeError::malformed("png of impossible size"));
    }
    let (colour, alpha) = match (colour_type, bit_depth) {
        (0, 1 | 2 | 4 | 8 | 16) => (Colour::Grey, false),
        (2, 8 | 16) | (3, 1 | 2 | 4 | 8) => (Colour::Rgb, false),
        (4, 8 | 16) => (Colour::Grey, true),
        (6, 8 | 16) => (Colour::Rgb, true),
        _ => return Err(ProbeError::malformed("png of an unknown colour type")),
    };
    Ok(Facts {
        bit_depth: if colour_type == 3 { 8 } else { bit_depth },
        alpha,
        lossless: true,
        progressive: interlace != 0,
        ..Facts::new(Format::Png, size, colour)
    })
}
