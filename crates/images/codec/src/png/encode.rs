//! Encodes RGB, RGBA and grey planes as PNG.

use std::borrow::Cow;

use image_plan::{Layout, Range, Raster, Subsampling, Yuv};
use png::{BitDepth, ColorType, DeflateCompression, Encoder, Filter, Info};

use super::failed;
use crate::{Error, ErrorKind, buffer};

/// Deflate level with the best balance of size and time. The fast mode of the `png` crate makes
/// drawings a third larger than this level. The crate's default level saves a tenth of the bytes,
/// but takes more than twice the time.
const LEVEL: u8 = 3;

pub(crate) fn encode(raster: &Raster, profile: Option<&[u8]>) -> Result<Vec<u8>, Error> {
    let (colours, samples) = match raster {
        Raster::Packed(packed) => {
            let colours = match packed.layout {
                Layout::Rgb => ColorType::Rgb,
                Layout::Rgba => ColorType::Rgba,
                Layout::Cmyk => {
                    let detail = "png: cannot encode CMYK pixels";
                    return Err(Error::new(ErrorKind::Failed, detail));
                }
            };
            (colours, Cow::Borrowed(packed.data.as_slice()))
        }
        Raster::Yuv(yuv) => grey_samples(yuv)?,
    };
    let mut info = Info::with_size(raster.size().width_px, raster.size().height_px);
    info.color_type = colours;
    info.bit_depth = BitDepth::Eight;
    info.icc_profile = profile.map(Cow::Borrowed);
    let mut file = Vec::new();
    let mut encoder = Encoder::with_info(&mut file, info).map_err(failed)?;
    encoder.set_deflate_compression(DeflateCompression::Level(LEVEL));
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&samples).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

/// Returns full-range grey samples, interleaved with alpha if any.
fn grey_samples(yuv: &Yuv) -> Result<(ColorType, Cow<'_, [u8]>), Error> {
    if yuv.subsampling != Subsampling::S400 || yuv.range != Range::Full {
        let detail =
            "png: the encoder accepts planes only if they are a single full-range grey plane";
        return Err(Error::new(ErrorKind::Failed, detail));
    }
    let mut samples = Vec::new();
    let pixels = yuv.luma.size.width_px as usize * yuv.luma.size.height_px as usize;
    let rows = 0..yuv.size.height_px;
    match &yuv.alpha {
        None => {
            buffer::reserve(&mut samples, pixels)?;
            rows.for_each(|y| samples.extend_from_slice(yuv.luma.row(y)));
            Ok((ColorType::Grayscale, Cow::Owned(samples)))
        }
        Some(alpha) => {
            buffer::reserve(&mut samples, 2 * pixels)?;
            for y in rows {
                let pairs = yuv.luma.row(y).iter().zip(alpha.row(y));
                samples.extend(pairs.flat_map(|(luma, alpha)| [*luma, *alpha]));
            }
            Ok((ColorType::GrayscaleAlpha, Cow::Owned(samples)))
        }
    }
}
