//! TIFF: parses the directory of one page, and counts the pages. The decoder uses the same parser.
//! In the table, `@` precedes the offset of a field in bytes; BigTIFF has the fields of the second
//! and fourth line.
//!
//! ```text
//! TIFF       @0 "II" or "MM" · @2 42 u16 · @4 first directory u32
//! BigTIFF    @0 "II" or "MM" · @2 43 u16 · @4 8 u16 · @6 0 u16 · @8 first directory u64
//! directory  entries u16, each: tag u16 · type u16 · values u32 · value or offset u32 · next u32
//!            entries u64, each: tag u16 · type u16 · values u64 · value or offset u64 · next u64
//! ```
//! Sources: TIFF 6.0; Adobe's TIFF Technical Note 2 (JPEG) and Photoshop TIFF Technical Notes
//! (Deflate); the BigTIFF specification; ICC.1:2010, §B.4 (profiles).

use super::facts::{Colour, Facts, ProbeError, ProbeErrorKind, Unsupported};
use super::head::HeaderReader;
use crate::{Format, Orientation, Size};

/// Maximum number of pages of a file that can be requested. To count more pages would exceed the
/// limits of a probe, because each page is a read, or two if its directory is long.
pub const PAGES_MAX: u16 = 480;
/// Maximum number of entries of a directory that are examined.
const ENTRIES_MAX: u64 = 512;
/// Maximum number of samples of a pixel. Files for presses have a few spot colours.
const SAMPLES_MAX: u16 = 32;

/// Encoding of the chunks of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TiffCompression {
    /// Samples as they are.
    Plain,
    /// Run lengths of bytes, as on the Macintosh.
    PackBits,
    /// LZW with codes of 9 to 12 bits.
    Lzw,
    /// Zlib streams.
    Deflate,
    /// One JPEG per chunk, whose tables may be shared.
    Jpeg,
}

/// Meaning of the samples of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TiffColour {
    /// Grey, where 0 is white.
    InvertedGrey,
    /// Grey, where 0 is black.
    Grey,
    /// Red, green, blue.
    Rgb,
    /// Indexes into a palette of 16-bit colours.
    Palette,
    /// Inks: cyan, magenta, yellow, black, where 0 means no ink.
    Cmyk,
    /// Luma and chroma; only inside of JPEG.
    Ycc,
}

impl TiffColour {
    /// Returns the number of samples per pixel, without alpha.
    #[must_use]
    pub const fn samples(self) -> u16 {
        match self {
            TiffColour::InvertedGrey | TiffColour::Grey | TiffColour::Palette => 1,
            TiffColour::Rgb | TiffColour::Ycc => 3,
            TiffColour::Cmyk => 4,
        }
    }
}

/// Relation of the colours of a page to its alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TiffAlpha {
    /// The colours were multiplied with alpha.
    Associated,
    /// The colours are independent of alpha.
    Straight,
}

/// Values of a directory entry, which are stored one after the other in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiffArray {
    /// Offset of the first value in the file.
    pub offset: u64,
    /// Number of values.
    pub count: u64,
    /// Number of bytes per value.
    pub value_bytes: u8,
}

impl TiffArray {
    /// Returns the number of bytes of all values; saturates.
    #[must_use]
    pub const fn len_bytes(&self) -> u64 {
        self.count.saturating_mul(self.value_bytes as u64)
    }
}

/// Directory of one page of a TIFF, as far as the page's pixels depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiffPage {
    /// Byte order of all numbers of the file, and of samples of 16 bits.
    pub is_big_endian: bool,
    /// Size before orientation.
    pub size: Size,
    /// Bits per sample: 1, 2, 4, 8 or 16.
    pub sample_bits: u16,
    /// Samples per pixel, of which the first are those of `colour`.
    pub samples: u16,
    /// Meaning of the samples.
    pub colour: TiffColour,
    /// Meaning of the sample after those of `colour`, if it is alpha.
    pub alpha: Option<TiffAlpha>,
    /// Encoding of the chunks.
    pub compression: TiffCompression,
    /// True if each sample is the difference from that of the pixel to its left.
    pub is_predicted: bool,
    /// True if each chunk holds only one sample per pixel.
    pub is_planar: bool,
    /// Transformation that makes the page upright.
    pub orientation: Orientation,
    /// Size of a tile, or of a strip. The chunks at the right and bottom edges may exceed the page.
    pub chunk: Size,
    /// True if the chunks are tiles, whose encoded size includes the part outside the page.
    pub is_tiled: bool,
    /// Offset of each chunk, row by row; of planar pages, plane by plane.
    pub offsets: TiffArray,
    /// Size of each chunk in bytes.
    pub byte_counts: TiffArray,
    /// Palette: all values of red, then of green, then of blue, 16 bits each.
    pub palette: Option<TiffArray>,
    /// ICC profile.
    pub profile: Option<TiffArray>,
    /// JPEG tables that the chunks share.
    pub jpeg_tables: Option<TiffArray>,
    /// Number of pages of the file, at most [`PAGES_MAX`].
    pub pages: u16,
    /// Reason why the page is not converted, if any. The fields above may then be wrong.
    pub unsupported: Option<Unsupported>,
}

pub(super) fn probe(head: &mut HeaderReader<'_>, page: u16) -> Result<Facts, ProbeError> {
    let page = read_page(head, page)?;
    let colour = match page.colour {
        TiffColour::InvertedGrey | TiffColour::Grey => Colour::Grey,
        TiffColour::Rgb | TiffColour::Palette => Colour::Rgb,
        TiffColour::Cmyk => Colour::Cmyk,
        TiffColour::Ycc => Colour::Ycc,
    };
    Ok(Facts {
        orientation: page.orientation,
        bit_depth: match page.colour {
            TiffColour::Palette => 8,
            _ => page.sample_bits as u8,
        },
        alpha: page.alpha.is_some(),
        lossless: page.compression != TiffCompression::Jpeg,
        profile_bytes: page.profile.map_or(0, |profile| profile.len_bytes()),
        pages: page.pages,
        unsupported: page.unsupported,
        ..Facts::new(Format::Tiff, page.size, colour)
    })
}

/// Returns whether the file is a raw file of a camera: CR2, DNG, or a file in which a camera of a
/// known make stored a thumbnail first and the sensor's data in a subdirectory.
pub(super) fn is_camera_raw(head: &mut HeaderReader<'_>) -> Result<bool, ProbeError> {
    let file = File::of(head)?;
    let tags = Tags::read(head, &file, file.first_directory)?;
    let has_thumbnail = tags.has_subdirectories && tags.subfile_type & 1 != 0;
    Ok(tags.is_raw || (has_thumbnail && tags.has_make))
}

/// Reads the directory of the page with number `page`, counted from 1.
pub(super) fn read_page(head: &mut HeaderReader<'_>, page: u16) -> Result<TiffPage, ProbeError> {
    let file = File::of(head)?;
    let directories = directories(head, &file)?;
    let pages = directories.len() as u16;
    let index = usize::from(page).checked_sub(1);
    let Some(at) = index.and_then(|index| directories.get(index)) else {
        return Err(ProbeError::new(ProbeErrorKind::NoPage, "no such page"));
    };
    let tags = Tags::read(head, &file, *at)?;
    Ok(TiffPage {
        pages,
        ..tags.page(head, &file, pages)?
    })
}

/// Properties of a file that determine how its directories are read.
struct File {
    is_big_endian: bool,
    is_big: bool,
    first_directory: u64,
    /// True if the file has the mark of Canon's raw format CR2 after its header.
    is_canon_raw: bool,
}

impl File {
    fn of(head: &mut HeaderReader<'_>) -> Result<File, ProbeError> {
        let [order, second, version @ ..]: [u8; 4] = head.array(0)?;
        let mut file = File {
            is_big_endian: order == b'M',
            is_big: false,
            first_directory: 0,
            is_canon_raw: false,
        };
        file.is_big = match (&[order, second], file.u16(version)) {
            (b"II" | b"MM", 42) => false,
            (b"II" | b"MM", 43) => true,
            _ => return Err(ProbeError::malformed("tiff without magic bytes")),
        };
        file.first_directory = match file.is_big {
            true => file.u64(head.array(8)?),
            false => file.u32(head.array(4)?).into(),
        };
        file.is_canon_raw = !file.is_big && head.array(8).is_ok_and(|mark| mark == *b"CR");
        Ok(file)
    }

    fn u16(&self, bytes: [u8; 2]) -> u16 {
        match self.is_big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        }
    }

    fn u32(&self, bytes: [u8; 4]) -> u32 {
        match self.is_big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        }
    }

    fn u64(&self, bytes: [u8; 8]) -> u64 {
        match self.is_big_endian {
            true => u64::from_be_bytes(bytes),
            false => u64::from_le_bytes(bytes),
        }
    }

    /// Returns the offset of the first entry of the directory at `at`, and the number of entries.
    fn entries(&self, head: &mut HeaderReader<'_>, at: u64) -> Result<(u64, u64), ProbeError> {
        Ok(match self.is_big {
            true => (at.saturating_add(8), self.u64(head.array(at)?)),
            false => (at.saturating_add(2), self.u16(head.array(at)?).into()),
        })
    }

    const fn entry_bytes(&self) -> u64 {
        if self.is_big { 20 } else { 12 }
    }

    /// Returns the offset of the directory after the one at `at`, or 0 after the last directory.
    fn next(&self, head: &mut HeaderReader<'_>, at: u64) -> Result<u64, ProbeError> {
        let (entries_at, count) = self.entries(head, at)?;
        let end = entries_at.saturating_add(count.saturating_mul(self.entry_bytes()));
        Ok(match self.is_big {
            true => self.u64(head.array(end)?),
            false => self.u32(head.array(end)?).into(),
        })
    }
}

/// Returns the offset of the directory of each page. The chain of directories ends at the first one
/// that is cut off, or that occurred before.
fn directories(head: &mut HeaderReader<'_>, file: &File) -> Result<Vec<u64>, ProbeError> {
    let mut found = vec![file.first_directory];
    while found.len() < usize::from(PAGES_MAX) {
        let last = *found.last().expect("the first directory is in the list");
        match file.next(head, last) {
            Ok(0) => break,
            Ok(next) if found.contains(&next) => break,
            Ok(next) => found.push(next),
            Err(err) if err.kind == ProbeErrorKind::Truncated => {
                // The directory `last` is incomplete, so there is no page.
                if 1 < found.len() {
                    found.pop();
                }
                break;
            }
            Err(err) => return Err(err),
        }
    }
    Ok(found)
}

/// Tags that matter for pixels, with the values of a directory. Numbers that a directory does not
/// have are at their defaults.
struct Tags {
    subfile_type: u32,
    width: u32,
    height: u32,
    bits: Option<TiffArray>,
    compression: u32,
    photometric: Option<u32>,
    fill_order: u32,
    offsets: Option<TiffArray>,
    byte_counts: Option<TiffArray>,
    orientation: u32,
    samples: u32,
    rows_per_strip: u32,
    planar: u32,
    predictor: u32,
    palette: Option<TiffArray>,
    tile_width: u32,
    tile_height: u32,
    has_subdirectories: bool,
    has_make: bool,
    ink_set: u32,
    extra: Option<TiffArray>,
    sample_format: Option<TiffArray>,
    jpeg_tables: Option<TiffArray>,
    profile: Option<TiffArray>,
    is_raw: bool,
}

/// Properties of a page on which its decoding depends.
struct Form {
    colour: TiffColour,
    compression: TiffCompression,
    samples: u16,
    /// Number of bits per sample, if it is the same for all samples.
    sample_bits: Option<u16>,
    has_alpha: bool,
}

impl Tags {
    const NONE: Tags = Tags {
        subfile_type: 0,
        width: 0,
        height: 0,
        bits: None,
        compression: 1,
        photometric: None,
        fill_order: 1,
        offsets: None,
        byte_counts: None,
        orientation: 1,
        samples: 1,
        rows_per_strip: u32::MAX,
        planar: 1,
        predictor: 1,
        palette: None,
        tile_width: 0,
        tile_height: 0,
        has_subdirectories: false,
        has_make: false,
        ink_set: 1,
        extra: None,
        sample_format: None,
        jpeg_tables: None,
        profile: None,
        is_raw: false,
    };

    fn read(head: &mut HeaderReader<'_>, file: &File, at: u64) -> Result<Tags, ProbeError> {
        let mut tags = Tags::NONE;
        tags.is_raw = file.is_canon_raw;
        let (entries_at, count) = file.entries(head, at)?;
        if ENTRIES_MAX < count {
            return Err(ProbeError::malformed(
                "tiff with a directory that has too many entries",
            ));
        }
        for index in 0..count {
            let at = entries_at.saturating_add(index * file.entry_bytes());
            let [t0, t1, k0, k1]: [u8; 4] = head.array(at)?;
            let Some(value_bytes) = value_bytes(file.u16([k0, k1])) else {
                continue;
            };
            let (count, value_at, inline_bytes) = match file.is_big {
                true => (file.u64(head.array(at + 4)?), at + 12, 8),
                false => (file.u32(head.array(at + 4)?).into(), at + 8, 4),
            };
            let mut array = TiffArray {
                offset: value_at,
                count,
                value_bytes,
            };
            if inline_bytes < array.len_bytes() {
                array.offset = match file.is_big {
                    true => file.u64(head.array(value_at)?),
                    false => file.u32(head.array(value_at)?).into(),
                };
            }
            tags.take(head, file, file.u16([t0, t1]), array)?;
        }
        Ok(tags)
    }

    /// Stores the value of one entry.
    fn take(
        &mut self,
        head: &mut HeaderReader<'_>,
        file: &File,
        tag: u16,
        array: TiffArray,
    ) -> Result<(), ProbeError> {
        let number = match tag {
            254 => &mut self.subfile_type,
            256 => &mut self.width,
            257 => &mut self.height,
            259 => &mut self.compression,
            262 => self.photometric.insert(0),
            266 => &mut self.fill_order,
            274 => &mut self.orientation,
            277 => &mut self.samples,
            278 => &mut self.rows_per_strip,
            284 => &mut self.planar,
            317 => &mut self.predictor,
            322 => &mut self.tile_width,
            323 => &mut self.tile_height,
            332 => &mut self.ink_set,
            _ => {
                self.take_array(tag, array);
                return Ok(());
            }
        };
        if array.count != 0 {
            *number = value(head, file, &array, 0)?;
        }
        Ok(())
    }

    fn take_array(&mut self, tag: u16, array: TiffArray) {
        let slot = match tag {
            258 => &mut self.bits,
            273 | 324 => &mut self.offsets,
            279 | 325 => &mut self.byte_counts,
            320 => &mut self.palette,
            338 => &mut self.extra,
            339 => &mut self.sample_format,
            347 => &mut self.jpeg_tables,
            34_675 => &mut self.profile,
            // SubIFDs, which hold the sensor's data in camera raw files.
            330 => {
                self.has_subdirectories = true;
                return;
            }
            // Make, the name of the camera's manufacturer.
            271 => {
                self.has_make = true;
                return;
            }
            // DNGVersion.
            50_706 => {
                self.is_raw = true;
                return;
            }
            _ => return,
        };
        *slot = Some(array);
    }

    fn page(
        &self,
        head: &mut HeaderReader<'_>,
        file: &File,
        pages: u16,
    ) -> Result<TiffPage, ProbeError> {
        let size = Size::new(self.width, self.height);
        let (Some(offsets), Some(byte_counts)) = (self.offsets, self.byte_counts) else {
            return Err(ProbeError::malformed("tiff page with no strips or tiles"));
        };
        let is_tiled = self.tile_width != 0 && self.tile_height != 0;
        let chunk = match is_tiled {
            true => Size::new(self.tile_width, self.tile_height),
            false => Size::new(self.width, self.rows_per_strip.clamp(1, self.height.max(1))),
        };
        if is_tiled && !is_plausible(size, chunk) {
            return Err(ProbeError::malformed("tiff with implausible tiles"));
        }
        let samples = u16::try_from(self.samples).unwrap_or(u16::MAX);
        let sample_bits = self.sample_bits(head, file)?;
        let (colour, compression) = (self.colour(), self.compression());
        let alpha = match colour {
            Some(colour) => self.alpha(head, file, colour)?,
            None => None,
        };
        let is_decodable = match (colour, compression) {
            (Some(colour), Some(compression)) => {
                let form = Form {
                    colour,
                    compression,
                    samples,
                    sample_bits,
                    has_alpha: alpha.is_some(),
                };
                self.is_decodable(&form) && self.is_integer(head, file)?
            }
            _ => false,
        };
        // In most raw formats the first page is a thumbnail, and a subdirectory has the sensor's
        // data.
        let is_raw = self.is_raw || (self.has_subdirectories && self.subfile_type & 1 != 0);
        let unsupported = match is_raw {
            true => Some(Unsupported::CameraRaw),
            false => (!is_decodable).then_some(Unsupported::Tiff),
        };
        Ok(TiffPage {
            is_big_endian: file.is_big_endian,
            size,
            sample_bits: sample_bits.unwrap_or(8),
            samples,
            colour: colour.unwrap_or(TiffColour::Grey),
            alpha,
            compression: compression.unwrap_or(TiffCompression::Plain),
            is_predicted: self.predictor == 2,
            is_planar: self.planar == 2 && samples != 1,
            orientation: u16::try_from(self.orientation)
                .ok()
                .and_then(Orientation::from_exif)
                .unwrap_or_default(),
            chunk,
            is_tiled,
            offsets,
            byte_counts,
            palette: self.palette,
            profile: self.profile,
            jpeg_tables: self.jpeg_tables,
            pages,
            unsupported,
        })
    }

    /// Returns whether workers decode pages of this form.
    fn is_decodable(&self, form: &Form) -> bool {
        let Form {
            colour,
            compression,
            samples,
            sample_bits,
            has_alpha,
        } = *form;
        let is_deep_enough = match (colour, compression) {
            (TiffColour::Palette, TiffCompression::Jpeg) => false,
            (_, TiffCompression::Jpeg) => sample_bits == Some(8) && self.planar == 1,
            (TiffColour::Palette, _) => {
                self.palette.is_some() && matches!(sample_bits, Some(1 | 2 | 4 | 8))
            }
            (TiffColour::Grey | TiffColour::InvertedGrey, _) if samples == 1 => {
                matches!(sample_bits, Some(1 | 2 | 4 | 8 | 16))
            }
            (TiffColour::Ycc, _) => false,
            _ => matches!(sample_bits, Some(8 | 16)),
        };
        let is_predictable = match self.predictor {
            1 => true,
            2 => matches!(sample_bits, Some(8 | 16)),
            _ => false,
        };
        is_deep_enough
            && is_predictable
            && colour.samples() + u16::from(has_alpha) <= samples
            && samples <= SAMPLES_MAX
            && self.fill_order == 1
            && matches!(self.planar, 1 | 2)
    }

    fn colour(&self) -> Option<TiffColour> {
        Some(match self.photometric? {
            0 => TiffColour::InvertedGrey,
            1 => TiffColour::Grey,
            2 => TiffColour::Rgb,
            3 => TiffColour::Palette,
            // Another set of inks than CMYK would need a profile of these inks.
            5 if self.ink_set == 1 => TiffColour::Cmyk,
            6 => TiffColour::Ycc,
            _ => return None,
        })
    }

    fn compression(&self) -> Option<TiffCompression> {
        Some(match self.compression {
            1 => TiffCompression::Plain,
            5 => TiffCompression::Lzw,
            7 => TiffCompression::Jpeg,
            // 32946 is the number from before Adobe assigned one.
            8 | 32_946 => TiffCompression::Deflate,
            32_773 => TiffCompression::PackBits,
            _ => return None,
        })
    }

    /// Returns the number of bits per sample, if it is the same for all samples.
    fn sample_bits(
        &self,
        head: &mut HeaderReader<'_>,
        file: &File,
    ) -> Result<Option<u16>, ProbeError> {
        let Some(bits) = &self.bits else {
            return Ok(Some(1));
        };
        all_equal(head, file, bits)
    }

    /// Returns whether the samples are unsigned integers.
    fn is_integer(&self, head: &mut HeaderReader<'_>, file: &File) -> Result<bool, ProbeError> {
        match &self.sample_format {
            None => Ok(true),
            Some(format) => Ok(matches!(all_equal(head, file, format)?, Some(1 | 4))),
        }
    }

    fn alpha(
        &self,
        head: &mut HeaderReader<'_>,
        file: &File,
        colour: TiffColour,
    ) -> Result<Option<TiffAlpha>, ProbeError> {
        let may_have_alpha = matches!(
            colour,
            TiffColour::Grey | TiffColour::InvertedGrey | TiffColour::Rgb
        );
        let first_extra = match &self.extra {
            Some(extra) if extra.count != 0 => value(head, file, extra, 0)?,
            _ => 0,
        };
        Ok(match first_extra {
            _ if !may_have_alpha || self.compression == 7 => None,
            1 => Some(TiffAlpha::Associated),
            2 => Some(TiffAlpha::Straight),
            _ => None,
        })
    }
}

/// Returns the number of bytes of a value of the type with this number.
const fn value_bytes(kind: u16) -> Option<u8> {
    Some(match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16..=18 => 8,
        _ => return None,
    })
}

/// Reads one value of `array`. Values that need more than 32 bits become `u32::MAX`.
fn value(
    head: &mut HeaderReader<'_>,
    file: &File,
    array: &TiffArray,
    index: u64,
) -> Result<u32, ProbeError> {
    let at = array
        .offset
        .saturating_add(index.saturating_mul(array.value_bytes.into()));
    Ok(match array.value_bytes {
        1 => {
            let [value] = head.array(at)?;
            value.into()
        }
        2 => file.u16(head.array(at)?).into(),
        4 => file.u32(head.array(at)?),
        _ => u32::try_from(file.u64(head.array(at)?)).unwrap_or(u32::MAX),
    })
}

/// Returns the value of all elements of `array` if they are equal and fit into 16 bits.
fn all_equal(
    head: &mut HeaderReader<'_>,
    file: &File,
    array: &TiffArray,
) -> Result<Option<u16>, ProbeError> {
    if array.count == 0 || u64::from(SAMPLES_MAX) < array.count {
        return Ok(None);
    }
    let first = value(head, file, array, 0)?;
    for index in 1..array.count {
        if value(head, file, array, index)? != first {
            return Ok(None);
        }
    }
    Ok(u16::try_from(first).ok())
}

/// Returns whether tiles of the size `tile` are plausible for a page of the size `page`. Both sides
/// of a tile are multiples of 16 (TIFF 6.0, section 15). Tiles may extend beyond the page, but not
/// so far that decoding them costs many times as much as decoding the page.
fn is_plausible(page: Size, tile: Size) -> bool {
    const SIDE_PX_MIN: u32 = 16;
    const EXCESS_PX_MAX: u64 = 64 << 20;
    let covered = |page: u32, tile: u32| u64::from(page.div_ceil(tile)) * u64::from(tile);
    let across = covered(page.width_px, tile.width_px);
    let down = covered(page.height_px, tile.height_px);
    SIDE_PX_MIN <= tile.width_px.min(tile.height_px)
        && across.saturating_mul(down) <= 4 * page.pixels() + EXCESS_PX_MAX
}
