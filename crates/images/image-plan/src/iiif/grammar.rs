//! Parses the path of an IIIF URL.

use percent_encoding::percent_decode_str;

use super::{
    IiifError, IiifErrorKind, IiifRequest, Quality, Region, Rotation, Size, Upscaling, decimal,
};
use crate::{Angle, Target};

/// Formats that the specification names (§4.5) and that are not made.
const NOT_MADE: [&str; 4] = ["tif", "gif", "jp2", "pdf"];

const REGION: &str = "region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h";
const SIZE: &str = "size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; \
                    each may begin with `^`";
const ROTATION: &str =
    "rotation: must be an angle from 0 to 360 degrees, after ! if the picture is to be mirrored";
const QUALITY: &str = "quality: must be default, color, gray or bitonal";
const FORMAT: &str = "format: must be jpg, png, webp or avif";

/// URL of the IIIF Image API below the prefix of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IiifUrl<'p> {
    /// Identifier as the client sent it: percent-encoded, and without slashes.
    pub identifier: &'p str,
    /// Resource that is requested.
    pub target: IiifTarget,
}

/// Resource below an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IiifTarget {
    /// Base URI, which redirects to the information.
    Base,
    /// Information about the picture, `info.json`.
    Information,
    /// Picture.
    Image(IiifRequest),
}

impl<'p> IiifUrl<'p> {
    /// Parses the part of a path below the prefix of the service, without its leading slash.
    ///
    /// # Errors
    /// [`IiifError`] for the first faulty parameter.
    pub fn parse(path: &'p str) -> Result<IiifUrl<'p>, IiifError> {
        let segments: Vec<&str> = path.splitn(6, '/').collect();
        let (identifier, target) = match segments[..] {
            [identifier] => (identifier, IiifTarget::Base),
            [identifier, "info.json"] => (identifier, IiifTarget::Information),
            [identifier, region, size, rotation, file] => {
                let request = IiifRequest::parse([region, size, rotation, file])?;
                (identifier, IiifTarget::Image(request))
            }
            _ => ("", IiifTarget::Base),
        };
        match identifier.is_empty() {
            false => Ok(IiifUrl { identifier, target }),
            true => Err(IiifError {
                kind: IiifErrorKind::Path,
                problem: "the path is not IDENTIFIER, IDENTIFIER/info.json or \
                          IDENTIFIER/REGION/SIZE/ROTATION/QUALITY.FORMAT",
            }),
        }
    }
}

impl IiifRequest {
    /// Parses the four segments after the identifier.
    fn parse([region, size, rotation, file]: [&str; 4]) -> Result<IiifRequest, IiifError> {
        let region = decoded(region, parse_region).ok_or(IiifError::value(REGION))?;
        let (upscaling, size) = decoded(size, parse_size).ok_or(IiifError::value(SIZE))?;
        let rotation = decoded(rotation, parse_rotation).ok_or(IiifError::value(ROTATION))?;
        let (quality, format) = file.rsplit_once('.').unwrap_or((file, ""));
        let quality = decoded(quality, parse_quality).ok_or(IiifError::value(QUALITY))?;
        Ok(IiifRequest {
            region,
            size,
            upscaling,
            rotation,
            quality,
            format: parse_format(format)?,
        })
    }
}

/// Decodes percent-encoding in a segment, and parses the result.
fn decoded<T>(segment: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    // An invalid escape sequence stays as it is, and no parameter contains a percent sign.
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    parse(&text)
}

fn parse_region(text: &str) -> Option<Region> {
    match text {
        "full" => return Some(Region::Full),
        "square" => return Some(Region::Square),
        _ => {}
    }
    Some(match text.strip_prefix("pct:") {
        Some(text) => Region::Percent(four(text, decimal::parse)?),
        None => Region::Pixels(four(text, whole)?),
    })
}

fn parse_size(text: &str) -> Option<(Upscaling, Size)> {
    let (upscaling, text) = match text.strip_prefix('^') {
        Some(text) => (Upscaling::Permitted, text),
        None => (Upscaling::Refused, text),
    };
    if text == "max" {
        return Some((upscaling, Size::Max));
    }
    if let Some(number) = text.strip_prefix("pct:") {
        let number = decimal::parse(number).filter(|number| *number != 0)?;
        return Some((upscaling, Size::Percent(number)));
    }
    let side = |text: &str| whole(text).filter(|side| *side != 0);
    let (confined, text) = match text.strip_prefix('!') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let size = match text.split_once(',')? {
        (width, "") if !confined => Size::Width(side(width)?),
        ("", height) if !confined => Size::Height(side(height)?),
        (width, height) if confined => Size::Confined(side(width)?, side(height)?),
        (width, height) => Size::Exact(side(width)?, side(height)?),
    };
    Some((upscaling, size))
}

fn parse_rotation(text: &str) -> Option<Rotation> {
    let (is_mirrored, text) = match text.strip_prefix('!') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let full = 360 * decimal::ONE;
    let angle = decimal::parse(text).filter(|angle| *angle <= full)?;
    let unit = decimal::ONE / 100;
    let centidegrees = (angle + unit / 2) / unit % u64::from(Angle::FULL);
    Some(Rotation {
        is_mirrored,
        centidegrees: centidegrees as u16,
    })
}

fn parse_quality(text: &str) -> Option<Quality> {
    Some(match text {
        "default" | "color" => Quality::Default,
        "gray" => Quality::Gray,
        "bitonal" => Quality::Bitonal,
        _ => return None,
    })
}

fn parse_format(text: &str) -> Result<Target, IiifError> {
    match text {
        "jpg" => Ok(Target::Jpeg),
        "png" => Ok(Target::Png),
        "webp" => Ok(Target::Webp),
        "avif" => Ok(Target::Avif),
        text if NOT_MADE.contains(&text) => Err(IiifError {
            kind: IiifErrorKind::NotImplemented,
            problem: "format: this server makes jpg, png, webp and avif",
        }),
        _ => Err(IiifError::value(FORMAT)),
    }
}

/// Parses four numbers that are separated by commas. The last two, width and height, are not 0.
fn four<T: Copy + Default + PartialEq>(
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<[T; 4]> {
    let numbers: Option<Vec<T>> = text.split(',').map(parse).collect();
    let numbers: [T; 4] = numbers?.try_into().ok()?;
    (numbers[2] != T::default() && numbers[3] != T::default()).then_some(numbers)
}

/// Parses a number that consists only of decimal digits.
fn whole(text: &str) -> Option<u32> {
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all_digits)
}
