//! Parses the query string of a request into a recipe, in two stages: first the text of each
//! parameter, then the meaning of all parameters together.

mod effects;
mod region;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::num::{NonZeroU16, NonZeroU32};

use percent_encoding::percent_decode_str;

use self::effects::hundredths;
use crate::Target;
use crate::recipe::{Crop, Fit, REQUESTED_SIDE_PX_MAX, Recipe};
use thiserror::Error;

/// Maximum number of characters of a parameter's name that an error message repeats.
const NAME_CHARS_MAX: usize = 32;

/// Parsed meaning of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ImageQuery {
    /// Normalized parameters of the requested picture.
    pub recipe: Recipe,
    /// True if the client wants a JSON description instead of the picture (`meta=full`).
    pub meta: bool,
}

/// Kind of a parameter error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueryErrorKind {
    /// The parameter's name is unknown.
    Unknown,
    /// The parameter is reserved but not supported yet.
    Reserved,
    /// The parameter is given more than once.
    Duplicate,
    /// The parameter contradicts another one, or needs one that is missing.
    Contradiction,
    /// The value is malformed or out of range.
    Value,
}

/// Reason why a query is refused; always the client's fault. The text is short, printable ASCII,
/// and may be shown to the client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{parameter}: {problem}")]
pub struct QueryError {
    /// Kind of the error, by which callers choose their response.
    pub kind: QueryErrorKind,
    /// Name of the parameter at fault.
    pub parameter: String,
    /// Description of the problem, and of the correct form of the parameter.
    pub problem: String,
}

impl QueryError {
    fn new(kind: QueryErrorKind, parameter: &str, problem: impl Into<String>) -> QueryError {
        let printable = |char: char| if char.is_ascii_graphic() { char } else { '?' };
        QueryError {
            kind,
            parameter: parameter
                .chars()
                .take(NAME_CHARS_MAX)
                .map(printable)
                .collect(),
            problem: problem.into(),
        }
    }

    fn value(parameter: Parameter, problem: impl Into<String>) -> QueryError {
        QueryError::new(QueryErrorKind::Value, parameter.name(), problem)
    }

    pub(crate) fn duplicate(parameter: &str) -> QueryError {
        QueryError::new(
            QueryErrorKind::Duplicate,
            parameter,
            "must not be given more than once",
        )
    }

    pub(crate) fn unknown_preset(parameter: &str) -> QueryError {
        QueryError::new(QueryErrorKind::Value, parameter, "there is no such preset")
    }
}

/// Returns the names of all parameters that change a picture or ask for its description.
pub fn parameter_names() -> impl Iterator<Item = &'static str> {
    Parameter::ALL.iter().map(|parameter| parameter.name())
}

/// Returns whether `name` is the name of a parameter.
pub(crate) fn is_parameter(name: &str) -> bool {
    parameter_names().any(|known| known == name)
}

/// Returns the decoded name in `pair`, the text between two `&`. A name that cannot be decoded is
/// returned as it is; no parameter has such a name.
pub(crate) fn name_of(pair: &str) -> Cow<'_, str> {
    let name = pair.split_once('=').map_or(pair, |(name, _)| name);
    match name.contains(['%', '+']) {
        true => percent_decoded(name, name).map_or(Cow::Borrowed(name), Cow::Owned),
        false => Cow::Borrowed(name),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameter {
    W,
    H,
    Fit,
    Dpr,
    Enlarge,
    Rotate,
    Flip,
    Flop,
    Trim,
    Crop,
    Focus,
    Gravity,
    Width,
    Height,
    MaxWidth,
    MaxHeight,
    Q,
    MaxBytes,
    Format,
    Meta,
    Kernel,
    Gamma,
    Brightness,
    Contrast,
    Saturation,
    Grayscale,
    Sepia,
    Bitonal,
    Duotone,
    Invert,
    Blur,
    Sharpen,
    Unsharp,
    Pixelate,
    Pad,
    Bg,
    Round,
    Page,
    Frame,
    Animation,
}

impl Parameter {
    const ALL: [Parameter; 40] = [
        Parameter::W,
        Parameter::H,
        Parameter::Fit,
        Parameter::Dpr,
        Parameter::Enlarge,
        Parameter::Rotate,
        Parameter::Flip,
        Parameter::Flop,
        Parameter::Trim,
        Parameter::Crop,
        Parameter::Focus,
        Parameter::Gravity,
        Parameter::Width,
        Parameter::Height,
        Parameter::MaxWidth,
        Parameter::MaxHeight,
        Parameter::Q,
        Parameter::MaxBytes,
        Parameter::Format,
        Parameter::Meta,
        Parameter::Kernel,
        Parameter::Gamma,
        Parameter::Brightness,
        Parameter::Contrast,
        Parameter::Saturation,
        Parameter::Grayscale,
        Parameter::Sepia,
        Parameter::Bitonal,
        Parameter::Duotone,
        Parameter::Invert,
        Parameter::Blur,
        Parameter::Sharpen,
        Parameter::Unsharp,
        Parameter::Pixelate,
        Parameter::Pad,
        Parameter::Bg,
        Parameter::Round,
        Parameter::Page,
        Parameter::Frame,
        Parameter::Animation,
    ];

    const fn name(self) -> &'static str {
        match self {
            Parameter::W => "w",
            Parameter::H => "h",
            Parameter::Fit => "fit",
            Parameter::Dpr => "dpr",
            Parameter::Enlarge => "enlarge",
            Parameter::Rotate => "rotate",
            Parameter::Flip => "flip",
            Parameter::Flop => "flop",
            Parameter::Trim => "trim",
            Parameter::Crop => "crop",
            Parameter::Focus => "focus",
            Parameter::Gravity => "gravity",
            Parameter::Width => "width",
            Parameter::Height => "height",
            Parameter::MaxWidth => "max_width",
            Parameter::MaxHeight => "max_height",
            Parameter::Q => "q",
            Parameter::MaxBytes => "max_bytes",
            Parameter::Format => "format",
            Parameter::Meta => "meta",
            Parameter::Kernel => "kernel",
            Parameter::Gamma => "gamma",
            Parameter::Brightness => "brightness",
            Parameter::Contrast => "contrast",
            Parameter::Saturation => "saturation",
            Parameter::Grayscale => "grayscale",
            Parameter::Sepia => "sepia",
            Parameter::Bitonal => "bitonal",
            Parameter::Duotone => "duotone",
            Parameter::Invert => "invert",
            Parameter::Blur => "blur",
            Parameter::Sharpen => "sharpen",
            Parameter::Unsharp => "unsharp",
            Parameter::Pixelate => "pixelate",
            Parameter::Pad => "pad",
            Parameter::Bg => "bg",
            Parameter::Round => "round",
            Parameter::Page => "page",
            Parameter::Frame => "frame",
            Parameter::Animation => "animation",
        }
    }
}

/// Parameter names that are reserved for planned features.
const PLANNED: [&str; 1] = ["watermark"];

/// Rules for parsing a query: the parameters that are interpreted, and the treatment of unknown and
/// invalid parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grammar {
    /// All known parameters are interpreted and must be valid. Unknown parameters are ignored, for
    /// example cache busters and tracking parameters.
    #[default]
    Pelton,
    /// As `Pelton`, but unknown parameters are refused.
    Strict,
    /// All known parameters are interpreted, and invalid and unknown ones are ignored, as in WebP
    /// Server Go.
    WebpServerGo,
    /// Only `meta` is interpreted, as in WebP Server Go without `ENABLE_EXTRA_PARAMS`.
    MetaOnly,
}

impl Grammar {
    /// Parses a query, the part of a request target after `?`.
    ///
    /// # Errors
    /// [`QueryError`] for the first invalid parameter. The lenient grammars (`WebpServerGo`,
    /// `MetaOnly`) never fail.
    pub fn parse(self, query: &str) -> Result<ImageQuery, QueryError> {
        let raw = RawParameters::read(query, self)?;
        match self {
            Grammar::Pelton | Grammar::Strict => raw.image_query(),
            Grammar::WebpServerGo | Grammar::MetaOnly => Ok(raw.interpret_leniently()),
        }
    }

    /// Returns whether `pair`, the text between two `&`, can change the meaning of a query or cause
    /// a refusal. Names with escapes are not decoded here, so pairs with such names always count as
    /// relevant.
    #[must_use]
    pub fn is_relevant(self, pair: &str) -> bool {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        let is_known = Parameter::ALL.iter().any(|known| known.name() == name);
        match self {
            Grammar::Strict => true,
            Grammar::Pelton => is_known || name.contains(['%', '+']) || PLANNED.contains(&name),
            Grammar::WebpServerGo => is_known || name.contains(['%', '+']),
            Grammar::MetaOnly => name == "meta" || name.contains(['%', '+']),
        }
    }
}

/// Parses a query by [`Grammar::Strict`].
///
/// # Errors
/// [`QueryError`] for the first parameter that is unknown, repeated, out of range or that
/// contradicts another.
pub fn parse_query(query: &str) -> Result<ImageQuery, QueryError> {
    Grammar::Strict.parse(query)
}
/// Decoded text of each parameter's value, in the order of [`Parameter::ALL`].
struct RawParameters([Option<String>; Parameter::ALL.len()]);

/// Width and height of the box, the rule for fitting the picture into the box, the permission to
/// enlarge the picture, and the device pixel ratio in hundredths.
type BoxParameters = (Option<u32>, Option<u32>, Fit, bool, u32);

impl RawParameters {
    fn read(query: &str, grammar: Grammar) -> Result<RawParameters, QueryError> {
        let mut raw = RawParameters([const { None }; Parameter::ALL.len()]);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = match percent_decoded(name, name) {
                Err(err) if grammar == Grammar::Strict => return Err(err),
                // All known names are plain ASCII, so a name that cannot be decoded is unknown, and
                // unknown parameters are ignored.
                Err(_) => continue,
                Ok(name) => name,
            };
            match (raw.add(&name, value), grammar) {
                (Err(err), Grammar::Strict) => return Err(err),
                (Err(err), Grammar::Pelton) if err.kind != QueryErrorKind::Unknown => {
                    return Err(err);
                }
                _ => {}
            }
        }
        if grammar == Grammar::MetaOnly {
            raw.clear(|parameter| parameter != Parameter::Meta);
        }
        Ok(raw)
    }

    /// Stores the value of one parameter. If the parameter has a value already, returns an error
    /// and keeps the first value.
    fn add(&mut self, name: &str, value: &str) -> Result<(), QueryError> {
        let Some(parameter) = Parameter::ALL.iter().find(|known| known.name() == name) else {
            return Err(unknown(name));
        };
        let value = percent_decoded(name, value)?;
        let slot = &mut self.0[*parameter as usize];
        if slot.is_some() {
            return Err(QueryError::duplicate(name));
        }
        *slot = Some(value);
        Ok(())
    }

    fn clear(&mut self, which: impl Fn(Parameter) -> bool) {
        for parameter in Parameter::ALL.into_iter().filter(|it| which(*it)) {
            self.0[parameter as usize] = None;
        }
    }

    /// Interprets all parameters together; fails if one is invalid.
    fn image_query(&self) -> Result<ImageQuery, QueryError> {
        let (width_px, height_px, fit, enlarge, dpr_pct) = self.size()?;
        let (orientation, angle) = self.rotation()?;
        let format = self.format()?;
        let is_lossless = format == Some(Target::Png);
        let (quality_pct, is_quality_auto) = self.quality()?;
        let crop = self.crop()?;
        let has_ratio = matches!(crop, Some(Crop::Ratio { .. }));
        let is_cropped = has_ratio || matches!(fit, Fit::Cover | Fit::CoverOrKeep);
        let recipe = Recipe {
            orientation,
            trim: self.trim()?,
            crop,
            focus: self.focus(is_cropped)?,
            width_px,
            height_px,
            fit,
            enlarge,
            // PNG is lossless: every quality gives the same recipe.
            quality_pct: quality_pct.filter(|_| !is_lossless),
            is_quality_auto: is_quality_auto && !is_lossless,
            bytes_max: self.bytes_max(format)?,
            format,
            page: self.page()?,
            frame: self.frame()?,
            effects: self.effects(angle, dpr_pct)?,
        };
        Ok(ImageQuery {
            recipe,
            meta: self.meta()?,
        })
    }

    /// Interprets all parameters and drops the invalid ones. Each error removes one parameter, so
    /// the loop terminates. If `width` or `height` is valid, `max_width` and `max_height` are
    /// ignored, as in WebP Server Go.
    fn interpret_leniently(mut self) -> ImageQuery {
        use Parameter::{Height, MaxHeight, MaxWidth, Width};
        for side in [Width, Height] {
            if self.number(side, REQUESTED_SIDE_PX_MAX).is_err() {
                self.clear(|parameter| parameter == side);
            }
        }
        if self.first(&[Width, Height]).is_some() {
            self.clear(|parameter| matches!(parameter, MaxWidth | MaxHeight));
        }
        loop {
            match self.image_query() {
                Ok(image_query) => return image_query,
                Err(err) => self.clear(|parameter| parameter.name() == err.parameter),
            }
        }
    }

    fn value(&self, parameter: Parameter) -> Option<&str> {
        self.0[parameter as usize].as_deref()
    }

    /// Returns the first of `parameters` that has a value.
    fn first(&self, parameters: &[Parameter]) -> Option<Parameter> {
        let mut parameters = parameters.iter().copied();
        parameters.find(|parameter| self.value(*parameter).is_some())
    }

    /// Parses the value of `parameter` as a whole number from 1 to `max`. Returns `None` if the
    /// parameter is absent.
    fn number(&self, parameter: Parameter, max: u32) -> Result<Option<u32>, QueryError> {
        let Some(value) = self.value(parameter) else {
            return Ok(None);
        };
        match digits(value) {
            Some(number @ 1..) if number <= max => Ok(Some(number)),
            _ => Err(QueryError::value(
                parameter,
                format!("must be a whole number from 1 to {max}"),
            )),
        }
    }

    fn size(&self) -> Result<BoxParameters, QueryError> {
        use Parameter::{Dpr, Enlarge, Fit, H, Height, MaxHeight, MaxWidth, W, Width};
        let own_parameter = self.first(&[W, H, Fit, Dpr, Enlarge]);
        let exact = self.first(&[Width, Height]);
        let bounds = self.first(&[MaxWidth, MaxHeight]);
        match (own_parameter, exact, bounds) {
            (Some(one), Some(other), _)
            | (Some(one), _, Some(other))
            | (_, Some(one), Some(other)) => Err(contradiction(
                one,
                format!("cannot be combined with {}", other.name()),
            )),
            (Some(_), None, None) => self.parse_box(),
            (None, Some(_), None) => self.parse_exact_box(),
            (None, None, _) => {
                let (width, height) = self.sides(MaxWidth, MaxHeight)?;
                Ok((width, height, crate::Fit::Inside, false, 100))
            }
        }
    }

    /// Determines the box into which the picture is fitted, from `w`, `h`, `fit`, `dpr` and
    /// `enlarge`.
    fn parse_box(&self) -> Result<BoxParameters, QueryError> {
        let (width, height) = self.sides(Parameter::W, Parameter::H)?;
        let needs_box = self.first(&[Parameter::Fit, Parameter::Dpr, Parameter::Enlarge]);
        if let (None, None, Some(parameter)) = (width, height, needs_box) {
            return Err(contradiction(parameter, "needs w or h"));
        }
        let fit = self.fit()?;
        if fit != Fit::Inside && (width.is_none() || height.is_none()) {
            return Err(contradiction(
                Parameter::Fit,
                "needs both w and h, except for fit=inside",
            ));
        }
        let dpr_pct = self.dpr_pct()?;
        let scaled = |side: u32| (side * dpr_pct + 50) / 100;
        let (width, height) = (width.map(scaled), height.map(scaled));
        if width.max(height) > Some(REQUESTED_SIDE_PX_MAX) {
            let problem = format!(
                "w and h must be at most {REQUESTED_SIDE_PX_MAX} after multiplication by dpr"
            );
            return Err(QueryError::value(Parameter::Dpr, problem));
        }
        let enlarge = self.flag(Parameter::Enlarge)?;
        Ok((width, height, fit, enlarge, dpr_pct))
    }

    /// Determines the box into which the picture is fitted. `width` and `height` have the meaning
    /// that they have in WebP Server Go. If both are given, the picture is cropped. If only one is
    /// given, the picture keeps its proportions. A picture that is smaller than a given side is not
    /// resized. For a single side, [`Fit::Inside`] has exactly this effect.
    fn parse_exact_box(&self) -> Result<BoxParameters, QueryError> {
        let (width, height) = self.sides(Parameter::Width, Parameter::Height)?;
        let fit = match (width, height) {
            (Some(_), Some(_)) => Fit::CoverOrKeep,
            _ => Fit::Inside,
        };
        Ok((width, height, fit, false, 100))
    }

    fn sides(
        &self,
        width: Parameter,
        height: Parameter,
    ) -> Result<(Option<u32>, Option<u32>), QueryError> {
        Ok((
            self.number(width, REQUESTED_SIDE_PX_MAX)?,
            self.number(height, REQUESTED_SIDE_PX_MAX)?,
        ))
    }

    fn fit(&self) -> Result<Fit, QueryError> {
        match self.value(Parameter::Fit) {
            None | Some("inside") => Ok(Fit::Inside),
            Some("cover") => Ok(Fit::Cover),
            Some("contain") => Ok(Fit::Contain),
            Some("fill") => Ok(Fit::Fill),
            Some(_) => Err(QueryError::value(
                Parameter::Fit,
                "must be inside, cover, contain or fill",
            )),
        }
    }

    /// Returns `dpr`, the number of device pixels per CSS pixel, in hundredths.
    fn dpr_pct(&self) -> Result<u32, QueryError> {
        let Some(value) = self.value(Parameter::Dpr) else {
            return Ok(100);
        };
        match hundredths(value) {
            Some(pct @ 100..=800) => Ok(pct),
            _ => Err(QueryError::value(
                Parameter::Dpr,
                "must be a number from 1 to 8 with at most 2 decimals",
            )),
        }
    }

    /// Interprets a boolean parameter. Returns false if the parameter is absent.
    fn flag(&self, parameter: Parameter) -> Result<bool, QueryError> {
        match self.value(parameter) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(QueryError::value(parameter, "must be true or false")),
        }
    }

    fn format(&self) -> Result<Option<Target>, QueryError> {
        match self.value(Parameter::Format) {
            None | Some("auto") => Ok(None),
            Some(name) => match Target::from_extension(name) {
                Some(target) => Ok(Some(target)),
                None => Err(QueryError::value(
                    Parameter::Format,
                    "must be auto, avif, webp, jpeg or png",
                )),
            },
        }
    }

    /// Returns the quality, if any, and whether it is chosen for each picture.
    fn quality(&self) -> Result<(Option<u8>, bool), QueryError> {
        if self.value(Parameter::Q) == Some("auto") {
            return Ok((None, true));
        }
        match self.number(Parameter::Q, 100) {
            Ok(quality) => Ok((quality.map(|quality| quality as u8), false)),
            Err(_) => Err(QueryError::value(
                Parameter::Q,
                "must be auto or a whole number from 1 to 100",
            )),
        }
    }

    /// Returns the maximum length of the output in bytes, if any.
    fn bytes_max(&self, format: Option<Target>) -> Result<Option<NonZeroU32>, QueryError> {
        let bytes_max = self.number(Parameter::MaxBytes, u32::MAX)?;
        match (bytes_max.and_then(NonZeroU32::new), format) {
            (Some(_), Some(Target::Png)) => Err(contradiction(
                Parameter::MaxBytes,
                "cannot be combined with format=png, which is lossless",
            )),
            (bytes_max, _) => Ok(bytes_max),
        }
    }

    /// Returns the number of the page, unless it is the first.
    fn page(&self) -> Result<Option<NonZeroU16>, QueryError> {
        let page = self.number(Parameter::Page, u16::MAX.into())?;
        let page = page.filter(|page| *page != 1);
        Ok(page.and_then(|page| NonZeroU16::new(page as u16)))
    }

    /// Returns the number of the frame from `frame` or `animation`, or `None` for all frames.
    /// `animation=first` and `frame=1` mean the same.
    fn frame(&self) -> Result<Option<NonZeroU16>, QueryError> {
        use Parameter::{Animation, Frame};
        let frame = self.number(Frame, u16::MAX.into())?;
        let frame = frame.and_then(|frame| NonZeroU16::new(frame as u16));
        match (self.value(Animation), frame) {
            (Some(_), Some(_)) => Err(contradiction(Frame, "cannot be combined with animation")),
            (None, frame) => Ok(frame),
            (Some("all"), None) => Ok(None),
            (Some("first"), None) => Ok(Some(NonZeroU16::MIN)),
            (Some(_), None) => Err(QueryError::value(Animation, "must be all or first")),
        }
    }

    fn meta(&self) -> Result<bool, QueryError> {
        match self.value(Parameter::Meta) {
            None => Ok(false),
            Some("full") => Ok(true),
            Some(_) => Err(QueryError::value(
                Parameter::Meta,
                "must have the value full",
            )),
        }
    }
}

fn contradiction(parameter: Parameter, problem: impl Into<String>) -> QueryError {
    QueryError::new(QueryErrorKind::Contradiction, parameter.name(), problem)
}

/// Parses a number that consists only of decimal digits. (`str::parse` would also accept a sign.)
fn digits(text: &str) -> Option<u32> {
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all_digits)
}

fn percent_decoded(parameter: &str, text: &str) -> Result<String, QueryError> {
    let malformed = || {
        let problem = "malformed percent-encoding";
        QueryError::new(QueryErrorKind::Value, parameter, problem)
    };
    let mut triplets = text.split('%').skip(1);
    let is_valid = triplets.all(|part| {
        let digits = part.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    if !is_valid {
        return Err(malformed());
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| malformed())
}

fn unknown(name: &str) -> QueryError {
    if PLANNED.contains(&name) {
        return QueryError::new(
            QueryErrorKind::Reserved,
            name,
            "this parameter is not supported yet",
        );
    }
    let problem = match nearest(name) {
        Some(nearest) => format!("unknown parameter, did you mean {nearest}?"),
        None => {
            let known = Parameter::ALL.map(Parameter::name).join(", ");
            format!("unknown parameter; known parameters are {known}")
        }
    };
    QueryError::new(QueryErrorKind::Unknown, name, problem)
}

/// Returns the known name with the smallest edit distance from `name`, unless that distance exceeds
/// a third of the known name's length, rounded to nearest.
fn nearest(name: &str) -> Option<&'static str> {
    if NAME_CHARS_MAX < name.len() {
        return None;
    }
    let known = Parameter::ALL.iter().map(|parameter| parameter.name());
    let edits = known.map(|known| (edits(name.as_bytes(), known.as_bytes()), known));
    let (edits, nearest) = edits.min_by_key(|(edits, _)| *edits)?;
    (edits <= (nearest.len() + 1) / 3).then_some(nearest)
}

/// Returns the Levenshtein distance of two names, ignoring ASCII case. Computes it row by row.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(!a.eq_ignore_ascii_case(b));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
