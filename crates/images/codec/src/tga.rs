//! TGA. Source: Truevision TGA File Format Specification, version 2.0.

use image_plan::{TgaColour, TgaHeader, tga_header};

use crate::samples::{self, Channels};
use crate::{DecodeOptions, Decoded, Error, ErrorKind};

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let undecodable = |detail: &str| Error::new(ErrorKind::Undecodable, format!("tga: {detail}"));
    let header = tga_header(bytes).map_err(|err| undecodable(err.detail))?;
    options.limits.admit("tga", header.size, options.stored)?;
    let range = |start: u64, end: u64| {
        let [start, end] = [start, end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        bytes.get(start..end.min(bytes.len()))
    };
    let palette = range(header.palette_at, header.pixels_at);
    let palette = palette.ok_or_else(|| undecodable("no palette"))?;
    let data = range(header.pixels_at, u64::MAX).ok_or_else(|| undecodable("no pixels"))?;
    let is_grey = header.colour == TgaColour::Grey;
    let channels = Channels::of(is_grey, header.may_have_alpha());
    let mut samples = channels.samples(header.size)?;
    let mut pixels = Pixels::new(&header, data);
    let mut is_complete = true;
    for (index, out) in samples.chunks_exact_mut(channels.count()).enumerate() {
        let pixel = match pixels.next() {
            Some(pixel) => pixel,
            None if index == 0 => return Err(undecodable("no pixels")),
            None => {
                is_complete = false;
                break;
            }
        };
        match header.colour {
            TgaColour::Grey => out.copy_from_slice(pixel),
            TgaColour::True => put_colour(pixel, out),
            // An index outside of the palette gives black.
            TgaColour::Palette => put_colour(look_up(&header, palette, pixel), out),
        }
    }
    if channels.has_alpha() && !header.states_alpha {
        set_opaque_if_invisible(channels, &mut samples);
    }
    Ok(Decoded {
        raster: samples::raster(channels, header.size, samples)?,
        profile: None,
        damaged: !is_complete,
    })
}

/// Reader of the stored pixels, with or without run lengths.
struct Pixels<'a> {
    rest: &'a [u8],
    pixel_bytes: usize,
    has_runs: bool,
    /// Pixel that the current packet repeats, if it is a run.
    repeated: Option<&'a [u8]>,
    /// Number of pixels that are left in the current packet.
    left: u8,
}

impl<'a> Pixels<'a> {
    fn new(header: &TgaHeader, rest: &'a [u8]) -> Pixels<'a> {
        Pixels {
            rest,
            pixel_bytes: header.pixel_bytes.into(),
            has_runs: header.has_runs,
            repeated: None,
            left: 0,
        }
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.has_runs {
            if self.left == 0 {
                let (packet, rest) = self.rest.split_first()?;
                self.rest = rest;
                self.left = (packet & 0x7f) + 1;
                self.repeated = match packet & 0x80 {
                    0 => None,
                    _ => Some(self.take()?),
                };
            }
            self.left -= 1;
            if let Some(pixel) = self.repeated {
                return Some(pixel);
            }
        }
        self.take()
    }

    fn take(&mut self) -> Option<&'a [u8]> {
        let (pixel, rest) = self.rest.split_at_checked(self.pixel_bytes)?;
        self.rest = rest;
        Some(pixel)
    }
}

/// Returns the palette entry of an index of 1 or 2 bytes, or no bytes if there is no such entry.
fn look_up<'a>(header: &TgaHeader, palette: &'a [u8], index: &[u8]) -> &'a [u8] {
    let index = match *index {
        [low, high] => u16::from_le_bytes([low, high]),
        [low, ..] => low.into(),
        [] => 0,
    };
    let entry_bytes = usize::from(header.palette_entry_bytes);
    let index = index.checked_sub(header.palette_first).map(usize::from);
    let entry = index.and_then(|index| palette.chunks_exact(entry_bytes.max(1)).nth(index));
    entry.unwrap_or(&[])
}

/// Converts a colour of 2, 3 or 4 bytes to RGB, or to RGBA if `out` has a fourth sample. The
/// highest bit of a colour of 2 bytes is ignored, because its meaning differs between programs.
fn put_colour(stored: &[u8], out: &mut [u8]) {
    let (colour, alpha) = match *stored {
        [low, high] => {
            let bits = u16::from_le_bytes([low, high]);
            let level = |shift: u32| ((u32::from(bits >> shift & 31) * 255 + 15) / 31) as u8;
            ([level(10), level(5), level(0)], 255)
        }
        [blue, green, red] => ([red, green, blue], 255),
        [blue, green, red, alpha] => ([red, green, blue], alpha),
        _ => ([0; 3], 255),
    };
    for (sample, value) in out.iter_mut().zip([colour[0], colour[1], colour[2], alpha]) {
        *sample = value;
    }
}

/// Makes the picture opaque if no pixel is visible. Some programs write a fourth byte of zero, and
/// state that the file has no alpha; others forget to state that it has.
fn set_opaque_if_invisible(channels: Channels, samples: &mut [u8]) {
    let count = channels.count();
    let mut alphas = samples.iter().skip(count - 1).step_by(count);
    if alphas.all(|alpha| *alpha == 0) {
        let alphas = samples.iter_mut().skip(count - 1).step_by(count);
        alphas.for_each(|alpha| *alpha = 255);
    }
}

#[cfg(test)]
mod tests;
