//! Directories of a TIFF file. In the table, `@` precedes the offset of a field in bytes.
//!
//! ```text
//! @0 "II" little-endian or "MM" big-endian · @2 the number 42 · @4 offset of the first directory
//! directory: count u16 · count × (tag u16 · type u16 · values u32 · value or its offset u32)
//! ```

use super::find::Block;
use super::{PhotoMetadata, Position};
use crate::Error;
use crate::input::Input;
use std::ops::Range;

/// Maximum number of parsed entries per directory; cameras write a few dozen.
const ENTRIES_MAX: u16 = 256;
/// Maximum bytes of a text value, such as the camera's name.
const TEXT_BYTES_MAX: u64 = 256;

const XMP: u16 = 0x02bc;
const IPTC: u16 = 0x83bb;
const RESOURCES: u16 = 0x8649;
const MAKE: u16 = 0x010f;
const MODEL: u16 = 0x0110;
const CHANGED: u16 = 0x0132;
const EXIF: u16 = 0x8769;
const GPS: u16 = 0x8825;
const EXPOSURE_TIME: u16 = 0x829a;
const F_NUMBER: u16 = 0x829d;
const SENSITIVITY: u16 = 0x8827;
const ISO_SPEED: u16 = 0x8833;
const TAKEN: u16 = 0x9003;
const OFFSET_TAKEN: u16 = 0x9011;
const FOCAL_LENGTH: u16 = 0x920a;
const LENS: u16 = 0xa434;

/// Longest plausible exposure time: one day.
const EXPOSURE_S_MAX: f64 = 86_400.0;
/// Value of [`SENSITIVITY`] for a sensitivity that 16 bits cannot hold (Exif 2.3, table 22).
const SENSITIVITY_MAX: u64 = 65_535;

const ASCII: u16 = 2;
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;

/// One entry: its tag, type and count, and the offset of its value.
#[derive(Clone, Copy)]
struct Entry {
    tag: u16,
    kind: u16,
    count: u32,
    at: u64,
}

struct Tiff<'a, 'b> {
    input: &'a mut Input<'b>,
    block: Range<u64>,
    big_endian: bool,
}

/// Metadata in a TIFF file, and further blocks of metadata within it.
pub(super) struct Exif {
    pub(super) metadata: PhotoMetadata,
    pub(super) blocks: Vec<Block>,
}

pub(super) fn read(input: &mut Input<'_>, block: Range<u64>) -> Result<Exif, Error> {
    let big_endian = match &input.field(&block, 0)? {
        b"II\x2a\0" => false,
        b"MM\0\x2a" => true,
        _ => {
            return Err(Error::malformed(
                "the EXIF block does not begin with a byte order mark",
            ));
        }
    };
    let mut tiff = Tiff {
        input,
        block,
        big_endian,
    };
    let mut shot = PhotoMetadata::default();
    let (mut changed, mut exif, mut gps) = (None, None, None);
    let mut blocks = Vec::new();
    let first = tiff.u32(4)?;
    for entry in tiff.directory(first)? {
        match (entry.tag, entry.kind) {
            (MAKE, ASCII) => shot.make = tiff.text(entry)?,
            (MODEL, ASCII) => shot.model = tiff.text(entry)?,
            (CHANGED, ASCII) => changed = tiff.text(entry)?,
            (EXIF, LONG) => exif = Some(tiff.u32(entry.at)?),
            (GPS, LONG) => gps = Some(tiff.u32(entry.at)?),
            (XMP, _) => blocks.extend(tiff.range(entry).map(Block::Xmp)),
            (IPTC, _) => blocks.extend(tiff.range(entry).map(Block::Iptc)),
            (RESOURCES, _) => blocks.extend(tiff.range(entry).map(Block::Resources)),
            _ => {}
        }
    }
    let (mut taken, mut speed) = (None, None);
    // Each directory is read once, whatever its offset, so offsets cannot form a loop.
    for entry in exif.map_or_else(|| Ok(Vec::new()), |at| tiff.directory(at))? {
        match (entry.tag, entry.kind) {
            (TAKEN, ASCII) => taken = tiff.text(entry)?,
            (OFFSET_TAKEN, ASCII) => {
                shot.offset_min = tiff.text(entry)?.and_then(|text| offset(&text));
            }
            (LENS, ASCII) => shot.lens = tiff.text(entry)?,
            (EXPOSURE_TIME, RATIONAL) => {
                let seconds = tiff.ratio(entry)?.filter(|it| *it <= EXPOSURE_S_MAX);
                shot.exposure.time_ns = seconds.map(|it| (it * 1e9).round() as u64);
            }
            (F_NUMBER, RATIONAL) => shot.exposure.f_number_e2 = tiff.hundredths(entry)?,
            (FOCAL_LENGTH, RATIONAL) => shot.exposure.focal_mm_e2 = tiff.hundredths(entry)?,
            (SENSITIVITY, SHORT) => {
                let value = u64::from(tiff.u16(entry.at)?);
                let is_known = (1..SENSITIVITY_MAX).contains(&value);
                shot.exposure.iso = is_known.then_some(value as u32);
            }
            (ISO_SPEED, LONG) => speed = Some(tiff.u32(entry.at)? as u32).filter(|it| *it != 0),
            _ => {}
        }
    }
    shot.exposure.iso = shot.exposure.iso.or(speed);
    shot.taken_local_s = taken.or(changed).and_then(|text| clock(&text));
    if let Some(at) = gps {
        shot.position = tiff.position(at)?;
    }
    let metadata = shot;
    Ok(Exif { metadata, blocks })
}

impl Tiff<'_, '_> {
    fn u16(&mut self, at: u64) -> Result<u16, Error> {
        let bytes = self.input.field(&self.block, at)?;
        Ok(match self.big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        })
    }

    fn u32(&mut self, at: u64) -> Result<u64, Error> {
        let bytes = self.input.field(&self.block, at)?;
        Ok(u64::from(match self.big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        }))
    }

    fn directory(&mut self, at: u64) -> Result<Vec<Entry>, Error> {
        let count = self.u16(at)?.min(ENTRIES_MAX);
        let mut entries = Vec::with_capacity(count.into());
        for index in 0..u64::from(count) {
            let head = at + 2 + 12 * index;
            let (tag, kind) = (self.u16(head)?, self.u16(head + 2)?);
            let count = self.u32(head + 4)? as u32;
            let is_inside = u64::from(count) * unit(kind) <= 4;
            let at = if is_inside {
                head + 8
            } else {
                self.u32(head + 8)?
            };
            entries.push(Entry {
                tag,
                kind,
                count,
                at,
            });
        }
        Ok(entries)
    }

    /// Returns the bytes of a value, if they are in the block.
    fn range(&self, entry: Entry) -> Option<Range<u64>> {
        let start = self.block.start + entry.at;
        let end = start + u64::from(entry.count) * unit(entry.kind);
        (end <= self.block.end).then_some(start..end)
    }

    fn text(&mut self, entry: Entry) -> Result<Option<String>, Error> {
        let at = self.block.start + entry.at;
        let bytes = u64::from(entry.count).min(TEXT_BYTES_MAX);
        if self.block.end < at + bytes {
            return Ok(None);
        }
        let bytes = self.input.bytes(at, bytes as usize)?;
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_matches(|letter: char| letter == '\0' || letter.is_whitespace());
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    /// Returns a positive rational number; `None` if it is zero or infinite, which cameras write
    /// for an unknown value.
    fn ratio(&mut self, entry: Entry) -> Result<Option<f64>, Error> {
        let over = self.u32(entry.at)? as f64;
        let under = self.u32(entry.at + 4)? as f64;
        Ok((0.0 < over && 0.0 < under).then(|| over / under))
    }

    /// Returns a positive rational number in hundredths, if it fits into 32 bits.
    fn hundredths(&mut self, entry: Entry) -> Result<Option<u32>, Error> {
        let ratio = self.ratio(entry)?.map(|ratio| (ratio * 100.0).round());
        let ratio = ratio.filter(|ratio| *ratio <= f64::from(u32::MAX));
        Ok(ratio.map(|ratio| ratio as u32).filter(|it| *it != 0))
    }

    /// Returns an angle from up to three rationals: degrees, minutes and seconds.
    fn degrees(&mut self, entry: Entry) -> Result<f64, Error> {
        let mut degrees = 0.0;
        for (index, unit) in (0..u64::from(entry.count.min(3))).zip([1.0, 60.0, 3600.0]) {
            let over = self.u32(entry.at + 8 * index)? as f64;
            let under = self.u32(entry.at + 8 * index + 4)? as f64;
            if under != 0.0 {
                degrees += over / under / unit;
            }
        }
        Ok(degrees)
    }

    fn position(&mut self, at: u64) -> Result<Option<Position>, Error> {
        let (mut latitude, mut longitude, mut altitude) = (None, None, None);
        let (mut south, mut west, mut below) = (false, false, false);
        for entry in self.directory(at)? {
            match (entry.tag, entry.kind) {
                (1, ASCII) => south = self.text(entry)?.as_deref() == Some("S"),
                (2, RATIONAL) => latitude = Some(self.degrees(entry)?),
                (3, ASCII) => west = self.text(entry)?.as_deref() == Some("W"),
                (4, RATIONAL) => longitude = Some(self.degrees(entry)?),
                (5, 1) => below = self.input.field(&self.block, entry.at)? == [1],
                (6, RATIONAL) => altitude = Some(self.degrees(Entry { count: 1, ..entry })?),
                _ => {}
            }
        }
        let (Some(latitude), Some(longitude)) = (latitude, longitude) else {
            return Ok(None);
        };
        // Cameras without a GPS fix write zeros, so a position of 0, 0 counts as unknown.
        if 90.0 < latitude || 180.0 < longitude || latitude == 0.0 && longitude == 0.0 {
            return Ok(None);
        }
        let sign = |negative: bool| if negative { -1.0 } else { 1.0 };
        Ok(Some(Position {
            latitude_e7: (latitude * sign(south) * 1e7).round() as i32,
            longitude_e7: (longitude * sign(west) * 1e7).round() as i32,
            altitude_m: altitude.map(|metres| (metres * sign(below)).round() as i32),
        }))
    }
}

/// Returns the bytes of one element of a type.
fn unit(kind: u16) -> u64 {
    match kind {
        1 | 2 | 7 => 1,
        3 => 2,
        RATIONAL | 10 | 12 => 8,
        _ => 4,
    }
}

/// Parses `2003:05:12 14:30:00` into seconds since 1970.
fn clock(text: &str) -> Option<i64> {
    let mut numbers = text.split([':', ' ', '-', 'T', '.']);
    let mut next = |min: i64, max: i64| {
        let number: i64 = numbers.next()?.parse().ok()?;
        (min..=max).contains(&number).then_some(number)
    };
    let (year, month, day) = (next(1, 9999)?, next(1, 12)?, next(1, 31)?);
    let (hour, minute, second) = (next(0, 23)?, next(0, 59)?, next(0, 60)?);
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Returns the number of days from 1970-01-01 to a day of the Gregorian calendar. In the
/// computation, years begin in March, so that a leap day is the last day of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leaps = year / 4 - year / 100 + year / 400;
    365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// Parses a UTC offset such as `+02:00` into minutes.
fn offset(text: &str) -> Option<i16> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i16, i16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let is_real = (0..=14).contains(&hours) && (0..60).contains(&minutes);
    is_real.then(|| sign * (hours * 60 + minutes))
}
