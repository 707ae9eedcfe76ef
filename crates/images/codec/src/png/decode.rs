//! Decodes PNG of every colour type and depth to 8 bits per sample.

use std::io::Cursor;

use image_plan::{Format, Size};
use png::{BitDepth, ColorType, Decoder, DecodingError, InterlaceInfo, Reader, Transformations};

use super::profile::{Embedded, read as read_profile};
use crate::samples::{self, Channels, to_8_bits};
use crate::{DecodeOptions, Decoded, Error, ErrorKind, animation, buffer, cicp};

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let mut reader = open(bytes, options)?;
    let is_animated = reader.info().animation_control.is_some();
    // The first picture of the file is also the first frame, unless no frame control chunk precedes
    // it.
    if is_animated && (options.page != 1 || reader.info().frame_control.is_none()) {
        return animation::decode_frame(Format::Png, bytes, options);
    }
    let size = options.stored;
    let (colours, depth) = reader.output_color_type();
    let channels = colours.samples();
    let mut samples = buffer::zeroed(channels * size.width_px as usize * size.height_px as usize)?;
    let is_complete = read_rows(&mut reader, depth, size, &mut samples)?;
    let (profile, profile_lost) = profile(&reader, bytes, options)?;
    Ok(Decoded {
        raster: samples::raster(channels_of(colours)?, size, samples)?,
        profile,
        damaged: !is_complete || profile_lost,
    })
}

/// Reads the header of the file, up to the first image data.
pub(super) fn open<'a>(
    bytes: &'a [u8],
    options: &DecodeOptions,
) -> Result<Reader<Cursor<&'a [u8]>>, Error> {
    let mut decoder = Decoder::new(Cursor::new(bytes));
    // Limits the memory that the `png` crate allocates for chunks and rows. Pixels are read into a
    // buffer of this crate.
    decoder.set_limits(png::Limits {
        bytes: options.limits.scratch_bytes_max,
    });
    decoder.set_ignore_text_chunk(true);
    // The `png` crate would silently ignore a profile that is too large or broken. Instead,
    // `read_profile` reads the `iCCP` chunk and reports such a profile.
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND);
    let header = decoder.read_header_info().map_err(error)?;
    let size = Size::new(header.width, header.height);
    options.limits.admit("png", size, options.stored)?;
    decoder.read_info().map_err(error)
}

/// Returns the profile of the picture, if any, and whether a profile could not be read.
pub(super) fn profile(
    reader: &Reader<Cursor<&[u8]>>,
    bytes: &[u8],
    options: &DecodeOptions,
) -> Result<(Option<Vec<u8>>, bool), Error> {
    // `cICP` takes precedence over `iCCP` (PNG third edition §4.3); `gAMA` and `cHRM` are ignored.
    let embedded = match reader.info().coding_independent_code_points {
        Some(colours) => {
            let transfer = colours.transfer_function.into();
            match cicp::profile(colours.color_primaries.into(), transfer)? {
                Some(profile) => Embedded::Profile(profile),
                None => Embedded::Nothing,
            }
        }
        None => read_profile(bytes, &options.limits)?,
    };
    Ok(match embedded {
        Embedded::Nothing => (None, false),
        Embedded::Profile(profile) => (Some(profile), false),
        Embedded::Invalid => (None, true),
    })
}

/// Reads the rows of a picture of `size` as 8-bit samples into `samples`, until the end of the file
/// or of the valid data. Returns whether all rows were read.
pub(super) fn read_rows(
    reader: &mut Reader<Cursor<&[u8]>>,
    depth: BitDepth,
    size: Size,
    samples: &mut [u8],
) -> Result<bool, Error> {
    let channels = reader.output_color_type().0.samples();
    let stride = channels * size.width_px as usize;
    let mut narrow = buffer::zeroed(stride)?;
    let mut rows_read = 0;
    loop {
        let row = match reader.next_interlaced_row() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(true),
            Err(err) if rows_read == 0 => return Err(error(err)),
            Err(_) => return Ok(false),
        };
        let data = match depth {
            BitDepth::Sixteen => {
                let (wide, _) = row.data().as_chunks::<2>();
                for (sample, wide) in narrow.iter_mut().zip(wide) {
                    *sample = to_8_bits(u16::from_be_bytes(*wide));
                }
                &narrow[..wide.len()]
            }
            _ => row.data(),
        };
        match row.interlace() {
            InterlaceInfo::Null(_) => {
                samples[rows_read * stride..][..stride].copy_from_slice(data);
            }
            InterlaceInfo::Adam7(pass) => {
                let pixel_bits = 8 * channels as u8;
                png::expand_interlaced_row(samples, stride, data, pass, pixel_bits);
            }
        }
        rows_read += 1;
    }
}

/// Returns the channels of expanded samples.
pub(super) fn channels_of(colours: ColorType) -> Result<Channels, Error> {
    match colours {
        ColorType::Rgb => Ok(Channels::Rgb),
        ColorType::Rgba => Ok(Channels::Rgba),
        ColorType::Grayscale => Ok(Channels::Grey),
        ColorType::GrayscaleAlpha => Ok(Channels::GreyAlpha),
        ColorType::Indexed => {
            let detail = "png: the decoder did not expand the palette";
            Err(Error::new(ErrorKind::Failed, detail))
        }
    }
}

pub(super) fn error(err: DecodingError) -> Error {
    let kind = match &err {
        DecodingError::LimitsExceeded => ErrorKind::TooLarge,
        DecodingError::Parameter(_) => ErrorKind::Failed,
        DecodingError::Format(_) | DecodingError::IoError(_) => ErrorKind::Undecodable,
    };
    Error::new(kind, format!("png: {err}"))
}
