//! The pipeline.

use crate::Error;
use crate::form::Form;
use codec::{DecodeOptions, Shrink};
use picture::{Layout, Plan, Raster, Size, Subsampling, Target};
use pixel::colour::{Disposition, judge};
use pixel::{Area, flatten, ink_to_rgb, orient, pad, scale, stored, to_packed};

/// A converted picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The file.
    pub bytes: Vec<u8>,
    /// Size of the picture that was encoded.
    pub size: Size,
    /// For the log: what was wrong with the original though it was converted. Empty for a sound one.
    pub remarks: Vec<String>,
}

/// Makes of `original` what `plan` says.
///
/// # Errors
/// [`ErrorKind`](crate::ErrorKind) says whose fault it is.
pub fn convert(plan: &Plan, original: &[u8]) -> Result<Answer, Error> {
    let decoded = codec::decode(plan.source, original, &options(plan))
        .map_err(|error| Error::codec("decode", &error))?;
    let mut remarks = Vec::new();
    if decoded.damaged {
        remarks.push("damaged, decoded as far as it goes".to_owned());
    }
    let disposition = match &decoded.profile {
        None => Disposition::Drop,
        Some(profile) => judge(profile, &decoded.raster),
    };
    if let Disposition::Malformed(why) = &disposition {
        remarks.push(format!("profile taken as sRGB: {why}"));
    }
    let form = Form::of(plan.encoding);
    let raster = scaled(plan, decoded.raster, form, &disposition);
    let raster = upright(plan, in_colour(raster, &disposition));
    let raster = form.of_raster(raster);
    let profile = decoded
        .profile
        .as_deref()
        .filter(|_| matches!(disposition, Disposition::Carry));
    let size = raster.size();
    let bytes = codec::encode(&raster, profile, plan.encoding)
        .map_err(|error| Error::codec("encode", &error))?;
    Ok(Answer {
        bytes,
        size,
        remarks,
    })
}

fn options(plan: &Plan) -> DecodeOptions {
    DecodeOptions {
        shrink: shrink(plan),
        ..DecodeOptions::whole(plan.stored)
    }
}

fn shrink(plan: &Plan) -> Shrink {
    let divisor = u32::from(plan.shrink());
    let shrink = Shrink::ALL
        .into_iter()
        .find(|shrink| shrink.divisor() == divisor);
    shrink.expect("a plan shrinks by a power of two up to eight")
}

/// The plan's crop at the plan's size, not yet upright.
fn scaled(plan: &Plan, raster: Raster, form: Form, disposition: &Disposition) -> Raster {
    let divisor = shrink(plan).divisor();
    let crop = stored(plan.crop, plan.stored, plan.orientation);
    let area = Area::from(crop).divided(divisor, divisor);
    let size = if plan.orientation.transposes() {
        plan.inner.transposed()
    } else {
        plan.inner
    };
    let chroma = match disposition {
        Disposition::Convert(converter) if converter.needs_rgb() => Subsampling::S444,
        _ => form.chroma_for(&raster),
    };
    scale(raster, area, size, chroma)
}

/// The picture in the colours that its answer will state.
fn in_colour(raster: Raster, disposition: &Disposition) -> Raster {
    match (disposition, raster) {
        (Disposition::Convert(converter), raster) => converter.to_srgb(raster),
        (_, Raster::Packed(packed)) if packed.layout == Layout::Cmyk => {
            Raster::Packed(ink_to_rgb(&packed))
        }
        (_, raster) => raster,
    }
}

/// The picture turned and framed.
fn upright(plan: &Plan, raster: Raster) -> Raster {
    let raster = orient(raster, plan.orientation);
    let raster = pad(raster, plan.target);
    if plan.encoding.target() == Target::Jpeg && raster.has_alpha() {
        return Raster::Packed(flatten(to_packed(raster)));
    }
    raster
}
