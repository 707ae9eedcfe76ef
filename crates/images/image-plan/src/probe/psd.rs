//! PSD and PSB: parses the header and finds the flattened picture. The decoder uses the same
//! parser. In the table, `@` precedes the offset of a field in bytes.
//!
//! ```text
//! @0 "8BPS" · @4 version u16, 1 for PSD, 2 for PSB · @12 channels u16 · @14 height u32
//! @18 width u32 · @22 bits per channel u16 · @24 colour mode u16 · @26 sections:
//! palette     length u32 · 256 values of red, of green, of blue
//! resources   length u32 · (type u32 · id u16 · name · length u32 · data)…
//! layers      length u32, u64 in PSB · length of the list u32 or u64 · number of layers i16 …
//! picture     compression u16 · channel after channel
//! ```
//! Source: Adobe Photoshop File Formats Specification (2019).

use super::facts::{Colour, Facts, ProbeError, Unsupported};
use super::head::HeaderReader;
use crate::{Format, Size};

/// Maximum number of resources that are examined. Photoshop writes about thirty.
const RESOURCES_MAX: u32 = 500;
const RESOURCE_PROFILE: u16 = 1039;
const RESOURCE_VERSION: u16 = 1057;

/// Meaning of the channels of a PSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PsdColour {
    /// Bits, where 1 is black.
    Bitmap,
    /// Grey. Duotones are stored as grey, and shown so by programs that do not know the inks.
    Grey,
    /// Indexes into the palette.
    Palette,
    /// Red, green, blue.
    Rgb,
    /// Inks, where the largest value means no ink.
    Cmyk,
}

impl PsdColour {
    /// Returns the number of channels, without alpha.
    #[must_use]
    pub const fn channels(self) -> u16 {
        match self {
            PsdColour::Bitmap | PsdColour::Grey | PsdColour::Palette => 1,
            PsdColour::Rgb => 3,
            PsdColour::Cmyk => 4,
        }
    }
}

/// Header of a PSD or PSB, and the places of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PsdHeader {
    /// Size of the picture.
    pub size: Size,
    /// Number of channels in the file.
    pub channels: u16,
    /// Bits per channel: 1, 8 or 16.
    pub channel_bits: u16,
    /// Meaning of the channels.
    pub colour: PsdColour,
    /// True if the channel after those of `colour` is the transparency of the flattened picture.
    pub has_alpha: bool,
    /// True for PSB, whose channels have longer rows.
    pub is_large: bool,
    /// Offset of the palette in the file.
    pub palette_at: u64,
    /// Offset and length of the ICC profile, if any.
    pub profile: Option<(u64, u32)>,
    /// Offset of the flattened picture: its compression, then its channels.
    pub picture_at: u64,
    /// Reason why the picture is not converted, if any. The fields above may then be wrong.
    pub unsupported: Option<Unsupported>,
}

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let header = read_header(head)?;
    let colour = match header.colour {
        PsdColour::Bitmap | PsdColour::Grey => Colour::Grey,
        PsdColour::Palette | PsdColour::Rgb => Colour::Rgb,
        PsdColour::Cmyk => Colour::Cmyk,
    };
    Ok(Facts {
        bit_depth: header.channel_bits as u8,
        alpha: header.has_alpha,
        lossless: true,
        profile_bytes: header.profile.map_or(0, |(_, len_bytes)| len_bytes.into()),
        unsupported: header.unsupported,
        ..Facts::new(Format::Psd, header.size, colour)
    })
}

/// Reads the header and the lengths of all sections.
pub(super) fn read_header(head: &mut HeaderReader<'_>) -> Result<PsdHeader, ProbeError> {
    if head.array(0)? != *b"8BPS" {
        return Err(ProbeError::malformed("psd without magic bytes"));
    }
    let version = u16::from_be_bytes(head.array(4)?);
    let channels = u16::from_be_bytes(head.array(12)?);
    let size = Size::new(
        u32::from_be_bytes(head.array(18)?),
        u32::from_be_bytes(head.array(14)?),
    );
    let channel_bits = u16::from_be_bytes(head.array(22)?);
    let mode = u16::from_be_bytes(head.array(24)?);
    let is_large = version == 2;
    let (palette_at, palette_bytes) = (30, u32::from_be_bytes(head.array(26)?));
    let resources_at = palette_at + u64::from(palette_bytes);
    let resources_bytes = u32::from_be_bytes(head.array(resources_at)?);
    let layers_at = resources_at + 4 + u64::from(resources_bytes);
    let (layers_bytes, length_bytes) = length(head, layers_at, is_large)?;
    let picture_at = layers_at
        .saturating_add(length_bytes)
        .saturating_add(layers_bytes);
    let resources = Resources::read(head, resources_at + 4, layers_at)?;
    let colour = match (mode, channel_bits) {
        (0, 1) => Some(PsdColour::Bitmap),
        (1 | 8, 8 | 16) => Some(PsdColour::Grey),
        (2, 8) if 768 <= palette_bytes => Some(PsdColour::Palette),
        (3, 8 | 16) => Some(PsdColour::Rgb),
        (4, 8 | 16) => Some(PsdColour::Cmyk),
        _ => None,
    };
    let can_have_alpha = matches!(colour, Some(PsdColour::Grey | PsdColour::Rgb));
    let has_alpha = can_have_alpha
        && colour.is_some_and(|colour| colour.channels() < channels)
        && has_merged_alpha(head, layers_at + length_bytes, layers_bytes, is_large)?;
    let unsupported = if colour.is_none_or(|colour| channels < colour.channels()) {
        Some(Unsupported::Samples)
    } else {
        (!resources.has_picture).then_some(Unsupported::Layers)
    };
    Ok(PsdHeader {
        size,
        channels,
        channel_bits,
        colour: colour.unwrap_or(PsdColour::Grey),
        has_alpha,
        is_large,
        palette_at,
        profile: resources.profile,
        picture_at,
        unsupported,
    })
}

/// Returns a length that has 8 bytes in PSB and 4 bytes in PSD, and the number of these bytes.
fn length(head: &mut HeaderReader<'_>, at: u64, is_large: bool) -> Result<(u64, u64), ProbeError> {
    Ok(match is_large {
        true => (u64::from_be_bytes(head.array(at)?), 8),
        false => (u32::from_be_bytes(head.array(at)?).into(), 4),
    })
}

/// Returns whether the first extra channel is the transparency of the flattened picture. The number
/// of layers is then negative. Other extra channels are selections that a user saved.
fn has_merged_alpha(
    head: &mut HeaderReader<'_>,
    at: u64,
    layers_bytes: u64,
    is_large: bool,
) -> Result<bool, ProbeError> {
    if layers_bytes == 0 {
        return Ok(false);
    }
    let (list_bytes, length_bytes) = length(head, at, is_large)?;
    if list_bytes < 2 {
        return Ok(false);
    }
    Ok(i16::from_be_bytes(head.array(at.saturating_add(length_bytes))?) < 0)
}

/// Resources that matter for the flattened picture.
struct Resources {
    profile: Option<(u64, u32)>,
    /// False if the file was saved without a flattened picture, to save space.
    has_picture: bool,
}

impl Resources {
    fn read(head: &mut HeaderReader<'_>, mut at: u64, end: u64) -> Result<Resources, ProbeError> {
        let mut resources = Resources {
            profile: None,
            has_picture: true,
        };
        for _ in 0..RESOURCES_MAX {
            if end < at.saturating_add(12) {
                break;
            }
            let [_, _, _, _, i0, i1, name_bytes]: [u8; 7] = head.array(at)?;
            // The name has a length byte and is padded to an even number of bytes.
            let length_at = at + 6 + (u64::from(name_bytes) + 2) / 2 * 2;
            let len_bytes = u32::from_be_bytes(head.array(length_at)?);
            let data_at = length_at + 4;
            match u16::from_be_bytes([i0, i1]) {
                RESOURCE_PROFILE => resources.profile = Some((data_at, len_bytes)),
                RESOURCE_VERSION if 5 <= len_bytes => {
                    let [has_picture] = head.array(data_at + 4)?;
                    resources.has_picture = has_picture != 0;
                }
                _ => {}
            }
            at = data_at + u64::from(len_bytes).next_multiple_of(2);
        }
        Ok(resources)
    }
}
