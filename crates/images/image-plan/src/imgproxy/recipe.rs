//! Meaning of the options of an imgproxy URL together, as a recipe.

use std::num::NonZeroU32;

use super::ImgproxyError;
use super::options::{Gravity, Options, ResizingType};
use crate::{
    Crop, Effects, FRACTION_ONE, Fit, Focus, Orientation, Padding, REQUESTED_SIDE_PX_MAX, Recipe,
    Rgba, Target, Unsharp,
};

/// Box into which the picture is fitted.
#[derive(Default)]
struct BoxOptions {
    width_px: Option<u32>,
    height_px: Option<u32>,
    fit: Fit,
    enlarge: bool,
}

impl Options {
    /// Returns the recipe of these options.
    pub(super) fn recipe(&self) -> Result<Recipe, ImgproxyError> {
        let BoxOptions {
            width_px,
            height_px,
            fit,
            enlarge,
        } = self.fitted()?;
        let trim = self
            .trim
            .map(|threshold| (threshold.min(255.0).round()) as u8);
        let has_box = width_px.is_some() && height_px.is_some();
        if trim.is_some() && enlarge && !has_box {
            let problem = "needs both width and height if it is combined with trim";
            return Err(ImgproxyError::option("enlarge", problem));
        }
        Ok(Recipe {
            orientation: self.orientation(),
            trim,
            crop: self.cropped()?,
            focus: match fit {
                Fit::Cover => self.gravity.focus()?,
                _ => Focus::default(),
            },
            width_px,
            height_px,
            fit,
            enlarge,
            quality_pct: self.quality_pct()?,
            is_quality_auto: false,
            // A PNG cannot be reduced; imgproxy ignores the option, too.
            bytes_max: NonZeroU32::new(self.bytes_max).filter(|_| self.format != Some(Target::Png)),
            format: self.format,
            page: None,
            frame: None,
            effects: self.effects(fit)?,
        })
    }

    /// Returns the box. Its sides are multiplied with the zoom and the device pixel ratio.
    fn fitted(&self) -> Result<BoxOptions, ImgproxyError> {
        if self.min_width != 0 || self.min_height != 0 {
            let name = if self.min_width != 0 {
                "min-width"
            } else {
                "min-height"
            };
            return Err(ImgproxyError::option(name, "this option is not supported"));
        }
        let [zoom, zoom_height] = self.zoom;
        if zoom != zoom_height {
            let problem = "different zoom factors for width and height are not supported";
            return Err(ImgproxyError::option("zoom", problem));
        }
        let has_size = self.width != 0 || self.height != 0;
        if !has_size && zoom != 1.0 {
            let problem = "this option is supported only with width or height";
            return Err(ImgproxyError::option("zoom", problem));
        }
        // imgproxy multiplies the picture's own size. Without `enlarge`, a ratio above 1 then has
        // no effect.
        let is_scaled = self.dpr < 1.0 || self.enlarge && 1.0 < self.dpr;
        if !has_size && is_scaled {
            let problem = "must be at least 1 if neither width nor height is set, and exactly 1 \
                           if enlarge is also set";
            return Err(ImgproxyError::option("dpr", problem));
        }
        if !has_size {
            return Ok(BoxOptions::default());
        }
        let width_px = scaled("width", self.width, zoom * self.dpr)?;
        let height_px = scaled("height", self.height, zoom * self.dpr)?;
        Ok(BoxOptions {
            width_px,
            height_px,
            fit: self.fit(width_px.is_some() && height_px.is_some())?,
            enlarge: self.enlarge,
        })
    }

    fn fit(&self, has_both_sides: bool) -> Result<Fit, ImgproxyError> {
        let fit = match (self.resizing_type, has_both_sides) {
            (ResizingType::Auto, _) => {
                let problem = "the type auto is not supported";
                return Err(ImgproxyError::option("resizing_type", problem));
            }
            (ResizingType::Force, false) => {
                let problem = "resizing type force needs both width and height";
                return Err(ImgproxyError::option("resizing_type", problem));
            }
            (_, false) | (ResizingType::Fit, true) => Fit::Inside,
            (ResizingType::Fill | ResizingType::FillDown, true) => Fit::Cover,
            (ResizingType::Force, true) => Fit::Fill,
        };
        // With `enlarge`, a picture that covers its box or is stretched to it needs no margins.
        let is_exact = self.enlarge && matches!(fit, Fit::Cover | Fit::Fill);
        match (self.extend && !is_exact, fit, self.extend_gravity) {
            (false, fit, _) => Ok(fit),
            (true, Fit::Inside, Gravity::CENTRE) if has_both_sides => Ok(Fit::Contain),
            (true, _, _) => {
                let problem = "needs width and height, and either resizing type fit with \
                               gravity ce, or enlarge with resizing type fill, fill-down or force";
                Err(ImgproxyError::option("extend", problem))
            }
        }
    }

    /// Returns the rotation, followed by the mirroring.
    fn orientation(&self) -> Orientation {
        let mut orientation = match self.turns {
            0 => Orientation::Upright,
            1 => Orientation::Turn90,
            2 => Orientation::Turn180,
            _ => Orientation::Turn270,
        };
        if self.flip_horizontal {
            orientation = orientation.then(Orientation::Mirror);
        }
        if self.flip_vertical {
            orientation = orientation.then(Orientation::Flip);
        }
        orientation
    }

    /// Returns the part of the picture that is kept before the picture is fitted into the box.
    fn cropped(&self) -> Result<Option<Crop>, ImgproxyError> {
        let [width, height] = self.crop;
        let gravity = self.crop_gravity.unwrap_or(self.gravity);
        if width == 0.0 && height == 0.0 {
            return Ok(None);
        }
        let crop = match width < 1.0 && height < 1.0 {
            true => crop_by_shares(self.crop, gravity),
            false => crop_by_pixels(self.crop, gravity),
        };
        let crop = crop.map_err(|problem| ImgproxyError::option("crop", problem))?;
        Ok(Some(crop))
    }

    fn quality_pct(&self) -> Result<Option<u8>, ImgproxyError> {
        let quality = match (self.quality, self.format) {
            (0, _) if self.format_quality.is_empty() => None,
            (0, None) => {
                let problem = "needs a format, given as an option or as an extension of the source";
                return Err(ImgproxyError::option("format_quality", problem));
            }
            (0, Some(format)) => {
                let mut qualities = self.format_quality.iter();
                let quality = qualities.find(|(named, _)| *named == format);
                quality
                    .map(|(_, quality)| *quality)
                    .filter(|quality| *quality != 0)
            }
            (quality, _) => Some(quality),
        };
        // PNG is lossless: every quality gives the same recipe.
        Ok(quality.filter(|_| self.format != Some(Target::Png)))
    }

    fn effects(&self, fit: Fit) -> Result<Effects, ImgproxyError> {
        let sigma = |name: &str, sigma: f64| {
            let max = Effects::SIGMA_CENTIPX_MAX;
            let centipx = (sigma * 100.0).round();
            match centipx <= f64::from(max) {
                true => Ok(centipx as u16),
                false => {
                    let problem = format!("must be at most {}", max / 100);
                    Err(ImgproxyError::option(name, &problem))
                }
            }
        };
        let sharpen = sigma("sharpen", self.sharpen)?;
        let pad = self.pad()?;
        let has_margins = fit == Fit::Contain || pad != Padding::default();
        let pixelate_max = u32::from(Effects::PIXELATE_PX_MAX);
        if pixelate_max < self.pixelate {
            let problem = format!("must be at most {pixelate_max}");
            return Err(ImgproxyError::option("pixelate", &problem));
        }
        Ok(Effects {
            blur_centipx: sigma("blur", self.blur)?,
            unsharp: (sharpen != 0).then_some(Unsharp {
                sigma_centipx: sharpen,
                amount_pct: 100,
                threshold: 0,
            }),
            pixelate_px: if self.pixelate <= 1 {
                0
            } else {
                self.pixelate as u16
            },
            pad,
            // Margins of imgproxy are transparent in formats that can be.
            background: self.background.or(has_margins.then_some(Rgba::TRANSPARENT)),
            ..Effects::NONE
        })
    }

    /// Returns the margins, multiplied with the device pixel ratio.
    fn pad(&self) -> Result<Padding, ImgproxyError> {
        let margin = |margin: u32| {
            let margin = (f64::from(margin) * self.dpr).round();
            match margin <= f64::from(Effects::LENGTH_PX_MAX) {
                true => Ok(margin as u16),
                false => Err(ImgproxyError::option(
                    "padding",
                    "is too large after multiplication by dpr",
                )),
            }
        };
        let [top, right, bottom, left] = self.padding;
        Ok(Padding {
            top_px: margin(top)?,
            right_px: margin(right)?,
            bottom_px: margin(bottom)?,
            left_px: margin(left)?,
        })
    }
}

impl Gravity {
    /// Returns the point that a crop to the box keeps.
    fn focus(self) -> Result<Focus, ImgproxyError> {
        let error = |problem: &str| Err(ImgproxyError::option("gravity", problem));
        let (x, y) = match self {
            Gravity::Smart => return error("the gravity sm is not supported"),
            Gravity::Side {
                offset_x, offset_y, ..
            } if offset_x != 0.0 || offset_y != 0.0 => {
                return error("offsets of the gravity are not supported");
            }
            Gravity::Side { x, y, .. } | Gravity::Point { x, y } => (x, y),
        };
        Ok(Focus {
            x: fraction(x),
            y: fraction(y),
        })
    }
}

/// Returns the crop to shares of the picture's sides, where 0 means the whole side.
fn crop_by_shares(shares: [f64; 2], gravity: Gravity) -> Result<Crop, &'static str> {
    let length = |share: f64| match share {
        0.0 => FRACTION_ONE,
        share => fraction(share).max(1),
    };
    let [width, height] = shares.map(length);
    let beside = |length: u16, x: f64| (f64::from(FRACTION_ONE - length) * x).round() as u16;
    let around = |point: f64, length: u16| {
        let start = fraction(point).saturating_sub(length / 2);
        start.min(FRACTION_ONE - length)
    };
    let (x, y) = match gravity {
        Gravity::Smart => return Err("the gravity sm is not supported"),
        Gravity::Point { x, y } => (around(x, width), around(y, height)),
        Gravity::Side {
            x,
            y,
            offset_x: 0.0,
            offset_y: 0.0,
        } => (beside(width, x), beside(height, y)),
        Gravity::Side { .. } => {
            return Err("offsets are not supported for a crop whose sides are fractions");
        }
    };
    Ok(Crop::Fractions {
        x,
        y,
        width,
        height,
    })
}

/// Returns the crop to a number of pixels, where 0 means the whole side.
fn crop_by_pixels(sides: [f64; 2], gravity: Gravity) -> Result<Crop, &'static str> {
    // The casts saturate.
    let pixels = |length: f64| (length == 0.0 || 1.0 <= length).then_some(length as u32);
    let [Some(width), Some(height)] = sides.map(pixels) else {
        return Err("a crop with one side in pixels and the other as a fraction is not supported");
    };
    let Gravity::Side {
        x: 0.0,
        y: 0.0,
        offset_x,
        offset_y,
    } = gravity
    else {
        return Err(
            "a crop in pixels is supported only with the gravity nowe, as in crop:W:H:nowe:X:Y",
        );
    };
    let offset = |offset: f64| pixels(offset).filter(|_| offset.fract() == 0.0);
    let [Some(x), Some(y)] = [offset_x, offset_y].map(offset) else {
        return Err("offsets must be whole pixels");
    };
    let whole = |length: u32| if length == 0 { u32::MAX } else { length };
    Ok(Crop::Pixels {
        x,
        y,
        width_px: whole(width),
        height_px: whole(height),
    })
}

/// Returns a side of the box, multiplied with `factor`. Returns `None` if it is not given.
fn scaled(name: &str, side: u32, factor: f64) -> Result<Option<u32>, ImgproxyError> {
    if side == 0 {
        return Ok(None);
    }
    let side = (f64::from(side) * factor).round().max(1.0);
    if side <= f64::from(REQUESTED_SIDE_PX_MAX) {
        return Ok(Some(side as u32));
    }
    let problem =
        format!("must be at most {REQUESTED_SIDE_PX_MAX} after multiplication by zoom and dpr");
    Err(ImgproxyError::option(name, &problem))
}

/// Converts a share from 0 to 1 to ten-thousandths.
fn fraction(share: f64) -> u16 {
    (share * f64::from(FRACTION_ONE)).round() as u16
}
