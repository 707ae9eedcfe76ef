//! JPEG XL: reads the headers at the start of the codestream, which may be inside boxes.
//!
//! ```text
//! codestream  FF 0A · size · metadata: all default u1, or orientation · preview · animation ·
//!             bit depth · extra channels · XYB u1 · colour encoding …
//! boxes       "JXL " · ftyp · … · jxlc: codestream, or jxlp: index u32 · part of the codestream
//! ```
//! Bits are read from the least significant one on. Two bits before each `U32` choose one of four
//! forms. Source: ISO/IEC 18181-1:2022, annexes B, D and E; ISO/IEC 18181-2 for the boxes.

use super::avif::next_box;
use super::facts::{Colour, Facts, Frames, ProbeError, Unsupported};
use super::head::HeaderReader;
use crate::{Format, Size};
use std::ops::Range;

/// Maximum number of boxes before the codestream.
const BOXES_MAX: usize = 64;
/// Maximum number of channels beside those of the colours.
const EXTRA_CHANNELS_MAX: u32 = 16;
/// Maximum length of a channel's name in bytes.
const NAME_BYTES_MAX: u32 = 1024;

const CODESTREAM: [u8; 2] = [0xff, 0x0a];

/// Types of extra channels.
const ALPHA: u32 = 0;
const SPOT: u32 = 2;
const BLACK: u32 = 4;
const FILTER_ARRAY: u32 = 5;

/// Transfer functions of high dynamic range.
const PQ: u32 = 16;
const HLG: u32 = 18;

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let codestream = codestream(head)?;
    let mut bits = Bits {
        head,
        part: codestream,
        bit: 16,
    };
    if bits.head.field(&bits.part, 0)? != CODESTREAM {
        return Err(ProbeError::malformed("jxl without a codestream"));
    }
    let size = bits.size()?;
    let metadata = Metadata::read(&mut bits)?;
    let stored = match metadata.orientation {
        5.. => size.transposed(),
        _ => size,
    };
    let colour = if metadata.is_grey {
        Colour::Grey
    } else {
        Colour::Rgb
    };
    Ok(Facts {
        bit_depth: metadata.bit_depth,
        animated: metadata.is_animated,
        // The frames are not counted, because an animated JPEG XL is not converted.
        frames: match metadata.is_animated {
            true => Frames::AtLeast(1),
            false => Frames::Exactly(1),
        },
        alpha: metadata.has_alpha,
        lossless: !metadata.is_xyb,
        unsupported: if metadata.is_hdr {
            Some(Unsupported::Hdr)
        } else {
            metadata.has_black.then_some(Unsupported::Samples)
        },
        // The orientation stays upright, because the decoder applies it.
        ..Facts::new(Format::Jxl, stored, colour)
    })
}

/// Returns the range of the codestream, or of its first part.
fn codestream(head: &mut HeaderReader<'_>) -> Result<Range<u64>, ProbeError> {
    let end = head.len_bytes();
    if head.array(0)? == CODESTREAM {
        return Ok(0..end);
    }
    let mut at = 0;
    for _ in 0..BOXES_MAX {
        let Some((kind, content)) = next_box(head, at..end)? else {
            break;
        };
        match &kind {
            b"jxlc" => return Ok(content),
            b"jxlp" => return Ok(content.start.saturating_add(4)..content.end),
            _ => at = content.end,
        }
    }
    Err(ProbeError::malformed("jxl without a codestream"))
}

/// Metadata of a picture, as far as the probe needs them.
struct Metadata {
    /// Orientation, as a value of the EXIF tag.
    orientation: u32,
    is_animated: bool,
    bit_depth: u8,
    has_alpha: bool,
    has_black: bool,
    is_xyb: bool,
    is_grey: bool,
    is_hdr: bool,
}

impl Metadata {
    fn read(bits: &mut Bits<'_, '_>) -> Result<Metadata, ProbeError> {
        let mut metadata = Metadata {
            orientation: 1,
            is_animated: false,
            bit_depth: 8,
            has_alpha: false,
            has_black: false,
            is_xyb: true,
            is_grey: false,
            is_hdr: false,
        };
        if bits.flag()? {
            return Ok(metadata);
        }
        if bits.flag()? {
            metadata.orientation = 1 + bits.number(3)?;
            if bits.flag()? {
                bits.size()?;
            }
            if bits.flag()? {
                bits.preview_size()?;
            }
            metadata.is_animated = bits.flag()?;
            if metadata.is_animated {
                bits.skip_animation()?;
            }
        }
        metadata.bit_depth = bits.depth()?;
        // Skips the flag that states that buffers of 16 bits suffice.
        bits.flag()?;
        let count = bits.u32([(0, 0), (1, 0), (2, 4), (1, 12)])?;
        if EXTRA_CHANNELS_MAX < count {
            return Err(ProbeError::malformed("jxl with too many channels"));
        }
        for _ in 0..count {
            match bits.extra_channel()? {
                ALPHA => metadata.has_alpha = true,
                BLACK => metadata.has_black = true,
                _ => {}
            }
        }
        metadata.is_xyb = bits.flag()?;
        metadata.read_colours(bits)?;
        Ok(metadata)
    }

    /// Reads the colour encoding up to the transfer function.
    fn read_colours(&mut self, bits: &mut Bits<'_, '_>) -> Result<(), ProbeError> {
        const GREY: u32 = 1;
        const XYB: u32 = 2;
        const CUSTOM: u32 = 2;
        if bits.flag()? {
            return Ok(());
        }
        let has_profile = bits.flag()?;
        let space = bits.enumeration()?;
        self.is_grey = space == GREY;
        if has_profile {
            return Ok(());
        }
        if space != XYB && bits.enumeration()? == CUSTOM {
            bits.skip_point()?;
        }
        if !matches!(space, GREY | XYB) && bits.enumeration()? == CUSTOM {
            for _ in 0..3 {
                bits.skip_point()?;
            }
        }
        let has_gamma = space == XYB || bits.flag()?;
        if !has_gamma {
            self.is_hdr = matches!(bits.enumeration()?, PQ | HLG);
        }
        Ok(())
    }
}

/// Reader of the bits of a part of a file, least significant bit first.
struct Bits<'a, 'f> {
    head: &'a mut HeaderReader<'f>,
    part: Range<u64>,
    /// Number of bits of `part` that were read.
    bit: u64,
}

impl Bits<'_, '_> {
    /// Reads a number of `count` bits, at most 32.
    fn number(&mut self, count: u32) -> Result<u32, ProbeError> {
        let mut number = 0;
        for at in 0..count {
            let [byte] = self.head.field(&self.part, self.bit / 8)?;
            number |= u32::from(byte >> (self.bit % 8) & 1) << at;
            self.bit += 1;
        }
        Ok(number)
    }

    fn flag(&mut self) -> Result<bool, ProbeError> {
        Ok(self.number(1)? == 1)
    }

    /// Reads a number in one of four forms, each an offset and a number of bits.
    fn u32(&mut self, forms: [(u32, u32); 4]) -> Result<u32, ProbeError> {
        let (offset, bits) = forms[self.number(2)? as usize];
        Ok(self.number(bits)?.saturating_add(offset))
    }

    fn enumeration(&mut self) -> Result<u32, ProbeError> {
        self.u32([(0, 0), (1, 0), (2, 4), (18, 6)])
    }

    /// Reads a size. The file may state the proportions instead of the width.
    fn size(&mut self) -> Result<Size, ProbeError> {
        let is_small = self.flag()?;
        let side = |bits: &mut Self| match is_small {
            true => Ok((bits.number(5)? + 1) * 8),
            false => bits.u32([(1, 9), (1, 13), (1, 18), (1, 30)]),
        };
        let height = side(self)?;
        let width = match self.ratio(height)? {
            Some(width) => width,
            None => side(self)?,
        };
        Ok(Size::new(width, height))
    }

    fn preview_size(&mut self) -> Result<(), ProbeError> {
        let is_small = self.flag()?;
        let side = |bits: &mut Self| match is_small {
            true => bits.u32([(16, 0), (32, 0), (1, 5), (33, 9)]),
            false => bits.u32([(1, 6), (65, 8), (321, 10), (1345, 12)]),
        };
        let height = side(self)?;
        if self.ratio(height)?.is_none() {
            side(self)?;
        }
        Ok(())
    }

    /// Reads the proportions of a picture of this height, and returns the width that follows from
    /// them. Returns `None` if the file states the width itself.
    fn ratio(&mut self, height: u32) -> Result<Option<u32>, ProbeError> {
        const RATIOS: [(u64, u64); 7] = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)];
        let Some(index) = (self.number(3)? as usize).checked_sub(1) else {
            return Ok(None);
        };
        let (across, down) = RATIOS[index];
        // Heights have 30 bits, so the product of a height with 2 has 31.
        Ok(Some((u64::from(height) * across / down) as u32))
    }

    fn skip_animation(&mut self) -> Result<(), ProbeError> {
        self.u32([(100, 0), (1000, 0), (1, 10), (1, 30)])?;
        self.u32([(1, 0), (1001, 0), (1, 8), (1, 10)])?;
        self.u32([(0, 0), (0, 3), (0, 16), (0, 32)])?;
        self.flag().map(drop)
    }

    /// Reads the number of bits per sample.
    fn depth(&mut self) -> Result<u8, ProbeError> {
        let bits = match self.flag()? {
            true => {
                let bits = self.u32([(32, 0), (16, 0), (24, 0), (1, 6)])?;
                // Skips the number of bits of the exponent.
                self.number(4)?;
                bits
            }
            false => self.u32([(8, 0), (10, 0), (12, 0), (1, 6)])?,
        };
        Ok(bits as u8)
    }

    /// Reads the description of an extra channel and returns its type.
    fn extra_channel(&mut self) -> Result<u32, ProbeError> {
        if self.flag()? {
            return Ok(ALPHA);
        }
        let kind = self.enumeration()?;
        self.depth()?;
        self.u32([(0, 0), (3, 0), (4, 0), (1, 3)])?;
        let name_bytes = self.u32([(0, 0), (0, 4), (16, 5), (48, 10)])?;
        if NAME_BYTES_MAX < name_bytes {
            return Err(ProbeError::malformed(
                "jxl with a channel name that is too long",
            ));
        }
        self.bit += 8 * u64::from(name_bytes);
        match kind {
            ALPHA => drop(self.flag()?),
            // Skips the colour, four numbers of 16 bits.
            SPOT => self.bit += 64,
            FILTER_ARRAY => drop(self.u32([(1, 0), (0, 2), (3, 4), (19, 8)])?),
            _ => {}
        }
        Ok(kind)
    }

    /// Skips a point of a chromaticity diagram.
    fn skip_point(&mut self) -> Result<(), ProbeError> {
        for _ in 0..2 {
            self.u32([(0, 19), (524_288, 19), (1_048_576, 20), (2_097_152, 21)])?;
        }
        Ok(())
    }
}
