//! JPEG: parses the segments up to the first scan, and skips the contents of most of them.
//!
//! ```text
//! FF D8 · (FF marker · length u16 · length − 2 bytes)… · FF DA scan
//! ```
//! Sources: ITU-T T.81, annex B; Adobe technical note 5116 for APP14; ICC.1 annex B.4 for APP2.

use super::exif;
use super::facts::{Colour, Facts, ProbeError, Unsupported};
use super::head::HeaderReader;
use crate::{Format, Orientation, Size, Subsampling};
use std::ops::Range;

/// Maximum number of bytes that are skipped after a segment in search of the next marker. libjpeg
/// skips such bytes too.
const GARBAGE_BYTES_MAX: u64 = 4096;

const DQT: u8 = 0xdb;
const SOS: u8 = 0xda;
const EOI: u8 = 0xd9;
const APP0: u8 = 0xe0;
const APP1: u8 = 0xe1;
const APP2: u8 = 0xe2;
const APP14: u8 = 0xee;

const PROFILE_TAG: &[u8; 12] = b"ICC_PROFILE\0";

/// Properties collected from the segments.
#[derive(Default)]
struct Segments {
    frame: Option<Frame>,
    orientation: Option<Orientation>,
    profile_bytes: u64,
    jfif: bool,
    adobe_transform: Option<u8>,
    /// Sum of the entries of each quantisation table.
    table_sums: [Option<u32>; 4],
}

/// Content of a start-of-frame segment.
struct Frame {
    marker: u8,
    precision: u8,
    size: Size,
    components: u8,
    ids: [u8; 4],
    /// Horizontal and vertical sampling factors of each component.
    sampling: [(u8, u8); 4],
    /// Number of the first component's quantisation table.
    table: u8,
}

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let mut segments = Segments::default();
    let mut at = 2;
    loop {
        let (marker, next) = next_marker(head, at)?;
        at = next;
        match marker {
            SOS => break,
            EOI => return Err(ProbeError::malformed("jpeg without a scan")),
            // TEM, RST0…7 and a repeated SOI have no length and no payload.
            0x01 | 0xd0..=0xd8 => continue,
            _ => {}
        }
        let length = u64::from(u16::from_be_bytes(head.array(at)?));
        if length < 2 {
            return Err(ProbeError::malformed(
                "jpeg with a segment whose length is below 2",
            ));
        }
        let payload = at + 2..at + length;
        at = payload.end;
        segments.segment(head, marker, payload)?;
    }
    segments.facts()
}

/// Returns the next marker and the offset after it. Any number of FF bytes may precede a marker.
fn next_marker(head: &mut HeaderReader<'_>, from: u64) -> Result<(u8, u64), ProbeError> {
    let mut after_ff = false;
    for at in from..from + GARBAGE_BYTES_MAX {
        let [byte] = head.array(at)?;
        match byte {
            0xff => after_ff = true,
            0 => after_ff = false,
            marker if after_ff => return Ok((marker, at + 1)),
            _ => {}
        }
    }
    Err(ProbeError::malformed(
        "jpeg without a marker after a segment",
    ))
}

impl Segments {
    fn segment(
        &mut self,
        head: &mut HeaderReader<'_>,
        marker: u8,
        payload: Range<u64>,
    ) -> Result<(), ProbeError> {
        let bytes = payload.end - payload.start;
        match marker {
            // C4, C8 and CC do not start a frame: they mean Huffman tables, an extension, and
            // arithmetic conditioning.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                if self.frame.is_some() {
                    return Err(ProbeError::malformed("jpeg with two frames"));
                }
                self.frame = Some(Frame::read(head, marker, payload)?);
            }
            DQT => self.tables(head, payload)?,
            APP0 => self.jfif |= 5 <= bytes && &head.array(payload.start)? == b"JFIF\0",
            APP1 if self.orientation.is_none()
                && 6 <= bytes
                && &head.array(payload.start)? == b"Exif\0\0" =>
            {
                self.orientation = Some(exif::orientation(head, payload)?);
            }
            // Two bytes follow the tag: the number of this part of the profile, and the count of
            // parts.
            APP2 if 14 <= bytes && &head.array(payload.start)? == PROFILE_TAG => {
                self.profile_bytes += bytes - 14;
            }
            APP14 if 12 <= bytes && &head.array(payload.start)? == b"Adobe" => {
                let [transform] = head.field(&payload, 11)?;
                self.adobe_transform = Some(transform);
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a DQT segment: tables of 64 entries of one or two bytes, each table preceded by one
    /// byte with its precision and number.
    fn tables(
        &mut self,
        head: &mut HeaderReader<'_>,
        payload: Range<u64>,
    ) -> Result<(), ProbeError> {
        let mut at = payload.start;
        while at < payload.end {
            let [kind] = head.array(at)?;
            let entry_bytes = if kind >> 4 == 0 { 1 } else { 2 };
            let table = head.bytes(at + 1, 64 * entry_bytes)?;
            at += 1 + 64 * entry_bytes as u64;
            let entries = table.chunks_exact(entry_bytes);
            let sum = entries.map(|entry| {
                entry
                    .iter()
                    .fold(0, |sum, &byte| sum << 8 | u32::from(byte))
            });
            let slot = self.table_sums.get_mut(usize::from(kind & 15));
            *slot.ok_or(ProbeError::malformed(
                "jpeg with more than four quantisation tables",
            ))? = Some(sum.sum());
        }
        if at != payload.end {
            return Err(ProbeError::malformed(
                "jpeg with a truncated quantisation table",
            ));
        }
        Ok(())
    }

    fn facts(self) -> Result<Facts, ProbeError> {
        let frame = self.frame.as_ref();
        let frame = frame.ok_or(ProbeError::malformed("jpeg with a scan before its frame"))?;
        let table = self.table_sums.get(usize::from(frame.table));
        Ok(Facts {
            orientation: self.orientation.unwrap_or_default(),
            bit_depth: frame.precision,
            subsampling: frame.subsampling(),
            lossless: matches!(frame.marker, 0xc3 | 0xc7 | 0xcb | 0xcf),
            progressive: matches!(frame.marker, 0xc2 | 0xca),
            profile_bytes: self.profile_bytes,
            jpeg_quality: table.copied().flatten().map(quality),
            unsupported: frame.unsupported(),
            ..Facts::new(Format::Jpeg, frame.size, self.colour(frame))
        })
    }

    /// Determines the colour space by libjpeg's rules: first the Adobe marker, then JFIF, then the
    /// component ids.
    fn colour(&self, frame: &Frame) -> Colour {
        match (frame.components, self.adobe_transform) {
            (1 | 2, _) => Colour::Grey,
            (4, Some(2)) => Colour::Ycck,
            (4, _) => Colour::Cmyk,
            (_, Some(0)) if !self.jfif => Colour::Rgb,
            (_, None) if !self.jfif && frame.ids[..3] == *b"RGB" => Colour::Rgb,
            _ => Colour::Ycc,
        }
    }
}

impl Frame {
    /// Reads a start-of-frame segment. In the table, `@` precedes the offset of a field in bytes.
    ///
    /// ```text
    /// @0 precision u8 · @1 height u16 · @3 width u16 · @5 number of components u8
    /// @6 for each component: id u8 · sampling u8 · table u8
    /// ```
    fn read(
        head: &mut HeaderReader<'_>,
        marker: u8,
        payload: Range<u64>,
    ) -> Result<Frame, ProbeError> {
        let [precision, h1, h0, w1, w0, components] = head.field(&payload, 0)?;
        let mut frame = Frame {
            marker,
            precision,
            size: Size::new(
                u16::from_be_bytes([w1, w0]).into(),
                u16::from_be_bytes([h1, h0]).into(),
            ),
            components,
            ids: [0; 4],
            sampling: [(0, 0); 4],
            table: 0,
        };
        if frame.size.height_px == 0 {
            // T.81 B.2.5 allows a height of 0 here if a DNL segment after the first scan states the
            // height. libjpeg does not support such files.
            return Err(ProbeError::malformed("jpeg without a height"));
        }
        for index in 0..usize::from(components.min(4)) {
            let [id, sampling, table] = head.field(&payload, 6 + 3 * index as u64)?;
            frame.ids[index] = id;
            frame.sampling[index] = (sampling >> 4, sampling & 15);
            if index == 0 {
                frame.table = table;
            }
        }
        Ok(frame)
    }

    fn unsupported(&self) -> Option<Unsupported> {
        match self {
            Frame {
                marker: 0xc3 | 0xc5..=0xc7 | 0xcb | 0xcd..=0xcf,
                ..
            } => Some(Unsupported::Process),
            Frame { precision, .. } if *precision != 8 => Some(Unsupported::Precision),
            Frame {
                components: 1 | 3 | 4,
                ..
            } => None,
            _ => Some(Unsupported::Components),
        }
    }

    fn subsampling(&self) -> Option<Subsampling> {
        if self.components == 1 {
            return Some(Subsampling::S400);
        }
        let (luma, chroma) = (self.sampling[0], &self.sampling[1..3]);
        if self.components < 3 || chroma[0] != chroma[1] || chroma[0].0 == 0 || chroma[0].1 == 0 {
            return None;
        }
        let (x, y) = chroma[0];
        if luma.0 % x != 0 || luma.1 % y != 0 {
            return None;
        }
        match (luma.0 / x, luma.1 / y) {
            (1, 1) => Some(Subsampling::S444),
            (2, 1) => Some(Subsampling::S422),
            (2, 2) => Some(Subsampling::S420),
            (1, 2) => Some(Subsampling::S440),
            (4, 1) => Some(Subsampling::S411),
            _ => None,
        }
    }
}

/// Luma quantisation table of T.81 annex K.1, which libjpeg scales by quality.
const ANNEX_K_LUMA: [u32; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113,
    92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];

/// Sum of the entries of libjpeg's luma table at each quality of 1…100. The sum decreases as
/// quality increases.
const SUMS: [u32; 100] = {
    let mut sums = [0; 100];
    let mut quality = 1;
    while quality <= 100 {
        let scale = if quality < 50 {
            5000 / quality
        } else {
            200 - 2 * quality
        };
        let mut index = 0;
        while index < 64 {
            let entry = (ANNEX_K_LUMA[index] * scale + 50) / 100;
            sums[quality as usize - 1] += if entry < 1 {
                1
            } else if entry > 255 {
                255
            } else {
                entry
            };
            index += 1;
        }
        quality += 1;
    }
    sums
};

/// Returns the quality whose luma table, as written by libjpeg, has a sum of entries nearest to
/// `sum`. The result is exact for files written by libjpeg. For other tables, it is an estimate of
/// their coarseness on the same scale.
fn quality(sum: u32) -> u8 {
    let nearest = (1u8..=100).zip(SUMS).rev();
    nearest
        .min_by_key(|(_, candidate)| candidate.abs_diff(sum))
        .map_or(1, |(quality, _)| quality)
}
