//! Decodes animations frame by frame: GIF, PNG (APNG) and WebP. Each frame is composed on a canvas
//! that holds the frames before it, as a browser shows them.

mod canvas;

pub(crate) use canvas::{Blending, Canvas, Disposal, Frame};

use image_plan::{Format, Packed, Raster, Size};

use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer, gif, png, webp};

/// Longest frame duration that browsers replace by a longer one, in milliseconds. It occurs in old
/// files, made for programs that could not show frames so fast.
const REPLACED_MS_MAX: u32 = 10;
/// Duration by which browsers replace durations of at most [`REPLACED_MS_MAX`], in milliseconds.
const REPLACEMENT_MS: u32 = 100;
/// Maximum duration of a frame in milliseconds, about 4.6 hours: WebP stores it in 24 bits. Longer
/// durations of other formats are shortened.
pub(crate) const DURATION_MS_MAX: u32 = (1 << 24) - 1;

/// Decoder of an animation.
pub struct AnimationReader<'a> {
    frames: Frames<'a>,
    canvas: Canvas,
    profile: Option<Vec<u8>>,
    damaged: bool,
    read: u32,
    frames_max: u32,
}

/// Undecoded frames of an animation, by format.
enum Frames<'a> {
    Gif(Box<gif::Frames<'a>>),
    Png(Box<png::Frames<'a>>),
    Webp(webp::Frames<'a>),
}

/// Animation whose header was read, with the properties that the header states.
pub(crate) struct Opened<F> {
    pub(crate) frames: F,
    /// Size of the canvas.
    pub(crate) size: Size,
    pub(crate) profile: Option<Vec<u8>>,
    /// True if the file has a profile that could not be read.
    pub(crate) damaged: bool,
}

/// Picture that an animation shows for a time.
#[derive(Clone, Copy, Debug)]
pub struct AnimationFrame<'a> {
    /// Canvas after the frame was drawn, in RGBA.
    pub picture: &'a Packed,
    /// Time for which the picture is shown, in milliseconds. Durations of at most 10 ms become
    /// 100 ms, as in browsers.
    pub duration_ms: u32,
}

impl<'a> AnimationReader<'a> {
    /// Reads the header of the animation `bytes`, whose canvas must have the size `options.stored`.
    ///
    /// # Errors
    /// As [`decode`](crate::decode); also if the file is not an animation.
    pub fn open(
        format: Format,
        bytes: &'a [u8],
        options: &DecodeOptions,
    ) -> Result<AnimationReader<'a>, Error> {
        let frames_max = options.limits.frames_max;
        match format {
            Format::Gif => {
                let opened = gif::open_frames(bytes, options)?;
                AnimationReader::new(opened, |frames| Frames::Gif(Box::new(frames)), frames_max)
            }
            Format::Png => {
                let opened = png::open_frames(bytes, options)?;
                AnimationReader::new(opened, |frames| Frames::Png(Box::new(frames)), frames_max)
            }
            Format::Webp => {
                let opened = webp::open_frames(bytes, options)?;
                AnimationReader::new(opened, Frames::Webp, frames_max)
            }
            _ => {
                let detail = format!("{format:?} files cannot be read frame by frame");
                Err(Error::new(ErrorKind::Unsupported, detail))
            }
        }
    }

    fn new<F>(
        opened: Opened<F>,
        frames: impl FnOnce(F) -> Frames<'a>,
        frames_max: u32,
    ) -> Result<AnimationReader<'a>, Error> {
        Ok(AnimationReader {
            frames: frames(opened.frames),
            canvas: Canvas::new(opened.size)?,
            profile: opened.profile,
            damaged: opened.damaged,
            read: 0,
            frames_max,
        })
    }

    /// Decodes the next frame. Returns `None` after the last frame.
    ///
    /// # Errors
    /// [`ErrorKind::Undecodable`] if the file is damaged or cut off, even if all earlier frames are
    /// intact; [`ErrorKind::TooLarge`] if the animation has more than
    /// [`Limits::frames_max`](crate::Limits::frames_max) frames.
    pub fn next_frame(&mut self) -> Result<Option<AnimationFrame<'_>>, Error> {
        let frame = match &mut self.frames {
            Frames::Gif(frames) => frames.next_frame(self.canvas.size())?,
            Frames::Png(frames) => frames.next_frame()?,
            Frames::Webp(frames) => frames.next_frame()?,
        };
        let Some(frame) = frame else {
            if self.read == 0 {
                return Err(Error::new(
                    ErrorKind::Undecodable,
                    "the animation has no frame",
                ));
            }
            return Ok(None);
        };
        if self.read == self.frames_max {
            let detail = format!("the animation has more than {} frames", self.frames_max);
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        self.read += 1;
        let duration_ms = match frame.duration_ms {
            ..=REPLACED_MS_MAX => REPLACEMENT_MS,
            stated_ms => stated_ms.min(DURATION_MS_MAX),
        };
        self.canvas.compose(frame)?;
        Ok(Some(AnimationFrame {
            picture: self.canvas.picture(),
            duration_ms,
        }))
    }

    /// Returns how often the animation is played; 0 means endlessly. The number is final only after
    /// the last frame was read.
    #[must_use]
    pub fn plays(&self) -> u16 {
        match &self.frames {
            Frames::Gif(frames) => frames.plays(),
            Frames::Png(frames) => frames.plays(),
            Frames::Webp(frames) => frames.plays(),
        }
    }

    /// Returns the ICC profile of the frames, not validated.
    #[must_use]
    pub fn profile(&self) -> Option<&[u8]> {
        self.profile.as_deref()
    }

    /// Returns whether the file has a profile that could not be read.
    #[must_use]
    pub fn is_profile_damaged(&self) -> bool {
        self.damaged
    }
}

/// Decodes one frame of an animation, the one with the number `options.page`, counted from 1.
pub(crate) fn decode_frame(
    format: Format,
    bytes: &[u8],
    options: &DecodeOptions,
) -> Result<Decoded, Error> {
    let mut options = *options;
    options.limits.frames_max = u32::from(options.page);
    let mut reader = AnimationReader::open(format, bytes, &options)?;
    for _ in 0..options.page {
        if reader.next_frame()?.is_none() {
            let detail = format!("the animation has no frame {}", options.page);
            return Err(Error::new(ErrorKind::Undecodable, detail));
        }
    }
    Ok(Decoded {
        raster: Raster::Packed(buffer::without_opaque_alpha(reader.canvas.into_picture())),
        profile: reader.profile,
        damaged: reader.damaged,
    })
}

#[cfg(test)]
mod tests;
