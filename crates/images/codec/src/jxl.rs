//! JPEG XL, decoded by jxl-oxide to 8 bits per sample. The decoder applies the orientation, and
//! converts XYB to the colour space that the file states; the profile of that space is returned.
//!
//! jxl-oxide counts what it allocates, so its memory is limited in proportion to the pixels, and by
//! [`Limits::scratch_bytes_max`](crate::Limits::scratch_bytes_max).

use image_plan::Size;
use jxl_oxide::{AllocTracker, JxlImage, JxlThreadPool};

use crate::samples::{Channels, raster};
use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer};

/// Maximum bytes that the decoder allocates per pixel. Photographs need less than 24.
const SCRATCH_BYTES_PX: u64 = 36;
/// Maximum bytes that the decoder allocates in addition, for tables and small pictures.
const SCRATCH_BASE_BYTES: u64 = 32 << 20;

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let limits = &options.limits;
    let scratch_bytes = SCRATCH_BYTES_PX.saturating_mul(options.stored.pixels());
    let scratch_bytes = scratch_bytes.saturating_add(SCRATCH_BASE_BYTES);
    let scratch_bytes = usize::try_from(scratch_bytes).unwrap_or(usize::MAX);
    let builder = JxlImage::builder()
        .pool(JxlThreadPool::none())
        .alloc_tracker(AllocTracker::with_limit(
            scratch_bytes.min(limits.scratch_bytes_max),
        ));
    // Reading parses the frames without decoding them.
    let mut image = builder.read(bytes).map_err(|err| error(&*err))?;
    let size = Size::new(image.width(), image.height());
    limits.admit("jxl", size, options.stored)?;
    image.set_render_spot_color(true);
    // The profile in the file describes the samples, unless the samples are XYB.
    let is_xyb = image.image_header().metadata.xyb_encoded;
    let profile = match image.original_icc().filter(|_| !is_xyb) {
        Some(profile) => buffer::copy(profile)?,
        None => image.rendered_icc(),
    };
    limits.check_profile("jxl", profile.len())?;
    let format = image.pixel_format();
    if format.has_black() {
        let detail = "jxl: CMYK pictures are not supported";
        return Err(Error::new(ErrorKind::Unsupported, detail));
    }
    let channels = Channels::of(format.is_grayscale(), format.has_alpha());
    let rendered = image.render_frame(0).map_err(|err| error(&*err))?;
    let mut samples = channels.samples(size)?;
    let mut stream = rendered.stream();
    let stated = (stream.width(), stream.height(), stream.channels() as usize);
    if stated != (size.width_px, size.height_px, channels.count()) {
        let detail = "jxl: size or channels of the frame differ from those in the header";
        return Err(Error::new(ErrorKind::Undecodable, detail));
    }
    stream.write_to_buffer(&mut samples);
    drop(rendered);
    let extra = &image.image_header().metadata.ec_info;
    let alpha = extra.iter().find(|channel| channel.is_alpha());
    if alpha.and_then(|alpha| alpha.alpha_associated()) == Some(true) {
        let count = channels.count();
        samples
            .chunks_exact_mut(count)
            .for_each(buffer::unpremultiply);
    }
    Ok(Decoded {
        raster: raster(channels, size, samples)?,
        profile: (!profile.is_empty()).then_some(profile),
        damaged: !image.is_loading_done(),
    })
}

/// Converts an error of jxl-oxide. Only the chain of sources of the error shows whether the memory
/// limit was exceeded or the file is damaged.
fn error(err: &(dyn std::error::Error + 'static)) -> Error {
    let mut source = Some(err);
    while let Some(err) = source {
        if err.is::<jxl_grid::OutOfMemory>() {
            return Error::new(ErrorKind::TooLarge, format!("jxl: {err}"));
        }
        source = err.source();
    }
    Error::new(ErrorKind::Undecodable, format!("jxl: {err}"))
}

#[cfg(test)]
mod tests;
