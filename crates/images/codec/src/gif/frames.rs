//! Frames of an animated GIF.

use std::io::Cursor;

use gif::{Decoder, DisposalMethod, Repeat};
use image_plan::{Layout, Size};

use super::{colours, error, open, paint};
use crate::animation::{Blending, Disposal, Frame, Opened};
use crate::{DecodeOptions, Error, ErrorKind, buffer};

/// Frames that are not decoded yet.
pub(crate) struct Frames<'a> {
    decoder: Decoder<Cursor<&'a [u8]>>,
    /// Header of the next frame, if it was already read.
    next: Option<gif::Frame<'static>>,
}

pub(crate) fn open_frames<'a>(
    bytes: &'a [u8],
    options: &DecodeOptions,
) -> Result<Opened<Frames<'a>>, Error> {
    let (decoder, first, size) = open(bytes, options)?;
    let profile = decoder.icc_profile().map(buffer::copy).transpose()?;
    let next = Some(first);
    Ok(Opened {
        frames: Frames { decoder, next },
        size,
        profile,
        damaged: false,
    })
}

impl Frames<'_> {
    /// Decodes the next frame, which is drawn on a canvas of size `canvas`.
    pub(crate) fn next_frame(&mut self, canvas: Size) -> Result<Option<Frame>, Error> {
        let frame = match self.next.take() {
            Some(first) => first,
            None => match self.decoder.next_frame_info().map_err(error)? {
                Some(frame) => frame.clone(),
                None => return Ok(None),
            },
        };
        let size = Size::new(frame.width.into(), frame.height.into());
        // The caller has reserved memory and time only for frames up to the size of the canvas.
        if canvas.width_px < size.width_px || canvas.height_px < size.height_px {
            let detail = "gif: a frame is larger than the canvas";
            return Err(Error::new(ErrorKind::Unsupported, detail));
        }
        let colours = colours(&self.decoder, &frame)?;
        let mut pixels = buffer::packed(size, Layout::Rgba)?;
        if !paint(&mut self.decoder, &frame, &colours, (0, 0), &mut pixels)? {
            return Err(Error::new(
                ErrorKind::Undecodable,
                "gif: a frame is cut off",
            ));
        }
        Ok(Some(Frame {
            pixels,
            x: frame.left.into(),
            y: frame.top.into(),
            blending: Blending::Over,
            disposal: match frame.dispose {
                DisposalMethod::Any | DisposalMethod::Keep => Disposal::Keep,
                // Browsers clear to transparency, not to the background colour of the file.
                DisposalMethod::Background => Disposal::Clear,
                DisposalMethod::Previous => Disposal::Restore,
            },
            // The file states the delay in hundredths of a second.
            duration_ms: u32::from(frame.delay) * 10,
        }))
    }

    /// Returns how often the animation is played; 0 means endlessly. The file states how often it
    /// is repeated after the first time.
    pub(crate) fn plays(&self) -> u16 {
        match self.decoder.repeat() {
            Repeat::Infinite => 0,
            Repeat::Finite(repetitions) => repetitions.saturating_add(1),
        }
    }
}
