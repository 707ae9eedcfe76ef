//! Frames of an animated PNG (PNG third edition, §11.3.6).

use std::io::Cursor;

use image_plan::{Layout, Packed, Size};
use png::{BlendOp, DisposeOp, Reader};

use super::decode::{channels_of, error, open, profile, read_rows};
use crate::animation::{Blending, Disposal, Frame, Opened};
use crate::samples::Channels;
use crate::{DecodeOptions, Error, ErrorKind, buffer};

/// Frames that are not decoded yet.
pub(crate) struct Frames<'a> {
    reader: Reader<Cursor<&'a [u8]>>,
    left: u32,
    plays: u16,
    /// True if the reader has reached the pixels of the next frame.
    is_at_frame: bool,
}

pub(crate) fn open_frames<'a>(
    bytes: &'a [u8],
    options: &DecodeOptions,
) -> Result<Opened<Frames<'a>>, Error> {
    let reader = open(bytes, options)?;
    let Some(animation) = reader.info().animation_control else {
        return Err(Error::new(ErrorKind::Undecodable, "png: not animated"));
    };
    let (profile, damaged) = profile(&reader, bytes, options)?;
    Ok(Opened {
        frames: Frames {
            left: animation.num_frames,
            plays: u16::try_from(animation.num_plays).unwrap_or(u16::MAX),
            // A picture without a frame control chunk precedes the first frame. It is meant for
            // programs that do not support animations.
            is_at_frame: reader.info().frame_control.is_some(),
            reader,
        },
        size: options.stored,
        profile,
        damaged,
    })
}

impl Frames<'_> {
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame>, Error> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        if !std::mem::take(&mut self.is_at_frame) {
            self.reader.next_frame_info().map_err(error)?;
        }
        let Some(control) = self.reader.info().frame_control else {
            let detail = "png: a frame has no frame control chunk";
            return Err(Error::new(ErrorKind::Undecodable, detail));
        };
        let size = Size::new(control.width, control.height);
        let (colours, depth) = self.reader.output_color_type();
        let channels = channels_of(colours)?;
        let mut samples = channels.samples(size)?;
        if !read_rows(&mut self.reader, depth, size, &mut samples)? {
            return Err(Error::new(
                ErrorKind::Undecodable,
                "png: a frame is cut off",
            ));
        }
        let denominator = match control.delay_den {
            0 => 100,
            stated => u32::from(stated),
        };
        Ok(Some(Frame {
            pixels: rgba(channels, size, samples)?,
            x: control.x_offset,
            y: control.y_offset,
            blending: match control.blend_op {
                BlendOp::Source => Blending::Replace,
                BlendOp::Over => Blending::Over,
            },
            disposal: match control.dispose_op {
                DisposeOp::None => Disposal::Keep,
                DisposeOp::Background => Disposal::Clear,
                DisposeOp::Previous => Disposal::Restore,
            },
            duration_ms: (u32::from(control.delay_num) * 1000 + denominator / 2) / denominator,
        }))
    }

    /// Returns how often the animation is played; 0 means endlessly.
    pub(crate) fn plays(&self) -> u16 {
        self.plays
    }
}

/// Converts samples to RGBA.
fn rgba(channels: Channels, size: Size, samples: Vec<u8>) -> Result<Packed, Error> {
    if channels == Channels::Rgba {
        return Ok(Packed {
            size,
            layout: Layout::Rgba,
            data: samples,
        });
    }
    let mut packed = buffer::packed(size, Layout::Rgba)?;
    let (pixels, _) = packed.data.as_chunks_mut::<4>();
    for (pixel, samples) in pixels
        .iter_mut()
        .zip(samples.chunks_exact(channels.count()))
    {
        *pixel = match *samples {
            [grey] => [grey, grey, grey, 255],
            [grey, alpha] => [grey, grey, grey, alpha],
            [red, green, blue] => [red, green, blue, 255],
            _ => unreachable!("a PNG has one to four channels, and four are RGBA"),
        };
    }
    Ok(packed)
}
