//! ICO: the largest picture, a PNG or a BMP with a mask.

use std::io::Cursor;

use image::codecs::ico::IcoDecoder;
use image::{ColorType, ImageDecoder, ImageError};
use image_plan::{IcoEntry, Layout, Packed, Raster, Size, ico_entry};

use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer, png};

/// Length of an ICO's header with a directory of one entry.
const HEAD_BYTES: usize = 22;

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let undecodable = |detail: &str| Error::new(ErrorKind::Undecodable, format!("ico: {detail}"));
    if !bytes.starts_with(&[0, 0, 1, 0]) {
        return Err(undecodable("no header"));
    }
    let entry = ico_entry(bytes).map_err(|err| undecodable(err.detail))?;
    options.limits.admit("ico", entry.size, options.stored)?;
    let (start, len) = (entry.offset as usize, entry.len_bytes as usize);
    let picture = bytes.get(start..).unwrap_or(&[]);
    let picture = &picture[..picture.len().min(len)];
    if entry.is_png {
        return png::decode(picture, options);
    }
    decode_bmp(&entry, picture)
}

/// Decodes a BMP without a file header, which is followed by a mask. The decoder of the `image`
/// crate selects the picture by other rules than Pelton, so it gets an ICO with this picture only.
fn decode_bmp(entry: &IcoEntry, picture: &[u8]) -> Result<Decoded, Error> {
    let mut file = Vec::new();
    buffer::reserve(&mut file, HEAD_BYTES + picture.len())?;
    // A side of 256 pixels or more is written as 0.
    let side = |px: u32| px.min(256) as u8;
    let Size {
        width_px,
        height_px,
    } = entry.size;
    file.extend([0, 0, 1, 0, 1, 0]);
    file.extend([side(width_px), side(height_px), 0, 0, 1, 0, 32, 0]);
    file.extend((picture.len() as u32).to_le_bytes());
    file.extend((HEAD_BYTES as u32).to_le_bytes());
    file.extend(picture);
    let decoder = IcoDecoder::new(Cursor::new(&file)).map_err(error)?;
    let (width_px, height_px) = decoder.dimensions();
    if Size::new(width_px, height_px) != entry.size || decoder.color_type() != ColorType::Rgba8 {
        let detail = "ico: the size or colours of the picture differ from those in the directory";
        return Err(Error::new(ErrorKind::Undecodable, detail));
    }
    let mut rgba = buffer::packed(entry.size, Layout::Rgba)?;
    decoder.read_image(&mut rgba.data).map_err(error)?;
    Ok(Decoded {
        raster: Raster::Packed(buffer::without_opaque_alpha(visible(rgba))),
        profile: None,
        damaged: false,
    })
}

/// Makes the picture opaque if no pixel is visible: in old icons the fourth byte of a pixel is
/// unused.
fn visible(mut rgba: Packed) -> Packed {
    let (pixels, _) = rgba.data.as_chunks_mut::<4>();
    if pixels.iter().all(|[_, _, _, alpha]| *alpha == 0) {
        pixels.iter_mut().for_each(|[_, _, _, alpha]| *alpha = 255);
    }
    rgba
}

fn error(err: ImageError) -> Error {
    let kind = match &err {
        ImageError::Unsupported(_) => ErrorKind::Unsupported,
        ImageError::Limits(_) => ErrorKind::TooLarge,
        _ => ErrorKind::Undecodable,
    };
    Error::new(kind, format!("ico: {err}"))
}

#[cfg(test)]
mod tests;
