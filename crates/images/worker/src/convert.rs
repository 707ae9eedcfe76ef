//! Pipeline from the original to the encoded output.

use std::cell::OnceCell;

use crate::Error;
use crate::animation::convert_animation;
use crate::effects::{apply_effects, margin_chroma};
use crate::floor::{Floor, Search};
use crate::form::EncoderInput;
use crate::reduction;
use codec::{DecodeOptions, Shrink};
use image_plan::{
    Batch, Encoding, Layout, Placeholder, Plan, Raster, Rgba, Size, Subsampling, Target,
};
use pixel::colour::{ProfileAction, SmallProfiles, classify};
use pixel::{
    Area, blend_over, cmyk_to_rgb, flatten, orient, placeholder, scale_by, shrink_for_placeholder,
    stored, to_packed, upright as upright_rect, without_borders,
};

/// Result of [`convert`]: an encoded picture, and remarks on its original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedPicture {
    /// Encoded file.
    pub bytes: Vec<u8>,
    /// Size of the encoded picture.
    pub size: Size,
    /// Defects of the original that did not prevent the conversion, for the log. Empty for a valid
    /// original.
    pub remarks: Vec<String>,
}

/// Outputs of a [`Batch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOutput {
    /// Encoded pictures in the order of their plans. The bytes of the placeholder follow if `batch`
    /// requested it.
    pub files: Vec<Vec<u8>>,
    /// Defects of the original, as in [`ConvertedPicture::remarks`].
    pub remarks: Vec<String>,
}

/// Converts `original` according to `plan`.
///
/// # Errors
/// An [`Error`] whose [`ErrorKind`](crate::ErrorKind) names the fault.
pub fn convert(plan: &Plan, original: &[u8]) -> Result<ConvertedPicture, Error> {
    if let Some(frames_max) = plan.frames_max {
        return convert_animation(plan, frames_max, original);
    }
    let (raster, colours, remarks) = decode(plan, original)?;
    let (bytes, size) = produce_file(plan, raster, &colours)?;
    Ok(ConvertedPicture {
        bytes,
        size,
        remarks,
    })
}

/// Executes all plans of `batch` on `original`, which is decoded once. Each file has the
/// same bytes as if its plan were executed alone.
///
/// # Errors
/// As [`convert`]. If one plan fails, the whole batch fails.
pub fn convert_batch(batch: &Batch, original: &[u8]) -> Result<BatchOutput, Error> {
    let [others @ .., last] = batch.plans() else {
        unreachable!("a batch has at least one plan");
    };
    if last.frames_max.is_some() {
        return convert_animations(batch, original);
    }
    let (raster, colours, remarks) = decode(last, original)?;
    let placeholder = batch
        .placeholder()
        .then(|| placeholder_of(last, &raster, &colours));
    let mut files = Vec::with_capacity(batch.outputs());
    for plan in others {
        files.push(produce_file(plan, raster.clone(), &colours)?.0);
    }
    // The last plan consumes the decoded picture instead of copying it, because the decoded picture
    // can be large.
    files.push(produce_file(last, raster, &colours)?.0);
    files.extend(placeholder.map(|placeholder| placeholder.to_bytes().to_vec()));
    Ok(BatchOutput { files, remarks })
}

/// Executes a batch of animations, one plan after the other. A placeholder, if requested, shows the
/// first frame.
fn convert_animations(batch: &Batch, original: &[u8]) -> Result<BatchOutput, Error> {
    let mut files = Vec::with_capacity(batch.outputs());
    let mut remarks = Vec::new();
    for plan in batch.plans() {
        let converted = convert(plan, original)?;
        files.push(converted.bytes);
        remarks = converted.remarks;
    }
    if batch.placeholder() {
        let first = Plan {
            frames_max: None,
            bytes_max: None,
            score_min: None,
            ..batch.plans()[0]
        };
        let (raster, colours, _) = decode(&first, original)?;
        let placeholder = placeholder_of(&first, &raster, &colours);
        files.push(placeholder.to_bytes().to_vec());
    }
    Ok(BatchOutput { files, remarks })
}

fn placeholder_of(plan: &Plan, raster: &Raster, colours: &Colours) -> Placeholder {
    let small = convert_colour(shrink_for_placeholder(raster), &colours.profile_action);
    placeholder(&to_packed(orient(small, plan.orientation)))
}

/// Colour profile of an original, and its treatment.
struct Colours {
    profile: Option<Vec<u8>>,
    profile_action: ProfileAction,
    /// Treatment for plans that add colours in sRGB, computed for the first such plan.
    action_for_srgb: OnceCell<ProfileAction>,
}

impl Colours {
    fn of(profile: Option<Vec<u8>>, raster: &Raster) -> Colours {
        Colours {
            profile_action: profile_action(profile.as_deref(), raster, SmallProfiles::Carry),
            action_for_srgb: OnceCell::new(),
            profile,
        }
    }

    /// Returns how `plan` treats the profile of the decoded picture `raster`.
    fn action(&self, plan: &Plan, raster: &Raster) -> &ProfileAction {
        if !plan.effects.adds_srgb_colour() {
            return &self.profile_action;
        }
        self.action_for_srgb
            .get_or_init(|| profile_action(self.profile.as_deref(), raster, SmallProfiles::Convert))
    }
}

/// Decides how the profile of `raster` is handled. A picture without a profile is in sRGB.
pub(crate) fn profile_action(
    profile: Option<&[u8]>,
    raster: &Raster,
    small: SmallProfiles,
) -> ProfileAction {
    profile.map_or(ProfileAction::Drop, |profile| {
        classify(profile, raster, small)
    })
}

/// Decodes the original for `plan` and for all plans that can use the same decoded picture. Also
/// returns the colour profile and remarks on defects of the original.
fn decode(plan: &Plan, original: &[u8]) -> Result<(Raster, Colours, Vec<String>), Error> {
    let decoded = codec::decode(plan.source, original, &options(plan))
        .map_err(|error| Error::decode(&error))?;
    let mut remarks = Vec::new();
    if decoded.damaged {
        remarks.push("the original is damaged: only its valid part was decoded".to_owned());
    }
    let colours = Colours::of(decoded.profile, &decoded.raster);
    if let ProfileAction::Malformed(why) = &colours.profile_action {
        remarks.push(format!(
            "the colour profile is unusable, so the colours are treated as sRGB: {why}"
        ));
    }
    Ok((decoded.raster, colours, remarks))
}

/// Produces the file of `plan` from the decoded picture. Also returns the size of the encoded
/// picture.
fn produce_file(plan: &Plan, raster: Raster, colours: &Colours) -> Result<(Vec<u8>, Size), Error> {
    let plan = &with_final_sizes(plan, &raster);
    let profile_action = colours.action(plan, &raster);
    let form = EncoderInput::of(plan.encoding);
    let chroma = match profile_action {
        ProfileAction::Convert(converter) if converter.needs_rgb() => Subsampling::S444,
        _ if plan.effects.needs_rgb() => Subsampling::S444,
        _ => margin_chroma(plan, form.chroma_for(&raster)),
    };
    let raster = shaped(plan, raster, profile_action, chroma);
    let profile = colours.profile.as_deref();
    let profile = profile.filter(|_| matches!(profile_action, ProfileAction::Carry));
    let size = raster.size();
    let kept = plan.bytes_max.map(|bytes_max| (bytes_max, raster.clone()));
    // The sample for the quality floor is taken before the conversion to the encoder's input,
    // because that conversion reduces the resolution of chroma.
    let floor = Floor::of(&raster, plan.encoding);
    let bytes = match floor.map(|floor| floor.aiming_at(plan.score_min)) {
        None => encode(&form.convert_raster(raster), profile, plan.encoding)?,
        Some(floor) => encode_with_floor(&floor, raster, profile, plan.encoding)?,
    };
    let bytes = match kept {
        Some((bytes_max, raster)) if (bytes_max.get() as usize) < bytes.len() => {
            let encode = |raster: &Raster, encoding| encode(raster, profile, encoding);
            reduction::reduce(raster, plan.encoding, bytes_max, bytes, encode)?
        }
        _ => bytes,
    };
    Ok((bytes, size))
}

/// Applies all steps of the plan between decoding and encoding. Chroma planes are scaled to the
/// subsampling `chroma`.
pub(crate) fn shaped(
    plan: &Plan,
    raster: Raster,
    profile_action: &ProfileAction,
    chroma: Subsampling,
) -> Raster {
    let raster = scaled(plan, raster, chroma);
    upright(plan, convert_colour(raster, profile_action))
}

/// Returns the picture that an encoder would get for `plan`, with full chroma.
///
/// # Errors
/// As [`convert`].
pub(crate) fn picture_before_encoding(plan: &Plan, original: &[u8]) -> Result<Raster, Error> {
    let (raster, colours, _) = decode(plan, original)?;
    let plan = &with_final_sizes(plan, &raster);
    let action = colours.action(plan, &raster);
    Ok(shaped(plan, raster, action, Subsampling::S444))
}

fn encode(raster: &Raster, profile: Option<&[u8]>, encoding: Encoding) -> Result<Vec<u8>, Error> {
    codec::encode(raster, profile, encoding).map_err(|error| Error::encode(&error))
}

/// Encodes the picture with `encoding`. If the result is below the quality floor, encodes again:
/// lossless, with full chroma, or at higher quality. If the floor aims at a score, a lower quality
/// is tried, too.
fn encode_with_floor(
    floor: &Floor,
    raster: Raster,
    profile: Option<&[u8]>,
    mut encoding: Encoding,
) -> Result<Vec<u8>, Error> {
    let pixels = match &raster {
        Raster::Packed(_) => Some(raster.clone()),
        Raster::Yuv(_) => None,
    };
    let mut raster = EncoderInput::of(encoding).convert_raster(raster);
    let first = encode(&raster, profile, encoding)?;
    let first_bytes = first.len();
    let mut search = Search::new(floor);
    let mut next = search.advance(encoding, first);
    let mut exact = None;
    if let (Some(pixels), Some(lossless)) = (&pixels, floor.lossless(encoding))
        && (floor.is_flat()
            || next.is_some() && search.has_failed() && !floor.is_exceeded_by(&raster))
    {
        let pixels = EncoderInput::of(lossless).convert_raster(pixels.clone());
        // If lossless encoding fails for lack of memory or time, the lossy output is used.
        exact = encode(&pixels, profile, lossless).ok();
        if exact
            .as_ref()
            .is_some_and(|exact| exact.len() < first_bytes)
        {
            next = None;
        }
    }
    if next.is_some()
        && search.has_failed()
        && let Some(pixels) = pixels
        && !floor.is_exceeded_by(&raster)
        && let Some((form, full)) = EncoderInput::with_full_chroma(encoding)
    {
        raster = form.convert_raster(pixels);
        encoding = full;
        search = Search::new(floor);
        next = search.advance(encoding, encode(&raster, profile, encoding)?);
    }
    while let Some(other) = next {
        encoding = other;
        next = search.advance(encoding, encode(&raster, profile, encoding)?);
    }
    let has_failed = search.has_failed();
    let lossy = search.into_best();
    let exact = exact.filter(|exact| has_failed || exact.len() < lossy.len());
    Ok(exact.unwrap_or(lossy))
}

fn options(plan: &Plan) -> DecodeOptions {
    DecodeOptions {
        shrink: shrink(plan),
        page: plan.page,
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

/// Returns the plan with the crop and sizes that remain if the borders of the decoded picture are
/// removed, or the plan itself if it has no trim.
pub(crate) fn with_final_sizes(plan: &Plan, raster: &Raster) -> Plan {
    let Some(trim) = plan.trim else {
        return *plan;
    };
    let kept = without_borders(raster, trim.threshold);
    plan.trimmed(upright_rect(kept, plan.stored, plan.orientation))
}

/// Scales the plan's crop to the plan's size, with chroma in subsampling `chroma`. The picture is
/// not yet oriented.
fn scaled(plan: &Plan, raster: Raster, chroma: Subsampling) -> Raster {
    let divisor = shrink(plan).divisor();
    let crop = stored(plan.crop, plan.stored, plan.orientation);
    let area = Area::from(crop).divided(divisor, divisor);
    let size = if plan.orientation.transposes() {
        plan.inner.transposed()
    } else {
        plan.inner
    };
    scale_by(plan.effects.kernel, raster, area, size, chroma)
}

/// Converts the picture to the colour space that the output will have.
fn convert_colour(raster: Raster, profile_action: &ProfileAction) -> Raster {
    match (profile_action, raster) {
        (ProfileAction::Convert(converter), raster) => converter.to_srgb(raster),
        (_, Raster::Packed(packed)) if packed.layout == Layout::Cmyk => {
            Raster::Packed(cmyk_to_rgb(&packed))
        }
        (_, raster) => raster,
    }
}

/// Orients the picture, applies the effects of the plan, and removes transparency for JPEG.
fn upright(plan: &Plan, raster: Raster) -> Raster {
    let mut plan = *plan;
    let is_jpeg = plan.encoding.target() == Target::Jpeg;
    if is_jpeg {
        // Margins and transparent pixels get the same colour, so it must be opaque in both.
        plan.effects.background = plan.effects.background.map(over_white);
    }
    let raster = apply_effects(&plan, orient(raster, plan.orientation));
    if is_jpeg && raster.has_alpha() {
        let behind = plan.effects.background.unwrap_or(Rgba::WHITE);
        return Raster::Packed(flatten(blend_over(to_packed(raster), behind)));
    }
    raster
}

/// Returns the opaque colour that `colour` has over white.
fn over_white(Rgba([red, green, blue, alpha]): Rgba) -> Rgba {
    let alpha = u32::from(alpha);
    let over = |level: u8| ((u32::from(level) * alpha + 255 * (255 - alpha) + 127) / 255) as u8;
    Rgba([over(red), over(green), over(blue), 255])
}
