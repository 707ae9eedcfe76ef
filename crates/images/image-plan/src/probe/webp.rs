//! WebP: parses the header of a single frame, or the extended header and the headers of the chunks
//! after it. In the table, a type such as `u14` is an unsigned number of 14 bits, and bytes such as
//! 9D are hexadecimal.
//!
//! ```text
//! "RIFF" size "WEBP" · (four letters · size u32 · data · pad to even)…
//! VP8   tag 3 bytes · 9D 01 2A · width u14 · height u14
//! VP8L  2F · width−1 u14 · height−1 u14 · alpha u1
//! VP8X  flags · 3 bytes · width−1 u24 · height−1 u24
//!       then ICCP · ANIM · (ANMF… | ALPH · VP8 | VP8L) · EXIF
//! ```
//! Sources: RFC 9649 §2; RFC 6386 §9.1.

use super::exif;
use super::facts::{Colour, Facts, Frames, ProbeError};
use super::head::HeaderReader;
use crate::{Format, Size, Subsampling};
use std::ops::Range;

const FIRST_CHUNK: u64 = 12;
const CHUNK_HEAD_BYTES: u64 = 8;
const FLAG_ANIMATION: u8 = 0x02;
const FLAG_ALPHA: u8 = 0x10;

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let (kind, data) = chunk(head, FIRST_CHUNK)?;
    match &kind {
        b"VP8 " => lossy(head, &data),
        b"VP8L" => lossless(head, &data),
        b"VP8X" => extended(head, &data),
        _ => Err(ProbeError::malformed(
            "webp that begins with an unknown chunk",
        )),
    }
}

/// Returns the kind of the chunk at `at` and the range of its data.
fn chunk(head: &mut HeaderReader<'_>, at: u64) -> Result<([u8; 4], Range<u64>), ProbeError> {
    let kind = head.array(at)?;
    let size = u32::from_le_bytes(head.array(at + 4)?);
    let data = at + CHUNK_HEAD_BYTES;
    Ok((kind, data..data + u64::from(size)))
}

fn lossy(head: &mut HeaderReader<'_>, data: &Range<u64>) -> Result<Facts, ProbeError> {
    let [tag, _, _, 0x9d, 0x01, 0x2a, w0, w1, h0, h1] = head.field(data, 0)? else {
        return Err(ProbeError::malformed("webp without vp8's start code"));
    };
    if tag & 1 != 0 {
        return Err(ProbeError::malformed(
            "webp with a frame that is not a key frame",
        ));
    }
    // The two highest bits of each 16-bit field request upscaling, which decoders ignore.
    let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
    let size = Size::new(side(w0, w1), side(h0, h1));
    Ok(Facts {
        subsampling: Some(Subsampling::S420),
        ..Facts::new(Format::Webp, size, Colour::Ycc)
    })
}

fn lossless(head: &mut HeaderReader<'_>, data: &Range<u64>) -> Result<Facts, ProbeError> {
    let [0x2f, bits @ ..]: [u8; 5] = head.field(data, 0)? else {
        return Err(ProbeError::malformed("webp without vp8l's signature"));
    };
    let bits = u32::from_le_bytes(bits);
    let size = Size::new((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
    Ok(Facts {
        alpha: bits >> 28 & 1 != 0,
        lossless: true,
        ..Facts::new(Format::Webp, size, Colour::Rgb)
    })
}

fn extended(head: &mut HeaderReader<'_>, data: &Range<u64>) -> Result<Facts, ProbeError> {
    let [flags, _, _, _, w0, w1, w2, h0, h1, h2] = head.field(data, 0)?;
    let side = |bytes| u32::from_le_bytes(bytes) + 1;
    let canvas = Size::new(side([w0, w1, w2, 0]), side([h0, h1, h2, 0]));
    let mut facts = Facts {
        animated: flags & FLAG_ANIMATION != 0,
        ..Facts::new(Format::Webp, canvas, Colour::Ycc)
    };
    let mut has_image = false;
    let mut frames = 0;
    let mut at = FIRST_CHUNK;
    while at + CHUNK_HEAD_BYTES <= head.len_bytes() {
        if facts.animated && has_image && !head.has_spare_reads() {
            // An orientation would follow the frames; it stays unknown.
            facts.frames = Frames::AtLeast(frames.max(1));
            break;
        }
        let (kind, data) = chunk(head, at)?;
        at = data.end + (data.end - data.start) % 2;
        match &kind {
            b"ICCP" => facts.profile_bytes = data.end - data.start,
            b"EXIF" => facts.orientation = exif::orientation(head, data)?,
            b"ANMF" => {
                has_image = true;
                frames += 1;
                facts.frames = Frames::Exactly(frames);
            }
            b"VP8 " if !has_image => {
                has_image = true;
                facts.subsampling = lossy(head, &data)?.subsampling;
            }
            b"VP8L" if !has_image => {
                has_image = true;
                let image = lossless(head, &data)?;
                (facts.colour, facts.lossless) = (image.colour, image.lossless);
            }
            _ => {}
        }
    }
    facts.alpha = flags & FLAG_ALPHA != 0;
    if has_image {
        Ok(facts)
    } else {
        Err(ProbeError::truncated())
    }
}
