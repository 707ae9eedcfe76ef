//! Parameters that turn and crop a picture: `rotate`, `flip`, `flop`, `crop`, `focus`, `gravity`.

use super::{Parameter, QueryError, RawParameters, contradiction, digits};
use crate::Orientation;
use crate::recipe::{Crop, Focus, WHOLE_SHARE};

/// Maximum number of decimals of a share.
const SHARE_DECIMALS: usize = 4;

const CROP_FORMS: &str = "must be X,Y,WIDTH,HEIGHT in pixels, or with a decimal point as shares \
                          of the picture, or WIDTH:HEIGHT as proportions";
const POINT_FORM: &str = "must be X,Y as shares of the picture, such as 0.5,0.25";
const GRAVITIES: &str = "must be center, north, northeast, east, southeast, south, southwest, west \
                         or northwest";

impl RawParameters {
    /// Interprets `rotate`, `flip` and `flop`, which are applied in this order.
    pub(super) fn turn(&self) -> Result<Orientation, QueryError> {
        let rotation = match self.value(Parameter::Rotate) {
            None | Some("0") => Orientation::Upright,
            Some("90") => Orientation::Turn90,
            Some("180") => Orientation::Turn180,
            Some("270") => Orientation::Turn270,
            Some(_) => {
                let problem = "must be 0, 90, 180 or 270 degrees clockwise";
                return Err(QueryError::value(Parameter::Rotate, problem));
            }
        };
        let mut turn = rotation;
        if self.flag(Parameter::Flip)? {
            turn = turn.then(Orientation::Flip);
        }
        if self.flag(Parameter::Flop)? {
            turn = turn.then(Orientation::Mirror);
        }
        Ok(turn)
    }

    /// Interprets `crop`. Returns `None` if the whole picture is kept.
    pub(super) fn crop(&self) -> Result<Option<Crop>, QueryError> {
        let Some(value) = self.value(Parameter::Crop) else {
            return Ok(None);
        };
        let crop = match value.split_once(':') {
            Some((width, height)) => ratio(width, height),
            None if value.contains('.') => four(value, share).and_then(shares),
            None => four(value, digits).and_then(pixels),
        };
        let crop = crop.ok_or_else(|| QueryError::value(Parameter::Crop, CROP_FORMS))?;
        let whole = Crop::Shares {
            x: 0,
            y: 0,
            width: WHOLE_SHARE,
            height: WHOLE_SHARE,
        };
        Ok(Some(crop).filter(|crop| *crop != whole))
    }

    /// Interprets `focus` or `gravity`. `is_cropped` is true if the other parameters leave open
    /// which part of the picture is kept.
    pub(super) fn focus(&self, is_cropped: bool) -> Result<Focus, QueryError> {
        let (focus, gravity) = (self.value(Parameter::Focus), self.value(Parameter::Gravity));
        let (parameter, focus, problem) = match (focus, gravity) {
            (None, None) => return Ok(Focus::default()),
            (Some(_), Some(_)) => {
                let problem = "cannot be combined with focus";
                return Err(contradiction(Parameter::Gravity, problem));
            }
            (Some(text), None) => (Parameter::Focus, point(text), POINT_FORM),
            (None, Some(name)) => (Parameter::Gravity, point_of_gravity(name), GRAVITIES),
        };
        if !is_cropped {
            let problem = "needs fit=cover, or crop=WIDTH:HEIGHT";
            return Err(contradiction(parameter, problem));
        }
        focus.ok_or_else(|| QueryError::value(parameter, problem))
    }
}

/// Parses four numbers that are separated by commas.
fn four<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<[T; 4]> {
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
fn shares([x, y, width, height]: [u16; 4]) -> Option<Crop> {
    let crop = Crop::Shares {
        x,
        y,
        width,
        height,
    };
    let is_inside = x + width <= WHOLE_SHARE && y + height <= WHOLE_SHARE;
    (width != 0 && height != 0 && is_inside).then_some(crop)
}

fn ratio(width: &str, height: &str) -> Option<Crop> {
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

fn point(text: &str) -> Option<Focus> {
    let (x, y) = text.split_once(',')?;
    Some(Focus {
        x: share(x)?,
        y: share(y)?,
    })
}

/// Parses a share from 0 to 1 with at most [`SHARE_DECIMALS`] decimals. Returns the share in
/// ten-thousandths.
fn share(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    if decimals.is_empty() || SHARE_DECIMALS < decimals.len() {
        return None;
    }
    let fraction = digits(&format!("{decimals:0<SHARE_DECIMALS$}"))?;
    let whole = digits(whole).filter(|whole| *whole <= 1)?;
    let share = whole * u32::from(WHOLE_SHARE) + fraction;
    u16::try_from(share)
        .ok()
        .filter(|share| *share <= WHOLE_SHARE)
}

/// Returns the point that `name` denotes: the centre, the middle of a side, or a corner.
fn point_of_gravity(name: &str) -> Option<Focus> {
    const START: u16 = 0;
    const CENTRE: u16 = WHOLE_SHARE / 2;
    const END: u16 = WHOLE_SHARE;
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
