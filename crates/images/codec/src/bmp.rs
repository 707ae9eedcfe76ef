//! BMP, decoded by the `image` crate.

use std::io::Cursor;

use image::codecs::bmp::BmpDecoder;
use image::{ColorType, ImageDecoder, ImageError};
use image_plan::{Layout, Raster, Size};

use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer};

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let decoder = BmpDecoder::new(Cursor::new(bytes)).map_err(error)?;
    let (width_px, height_px) = decoder.dimensions();
    let size = Size::new(width_px, height_px);
    options.limits.admit("bmp", size, options.stored)?;
    let layout = match decoder.color_type() {
        ColorType::Rgb8 => Layout::Rgb,
        ColorType::Rgba8 => Layout::Rgba,
        other => {
            let detail = format!("bmp: unsupported pixel type {other:?}");
            return Err(Error::new(ErrorKind::Unsupported, detail));
        }
    };
    let mut packed = buffer::packed(size, layout)?;
    decoder.read_image(&mut packed.data).map_err(error)?;
    if layout == Layout::Rgba {
        packed = buffer::without_opaque_alpha(packed);
    }
    Ok(Decoded {
        raster: Raster::Packed(packed),
        profile: None,
        damaged: false,
    })
}

fn error(err: ImageError) -> Error {
    let kind = match &err {
        ImageError::Unsupported(_) => ErrorKind::Unsupported,
        ImageError::Limits(_) => ErrorKind::TooLarge,
        _ => ErrorKind::Undecodable,
    };
    Error::new(kind, format!("bmp: {err}"))
}

#[cfg(test)]
mod tests;
