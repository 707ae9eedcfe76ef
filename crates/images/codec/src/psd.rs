//! PSD and PSB: the flattened picture. Source: Adobe Photoshop File Formats Specification (2019).

use image_plan::{PsdColour, PsdHeader, psd_header};

use crate::packbits::PackBits;
use crate::samples::{self, Channels, to_8_bits};
use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer};

const PALETTE_COLOURS: usize = 256;

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let undecodable = |detail: &str| Error::new(ErrorKind::Undecodable, format!("psd: {detail}"));
    let header = psd_header(bytes).map_err(|err| undecodable(err.detail))?;
    options.limits.admit("psd", header.size, options.stored)?;
    if let Some(unsupported) = header.unsupported {
        let detail = format!("psd: {unsupported}");
        return Err(Error::new(ErrorKind::Unsupported, detail));
    }
    let channels = match header.colour {
        PsdColour::Bitmap | PsdColour::Grey => Channels::of(true, header.has_alpha),
        PsdColour::Palette | PsdColour::Rgb => Channels::of(false, header.has_alpha),
        PsdColour::Cmyk => Channels::Cmyk,
    };
    let mut rows = Rows::new(bytes, &header)?;
    let mut samples = channels.samples(header.size)?;
    let is_complete = match header.colour {
        PsdColour::Palette => {
            let palette = part(bytes, header.palette_at, 3 * PALETTE_COLOURS as u64)
                .ok_or_else(|| undecodable("no palette"))?;
            read_palette_picture(&mut rows, palette, &header, &mut samples)
        }
        _ => read_planes(&mut rows, channels, &header, &mut samples),
    };
    if rows.read == 0 {
        return Err(undecodable("no rows"));
    }
    match header.colour {
        // The largest value means no ink, and a bit of 1 is black.
        PsdColour::Cmyk | PsdColour::Bitmap => {
            samples.iter_mut().for_each(|sample| *sample = !*sample);
        }
        _ if header.has_alpha => remove_white(channels, &mut samples),
        _ => {}
    }
    let profile = match header.profile {
        None => None,
        Some((at, len_bytes)) => {
            options.limits.check_profile("psd", len_bytes as usize)?;
            let profile = part(bytes, at, len_bytes.into());
            profile.map(buffer::copy).transpose()?
        }
    };
    Ok(Decoded {
        raster: samples::raster(channels, header.size, samples)?,
        profile,
        damaged: !is_complete,
    })
}

/// Returns `len_bytes` bytes at offset `at`.
fn part(bytes: &[u8], at: u64, len_bytes: u64) -> Option<&[u8]> {
    let at = usize::try_from(at).ok()?;
    bytes.get(at..)?.get(..usize::try_from(len_bytes).ok()?)
}

/// Reader of the rows of all channels, which follow each other channel by channel.
struct Rows<'a> {
    coding: Coding<'a>,
    rest: &'a [u8],
    row: Vec<u8>,
    /// Number of rows read so far.
    read: usize,
}

enum Coding<'a> {
    Plain,
    /// PackBits, with the length of each encoded row.
    Packed {
        lengths: &'a [u8],
        length_bytes: usize,
    },
}

impl<'a> Rows<'a> {
    fn new(bytes: &'a [u8], header: &PsdHeader) -> Result<Rows<'a>, Error> {
        let picture = usize::try_from(header.picture_at).ok();
        let picture = picture.and_then(|at| bytes.get(at..)).unwrap_or(&[]);
        let Some((compression, rest)) = picture.split_first_chunk::<2>() else {
            return Err(Error::new(
                ErrorKind::Undecodable,
                "psd: the file ends before the picture data",
            ));
        };
        let (coding, rest) = match u16::from_be_bytes(*compression) {
            0 => (Coding::Plain, rest),
            1 => {
                let length_bytes = if header.is_large { 4 } else { 2 };
                let rows = usize::from(header.channels) * header.size.height_px as usize;
                let Some((lengths, rest)) = rest.split_at_checked(length_bytes * rows) else {
                    return Err(Error::new(
                        ErrorKind::Undecodable,
                        "psd: the table of row lengths is cut off",
                    ));
                };
                let coding = Coding::Packed {
                    lengths,
                    length_bytes,
                };
                (coding, rest)
            }
            other => {
                let detail = format!("psd: compression {other}");
                return Err(Error::new(ErrorKind::Unsupported, detail));
            }
        };
        let row_bits = header.size.width_px as usize * usize::from(header.channel_bits);
        Ok(Rows {
            coding,
            rest,
            row: buffer::zeroed(row_bits.div_ceil(8))?,
            read: 0,
        })
    }

    /// Reads the next row. Returns `None` if it is incomplete.
    fn next(&mut self) -> Option<&[u8]> {
        match &mut self.coding {
            Coding::Plain => {
                let (row, rest) = self.rest.split_at_checked(self.row.len())?;
                self.row.copy_from_slice(row);
                self.rest = rest;
            }
            Coding::Packed {
                lengths,
                length_bytes,
            } => {
                let (length, others) = lengths.split_at_checked(*length_bytes)?;
                *lengths = others;
                let length = length
                    .iter()
                    .fold(0, |length, byte| length << 8 | usize::from(*byte));
                let (row, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                if !PackBits::new(row).fill(&mut self.row) {
                    return None;
                }
            }
        }
        self.read += 1;
        Some(&self.row)
    }
}

/// Reads the channels into interleaved samples. Returns whether all rows were read.
fn read_planes(
    rows: &mut Rows<'_>,
    channels: Channels,
    header: &PsdHeader,
    samples: &mut [u8],
) -> bool {
    let count = channels.count();
    let width = header.size.width_px as usize;
    for channel in 0..count {
        for out in samples.chunks_exact_mut(count * width) {
            let Some(row) = rows.next() else {
                return false;
            };
            let out = out.iter_mut().skip(channel).step_by(count);
            match header.channel_bits {
                1 => out.enumerate().for_each(|(x, sample)| {
                    *sample = (row[x / 8] >> (7 - x % 8) & 1) * 255;
                }),
                8 => out.zip(row).for_each(|(sample, byte)| *sample = *byte),
                _ => out.zip(row.as_chunks::<2>().0).for_each(|(sample, wide)| {
                    *sample = to_8_bits(u16::from_be_bytes(*wide));
                }),
            }
        }
    }
    true
}

/// Reads indexes and looks up their colours. Returns whether all rows were read.
fn read_palette_picture(
    rows: &mut Rows<'_>,
    palette: &[u8],
    header: &PsdHeader,
    samples: &mut [u8],
) -> bool {
    let width = header.size.width_px as usize;
    for out in samples.chunks_exact_mut(3 * width) {
        let Some(row) = rows.next() else {
            return false;
        };
        for (pixel, index) in out.chunks_exact_mut(3).zip(row) {
            for (component, sample) in pixel.iter_mut().enumerate() {
                *sample = palette[component * PALETTE_COLOURS + usize::from(*index)];
            }
        }
    }
    true
}

/// Removes the white background with which Photoshop mixes transparent pixels of the flattened
/// picture.
fn remove_white(channels: Channels, samples: &mut [u8]) {
    for pixel in samples.chunks_exact_mut(channels.count()) {
        let Some((alpha, colours)) = pixel.split_last_mut() else {
            return;
        };
        let alpha = u32::from(*alpha);
        if matches!(alpha, 0 | 255) {
            continue;
        }
        for colour in colours {
            let from_white = (u32::from(255 - *colour) * 255 + alpha / 2) / alpha;
            *colour = 255 - from_white.min(255) as u8;
        }
    }
}

#[cfg(test)]
mod tests;
