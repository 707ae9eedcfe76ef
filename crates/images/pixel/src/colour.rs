//! Colour profiles (ICC.1): detects pictures that are in sRGB already, and converts others.
//!
//! The meaning of a profile is never lost. If the profile is not sRGB, either it is embedded in the
//! output, where every browser honours it, or the pixels are converted to sRGB.
//!
//! Small profiles are embedded: embedding is exact, keeps wide gamuts and needs no conversion of
//! planes to RGB. This holds only for RGB profiles that consist of a matrix and curves. The
//! profiles of printers and scanners are larger than a thumbnail, and clients interpret them
//! differently.

use crate::range::with_range;
use crate::rgb::to_packed;
use image_plan::{Layout, Packed, Range, Raster, Yuv};
use moxcms::{
    ColorProfile, DataColorSpace, Layout as IccLayout, ParsingOptions, RenderingIntent,
    ToneReprCurve, Transform8BitExecutor, TransformOptions,
};
use std::sync::Arc;

/// Maximum size in bytes of an embedded profile. Matrix profiles have 400 to 3,200 bytes.
pub const CARRY_BYTES_MAX: usize = 4 << 10;
/// Maximum size in bytes of a profile that is parsed. Profiles of printers have up to 3 MB.
pub const PROFILE_BYTES_MAX: usize = 4 << 20;

/// Way in which a picture's colour profile is handled.
pub enum ProfileAction {
    /// The profile is sRGB. A missing profile also means sRGB, so the profile is dropped.
    Drop,
    /// The profile is embedded in the output unchanged.
    Carry,
    /// The pixels are converted to sRGB, and the profile is dropped.
    Convert(Converter),
    /// The profile cannot be parsed or does not fit the picture; the pixels are treated as sRGB.
    /// The text is the reason, for the log.
    Malformed(String),
}

/// Conversion of pixels to sRGB, created by [`classify`] for one kind of raster (grey, RGB, RGBA or
/// CMYK).
pub struct Converter(Kind);

enum Kind {
    /// Lookup table from stored grey levels to sRGB grey levels.
    Curve(Box<[u8; 256]>),
    Pixels(Layout, Arc<Transform8BitExecutor>),
}

/// Treatment of small profiles that are not sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallProfiles {
    /// The profile is embedded in the output.
    Carry,
    /// The pixels are converted to sRGB, because colours in sRGB will be added to the picture.
    Convert,
}

/// Decides how `profile`, the colour profile of `raster`, is handled.
#[must_use]
pub fn classify(profile: &[u8], raster: &Raster, small: SmallProfiles) -> ProfileAction {
    let options = ParsingOptions {
        max_profile_size: PROFILE_BYTES_MAX,
        ..ParsingOptions::default()
    };
    let parsed = match ColorProfile::new_from_slice_with_options(profile, options) {
        Ok(parsed) => parsed,
        Err(err) => return ProfileAction::Malformed(err.to_string()),
    };
    let judged = match (parsed.color_space, Form::of(raster)) {
        (DataColorSpace::Rgb, Form::Rgb | Form::Rgba) if is_srgb(&parsed) => {
            Ok(ProfileAction::Drop)
        }
        (DataColorSpace::Rgb, Form::Rgb | Form::Rgba)
            if small == SmallProfiles::Carry
                && is_matrix(&parsed)
                && profile.len() <= CARRY_BYTES_MAX =>
        {
            Ok(ProfileAction::Carry)
        }
        (DataColorSpace::Rgb, Form::Rgb) => pixels(&parsed, Layout::Rgb),
        (DataColorSpace::Rgb, Form::Rgba) => pixels(&parsed, Layout::Rgba),
        (DataColorSpace::Cmyk, Form::Cmyk) => pixels(&parsed, Layout::Cmyk),
        // A grey profile can belong to RGB pixels, because a decoder may have expanded grey to
        // three equal channels.
        (DataColorSpace::Gray, Form::Grey | Form::Rgb | Form::Rgba) => {
            curve(&parsed, IccLayout::Gray)
        }
        (DataColorSpace::Rgb, Form::Grey) => curve(&parsed, IccLayout::Rgb),
        (space, form) => return ProfileAction::Malformed(format!("{space:?} profile on {form:?}")),
    };
    judged.unwrap_or_else(|err| ProfileAction::Malformed(err.to_string()))
}

impl Converter {
    /// Converts the picture to sRGB. Grey stays grey; everything else becomes RGB or RGBA.
    ///
    /// # Panics
    /// If the raster is of another kind than the one passed to [`classify`].
    #[must_use]
    pub fn to_srgb(&self, raster: Raster) -> Raster {
        match (&self.0, raster) {
            (Kind::Curve(curve), Raster::Yuv(yuv)) => Raster::Yuv(apply_curve(yuv, curve)),
            (Kind::Curve(curve), Raster::Packed(mut packed)) => {
                for pixel in packed.data.chunks_exact_mut(packed.layout.channels()) {
                    for sample in &mut pixel[..3] {
                        *sample = curve[usize::from(*sample)];
                    }
                }
                Raster::Packed(packed)
            }
            (Kind::Pixels(layout, transform), raster) => {
                let packed = to_packed(raster);
                assert_eq!(
                    packed.layout, *layout,
                    "the raster is of another kind than the one passed to `classify`"
                );
                Raster::Packed(apply_transform(&packed, transform.as_ref()))
            }
        }
    }

    /// Returns whether the conversion works on RGB. If it does, planes should be scaled to 4:4:4
    /// first.
    #[must_use]
    pub fn needs_rgb(&self) -> bool {
        matches!(self.0, Kind::Pixels(..))
    }
}

/// Kind of a raster with respect to colour profiles.
#[derive(Clone, Copy, Debug)]
enum Form {
    Grey,
    Rgb,
    Rgba,
    Cmyk,
}

impl Form {
    fn of(raster: &Raster) -> Form {
        match raster {
            Raster::Yuv(yuv) if yuv.chroma.is_none() => Form::Grey,
            Raster::Yuv(yuv) if yuv.alpha.is_some() => Form::Rgba,
            Raster::Yuv(_) => Form::Rgb,
            Raster::Packed(packed) => match packed.layout {
                Layout::Rgb => Form::Rgb,
                Layout::Rgba => Form::Rgba,
                Layout::Cmyk => Form::Cmyk,
            },
        }
    }
}

fn is_matrix(profile: &ColorProfile) -> bool {
    profile.is_matrix_shaper()
        && profile.lut_a_to_b_perceptual.is_none()
        && profile.lut_a_to_b_colorimetric.is_none()
        && profile.lut_a_to_b_saturation.is_none()
}

/// Returns whether the profile maps every 8-bit colour to nearly the same colour in sRGB, at most
/// one level away.
fn is_srgb(profile: &ColorProfile) -> bool {
    /// Maximum difference per coordinate of a colorant. The colorants of profiles for the same
    /// colour space differ slightly, because profiles store them in units of 1/65536, and their
    /// authors rounded the coordinates and adapted the white point in different ways.
    const COLORANT_TOLERANCE: f64 = 0.0015;
    let srgb = ColorProfile::new_srgb();
    let near = |a: moxcms::Xyzd, b: moxcms::Xyzd| {
        [a.x - b.x, a.y - b.y, a.z - b.z]
            .iter()
            .all(|difference| difference.abs() <= COLORANT_TOLERANCE)
    };
    is_matrix(profile)
        && near(profile.red_colorant, srgb.red_colorant)
        && near(profile.green_colorant, srgb.green_colorant)
        && near(profile.blue_colorant, srgb.blue_colorant)
        && [&profile.red_trc, &profile.green_trc, &profile.blue_trc]
            .into_iter()
            .all(|curve| curve.as_ref().is_some_and(is_srgb_curve))
}

fn is_srgb_curve(curve: &ToneReprCurve) -> bool {
    let Ok(curve) = curve.make_linear_evaluator() else {
        return false;
    };
    (0..=255_u8).all(|code| {
        let encoded = srgb_encoded(curve.evaluate_value(f32::from(code) / 255.0));
        (encoded * 255.0 - f32::from(code)).abs() <= 1.0
    })
}

/// Encodes linear light as sRGB (IEC 61966-2-1).
fn srgb_encoded(linear: f32) -> f32 {
    if linear <= 0.003_130_8 {
        linear * 12.92
    } else {
        1.055 * linear.powf(1.0 / 2.4) - 0.055
    }
}

fn options(profile: &ColorProfile) -> TransformOptions {
    TransformOptions {
        // Printer profiles contain tables with a gamut mapping for pictures (the perceptual
        // intent). Matrix profiles support only the colorimetric intent.
        rendering_intent: if is_matrix(profile) {
            RenderingIntent::RelativeColorimetric
        } else {
            RenderingIntent::Perceptual
        },
        ..TransformOptions::default()
    }
}

fn pixels(profile: &ColorProfile, layout: Layout) -> Result<ProfileAction, moxcms::CmsError> {
    let (from, to) = match layout {
        Layout::Rgb => (IccLayout::Rgb, IccLayout::Rgb),
        // moxcms uses the RGBA layout for CMYK.
        Layout::Cmyk => (IccLayout::Rgba, IccLayout::Rgb),
        Layout::Rgba => (IccLayout::Rgba, IccLayout::Rgba),
    };
    let srgb = ColorProfile::new_srgb();
    let transform = profile.create_transform_8bit(from, &srgb, to, options(profile))?;
    Ok(ProfileAction::Convert(Converter(Kind::Pixels(
        layout, transform,
    ))))
}

/// Builds the lookup table that converts the 256 levels of grey. If the profile is RGB, the table
/// contains the profile's conversion of neutral colours.
fn curve(profile: &ColorProfile, from: IccLayout) -> Result<ProfileAction, moxcms::CmsError> {
    let srgb = ColorProfile::new_srgb();
    let transform = profile.create_transform_8bit(from, &srgb, IccLayout::Rgb, options(profile))?;
    let greys: Vec<u8> = (0..=255)
        .flat_map(|grey| vec![grey; from.channels()])
        .collect();
    let mut colours = [0; 256 * 3];
    transform.transform(&greys, &mut colours)?;
    let curve: Box<[u8; 256]> = Box::new(std::array::from_fn(|grey| colours[3 * grey + 1]));
    let is_srgb = (0..=255_u8).all(|grey| curve[usize::from(grey)].abs_diff(grey) <= 1);
    Ok(if is_srgb {
        ProfileAction::Drop
    } else {
        ProfileAction::Convert(Converter(Kind::Curve(curve)))
    })
}

fn apply_curve(mut yuv: Yuv, curve: &[u8; 256]) -> Yuv {
    yuv = with_range(yuv, Range::Full);
    for sample in &mut yuv.luma.data {
        *sample = curve[usize::from(*sample)];
    }
    yuv
}

fn apply_transform(packed: &Packed, transform: &Transform8BitExecutor) -> Packed {
    let layout = match packed.layout {
        Layout::Rgba => Layout::Rgba,
        Layout::Rgb | Layout::Cmyk => Layout::Rgb,
    };
    let mut data = vec![0; layout.channels() * packed.size.pixels() as usize];
    transform
        .transform(&packed.data, &mut data)
        .expect("both buffers hold the same number of pixels");
    Packed {
        size: packed.size,
        layout,
        data,
    }
}
