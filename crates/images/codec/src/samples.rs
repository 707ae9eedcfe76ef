//! Interleaved samples of 8 bits, and their conversion to a picture.

use image_plan::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};

use crate::{Error, buffer};

/// Meaning and order of the samples of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    Grey,
    GreyAlpha,
    Rgb,
    Rgba,
    Cmyk,
}

impl Channels {
    /// Returns the channels of grey or of RGB, with or without alpha.
    pub(crate) const fn of(is_grey: bool, has_alpha: bool) -> Channels {
        match (is_grey, has_alpha) {
            (true, false) => Channels::Grey,
            (true, true) => Channels::GreyAlpha,
            (false, false) => Channels::Rgb,
            (false, true) => Channels::Rgba,
        }
    }

    pub(crate) const fn count(self) -> usize {
        match self {
            Channels::Grey => 1,
            Channels::GreyAlpha => 2,
            Channels::Rgb => 3,
            Channels::Rgba | Channels::Cmyk => 4,
        }
    }

    pub(crate) const fn has_alpha(self) -> bool {
        matches!(self, Channels::GreyAlpha | Channels::Rgba)
    }

    /// Returns zero samples for a picture of `size`.
    pub(crate) fn samples(self, size: Size) -> Result<Vec<u8>, Error> {
        buffer::zeroed(self.count() * size.width_px as usize * size.height_px as usize)
    }
}

/// Converts interleaved samples to a picture. Grey is not expanded to RGB, because grey samples
/// need a third of the memory of RGB, and a grey ICC profile applies only to grey samples. Alpha is
/// dropped if all pixels are opaque.
pub(crate) fn raster(channels: Channels, size: Size, samples: Vec<u8>) -> Result<Raster, Error> {
    let packed = |layout, data| Packed { size, layout, data };
    match channels {
        Channels::Rgb => Ok(Raster::Packed(packed(Layout::Rgb, samples))),
        Channels::Cmyk => Ok(Raster::Packed(packed(Layout::Cmyk, samples))),
        Channels::Rgba => {
            let rgba = packed(Layout::Rgba, samples);
            Ok(Raster::Packed(buffer::without_opaque_alpha(rgba)))
        }
        Channels::Grey => Ok(Raster::Yuv(grey(
            Plane {
                size,
                stride: size.width_px as usize,
                data: samples,
            },
            None,
        ))),
        Channels::GreyAlpha => {
            let (mut luma, mut alpha) = (buffer::plane(size)?, buffer::plane(size)?);
            let (pixels, _) = samples.as_chunks::<2>();
            let planes = luma.data.iter_mut().zip(&mut alpha.data);
            for ((y, a), pixel) in planes.zip(pixels) {
                [*y, *a] = *pixel;
            }
            Ok(Raster::Yuv(grey(luma, buffer::unless_opaque(alpha))))
        }
    }
}

fn grey(luma: Plane, alpha: Option<Plane>) -> Yuv {
    Yuv {
        size: luma.size,
        subsampling: Subsampling::S400,
        range: Range::Full,
        matrix: Matrix::Bt601,
        luma,
        chroma: None,
        alpha,
    }
}

/// Rounds a 16-bit sample to the nearest 8-bit level.
pub(crate) fn to_8_bits(sample: u16) -> u8 {
    ((u32::from(sample) + 128) / 257) as u8
}
