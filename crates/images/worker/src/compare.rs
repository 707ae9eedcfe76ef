//! Quality of a variant: its SSIMULACRA2 score relative to the original, which is scaled to the
//! variant's size.
//!
//! The scaled original has full chroma, although the chroma of the variant may be subsampled. So
//! the score includes the loss from subsampling.

use crate::convert::picture_before_encoding;
use crate::similarity::{slice, with_alpha};
use crate::{Error, ErrorKind};
use fast_ssim2::Ssimulacra2Reference;
use image_plan::{Comparison, Layout};
use pixel::to_packed;

/// Returns the SSIMULACRA2 score of a variant: 100 if it is identical to the original, about 90 if
/// the difference is invisible. `input` is the original's file, followed by the variant's file.
///
/// # Errors
/// An [`Error`] whose [`ErrorKind`] names the fault. A variant that cannot be decoded gives
/// `Failed` (a bug), because the server itself produced the variant.
pub fn compare(comparison: &Comparison, input: &[u8]) -> Result<f64, Error> {
    let plan = &comparison.plan;
    let at = usize::try_from(comparison.original_bytes).unwrap_or(usize::MAX);
    let (original, variant) = input.split_at_checked(at).ok_or_else(|| {
        Error::new(
            ErrorKind::Failed,
            "the input is shorter than the stated length of the original",
        )
    })?;
    let mut reference = to_packed(picture_before_encoding(plan, original)?);
    let options = codec::DecodeOptions::whole(reference.size);
    let decoded = codec::decode(plan.encoding.target().format(), variant, &options);
    let decoded = decoded.map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot decode the variant: {}", error.detail),
        )
    })?;
    let mut decoded = to_packed(decoded.raster);
    if reference.layout == Layout::Rgba || decoded.layout == Layout::Rgba {
        (reference, decoded) = (with_alpha(reference), with_alpha(decoded));
    }
    let score = slice(&reference)
        .and_then(|slice| Ssimulacra2Reference::new(&slice).ok())
        .zip(slice(&decoded))
        .and_then(|(reference, decoded)| reference.compare(&decoded).ok());
    score.ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            "SSIMULACRA2 cannot compare this picture",
        )
    })
}
