//! Pixel layouts that the encoders accept.

use image_plan::{Encoding, Matrix, Plane, Range, Raster, Subsampling, Yuv};
use pixel::{to_packed, to_planes};

/// Lowest JPEG quality with 4:4:4 chroma. Requests for such a quality usually aim at sharp coloured
/// edges.
const JPEG_FULL_CHROMA_QUALITY: u8 = 90;

/// Pixel layout that an encoder accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncoderInput {
    /// Planes of this subsampling, range and matrix. A grey picture has only a luma plane.
    Planes(Subsampling, Range, Matrix),
    /// Planes as in [`EncoderInput::Planes`], but a grey picture gets neutral chroma planes.
    ColourPlanes(Subsampling, Range, Matrix),
    /// Planes of this subsampling. Any range and matrix are accepted, since the encoded file states
    /// them.
    AnyPlanes(Subsampling),
    /// Interleaved pixels: RGB or RGBA.
    Pixels,
    /// Interleaved pixels (RGB or RGBA), or full-range grey planes.
    PixelsOrGrey,
}

impl EncoderInput {
    pub(crate) const fn of(encoding: Encoding) -> EncoderInput {
        match encoding {
            Encoding::Jpeg { quality } if JPEG_FULL_CHROMA_QUALITY <= quality => {
                EncoderInput::Planes(Subsampling::S444, Range::Full, Matrix::Bt601)
            }
            Encoding::Jpeg { .. } => {
                EncoderInput::Planes(Subsampling::S420, Range::Full, Matrix::Bt601)
            }
            Encoding::Png => EncoderInput::PixelsOrGrey,
            Encoding::Webp { lossless: true, .. } | Encoding::Avif { lossless: true, .. } => {
                EncoderInput::Pixels
            }
            Encoding::Webp { .. } => {
                EncoderInput::ColourPlanes(Subsampling::S420, Range::Limited, Matrix::Bt601)
            }
            Encoding::Avif { .. } => EncoderInput::AnyPlanes(Subsampling::S420),
        }
    }

    /// Returns an encoder input with full chroma, and the encoding for it. Returns `None` if
    /// [`EncoderInput::of`] has full chroma already, or if the format does not support full chroma.
    pub(crate) fn with_full_chroma(encoding: Encoding) -> Option<(EncoderInput, Encoding)> {
        match encoding {
            Encoding::Jpeg { quality } if quality < JPEG_FULL_CHROMA_QUALITY => {
                let quality = JPEG_FULL_CHROMA_QUALITY;
                let encoding = Encoding::Jpeg { quality };
                Some((EncoderInput::of(encoding), encoding))
            }
            Encoding::Avif {
                lossless: false, ..
            } => Some((EncoderInput::AnyPlanes(Subsampling::S444), encoding)),
            _ => None,
        }
    }

    /// Returns the subsampling to which the planes of `raster` should be scaled. This is the
    /// subsampling of the encoder input, so that chroma is resampled only once. If the picture must
    /// be converted through RGB, the planes need full chroma instead.
    pub(crate) fn chroma_for(self, raster: &Raster) -> Subsampling {
        let raster_matrix = match raster {
            Raster::Yuv(yuv) => yuv.matrix,
            Raster::Packed(_) => return Subsampling::S444,
        };
        match self {
            EncoderInput::Planes(chroma, _, matrix)
            | EncoderInput::ColourPlanes(chroma, _, matrix)
                if matrix == raster_matrix =>
            {
                chroma
            }
            EncoderInput::AnyPlanes(chroma) => chroma,
            // A conversion to another matrix or to pixels goes through RGB, which has full chroma.
            _ => Subsampling::S444,
        }
    }

    /// Converts the picture to this encoder input.
    pub(crate) fn convert_raster(self, raster: Raster) -> Raster {
        match self {
            EncoderInput::Planes(chroma, range, matrix) => {
                Raster::Yuv(to_planes(raster, chroma, range, matrix))
            }
            EncoderInput::ColourPlanes(chroma, range, matrix) => Raster::Yuv(with_neutral_chroma(
                to_planes(raster, chroma, range, matrix),
                chroma,
            )),
            EncoderInput::AnyPlanes(chroma) => {
                let (range, matrix) = match &raster {
                    Raster::Yuv(yuv) => (yuv.range, yuv.matrix),
                    Raster::Packed(_) => (Range::Full, Matrix::Bt601),
                };
                Raster::Yuv(to_planes(raster, chroma, range, matrix))
            }
            EncoderInput::PixelsOrGrey => match raster {
                Raster::Yuv(yuv) if yuv.chroma.is_none() => {
                    let matrix = yuv.matrix;
                    let grey = Raster::Yuv(yuv);
                    Raster::Yuv(to_planes(grey, Subsampling::S444, Range::Full, matrix))
                }
                other => Raster::Packed(to_packed(other)),
            },
            EncoderInput::Pixels => Raster::Packed(to_packed(raster)),
        }
    }
}

/// Adds neutral chroma planes to a grey picture.
fn with_neutral_chroma(mut yuv: Yuv, subsampling: Subsampling) -> Yuv {
    if yuv.chroma.is_none() {
        let neutral = Plane::filled(subsampling.chroma(yuv.size), 128);
        yuv.subsampling = subsampling;
        yuv.matrix = Matrix::Bt601;
        yuv.chroma = Some([neutral.clone(), neutral]);
    }
    yuv
}
