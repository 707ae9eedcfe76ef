//! Metadata of a picture: time, camera and position from EXIF, names of places from XMP and
//! IPTC-IIM.

pub(crate) mod find;
mod iptc;
mod place;
mod tiff;
mod xmp_places;

use find::Block;
use place::FoundPlaces;
pub use place::Place;

use crate::input::{Input, WINDOW_BYTES_MAX};
use crate::{Error, ErrorKind, Limits, ReadAt};

/// Photo metadata that a camera, or a person in another program, wrote.
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
    /// Places, at most eight: that of the simple properties of XMP or IPTC-IIM first, then those
    /// where the picture was taken, then those that it shows.
    pub places: Vec<Place>,
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

/// Reads the metadata of a JPEG, PNG, WebP, HEIC, AVIF or TIFF of `len` bytes. A block of metadata
/// that is missing or broken has no effect on the others. Metadata that would take more work than
/// `limits` allow are not read.
///
/// # Errors
/// The picture's own structure is broken before its EXIF, or reading fails.
pub fn read_photo_metadata(
    source: &(impl ReadAt + ?Sized),
    len: u64,
    limits: &Limits,
) -> Result<PhotoMetadata, Error> {
    let mut window = Vec::new();
    let mut input = Input::new(&source, len, &mut window, limits);
    let mut reading = Reading::default();
    if let Err(err) = find::blocks(&mut input, &mut reading) {
        let is_lost = match err.kind {
            ErrorKind::Io => true,
            // A picture with more parts than the limits allow, such as a large PNG in chunks of
            // 8 KiB, is sound. Metadata after these parts are not searched for.
            ErrorKind::Limit => false,
            _ => !reading.has_exif,
        };
        if is_lost {
            return Err(err);
        }
    }
    let mut metadata = reading.exif;
    metadata.places = reading.places.into_places();
    Ok(metadata)
}

/// Metadata that were read so far. Of each kind of block, the first one counts.
#[derive(Default)]
struct Reading {
    exif: PhotoMetadata,
    places: FoundPlaces,
    has_exif: bool,
    has_xmp: bool,
}

impl Reading {
    /// Reads a block.
    fn take(&mut self, input: &mut Input<'_>, block: Block) -> Result<(), Error> {
        match self.read(input, block) {
            Err(err) if err.is_local() => Ok(()),
            other => other,
        }
    }

    fn read(&mut self, input: &mut Input<'_>, block: Block) -> Result<(), Error> {
        match block {
            Block::Exif(range) if !std::mem::replace(&mut self.has_exif, true) => {
                let exif = tiff::read(input, range.start..range.end.min(input.len()))?;
                self.exif = exif.metadata;
                for block in exif.blocks {
                    self.take(input, block)?;
                }
            }
            Block::Xmp(range) if !std::mem::replace(&mut self.has_xmp, true) => {
                // A longer text, such as a long history of edits, is truncated.
                let bytes = range.end.saturating_sub(range.start);
                let bytes = bytes.min(WINDOW_BYTES_MAX as u64) as usize;
                let text = String::from_utf8_lossy(input.up_to(range.start, bytes)?);
                xmp_places::read(&text, &mut self.places);
            }
            Block::Iptc(range) if self.places.iptc.is_empty() => {
                self.places.iptc = iptc::read_datasets(input, range)?;
            }
            Block::Resources(range) if self.places.iptc.is_empty() => {
                self.places.iptc = iptc::read_resources(input, range)?;
            }
            _ => {}
        }
        Ok(())
    }
}
