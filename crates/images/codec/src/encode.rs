//! Entry point for encoding in all output formats.

use image_plan::{Encoding, Packed, Plane, Raster, Size, Subsampling, Yuv};

use crate::{Error, ErrorKind, avif, jpeg, png, webp};

/// Encodes `raster` and embeds `profile`, if any. Without a profile the picture is sRGB.
///
/// | encoding | accepts |
/// |---|---|
/// | JPEG | full-range BT.601 planes without alpha; RGB, which becomes 4:2:0 |
/// | PNG | RGB, RGBA, full-range grey planes with or without alpha |
/// | WebP | limited-range BT.601 planes at 4:2:0; lossless: RGB or RGBA |
/// | AVIF | planes at 4:0:0, 4:2:0, 4:2:2 or 4:4:4; lossless: RGB or RGBA |
///
/// The caller ensures that the profile fits the raster: a grey profile for grey planes, an RGB
/// profile for colours.
///
/// # Errors
/// [`ErrorKind::Failed`] if the encoding does not accept `raster`, [`ErrorKind::TooLarge`] if the
/// format cannot hold the picture, and [`ErrorKind::OutOfMemory`] if memory cannot be allocated.
pub fn encode(
    raster: &Raster,
    profile: Option<&[u8]>,
    encoding: Encoding,
) -> Result<Vec<u8>, Error> {
    check(raster)?;
    match encoding {
        Encoding::Jpeg { quality } => jpeg::encode(raster, profile, quality),
        Encoding::Png => png::encode(raster, profile),
        Encoding::Webp {
            quality,
            method,
            lossless,
        } => {
            let effort = webp::Effort {
                quality,
                method,
                lossless,
            };
            webp::encode(raster, profile, effort)
        }
        Encoding::Avif {
            quality,
            speed,
            lossless,
        } => {
            let effort = avif::Effort {
                quality,
                speed,
                lossless,
            };
            avif::encode(raster, profile, effort)
        }
    }
}

/// Fails if the planes or pixels of `raster` do not have the sizes that the raster states. The
/// fields are public, and the C encoders rely on those sizes when they read the samples. All data
/// passed to an encoder was checked here first.
fn check(raster: &Raster) -> Result<(), Error> {
    let sizes_match = match raster {
        Raster::Yuv(yuv) => planes_match(yuv),
        Raster::Packed(packed) => packed_matches(packed),
    };
    if raster.size().pixels() == 0 || !sizes_match {
        let detail = "the size of the picture's buffers does not match its stated size";
        return Err(Error::new(ErrorKind::Failed, detail));
    }
    Ok(())
}

fn planes_match(yuv: &Yuv) -> bool {
    let chroma_size = yuv.subsampling.chroma(yuv.size);
    let chroma_fits = match &yuv.chroma {
        None => yuv.subsampling == Subsampling::S400,
        Some(pair) => {
            yuv.subsampling != Subsampling::S400 && pair.iter().all(|c| holds(c, chroma_size))
        }
    };
    let alpha_fits = yuv.alpha.as_ref().is_none_or(|a| holds(a, yuv.size));
    holds(&yuv.luma, yuv.size) && chroma_fits && alpha_fits
}

fn holds(plane: &Plane, size: Size) -> bool {
    let needed_bytes = plane.stride.checked_mul(size.height_px as usize);
    plane.size == size
        && plane.stride >= size.width_px as usize
        && needed_bytes.is_some_and(|needed| plane.data.len() >= needed)
}

fn packed_matches(packed: &Packed) -> bool {
    let needed_bytes = usize::try_from(packed.size.pixels())
        .ok()
        .and_then(|pixels| pixels.checked_mul(packed.layout.channels()));
    needed_bytes == Some(packed.data.len())
}
