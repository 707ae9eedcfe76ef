//! The forms in which encoders take pictures.

use image_plan::{Encoding, Matrix, Plane, Range, Raster, Subsampling, Yuv};
use pixel::{to_packed, to_planes};

/// From this quality on a JPEG has full chroma: who asks for so much has edges in colour in mind.
const JPEG_FULL_CHROMA_QUALITY: u8 = 90;

/// What an encoder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Planes of this subsampling, range and matrix; grey as luma alone.
    Planes(Subsampling, Range, Matrix),
    /// As above, but grey needs neutral chroma.
    ColourPlanes(Subsampling, Range, Matrix),
    /// Planes of this subsampling in whatever range and matrix they are: the file states both.
    AnyPlanes(Subsampling),
    /// RGB or RGBA.
    Pixels,
    /// RGB or RGBA, or full-range grey.
    PixelsOrGrey,
}

impl Form {
    pub(crate) const fn of(encoding: Encoding) -> Form {
        match encoding {
            Encoding::Jpeg { quality } if JPEG_FULL_CHROMA_QUALITY <= quality => {
                Form::Planes(Subsampling::S444, Range::Full, Matrix::Bt601)
            }
            Encoding::Jpeg { .. } => Form::Planes(Subsampling::S420, Range::Full, Matrix::Bt601),
            Encoding::Png => Form::PixelsOrGrey,
            Encoding::Webp { lossless: true, .. } | Encoding::Avif { lossless: true, .. } => {
                Form::Pixels
            }
            Encoding::Webp { .. } => {
                Form::ColourPlanes(Subsampling::S420, Range::Limited, Matrix::Bt601)
            }
            Encoding::Avif { .. } => Form::AnyPlanes(Subsampling::S420),
        }
    }

    /// A form that keeps full chroma where [`Form::of`] halves it, and the encoding that goes with it; `None` where the format
    /// has none.
    pub(crate) fn with_full_chroma(encoding: Encoding) -> Option<(Form, Encoding)> {
        match encoding {
            Encoding::Jpeg { quality } if quality < JPEG_FULL_CHROMA_QUALITY => {
                let quality = JPEG_FULL_CHROMA_QUALITY;
                let encoding = Encoding::Jpeg { quality };
                Some((Form::of(encoding), encoding))
            }
            Encoding::Avif {
                lossless: false, ..
            } => Some((Form::AnyPlanes(Subsampling::S444), encoding)),
            _ => None,
        }
    }

    /// The subsampling that planes are best scaled to on their way to this form: chroma is filtered once.
    pub(crate) fn chroma_for(self, raster: &Raster) -> Subsampling {
        let own = match raster {
            Raster::Yuv(yuv) => yuv.matrix,
            Raster::Packed(_) => return Subsampling::S444,
        };
        match self {
            Form::Planes(chroma, _, matrix) | Form::ColourPlanes(chroma, _, matrix)
                if matrix == own =>
            {
                chroma
            }
            Form::AnyPlanes(chroma) => chroma,
            // By way of RGB.
            _ => Subsampling::S444,
        }
    }

    /// The picture in this form.
    pub(crate) fn of_raster(self, raster: Raster) -> Raster {
        match self {
            Form::Planes(chroma, range, matrix) => {
                Raster::Yuv(to_planes(raster, chroma, range, matrix))
            }
            Form::ColourPlanes(chroma, range, matrix) => {
                Raster::Yuv(coloured(to_planes(raster, chroma, range, matrix), chroma))
            }
            Form::AnyPlanes(chroma) => {
                let (range, matrix) = match &raster {
                    Raster::Yuv(yuv) => (yuv.range, yuv.matrix),
                    Raster::Packed(_) => (Range::Full, Matrix::Bt601),
                };
                Raster::Yuv(to_planes(raster, chroma, range, matrix))
            }
            Form::PixelsOrGrey => match raster {
                Raster::Yuv(yuv) if yuv.chroma.is_none() => {
                    let matrix = yuv.matrix;
                    let grey = Raster::Yuv(yuv);
                    Raster::Yuv(to_planes(grey, Subsampling::S444, Range::Full, matrix))
                }
                other => Raster::Packed(to_packed(other)),
            },
            Form::Pixels => Raster::Packed(to_packed(raster)),
        }
    }
}

/// Grey planes with chroma that says so.
fn coloured(mut yuv: Yuv, subsampling: Subsampling) -> Yuv {
    if yuv.chroma.is_none() {
        let neutral = Plane::filled(subsampling.chroma(yuv.size), 128);
        yuv.subsampling = subsampling;
        yuv.matrix = Matrix::Bt601;
        yuv.chroma = Some([neutral.clone(), neutral]);
    }
    yuv
}
