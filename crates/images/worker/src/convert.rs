//! The pipeline.

use crate::Error;
use crate::floor::Floor;
use crate::form::Form;
use codec::{DecodeOptions, Shrink};
use image_plan::{Encoding, Layout, Order, Plan, Raster, Size, Subsampling, Target};
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
    let profile = colours.profile.as_deref();
    let profile = profile.filter(|_| matches!(disposition, Disposition::Carry));
    let size = raster.size();
    // Before its form costs it any chroma.
    let bytes = match Floor::of(&raster, plan.encoding) {
        None => encode(&form.of_raster(raster), profile, plan.encoding)?,
        Some(floor) => encode_above(&floor, raster, profile, plan.encoding)?,
    };
    Ok((bytes, size))
}

fn encode(raster: &Raster, profile: Option<&[u8]>, encoding: Encoding) -> Result<Vec<u8>, Error> {
    codec::encode(raster, profile, encoding).map_err(|error| Error::encode(&error))
}

/// Encodes at the quality of `encoding`; at a higher one, with full chroma, or without loss, where that falls below the floor.
fn encode_above(
    floor: &Floor,
    raster: Raster,
    profile: Option<&[u8]>,
    mut encoding: Encoding,
) -> Result<Vec<u8>, Error> {
    let pixels = match &raster {
        Raster::Packed(_) => Some(raster.clone()),
        Raster::Yuv(_) => None,
    };
    let mut raster = Form::of(encoding).of_raster(raster);
    let mut bytes = encode(&raster, profile, encoding)?;
    let mut raised = floor.raised(encoding, &bytes, 0);
    if let (Some(pixels), Some(lossless)) = (&pixels, floor.lossless(encoding))
        && (floor.is_flat() || raised.is_some() && !floor.is_met_by(&raster))
    {
        // For want of memory or time the lossy answer is good enough.
        let exact = encode(
            &Form::of(lossless).of_raster(pixels.clone()),
            profile,
            lossless,
        );
        if let Ok(exact) = exact
            && (raised.is_some() || exact.len() < bytes.len())
        {
            return Ok(exact);
        }
    }
    if raised.is_some()
        && let Some(pixels) = pixels
        && !floor.is_met_by(&raster)
        && let Some((form, full)) = Form::with_full_chroma(encoding)
    {
        raster = form.of_raster(pixels);
        encoding = full;
        bytes = encode(&raster, profile, encoding)?;
        raised = floor.raised(encoding, &bytes, 0);
    }
    let mut attempts = 0;
    while let Some(higher) = raised {
        encoding = higher;
        bytes = encode(&raster, profile, encoding)?;
        attempts += 1;
        raised = floor.raised(encoding, &bytes, attempts);
    }
    Ok(bytes)
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
