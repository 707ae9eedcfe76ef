//! Outputs with a maximum length: encoded again at lower quality until they are short enough.
//!
//! ```text
//! picture ─► encode at the quality of the plan ─► too long: bisect the qualities below ─► output
//! ```
//! The quality floor does not apply to these repetitions: a request for few bytes accepts a lower
//! quality. A lossless encoding becomes a lossy one of the same format.

#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use image_plan::{Encoding, Raster};

use crate::Error;
use crate::floor::{quality, with_quality};
use crate::form::EncoderInput;

/// Lowest quality that is tried, in the encoder's unit.
const QUALITY_MIN: u8 = 1;
/// Quality from which the search starts if the encoding of the plan is lossless.
const QUALITY_NEAR_LOSSLESS: u8 = 98;

/// Returns the output of the highest quality that has at most `bytes_max` bytes. If no quality
/// suffices, or if the format is always lossless, returns the shortest output. `first` is the
/// output at the quality of the plan.
///
/// # Errors
/// When `encode` fails.
pub(crate) fn reduce(
    picture: Raster,
    encoding: Encoding,
    bytes_max: NonZeroU32,
    first: Vec<u8>,
    encode: impl Fn(&Raster, Encoding) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    let Some(lossy) = lossy(encoding) else {
        return Ok(first);
    };
    let highest = quality(lossy).expect("the encoding is lossy");
    let picture = EncoderInput::of(lossy).convert_raster(picture);
    bisect(bytes_max.get() as usize, highest, first, |quality| {
        encode(&picture, with_quality(lossy, quality))
    })
}

/// Returns the lossy form of an encoding, or `None` if its format has none.
const fn lossy(encoding: Encoding) -> Option<Encoding> {
    match encoding {
        Encoding::Png => None,
        Encoding::Webp {
            method,
            lossless: true,
            ..
        } => Some(Encoding::Webp {
            quality: QUALITY_NEAR_LOSSLESS,
            method,
            lossless: false,
        }),
        Encoding::Avif {
            speed,
            lossless: true,
            ..
        } => Some(Encoding::Avif {
            quality: QUALITY_NEAR_LOSSLESS,
            speed,
            lossless: false,
        }),
        Encoding::Jpeg { .. } | Encoding::Webp { .. } | Encoding::Avif { .. } => Some(encoding),
    }
}

/// Encodes at up to seven qualities between [`QUALITY_MIN`] and `highest`. Returns the output of
/// the highest quality that has at most `bytes_max` bytes, assuming that lengths grow with quality.
/// If there is none, returns the shortest output, which may be `first`.
fn bisect(
    bytes_max: usize,
    highest: u8,
    first: Vec<u8>,
    encode: impl Fn(u8) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    let mut shortest = first;
    let mut fitting = None;
    let mut qualities = QUALITY_MIN..highest.max(QUALITY_MIN) + 1;
    while !qualities.is_empty() {
        let quality = qualities.start + (qualities.end - qualities.start) / 2;
        let output = encode(quality)?;
        if output.len() <= bytes_max {
            fitting = Some(output);
            qualities.start = quality + 1;
        } else {
            if output.len() < shortest.len() {
                shortest = output;
            }
            qualities.end = quality;
        }
    }
    Ok(fitting.unwrap_or(shortest))
}
