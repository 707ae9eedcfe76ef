//! Decodes AVIF to planes of 8 bits, or to RGB or RGBA if the file stores RGB.

use std::slice;

use image_plan::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
use libavif_sys as avif;

use super::depth::DepthConversion;
use super::handle::{Owned, new_decoder};
use super::{alpha, check};
use crate::{DecodeOptions, Decoded, Error, ErrorKind, Limits, buffer, cicp};

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let mut decoder = new_decoder()?;
    set_up(&mut decoder);
    // SAFETY: `Owned` guarantees a live, initialised decoder. The decoder keeps the pointer, and
    // `bytes` outlives it: `decoder` is a local variable, `bytes` a borrowed argument of this
    // function.
    let result =
        unsafe { avif::avifDecoderSetIOMemory(decoder.as_ptr(), bytes.as_ptr(), bytes.len()) };
    check(result)?;
    // SAFETY: `Owned` guarantees a live, initialised decoder, whose input was set above.
    let result = unsafe { avif::avifDecoderParse(decoder.as_ptr()) };
    check(result)?;
    let image = image(&decoder)?;
    options
        .limits
        .admit("avif", size_of(image), options.stored)?;
    // SAFETY: `Owned` guarantees a live decoder, which has parsed its input above. No borrow of its
    // image is live, because the `image` above is not used any more.
    let result = unsafe { avif::avifDecoderNextImage(decoder.as_ptr()) };
    check(result)?;

    let image = self::image(&decoder)?;
    // The AV1 stream may state a different size than the container.
    options
        .limits
        .admit("avif", size_of(image), options.stored)?;
    let profile = profile(image, &options.limits)?;
    let source = Source::new(image)?;
    Ok(Decoded {
        raster: source.raster()?,
        profile,
        damaged: false,
    })
}

fn set_up(decoder: &mut avif::avifDecoder) {
    decoder.codecChoice = avif::AVIF_CODEC_CHOICE_DAV1D;
    decoder.maxThreads = 1;
    decoder.requestedSource = avif::AVIF_DECODER_SOURCE_PRIMARY_ITEM;
    decoder.ignoreExif = 1;
    decoder.ignoreXMP = 1;
    decoder.imageCountLimit = 1;
    // Disables libavif's own limit on the sides. `Limits::admit` checks the sides and reports the
    // right error kind, before any memory for pixels is allocated.
    decoder.imageDimensionLimit = 0;
    // Accepts what browsers accept: files without `pixi`, and files with an invalid clean aperture.
    decoder.strictFlags = avif::AVIF_STRICT_ALPHA_ISPE_REQUIRED;
}

/// Returns the decoder's image, which has planes only after decoding.
fn image(decoder: &Owned<avif::avifDecoder>) -> Result<&avif::avifImage, Error> {
    // SAFETY: the pointer is null or the decoder's own image, initialised by `avifDecoderParse`.
    // Only calls that need `&mut` of the decoder write to the image, and the result borrows the
    // decoder.
    let image = unsafe { decoder.image.as_ref() };
    image.ok_or_else(|| {
        Error::new(
            ErrorKind::Failed,
            "avif: libavif reported success without an image",
        )
    })
}

fn size_of(image: &avif::avifImage) -> Size {
    Size::new(image.width, image.height)
}

fn profile(image: &avif::avifImage, limits: &Limits) -> Result<Option<Vec<u8>>, Error> {
    if image.icc.size == 0 || image.icc.data.is_null() {
        return cicp::profile(image.colorPrimaries, image.transferCharacteristics);
    }
    limits.check_profile("avif", image.icc.size)?;
    // SAFETY: libavif keeps `size` initialised bytes at `data` as long as the image lives, which
    // `image` borrows.
    let profile = unsafe { slice::from_raw_parts(image.icc.data, image.icc.size) };
    buffer::copy(profile).map(Some)
}

/// libavif's decoded image, and the colour format of its planes.
struct Source<'a> {
    image: &'a avif::avifImage,
    subsampling: Subsampling,
    range: Range,
    /// Matrix by which the planes are converted to RGB; `None` if they contain RGB.
    matrix: Option<Matrix>,
}

impl<'a> Source<'a> {
    fn new(image: &'a avif::avifImage) -> Result<Source<'a>, Error> {
        let subsampling = match image.yuvFormat {
            avif::AVIF_PIXEL_FORMAT_YUV400 => Subsampling::S400,
            avif::AVIF_PIXEL_FORMAT_YUV420 => Subsampling::S420,
            avif::AVIF_PIXEL_FORMAT_YUV422 => Subsampling::S422,
            avif::AVIF_PIXEL_FORMAT_YUV444 => Subsampling::S444,
            format => {
                let detail = format!("avif: unsupported pixel format {format}");
                return Err(Error::new(ErrorKind::Unsupported, detail));
            }
        };
        let range = match image.yuvRange {
            avif::AVIF_RANGE_FULL => Range::Full,
            _ => Range::Limited,
        };
        let matrix = match subsampling {
            // The matrix has no effect without chroma, so any value is correct.
            Subsampling::S400 => Some(Matrix::Bt601),
            _ => cicp::matrix(image.matrixCoefficients, image.colorPrimaries)?,
        };
        if matrix.is_none() && (subsampling, range) != (Subsampling::S444, Range::Full) {
            let detail = "avif: RGB planes are supported only at full range and 4:4:4";
            return Err(Error::new(ErrorKind::Unsupported, detail));
        }
        Ok(Source {
            image,
            subsampling,
            range,
            matrix,
        })
    }

    fn raster(&self) -> Result<Raster, Error> {
        let size = size_of(self.image);
        let depth_bits = self.image.depth;
        let luma = self.plane(
            avif::AVIF_CHAN_Y,
            size,
            &DepthConversion::luma(depth_bits, self.range)?,
        )?;
        let chroma = match (self.subsampling, self.matrix) {
            (Subsampling::S400, _) => None,
            (subsampling, matrix) => {
                let chroma_size = subsampling.chroma(size);
                let conversion = match matrix {
                    Some(_) => DepthConversion::chroma(depth_bits, self.range)?,
                    None => DepthConversion::luma(depth_bits, self.range)?,
                };
                Some([
                    self.plane(avif::AVIF_CHAN_U, chroma_size, &conversion)?,
                    self.plane(avif::AVIF_CHAN_V, chroma_size, &conversion)?,
                ])
            }
        };
        let alpha = if self.image.alphaPlane.is_null() {
            None
        } else {
            // libavif has converted alpha to full range, whatever the range of the colours.
            let conversion = DepthConversion::luma(depth_bits, Range::Full)?;
            buffer::unless_opaque(self.plane(avif::AVIF_CHAN_A, size, &conversion)?)
        };
        let mut yuv = Yuv {
            size,
            subsampling: self.subsampling,
            range: self.range,
            matrix: self.matrix.unwrap_or(Matrix::Bt601),
            luma,
            chroma,
            alpha,
        };
        if self.image.alphaPremultiplied != 0 {
            alpha::unpremultiply(&mut yuv, self.matrix.is_none());
        }
        if self.matrix.is_none() {
            return interleave(yuv).map(Raster::Packed);
        }
        Ok(Raster::Yuv(yuv))
    }

    /// Copies one plane and converts it to 8 bits per sample.
    fn plane(
        &self,
        channel: avif::avifChannelIndex,
        size: Size,
        conversion: &DepthConversion,
    ) -> Result<Plane, Error> {
        let channel = channel as i32;
        // SAFETY: `self.image` borrows an initialised image, and the callee only reads its fields.
        let start = unsafe { avif::avifImagePlane(self.image, channel) };
        // SAFETY: `self.image` borrows an initialised image, and the callee only reads its fields.
        let stride = unsafe { avif::avifImagePlaneRowBytes(self.image, channel) } as usize;
        let row_bytes = size.width_px as usize * conversion.sample_bytes();
        if start.is_null() || stride < row_bytes {
            return Err(Error::new(ErrorKind::Failed, "avif: a plane is missing"));
        }
        let mut plane = buffer::plane(size)?;
        let out_stride = plane.stride;
        for (y, out) in plane.data.chunks_exact_mut(out_stride).enumerate() {
            // SAFETY: the offset stays inside the plane, which has `size.height_px` rows of
            // `stride` bytes: `size` is the image's own, divided by the subsampling for chroma,
            // with libavif's rounding.
            let row = unsafe { start.add(y * stride) };
            // SAFETY: `row` starts a row of `stride` bytes, which are at least `row_bytes`, as
            // checked above. The row is decoded and therefore initialised. The image owns the row,
            // and `self` borrows the image.
            let row = unsafe { slice::from_raw_parts(row, row_bytes) };
            conversion.apply(row, out);
        }
        Ok(plane)
    }
}

/// Interleaves planes of green, blue and red (in this order), and alpha if any.
fn interleave(planes: Yuv) -> Result<Packed, Error> {
    let layout = match planes.alpha {
        Some(_) => Layout::Rgba,
        None => Layout::Rgb,
    };
    let mut packed = buffer::packed(planes.size, layout)?;
    let Some([blue, red]) = &planes.chroma else {
        return Err(Error::new(
            ErrorKind::Failed,
            "avif: the picture is RGB, but has only one plane",
        ));
    };
    let samples = red
        .data
        .iter()
        .zip(&planes.luma.data)
        .zip(&blue.data)
        .map(|((r, g), b)| [*r, *g, *b]);
    match &planes.alpha {
        None => {
            let (pixels, _) = packed.data.as_chunks_mut::<3>();
            for (pixel, rgb) in pixels.iter_mut().zip(samples) {
                *pixel = rgb;
            }
        }
        Some(alpha) => {
            let (pixels, _) = packed.data.as_chunks_mut::<4>();
            for ((pixel, [r, g, b]), a) in pixels.iter_mut().zip(samples).zip(&alpha.data) {
                *pixel = [r, g, b, *a];
            }
        }
    }
    Ok(packed)
}
