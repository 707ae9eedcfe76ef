//! EXIF: time, camera and position of a picture.

pub(crate) mod find;
mod tiff;

use crate::input::Input;
use crate::{Error, Limits, ReadAt};

/// Photo metadata that a camera wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhotoMetadata {
    /// Capture time by the camera's clock, as seconds since 1970 in local time.
    pub taken_local_s: Option<i64>,
    /// Offset of the camera's clock from UTC in minutes, positive if the clock is ahead of UTC.
    pub offset_min: Option<i16>,
    /// Maker of the camera.
    pub make: Option<String>,
    /// Camera model.
    pub model: Option<String>,
    /// Lens model.
    pub lens: Option<String>,
    /// Exposure time, f-number, sensitivity and focal length.
    pub exposure: Exposure,
    /// Position at which the picture was taken.
    pub position: Option<Position>,
}

/// Settings of the camera at the exposure, as far as the camera wrote them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// Exposure time in nanoseconds.
    pub time_ns: Option<u64>,
    /// F-number in hundredths.
    pub f_number_e2: Option<u32>,
    /// Sensitivity as an ISO speed.
    pub iso: Option<u32>,
    /// Focal length of the lens in hundredths of a millimetre.
    pub focal_mm_e2: Option<u32>,
}

/// A position on Earth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Latitude, north positive, in 1/10,000,000 degree.
    pub latitude_e7: i32,
    /// Longitude, east positive, in 1/10,000,000 degree.
    pub longitude_e7: i32,
    /// Metres above sea level.
    pub altitude_m: Option<i32>,
}

/// Reads the EXIF of a JPEG, PNG, WebP, HEIC or AVIF of `len` bytes. Returns empty metadata if the
/// EXIF is missing or broken.
///
/// # Errors
/// The picture's own structure is broken, or reading fails.
pub fn read_photo_metadata(
    source: &(impl ReadAt + ?Sized),
    len: u64,
    limits: &Limits,
) -> Result<PhotoMetadata, Error> {
    let mut window = Vec::new();
    let mut input = Input::new(&source, len, &mut window, limits);
    let Some(block) = find::exif(&mut input)? else {
        return Ok(PhotoMetadata::default());
    };
    match tiff::read(&mut input, block) {
        Err(err) if err.is_local() => Ok(PhotoMetadata::default()),
        other => other,
    }
}
