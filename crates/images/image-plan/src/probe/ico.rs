//! ICO: finds the largest entry of the directory. The decoder uses the same parser. In the table,
//! `@` precedes the offset of a field in bytes.
//!
//! ```text
//! file    @0 zero u16 · @2 1 u16 · @4 entries u16 · @6 entries
//! entry   @0 width · @1 height · @2 colours · @3 reserved · @4 planes u16 · @6 bits u16
//!         @8 size of the picture u32 · @12 offset of the picture u32
//! ```
//! A picture is a PNG, or a BMP without its file header, of twice the height, followed by a mask of
//! the transparent pixels. Source: Microsoft, Icons (MSDN, 1995).

use super::facts::{Colour, Facts, ProbeError};
use super::head::HeaderReader;
use crate::{Format, Size};

const ENTRIES_AT: u64 = 6;
const ENTRY_BYTES: u64 = 16;
/// Maximum number of entries that are examined. Icons have about ten.
const ENTRIES_MAX: u16 = 256;

/// Largest picture of an ICO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcoEntry {
    /// Size of the picture, as stated by the picture itself.
    pub size: Size,
    /// Offset of the picture in the file.
    pub offset: u32,
    /// Length of the picture in bytes.
    pub len_bytes: u32,
    /// True if the picture is a PNG, false if it is a BMP.
    pub is_png: bool,
}

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let entry = read_entry(head)?;
    Ok(Facts {
        alpha: true,
        lossless: true,
        ..Facts::new(Format::Ico, entry.size, Colour::Rgb)
    })
}

/// Returns whether a file that begins with `head` is an ICO. The magic bytes are short, so the
/// first entry must be plausible too.
pub(crate) fn is_ico(head: &[u8]) -> bool {
    let Some(head) = head.first_chunk::<22>() else {
        return false;
    };
    let count = u64::from(u16::from_le_bytes([head[4], head[5]]));
    let planes = u16::from_le_bytes([head[10], head[11]]);
    let bits = u16::from_le_bytes([head[12], head[13]]);
    let len_bytes = u32::from_le_bytes([head[14], head[15], head[16], head[17]]);
    let offset = u32::from_le_bytes([head[18], head[19], head[20], head[21]]);
    head.starts_with(&[0, 0, 1, 0])
        && count != 0
        && planes <= 1
        && matches!(bits, 0 | 1 | 2 | 4 | 8 | 16 | 24 | 32)
        && len_bytes != 0
        && ENTRIES_AT + count * ENTRY_BYTES <= u64::from(offset)
}

/// Finds the entry with the most pixels; among equal ones, that with the most bits per pixel.
pub(super) fn read_entry(head: &mut HeaderReader<'_>) -> Result<IcoEntry, ProbeError> {
    let count = u16::from_le_bytes(head.array(4)?);
    let mut best: Option<((u32, u16), [u8; ENTRY_BYTES as usize])> = None;
    for index in 0..count.min(ENTRIES_MAX) {
        let entry: [u8; ENTRY_BYTES as usize] =
            head.array(ENTRIES_AT + u64::from(index) * ENTRY_BYTES)?;
        // A side of 0 means 256 pixels, or more.
        let side = |byte: u8| u32::from(byte.wrapping_sub(1)) + 1;
        let rank = (
            side(entry[0]) * side(entry[1]),
            u16::from_le_bytes([entry[6], entry[7]]),
        );
        if best.as_ref().is_none_or(|(highest, _)| *highest < rank) {
            best = Some((rank, entry));
        }
    }
    let Some((_, [.., l0, l1, l2, l3, o0, o1, o2, o3])) = best else {
        return Err(ProbeError::malformed("ico without an entry"));
    };
    let len_bytes = u32::from_le_bytes([l0, l1, l2, l3]);
    let offset = u32::from_le_bytes([o0, o1, o2, o3]);
    let start: [u8; 12] = head.array(offset.into())?;
    let at = u64::from(offset);
    let is_png = start.starts_with(b"\x89PNG");
    let size = match is_png {
        true => Size::new(
            u32::from_be_bytes(head.array(at + 16)?),
            u32::from_be_bytes(head.array(at + 20)?),
        ),
        false => {
            let [_, _, _, _, w0, w1, w2, w3, h0, h1, h2, h3] = start;
            let width = i32::from_le_bytes([w0, w1, w2, w3]);
            let height = i32::from_le_bytes([h0, h1, h2, h3]);
            let Ok(width_px) = u32::try_from(width) else {
                return Err(ProbeError::malformed("ico with a negative width"));
            };
            Size::new(width_px, height.unsigned_abs() / 2)
        }
    };
    Ok(IcoEntry {
        size,
        offset,
        len_bytes,
        is_png,
    })
}
