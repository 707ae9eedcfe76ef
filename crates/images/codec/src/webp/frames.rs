//! Frames of an animated WebP (RFC 9649 §2.7.1.1).

use super::container;
use super::decode::{canvas_size, decode_rgba};
use crate::animation::{Blending, Disposal, Frame, Opened};
use crate::{DecodeOptions, Error, ErrorKind, buffer};
use image_plan::Size;

/// Frames that are not decoded yet.
pub(crate) struct Frames<'a> {
    chunks: container::Frames<'a>,
    canvas: Size,
}

pub(crate) fn open_frames<'a>(
    bytes: &'a [u8],
    options: &DecodeOptions,
) -> Result<Opened<Frames<'a>>, Error> {
    let Some(canvas) = canvas_size(bytes)? else {
        return Err(Error::new(
            ErrorKind::Undecodable,
            "webp: the file is not animated",
        ));
    };
    options.limits.admit("webp", canvas, options.stored)?;
    let profile = container::profile(bytes);
    if let Some(profile) = profile {
        options.limits.check_profile("webp", profile.len())?;
    }
    Ok(Opened {
        frames: Frames {
            chunks: container::Frames::of(bytes),
            canvas,
        },
        size: canvas,
        profile: profile.map(buffer::copy).transpose()?,
        damaged: false,
    })
}

impl Frames<'_> {
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame>, Error> {
        let Some(frame) = self.chunks.next_frame()? else {
            return Ok(None);
        };
        let fits = |offset: u32, length: u32, whole: u32| {
            offset.checked_add(length).is_some_and(|end| end <= whole)
        };
        if !fits(frame.x, frame.size.width_px, self.canvas.width_px)
            || !fits(frame.y, frame.size.height_px, self.canvas.height_px)
        {
            let detail = "webp: a frame exceeds the canvas";
            return Err(Error::new(ErrorKind::Undecodable, detail));
        }
        Ok(Some(Frame {
            pixels: decode_rgba(frame.image, frame.size)?,
            x: frame.x,
            y: frame.y,
            blending: match frame.is_blended {
                true => Blending::Over,
                false => Blending::Replace,
            },
            disposal: match frame.is_cleared {
                // Browsers clear to transparency, not to the background colour of the file.
                true => Disposal::Clear,
                false => Disposal::Keep,
            },
            duration_ms: frame.duration_ms,
        }))
    }

    /// Returns how often the animation is played; 0 means endlessly.
    pub(crate) fn plays(&self) -> u16 {
        self.chunks.plays
    }
}
