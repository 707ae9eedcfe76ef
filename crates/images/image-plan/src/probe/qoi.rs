//! QOI: parses the header. In the table, `@` precedes the offset of a field in bytes.
//!
//! ```text
//! @0 "qoif" · @4 width u32 · @8 height u32 · @12 channels · @13 colour space · @14 pixels
//! ```
//! Source: The Quite OK Image Format, version 1.0. All numbers are big-endian.

use super::facts::{Colour, Facts, ProbeError};
use super::head::HeaderReader;
use crate::{Format, Size};

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let size = Size::new(
        u32::from_be_bytes(head.array(4)?),
        u32::from_be_bytes(head.array(8)?),
    );
    let [channels, colour_space]: [u8; 2] = head.array(12)?;
    if !matches!(channels, 3 | 4) || 1 < colour_space {
        return Err(ProbeError::malformed("qoi with unknown channels"));
    }
    Ok(Facts {
        alpha: channels == 4,
        lossless: true,
        ..Facts::new(Format::Qoi, size, Colour::Rgb)
    })
}
