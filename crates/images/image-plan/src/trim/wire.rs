//! Serialized trim, a part of a serialized plan. In the table, `@` precedes the offset of a field
//! in bytes; numbers are little-endian.
//!
//! ```text
//! @0 flags u8 · threshold u8 · fit u8 · kind of crop u8 · @4 focus: x u16 · y u16
//! @8 box: width u32 · height u32 · @16 crop: 4 × u32 · @32 end
//! ```
//! All fields of a plan without a trim are 0. A side that the box lacks is 0, and a crop of fewer
//! than four numbers ends with zeros.

use super::Trim;
use crate::{Crop, FRACTION_ONE, Fit, Focus, REQUESTED_SIDE_PX_MAX};

/// Size of a serialized trim in bytes.
pub(crate) const TRIM_BYTES: usize = 32;

const PRESENT: u8 = 1;
const ENLARGE: u8 = 2;

const FITS: [Fit; 5] = [
    Fit::Inside,
    Fit::Cover,
    Fit::Contain,
    Fit::Fill,
    Fit::CoverOrKeep,
];

impl Trim {
    /// Serializes a trim, or its absence.
    pub(crate) fn to_bytes(trim: Option<&Trim>) -> [u8; TRIM_BYTES] {
        let mut bytes = [0; TRIM_BYTES];
        let Some(trim) = trim else {
            return bytes;
        };
        let enlarge = if trim.enlarge { ENLARGE } else { 0 };
        let (kind, crop) = match trim.crop {
            None => (0, [0; 4]),
            Some(Crop::Pixels {
                x,
                y,
                width_px,
                height_px,
            }) => (1, [x, y, width_px, height_px]),
            Some(Crop::Fractions {
                x,
                y,
                width,
                height,
            }) => (2, [x, y, width, height].map(u32::from)),
            Some(Crop::Ratio { width, height }) => (3, [width.into(), height.into(), 0, 0]),
        };
        bytes[..4].copy_from_slice(&[PRESENT | enlarge, trim.threshold, trim.fit as u8, kind]);
        bytes[4..6].copy_from_slice(&trim.focus.x.to_le_bytes());
        bytes[6..8].copy_from_slice(&trim.focus.y.to_le_bytes());
        // A requested side is never 0, so 0 means that the side is absent.
        let sides = [trim.width_px, trim.height_px].map(|side| side.unwrap_or(0));
        let numbers = sides.into_iter().chain(crop);
        for (field, number) in bytes[8..].chunks_exact_mut(4).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Parses a trim or its absence. Returns `None` if a field is out of range, or if an unused
    /// field is not 0.
    pub(crate) fn from_bytes(bytes: &[u8; TRIM_BYTES]) -> Option<Option<Trim>> {
        if bytes[0] & PRESENT == 0 {
            return (*bytes == [0; TRIM_BYTES]).then_some(None);
        }
        let u16 = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32 = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let side = |at: usize| Some(u32(at)).filter(|side| *side != 0);
        let trim = Trim {
            threshold: bytes[1],
            crop: crop(bytes[3], [u32(16), u32(20), u32(24), u32(28)])?,
            focus: Focus {
                x: u16(4),
                y: u16(6),
            },
            width_px: side(8),
            height_px: side(12),
            fit: *FITS.iter().find(|fit| **fit as u8 == bytes[2])?,
            enlarge: bytes[0] & ENLARGE != 0,
        };
        // Serializing again finds unused fields that are not 0, and unknown flags.
        let is_valid = trim.is_in_range() && Trim::to_bytes(Some(&trim)) == *bytes;
        is_valid.then_some(Some(trim))
    }

    /// Returns whether the sides of the box are in the range of a recipe, and present if `fit` or
    /// `enlarge` needs them.
    fn is_in_range(&self) -> bool {
        let sides = [self.width_px, self.height_px];
        let has_both = sides.iter().all(Option::is_some);
        self.focus.x <= FRACTION_ONE
            && self.focus.y <= FRACTION_ONE
            && sides
                .iter()
                .all(|side| *side <= Some(REQUESTED_SIDE_PX_MAX))
            && (has_both || (self.fit == Fit::Inside && !self.enlarge))
    }
}

/// Parses the kind of a crop and its numbers; the inner `None` means that nothing is cropped.
fn crop(kind: u8, numbers: [u32; 4]) -> Option<Option<Crop>> {
    let [x, y, width_px, height_px] = numbers;
    let is_empty = width_px == 0 || height_px == 0;
    let small = |number: u32| u16::try_from(number).ok();
    Some(match kind {
        0 => None,
        1 if !is_empty => Some(Crop::Pixels {
            x,
            y,
            width_px,
            height_px,
        }),
        2 if !is_empty => {
            let is_inside =
                |start: u32, length: u32| start.saturating_add(length) <= u32::from(FRACTION_ONE);
            if !is_inside(x, width_px) || !is_inside(y, height_px) {
                return None;
            }
            Some(Crop::Fractions {
                x: small(x)?,
                y: small(y)?,
                width: small(width_px)?,
                height: small(height_px)?,
            })
        }
        3 if x != 0 && y != 0 => Some(Crop::Ratio {
            width: small(x)?,
            height: small(y)?,
        }),
        _ => return None,
    })
}
