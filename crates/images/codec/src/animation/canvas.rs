//! Canvas on which the frames of an animation are composed.

use image_plan::{Layout, Packed, Size};

use crate::{Error, buffer};

/// Change of a frame's area of the canvas before the next frame is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposal {
    /// The area stays as it is.
    Keep,
    /// The area becomes transparent.
    Clear,
    /// The area gets the pixels that it had before the frame was drawn.
    Restore,
}

/// Rule by which the pixels of a frame change those of the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blending {
    /// The frame's pixels replace those of the canvas, with their alpha.
    Replace,
    /// The frame's pixels are drawn over those of the canvas.
    Over,
}

/// Decoded frame, before it is drawn on the canvas.
pub(crate) struct Frame {
    /// Pixels in RGBA.
    pub(crate) pixels: Packed,
    /// Distance from the left edge of the canvas.
    pub(crate) x: u32,
    /// Distance from the upper edge of the canvas.
    pub(crate) y: u32,
    pub(crate) blending: Blending,
    pub(crate) disposal: Disposal,
    /// Duration as stated by the file, in milliseconds.
    pub(crate) duration_ms: u32,
}

/// Picture of an animation, and the disposal of the frame that was drawn last.
pub(crate) struct Canvas {
    picture: Packed,
    disposal: Disposal,
    /// Area of the last frame.
    area: Area,
    /// Pixels of `area` before the last frame, if its disposal is [`Disposal::Restore`].
    saved: Vec<u8>,
}

/// Rectangle inside the canvas, in pixels.
#[derive(Clone, Copy, Default)]
struct Area {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl Canvas {
    /// Returns a transparent canvas.
    pub(crate) fn new(size: Size) -> Result<Canvas, Error> {
        Ok(Canvas {
            picture: buffer::packed(size, Layout::Rgba)?,
            disposal: Disposal::Keep,
            area: Area::default(),
            saved: Vec::new(),
        })
    }

    pub(crate) fn size(&self) -> Size {
        self.picture.size
    }

    pub(crate) fn picture(&self) -> &Packed {
        &self.picture
    }

    pub(crate) fn into_picture(self) -> Packed {
        self.picture
    }

    /// Disposes of the last frame and draws `frame`. Parts of the frame outside the canvas are cut
    /// off.
    pub(crate) fn compose(&mut self, frame: Frame) -> Result<(), Error> {
        self.dispose();
        let (canvas, size) = (self.picture.size, frame.pixels.size);
        let (x, y) = (frame.x.min(canvas.width_px), frame.y.min(canvas.height_px));
        self.area = Area {
            x: x as usize,
            y: y as usize,
            width: size.width_px.min(canvas.width_px - x) as usize,
            height: size.height_px.min(canvas.height_px - y) as usize,
        };
        self.disposal = frame.disposal;
        if frame.disposal == Disposal::Restore {
            self.save()?;
        }
        let stride = 4 * size.width_px as usize;
        for row in 0..self.area.height {
            let drawn = &frame.pixels.data[row * stride..][..4 * self.area.width];
            let under = self.row(row);
            match frame.blending {
                Blending::Replace => under.copy_from_slice(drawn),
                Blending::Over => {
                    let (under, _) = under.as_chunks_mut::<4>();
                    let (drawn, _) = drawn.as_chunks::<4>();
                    for (under, drawn) in under.iter_mut().zip(drawn) {
                        *under = over(*drawn, *under);
                    }
                }
            }
        }
        Ok(())
    }

    /// Executes the disposal of the last frame.
    fn dispose(&mut self) {
        let row_bytes = 4 * self.area.width;
        let saved = std::mem::take(&mut self.saved);
        for row in 0..self.area.height {
            match self.disposal {
                Disposal::Keep => break,
                Disposal::Clear => self.row(row).fill(0),
                Disposal::Restore => {
                    let saved = &saved[row * row_bytes..][..row_bytes];
                    self.row(row).copy_from_slice(saved);
                }
            }
        }
    }

    /// Copies the pixels of the area.
    fn save(&mut self) -> Result<(), Error> {
        let mut saved = Vec::new();
        buffer::reserve(&mut saved, 4 * self.area.width * self.area.height)?;
        for row in 0..self.area.height {
            saved.extend_from_slice(self.row(row));
        }
        self.saved = saved;
        Ok(())
    }

    /// Returns the pixels of a row of the area.
    fn row(&mut self, row: usize) -> &mut [u8] {
        let Area { x, y, width, .. } = self.area;
        let start = 4 * ((y + row) * self.picture.size.width_px as usize + x);
        &mut self.picture.data[start..start + 4 * width]
    }
}

/// Returns the colour of `drawn` over `under`, both with straight alpha.
fn over(drawn: [u8; 4], under: [u8; 4]) -> [u8; 4] {
    match (drawn[3], under[3]) {
        (255, _) | (_, 0) => return drawn,
        (0, _) => return under,
        _ => {}
    }
    // Weights of the two colours, in units of 1 / 255².
    let drawn_share = u32::from(drawn[3]) * 255;
    let under_share = u32::from(under[3]) * (255 - u32::from(drawn[3]));
    let share = drawn_share + under_share;
    let mut blended = [0; 4];
    for (channel, blended) in blended.iter_mut().take(3).enumerate() {
        let sum = u32::from(drawn[channel]) * drawn_share + u32::from(under[channel]) * under_share;
        *blended = ((sum + share / 2) / share) as u8;
    }
    blended[3] = ((share + 127) / 255) as u8;
    blended
}
