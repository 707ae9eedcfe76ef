//! Parameters that rotate, mirror, trim and crop a picture: `rotate`, `flip`, `flop`, `trim`,
//! `crop`, `focus`, `gravity`.

use super::effects::hundredths;
use super::{Parameter, QueryError, RawParameters, contradiction, digits};
use crate::recipe::{Crop, FRACTION_ONE, Focus};
use crate::{Angle, Orientation};

/// Maximum number of decimals of a fraction.
const FRACTION_DECIMALS: usize = 4;

const CROP_FORMS: &str = "must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from \
                          0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect \
                          ratio (16:9)";
const POINT_FORM: &str = "must be X,Y as fractions of the picture, such as 0.5,0.25";
const GRAVITIES: &str = "must be center, north, northeast, east, southeast, south, southwest, west \
                         or northwest";

impl RawParameters {
    /// Interprets `rotate`, `flip` and `flop`. A multiple of 90° is applied first, as part of the
    /// orientation. Any other angle is returned separately, because it is applied after the picture
    /// is fitted into its box.
    pub(super) fn rotation(&self) -> Result<(Orientation, Angle), QueryError> {
        let centidegrees = match self.value(Parameter::Rotate) {
            None => 0,
            Some(text) => parse_degrees(text).ok_or_else(|| {
                let problem = "must be degrees clockwise, from -360 to 360 with at most 2 decimals";
                QueryError::value(Parameter::Rotate, problem)
            })?,
        };
        let (mut orientation, centidegrees) = match centidegrees {
            0 => (Orientation::Upright, 0),
            9_000 => (Orientation::Turn90, 0),
            18_000 => (Orientation::Turn180, 0),
            27_000 => (Orientation::Turn270, 0),
            other => (Orientation::Upright, other),
        };
        if self.flag(Parameter::Flip)? {
            orientation = orientation.then(Orientation::Flip);
        }
        if self.flag(Parameter::Flop)? {
            orientation = orientation.then(Orientation::Mirror);
        }
        Ok((orientation, Angle { centidegrees }))
    }

    /// Interprets `trim`. The size of a trimmed picture is not known before the picture is decoded.
    /// So `meta` cannot describe a trimmed picture, and `enlarge` needs `w` and `h`, which bound
    /// its size.
    pub(super) fn trim(&self) -> Result<Option<u8>, QueryError> {
        let Some(text) = self.value(Parameter::Trim) else {
            return Ok(None);
        };
        let threshold = digits(text).and_then(|number| u8::try_from(number).ok());
        let threshold = threshold.ok_or_else(|| {
            QueryError::value(Parameter::Trim, "must be a whole number from 0 to 255")
        })?;
        if self.value(Parameter::Meta).is_some() {
            let problem = "cannot be combined with meta";
            return Err(contradiction(Parameter::Trim, problem));
        }
        let has_box = self.value(Parameter::W).is_some() && self.value(Parameter::H).is_some();
        if self.flag(Parameter::Enlarge)? && !has_box {
            let problem = "needs both w and h if it is combined with trim";
            return Err(contradiction(Parameter::Enlarge, problem));
        }
        Ok(Some(threshold))
    }

    /// Interprets `crop`. Returns `None` if the whole picture is kept.
    pub(super) fn crop(&self) -> Result<Option<Crop>, QueryError> {
        let Some(value) = self.value(Parameter::Crop) else {
            return Ok(None);
        };
        let crop = match value.split_once(':') {
            Some((width, height)) => parse_ratio(width, height),
            None if value.contains('.') => parse_four(value, parse_fraction).and_then(fractions),
            None => parse_four(value, digits).and_then(pixels),
        };
        let crop = crop.ok_or_else(|| QueryError::value(Parameter::Crop, CROP_FORMS))?;
        let whole = Crop::Fractions {
            x: 0,
            y: 0,
            width: FRACTION_ONE,
            height: FRACTION_ONE,
        };
        Ok(Some(crop).filter(|crop| *crop != whole))
    }

    /// Interprets `focus` or `gravity`, which position a crop. `is_placeable` is true if another
    /// parameter crops the picture and leaves the position open.
    pub(super) fn focus(&self, is_placeable: bool) -> Result<Focus, QueryError> {
        let (focus, gravity) = (self.value(Parameter::Focus), self.value(Parameter::Gravity));
        let (parameter, focus, problem) = match (focus, gravity) {
            (None, None) => return Ok(Focus::default()),
            (Some(_), Some(_)) => {
                let problem = "cannot be combined with focus";
                return Err(contradiction(Parameter::Gravity, problem));
            }
            (Some(text), None) => (Parameter::Focus, parse_point(text), POINT_FORM),
            (None, Some(name)) => (Parameter::Gravity, point_of_gravity(name), GRAVITIES),
        };
        if !is_placeable {
            let problem = "has an effect only with fit=cover or crop=WIDTH:HEIGHT";
            return Err(contradiction(parameter, problem));
        }
        focus.ok_or_else(|| QueryError::value(parameter, problem))
    }
}

/// Parses an angle from −360° to 360°. Returns it in hundredths of a degree, from 0 to below 360°.
fn parse_degrees(text: &str) -> Option<u16> {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let full = u32::from(Angle::FULL);
    let angle = hundredths(text).filter(|angle| *angle <= full)?;
    let angle = if is_negative { full - angle } else { angle };
    u16::try_from(angle % full).ok()
}

/// Parses four numbers that are separated by commas.
fn parse_four<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<[T; 4]> {
    let numbers: Option<Vec<T>> = text.split(',').map(parse).collect();
    numbers?.try_into().ok()
}

fn pixels([x, y, width_px, height_px]: [u32; 4]) -> Option<Crop> {
    let crop = Crop::Pixels {
        x,
        y,
        width_px,
        height_px,
    };
    (width_px != 0 && height_px != 0).then_some(crop)
}

/// Creates a crop from a rectangle in ten-thousandths. Returns `None` if the rectangle is empty or
/// not inside the picture.
fn fractions([x, y, width, height]: [u16; 4]) -> Option<Crop> {
    let crop = Crop::Fractions {
        x,
        y,
        width,
        height,
    };
    let is_inside = x + width <= FRACTION_ONE && y + height <= FRACTION_ONE;
    (width != 0 && height != 0 && is_inside).then_some(crop)
}

fn parse_ratio(width: &str, height: &str) -> Option<Crop> {
    let side = |text: &str| u16::try_from(digits(text)?).ok().filter(|side| *side != 0);
    let (width, height) = (side(width)?, side(height)?);
    let divisor = common_divisor(width, height);
    Some(Crop::Ratio {
        width: width / divisor,
        height: height / divisor,
    })
}

/// Returns the greatest common divisor of two numbers that are not 0, by Euclid's algorithm.
fn common_divisor(mut a: u16, mut b: u16) -> u16 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn parse_point(text: &str) -> Option<Focus> {
    let (x, y) = text.split_once(',')?;
    Some(Focus {
        x: parse_fraction(x)?,
        y: parse_fraction(y)?,
    })
}

/// Parses a fraction from 0 to 1 with at most [`FRACTION_DECIMALS`] decimals. Returns it in
/// ten-thousandths.
fn parse_fraction(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    if decimals.is_empty() || FRACTION_DECIMALS < decimals.len() {
        return None;
    }
    let decimals = digits(&format!("{decimals:0<FRACTION_DECIMALS$}"))?;
    let whole = digits(whole).filter(|whole| *whole <= 1)?;
    let fraction = whole * u32::from(FRACTION_ONE) + decimals;
    u16::try_from(fraction)
        .ok()
        .filter(|fraction| *fraction <= FRACTION_ONE)
}

/// Returns the point that `name` denotes: the centre, the middle of a side, or a corner.
fn point_of_gravity(name: &str) -> Option<Focus> {
    const START: u16 = 0;
    const CENTRE: u16 = FRACTION_ONE / 2;
    const END: u16 = FRACTION_ONE;
    let (x, y) = match name {
        "center" => (CENTRE, CENTRE),
        "north" => (CENTRE, START),
        "northeast" => (END, START),
        "east" => (END, CENTRE),
        "southeast" => (END, END),
        "south" => (CENTRE, END),
        "southwest" => (START, END),
        "west" => (START, CENTRE),
        "northwest" => (START, START),
        _ => return None,
    };
    Some(Focus { x, y })
}
