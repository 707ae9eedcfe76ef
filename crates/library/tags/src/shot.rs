//! EXIF: when, with what and where a picture was taken.

mod find;
mod tiff;

use crate::input::Input;
use crate::{Error, Limits, ReadAt};

/// What a camera wrote down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shot {
    /// Seconds from 1970 to what the camera's clock showed.
    pub taken_local_s: Option<i64>,
    /// Minutes that the clock was ahead of UTC.
    pub offset_min: Option<i16>,
    /// Who made the camera.
    pub make: Option<String>,
    /// Which camera.
    pub model: Option<String>,
    /// Which lens.
    pub lens: Option<String>,
    /// Where.
    pub place: Option<Place>,
}

/// A place on earth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// North, in 1/10,000,000 degree.
    pub latitude_e7: i32,
    /// East, in 1/10,000,000 degree.
    pub longitude_e7: i32,
    /// Above the sea.
    pub altitude_m: Option<i32>,
}

/// Reads the EXIF of a JPEG, PNG, WebP, HEIC or AVIF of `len` bytes; a picture without any, or with a broken one, has
/// nothing to say.
///
/// # Errors
/// When the picture's own structure is broken, or reading fails.
pub fn shot(source: &(impl ReadAt + ?Sized), len: u64, limits: &Limits) -> Result<Shot, Error> {
    let mut window = Vec::new();
    let mut input = Input::new(&source, len, &mut window, limits);
    let Some(block) = find::exif(&mut input)? else {
        return Ok(Shot::default());
    };
    match tiff::read(&mut input, block) {
        Err(err) if err.is_local() => Ok(Shot::default()),
        other => other,
    }
}
