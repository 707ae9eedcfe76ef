//! Background, margins and round corners.

use crate::pad::place;
use crate::rgb::to_packed;
use image_plan::{Layout, Packed, Raster, Rgba, Size};

/// Blends the picture over `background`. The result has alpha only if the background has. Returns
/// pictures without alpha unchanged.
///
/// The blend works on encoded samples, as in browsers.
#[must_use]
pub fn blend_over(packed: Packed, background: Rgba) -> Packed {
    if packed.layout != Layout::Rgba {
        return packed;
    }
    let pixels = packed.data.as_chunks().0.iter();
    let Rgba([red, green, blue, _]) = background;
    if background.is_opaque() {
        return Packed {
            size: packed.size,
            layout: Layout::Rgb,
            data: pixels
                .flat_map(|&[r, g, b, a]| {
                    [(r, red), (g, green), (b, blue)]
                        .map(|(sample, behind)| mixed(sample, behind, a))
                })
                .collect(),
        };
    }
    Packed {
        data: pixels.flat_map(|pixel| over(*pixel, background)).collect(),
        ..packed
    }
}

fn mixed(sample: u8, behind: u8, alpha: u8) -> u8 {
    let (sample, behind, alpha) = (u16::from(sample), u16::from(behind), u16::from(alpha));
    ((sample * alpha + behind * (255 - alpha) + 127) / 255) as u8
}

/// Returns the colour of a pixel over a colour that may be transparent (Porter and Duff's "over").
fn over([r, g, b, alpha]: [u8; 4], Rgba([red, green, blue, behind]): Rgba) -> [u8; 4] {
    // Both weights are in units of 1/255².
    let front = u32::from(alpha) * 255;
    let back = u32::from(behind) * u32::from(255 - alpha);
    let whole = front + back;
    if whole == 0 {
        return [0; 4];
    }
    let mix = |front_sample: u8, back_sample: u8| {
        let sum = u32::from(front_sample) * front + u32::from(back_sample) * back;
        ((sum + whole / 2) / whole) as u8
    };
    let alpha = ((whole + 127) / 255) as u8;
    [mix(r, red), mix(g, green), mix(b, blue), alpha]
}

/// Places the picture in a frame of size `frame`, `left_px` and `top_px` from its edges.
///
/// Without `background`, the margin is transparent if the picture has alpha, otherwise white. With
/// it, the margin has its colour, and so has everything behind transparent pixels.
///
/// # Panics
/// If the picture is not inside the frame.
#[must_use]
pub fn frame(
    raster: Raster,
    frame: Size,
    (left_px, top_px): (u32, u32),
    background: Option<Rgba>,
) -> Raster {
    let Some(colour) = background else {
        return place(raster, frame, (left_px, top_px), None);
    };
    let is_larger = raster.size() != frame;
    let mut packed = blend_over(to_packed(raster), colour);
    if is_larger && !colour.is_opaque() {
        packed = with_alpha(packed);
    }
    place(
        Raster::Packed(packed),
        frame,
        (left_px, top_px),
        Some(colour),
    )
}

/// Makes the corners round: multiplies alpha with the part of each pixel that lies inside a quarter
/// circle of `radius_px`. The radius is at most half of the shorter side.
#[must_use]
pub fn round_corners(packed: Packed, radius_px: u32) -> Packed {
    let Size {
        width_px: width,
        height_px: height,
    } = packed.size;
    let radius = f64::from(radius_px).min(f64::from(width.min(height)) / 2.0);
    let mut packed = with_alpha(packed);
    let count = radius.ceil() as u32;
    let (pixels, _) = packed.data.as_chunks_mut::<4>();
    for y in 0..count {
        for x in 0..count {
            let covered = coverage(radius, x, y);
            if covered == 255 {
                continue;
            }
            // A corner pixel may be its own mirror image, because the sides may be odd. Each pixel
            // is therefore taken once.
            let (mirrored_x, mirrored_y) = (width - 1 - x, height - 1 - y);
            let mut corners = vec![
                (x, y),
                (mirrored_x, y),
                (x, mirrored_y),
                (mirrored_x, mirrored_y),
            ];
            corners.sort_unstable();
            corners.dedup();
            for (x, y) in corners {
                let alpha = &mut pixels[y as usize * width as usize + x as usize][3];
                *alpha = ((u32::from(*alpha) * u32::from(covered) + 127) / 255) as u8;
            }
        }
    }
    packed
}

/// Returns the part of the pixel in column `x` and row `y` that lies inside a circle which touches
/// the left and the upper edge, in units of 1/255. The part is estimated from the distance of the
/// pixel's centre from the circle.
fn coverage(radius: f64, x: u32, y: u32) -> u8 {
    let distance = |at: u32| (radius - f64::from(at) - 0.5).max(0.0);
    let (across, down) = (distance(x), distance(y));
    let outside = (across * across + down * down).sqrt() - radius;
    ((0.5 - outside).clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Adds an opaque alpha channel, unless the picture has one.
///
/// # Panics
/// If the picture is CMYK.
pub(super) fn with_alpha(packed: Packed) -> Packed {
    match packed.layout {
        Layout::Rgba => packed,
        Layout::Cmyk => panic!("CMYK has no alpha"),
        Layout::Rgb => Packed {
            size: packed.size,
            layout: Layout::Rgba,
            data: packed
                .data
                .as_chunks()
                .0
                .iter()
                .flat_map(|&[r, g, b]| [r, g, b, 255])
                .collect(),
        },
    }
}
