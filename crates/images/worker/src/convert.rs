//! The pipeline.

use crate::Error;
use crate::form::Form;
use codec::{DecodeOptions, Shrink};
use image_plan::{Layout, Order, Plan, Raster, Size, Subsampling, Target};
use pixel::colour::{Disposition, judge};
use pixel::{Area, far, flatten, ink_to_rgb, look, orient, pad, scale, stored, to_packed};

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

/// What came of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// The files, in the order of their plans, and the look behind them where it was asked for.
    pub files: Vec<Vec<u8>>,
    /// As [`Answer::remarks`].
    pub remarks: Vec<String>,
}

/// Makes of `original` what `plan` says.
///
/// # Errors
/// [`ErrorKind`](crate::ErrorKind) says whose fault it is.
pub fn convert(plan: &Plan, original: &[u8]) -> Result<Answer, Error> {
    let (raster, colours, remarks) = decode(plan, original)?;
    let (bytes, size) = make(plan, raster, &colours)?;
    Ok(Answer {
        bytes,
        size,
        remarks,
    })
}

/// Makes of `original` all that `order` says, from one decode. Each file has the bytes that its plan alone would give.
///
/// # Errors
/// As [`convert`]; one plan that fails fails all.
pub fn convert_all(order: &Order, original: &[u8]) -> Result<Answers, Error> {
    let [others @ .., last] = order.plans() else {
        unreachable!("an order has a plan");
    };
    let (raster, colours, remarks) = decode(last, original)?;
    let look = order.look().then(|| {
        let small = in_colour(far(&raster), &colours.disposition);
        look(&to_packed(orient(small, last.orientation)))
    });
    let mut files = Vec::with_capacity(order.answers());
    for plan in others {
        files.push(make(plan, raster.clone(), &colours)?.0);
    }
    // Only the last may use up what was decoded, which can be large.
    files.push(make(last, raster, &colours)?.0);
    files.extend(look.map(|look| look.to_bytes().to_vec()));
    Ok(Answers { files, remarks })
}

/// What an original's numbers mean.
struct Colours {
    profile: Option<Vec<u8>>,
    disposition: Disposition,
}

/// The original as `plan`, and every plan that shares its decode, wants it, and what was wrong with it.
fn decode(plan: &Plan, original: &[u8]) -> Result<(Raster, Colours, Vec<String>), Error> {
    let decoded = codec::decode(plan.source, original, &options(plan))
        .map_err(|error| Error::decode(&error))?;
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
    let colours = Colours {
        profile: decoded.profile,
        disposition,
    };
    Ok((decoded.raster, colours, remarks))
}

/// The file that `plan` makes of what was decoded, and the size of the picture in it.
fn make(plan: &Plan, raster: Raster, colours: &Colours) -> Result<(Vec<u8>, Size), Error> {
    let disposition = &colours.disposition;
    let form = Form::of(plan.encoding);
    let raster = scaled(plan, raster, form, disposition);
    let raster = upright(plan, in_colour(raster, disposition));
    let raster = form.of_raster(raster);
    let profile = colours.profile.as_deref();
    let profile = profile.filter(|_| matches!(disposition, Disposition::Carry));
    let size = raster.size();
    let bytes =
        codec::encode(&raster, profile, plan.encoding).map_err(|error| Error::encode(&error))?;
    Ok((bytes, size))
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
