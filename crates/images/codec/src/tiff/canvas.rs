//! Picture that is put together from the rows of chunks.

use image_plan::{Raster, Size, TiffAlpha, TiffColour, TiffPage};

use super::values::{part, value};
use crate::samples::{self, Channels, to_8_bits};
use crate::{Error, ErrorKind};

/// Part of a page that a chunk covers.
pub(super) struct Place {
    /// Distance from the left edge of the page.
    pub(super) x: u32,
    /// Distance from the top edge of the page.
    pub(super) y: u32,
    /// Size of the part.
    pub(super) size: Size,
    /// Index of the sample that the chunk contains; `None` if it contains all samples of its
    /// pixels.
    pub(super) plane: Option<usize>,
}

/// Samples of 8 bits of the whole page.
pub(super) struct Canvas {
    channels: Channels,
    size: Size,
    samples: Vec<u8>,
    /// Colours of a palette, if the page has one.
    palette: Option<Vec<[u8; 3]>>,
    /// Number of samples per stored pixel.
    stored_samples: usize,
}

impl Canvas {
    pub(super) fn new(bytes: &[u8], page: &TiffPage) -> Result<Canvas, Error> {
        let has_alpha = page.alpha.is_some();
        let channels = match page.colour {
            TiffColour::Grey | TiffColour::InvertedGrey => Channels::of(true, has_alpha),
            TiffColour::Rgb => Channels::of(false, has_alpha),
            TiffColour::Palette | TiffColour::Ycc => Channels::Rgb,
            TiffColour::Cmyk => Channels::Cmyk,
        };
        let palette = match page.colour {
            TiffColour::Palette => Some(palette(bytes, page)?),
            _ => None,
        };
        Ok(Canvas {
            channels,
            size: page.size,
            samples: channels.samples(page.size)?,
            palette,
            stored_samples: page.samples.into(),
        })
    }

    /// Returns whether the samples of a plane are part of the picture.
    pub(super) fn shows(&self, plane: Option<usize>) -> bool {
        let shown = match self.palette {
            Some(_) => 1,
            None => self.channels.count(),
        };
        plane.is_none_or(|plane| plane < shown)
    }

    /// Stores row `y` of a chunk, whose pixels have as many samples as in the file.
    pub(super) fn put_row(&mut self, place: &Place, y: u32, row: &[u8]) {
        match (place.plane, &self.palette) {
            (plane, Some(palette)) => {
                let step = plane.map_or(self.stored_samples, |_| 1);
                let out = row_mut(&mut self.samples, 3, self.size, place, y);
                for (pixel, stored) in out.chunks_exact_mut(3).zip(row.chunks_exact(step)) {
                    let colour = palette.get(usize::from(stored[0]));
                    pixel.copy_from_slice(colour.unwrap_or(&[0; 3]));
                }
            }
            (Some(plane), None) => {
                let count = self.channels.count();
                let out = row_mut(&mut self.samples, count, self.size, place, y);
                let out = out.iter_mut().skip(plane).step_by(count);
                out.zip(row).for_each(|(sample, stored)| *sample = *stored);
            }
            (None, None) => self.put_pixels(place, y, row, self.stored_samples),
        }
    }

    /// Stores row `y` of a chunk, whose pixels have `step` samples, of which the first are shown.
    pub(super) fn put_pixels(&mut self, place: &Place, y: u32, row: &[u8], step: usize) {
        let count = self.channels.count();
        let out = row_mut(&mut self.samples, count, self.size, place, y);
        for (pixel, stored) in out.chunks_exact_mut(count).zip(row.chunks_exact(step)) {
            pixel.copy_from_slice(&stored[..count]);
        }
    }

    /// Returns the picture. Its alpha is straight (not premultiplied), and a colour sample of 0
    /// means black.
    pub(super) fn into_raster(mut self, page: &TiffPage) -> Result<Raster, Error> {
        let count = self.channels.count();
        if page.alpha == Some(TiffAlpha::Associated) {
            for pixel in self.samples.chunks_exact_mut(count) {
                separate_alpha(pixel);
            }
        }
        // The stored level is multiplied by alpha, so it is inverted after the division.
        if page.colour == TiffColour::InvertedGrey {
            let greys = self.samples.iter_mut().step_by(count);
            greys.for_each(|grey| *grey = !*grey);
        }
        samples::raster(self.channels, self.size, self.samples)
    }
}

/// Returns the pixels of the page at which row `y` of a chunk is stored.
fn row_mut<'a>(
    samples: &'a mut [u8],
    count: usize,
    size: Size,
    place: &Place,
    y: u32,
) -> &'a mut [u8] {
    let row = (place.y + y) as usize * size.width_px as usize;
    let start = (row + place.x as usize) * count;
    &mut samples[start..start + place.size.width_px as usize * count]
}

/// Divides the colours of a pixel by its alpha.
fn separate_alpha(pixel: &mut [u8]) {
    let Some((alpha, colours)) = pixel.split_last_mut() else {
        return;
    };
    let alpha = u32::from(*alpha);
    for colour in colours {
        let separated = (u32::from(*colour) * 255 + alpha / 2).checked_div(alpha);
        *colour = separated.map_or(*colour, |colour| colour.min(255) as u8);
    }
}

/// Reads a palette: all levels of red, then of green, then of blue.
fn palette(bytes: &[u8], page: &TiffPage) -> Result<Vec<[u8; 3]>, Error> {
    let missing = || {
        Error::new(
            ErrorKind::Undecodable,
            "tiff: the palette is missing or malformed",
        )
    };
    let array = page.palette.as_ref().ok_or_else(missing)?;
    let colours = 1_u64 << page.sample_bits;
    if array.count < 3 * colours || array.value_bytes != 2 {
        return Err(missing());
    }
    part(bytes, array).ok_or_else(missing)?;
    let level = |index: u64| value(bytes, page, array, index).unwrap_or(0) as u16;
    // Some programs write levels of 8 bits.
    let is_narrow = (0..3 * colours).all(|index| level(index) <= 255);
    let level = |index: u64| match is_narrow {
        true => level(index) as u8,
        false => to_8_bits(level(index)),
    };
    let colour = |index: u64| [0, 1, 2].map(|component| level(component * colours + index));
    Ok((0..colours).map(colour).collect())
}
