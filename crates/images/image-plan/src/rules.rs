//! Rules of the operator for recipes: presets, and lists of the sizes, formats, qualities and
//! parameters that a request may use. An empty list permits everything.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use crate::query::{QueryError, is_parameter, name_of};
use crate::{Grammar, ImageQuery, Recipe, Target, parse_query};

/// Parameters whose value is the name of a preset; both mean the same.
pub const PRESET_PARAMETERS: [&str; 2] = ["preset", "p"];
/// Maximum length of a preset's name in bytes.
const PRESET_NAME_BYTES_MAX: usize = 64;

/// Rules for the recipes that requests may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecipeRules {
    /// Queries by the name of their preset.
    pub presets: BTreeMap<String, String>,
    /// True if a recipe must be a preset without other parameters.
    pub presets_only: bool,
    /// Widths of the box in pixels, after multiplication with `dpr`.
    pub widths_px: Vec<u32>,
    /// Heights of the box in pixels, after multiplication with `dpr`.
    pub heights_px: Vec<u32>,
    /// Formats that a request may name.
    pub formats: Vec<Target>,
    /// Qualities that a request may name, from 1 to 100.
    pub qualities_pct: Vec<u8>,
    /// Names of the parameters that a request may contain.
    pub operations: Vec<String>,
    /// Recipes that every request may use, whatever the other rules say.
    pub exempt: Vec<Recipe>,
}

/// Rule that a recipe violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecipeRule {
    /// Only presets are permitted.
    PresetsOnly,
    /// The parameter is not permitted.
    Operation,
    /// The width is not permitted.
    Width,
    /// The height is not permitted.
    Height,
    /// The format is not permitted.
    Format,
    /// The quality is not permitted.
    Quality,
}

/// Violation of a rule by a request. The text may be shown to the client: it is short, printable
/// ASCII.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct RecipeViolation {
    /// Rule that the request violates.
    pub rule: RecipeRule,
    /// Description of the violation, with the permitted values.
    pub problem: String,
}

impl RecipeViolation {
    fn new(rule: RecipeRule, problem: impl Into<String>) -> RecipeViolation {
        RecipeViolation {
            rule,
            problem: problem.into(),
        }
    }
}

/// Parameters of a request's query, apart from those whose names are unknown.
struct Used<'q> {
    has_preset: bool,
    operations: Vec<Cow<'q, str>>,
}

impl RecipeRules {
    /// Returns `query` with the parameters of its preset in place of the preset's name. A parameter
    /// of the query replaces the preset's parameter of the same name. Without presets, returns
    /// `query`.
    ///
    /// # Errors
    /// [`QueryError`] if the preset is unknown, or if the query names several presets.
    pub fn expand<'q>(&self, query: &'q str) -> Result<Cow<'q, str>, QueryError> {
        let mut named = None;
        for pair in self.preset_pairs(query) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if named.replace((name, value)).is_some() {
                return Err(QueryError::duplicate(name));
            }
        }
        let Some((name, preset)) = named else {
            return Ok(Cow::Borrowed(query));
        };
        let Some(parameters) = self.presets.get(preset) else {
            return Err(QueryError::unknown_preset(name));
        };
        let mut pairs: Vec<&str> = pairs(query).filter(|pair| !is_preset(pair)).collect();
        let own: Vec<_> = pairs.iter().map(|pair| name_of(pair)).collect();
        let added = self::pairs(parameters).filter(|pair| !own.contains(&name_of(pair)));
        pairs.extend(added);
        Ok(Cow::Owned(pairs.join("&")))
    }

    /// Checks the query of a request against these rules. `query` is the text before
    /// [`RecipeRules::expand`], and `parsed` is the meaning of the expanded text.
    ///
    /// # Errors
    /// [`RecipeViolation`], the first violation.
    pub fn check(
        &self,
        query: &str,
        grammar: Grammar,
        parsed: &ImageQuery,
    ) -> Result<(), RecipeViolation> {
        if self.is_exempt(parsed) {
            return Ok(());
        }
        let used = self.used(query, grammar);
        let mut recipe_parameters = used.operations.iter().filter(|name| *name != "meta");
        let is_plain_preset = used.has_preset && recipe_parameters.clone().next().is_none();
        if self.presets_only
            && let Some(name) = recipe_parameters.next()
        {
            let problem = format!(
                "{name}: this parameter is not permitted; only presets are, as in preset=NAME"
            );
            return Err(RecipeViolation::new(RecipeRule::PresetsOnly, problem));
        }
        let is_denied = |name: &&Cow<'_, str>| !self.operations.iter().any(|it| it == *name);
        if !self.operations.is_empty()
            && let Some(name) = used.operations.iter().find(is_denied)
        {
            let allowed = self.operations.join(", ");
            let problem = format!(
                "{name}: this parameter is not permitted; the permitted parameters are {allowed}"
            );
            return Err(RecipeViolation::new(RecipeRule::Operation, problem));
        }
        // The operator wrote the values of presets.
        match is_plain_preset {
            true => Ok(()),
            false => self.check_values(&parsed.recipe),
        }
    }

    /// Returns whether every request may use the recipe of `parsed`, whatever the other rules say.
    #[must_use]
    pub fn is_exempt(&self, parsed: &ImageQuery) -> bool {
        !parsed.meta && self.exempt.contains(&parsed.recipe)
    }

    /// Returns whether these rules permit every recipe.
    #[must_use]
    pub fn permits_all(&self) -> bool {
        !self.presets_only
            && self.widths_px.is_empty()
            && self.heights_px.is_empty()
            && self.formats.is_empty()
            && self.qualities_pct.is_empty()
            && self.operations.is_empty()
    }

    fn check_values(&self, recipe: &Recipe) -> Result<(), RecipeViolation> {
        let formats: Vec<_> = self.formats.iter().map(|target| target.name()).collect();
        require(recipe.width_px, &self.widths_px, RecipeRule::Width)?;
        require(recipe.height_px, &self.heights_px, RecipeRule::Height)?;
        let qualities: Vec<_> = self.qualities_pct.iter().map(u8::to_string).collect();
        let quality = match recipe.is_quality_auto {
            true => Some("auto".to_owned()),
            false => recipe.quality_pct.map(|quality| quality.to_string()),
        };
        require(quality, &qualities, RecipeRule::Quality)?;
        let format = recipe.format.map(Target::name);
        require(format, &formats, RecipeRule::Format)
    }

    /// Returns the parameters of `query` that `grammar` interprets. Unknown parameters cannot
    /// change a recipe.
    fn used<'q>(&self, query: &'q str, grammar: Grammar) -> Used<'q> {
        let is_known = |name: &Cow<'_, str>| match grammar {
            Grammar::MetaOnly => name == "meta",
            _ => is_parameter(name),
        };
        let is_ours = |pair: &&str| self.presets.is_empty() || !is_preset(pair);
        let names = pairs(query).filter(is_ours).map(name_of);
        Used {
            has_preset: self.preset_pairs(query).next().is_some(),
            operations: names.filter(is_known).collect(),
        }
    }

    /// Returns the pairs that name a preset. Without presets, these parameters are unknown.
    fn preset_pairs<'q>(&self, query: &'q str) -> impl Iterator<Item = &'q str> {
        let has_presets = !self.presets.is_empty();
        pairs(query).filter(move |pair| has_presets && is_preset(pair))
    }
}

/// Checks a preset of the operator.
///
/// # Errors
/// Description of the fault in the name or in the query.
pub fn check_preset(name: &str, query: &str) -> Result<(), String> {
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = (1..=PRESET_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_sound);
    if !is_name {
        return Err(format!(
            "{name:?}: the name of a preset has 1 to {PRESET_NAME_BYTES_MAX} letters, digits, -, _ or ."
        ));
    }
    match parse_query(query) {
        Ok(ImageQuery { meta: true, .. }) => Err(format!("{name}: a preset cannot contain meta")),
        Ok(_) => Ok(()),
        Err(err) => Err(format!("{name}: {err}")),
    }
}

/// Checks that `value`, if given, is one of `allowed`, unless that list is empty.
fn require<T: PartialEq + fmt::Display>(
    value: Option<T>,
    allowed: &[T],
    rule: RecipeRule,
) -> Result<(), RecipeViolation> {
    let Some(value) = value.filter(|value| !allowed.is_empty() && !allowed.contains(value)) else {
        return Ok(());
    };
    let (one, all) = match rule {
        RecipeRule::Width => ("the width", "widths"),
        RecipeRule::Height => ("the height", "heights"),
        RecipeRule::Format => ("the format", "formats"),
        _ => ("the quality", "qualities"),
    };
    let allowed: Vec<_> = allowed.iter().map(T::to_string).collect();
    let allowed = allowed.join(", ");
    let problem = format!("{one} {value} is not permitted; the permitted {all} are {allowed}");
    Err(RecipeViolation::new(rule, problem))
}

/// Returns the pairs of a query, the texts between `&`, without empty ones.
fn pairs(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|pair| !pair.is_empty())
}

fn is_preset(pair: &&str) -> bool {
    let name = pair.split_once('=').map_or(*pair, |(name, _)| name);
    PRESET_PARAMETERS.contains(&name)
}
