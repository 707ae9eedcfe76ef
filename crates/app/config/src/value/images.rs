//! Types of settings that decide which pictures clients may request.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use image_plan::{REQUESTED_SIDE_PX_MAX, Target};
use server::signature::SignatureKey;

use super::{Quality, Raw, Value, Wrong};

/// Keys of signed URLs, each `KEY` or `KEY:SALT` in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureKeys(pub Vec<String>);

impl Value for SignatureKeys {
    const EXPECTED: &'static str = "a list of keys, each KEY or KEY:SALT in hexadecimal digits";
    const IS_SECRET: bool = true;

    fn read(raw: &Raw) -> Result<SignatureKeys, Wrong> {
        // Messages number the keys, because a message must not repeat a secret.
        let unfit =
            |row: usize, why: &dyn Display| Wrong::Because(format!("key {}: {why}", row + 1));
        let elements = raw.elements().ok_or_else(|| unfit(0, &"not text"))?;
        let read = |(row, element): (usize, &Raw)| {
            let text = element.text().ok_or_else(|| unfit(row, &"not text"))?;
            match SignatureKey::parse(text) {
                Ok(_) => Ok(text.to_owned()),
                Err(err) => Err(unfit(row, &err)),
            }
        };
        let keys = elements.iter().enumerate().map(read);
        keys.collect::<Result<_, _>>().map(SignatureKeys)
    }

    fn show(&self) -> String {
        self.0.join(",")
    }
}

/// Queries by the names of their presets, in the order of the names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presets(pub Vec<(String, String)>);

impl Value for Presets {
    const EXPECTED: &'static str = "names of presets with their queries: in the configuration file \
                                    { thumb = \"w=96&h=96&fit=cover\" }; in a flag or variable \
                                    \"thumb=w=96&h=96&fit=cover\", with | between several";

    fn read(raw: &Raw) -> Result<Presets, Wrong> {
        let presets = named_texts(raw)?;
        for (name, query) in &presets {
            image_plan::check_preset(name, query).map_err(Wrong::Because)?;
        }
        Ok(Presets(presets))
    }

    fn show(&self) -> String {
        let presets = self.0.iter().map(|(name, query)| format!("{name}={query}"));
        presets.collect::<Vec<_>>().join("|")
    }
}

/// Side lengths in pixels that clients may request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermittedSides(pub Vec<u32>);

impl Value for PermittedSides {
    const EXPECTED: &'static str = "a list of sizes in pixels, from 1 to 16384";

    fn read(raw: &Raw) -> Result<PermittedSides, Wrong> {
        let is_side = |side: &u32| (1..=REQUESTED_SIDE_PX_MAX).contains(side);
        list(raw, |element| whole(element).filter(is_side)).map(PermittedSides)
    }

    fn show(&self) -> String {
        shown(&self.0)
    }
}

/// Qualities that clients may request, from 1 to 100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermittedQualities(pub Vec<Quality>);

impl Value for PermittedQualities {
    const EXPECTED: &'static str = "a list of whole numbers from 1 to 100";

    fn read(raw: &Raw) -> Result<PermittedQualities, Wrong> {
        let quality = |element: &Raw| {
            let quality = whole(element).filter(|quality| (1..=100).contains(quality))?;
            Some(Quality(quality as u8))
        };
        list(raw, quality).map(PermittedQualities)
    }

    fn show(&self) -> String {
        let qualities: Vec<_> = self.0.iter().map(Quality::show).collect();
        qualities.join(",")
    }
}

/// Formats that clients may request by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermittedFormats(pub Vec<Target>);

impl Value for PermittedFormats {
    const EXPECTED: &'static str = "a list of output formats such as \"webp\" and \"jpeg\"";

    fn read(raw: &Raw) -> Result<PermittedFormats, Wrong> {
        let format = |element: &Raw| element.text().and_then(Target::from_extension);
        list(raw, format).map(PermittedFormats)
    }

    fn show(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|format| format.name()).collect();
        names.join(",")
    }
}

/// Names of parameters that clients may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operations(pub Vec<String>);

impl Value for Operations {
    const EXPECTED: &'static str = "a list of parameters such as \"w\" and \"fit\"";

    fn read(raw: &Raw) -> Result<Operations, Wrong> {
        let operation = |element: &Raw| {
            let name = element.text()?;
            let is_known = image_plan::parameter_names().any(|known| known == name);
            is_known.then(|| name.to_owned())
        };
        list(raw, operation).map(Operations)
    }

    fn show(&self) -> String {
        self.0.join(",")
    }
}

/// Reads a table of names with texts, or texts `NAME=TEXT` with `|` between them. Returns the pairs
/// in the order of the names, which must differ.
pub(super) fn named_texts(raw: &Raw) -> Result<Vec<(String, String)>, Wrong> {
    let mut pairs: Vec<(String, String)> = match raw {
        Raw::Table(pairs) => {
            let pair = |(name, value): &(String, Raw)| match value {
                Raw::Text(query) => Ok((name.clone(), query.clone())),
                other => Err(Wrong::found(other)),
            };
            pairs.iter().map(pair).collect::<Result<_, Wrong>>()?
        }
        Raw::Word(_) => {
            let text = raw.text().ok_or_else(|| Wrong::found(raw))?;
            let texts = text.split('|').map(str::trim);
            let pair = |text: &str| match text.split_once('=') {
                Some((name, query)) => Ok((name.to_owned(), query.to_owned())),
                None => Err(Wrong::found(raw)),
            };
            let pairs = texts.filter(|text| !text.is_empty()).map(pair);
            pairs.collect::<Result<_, Wrong>>()?
        }
        _ => return Err(Wrong::found(raw)),
    };
    pairs.sort();
    match pairs.windows(2).find(|two| two[0].0 == two[1].0) {
        Some(two) => Err(Wrong::Because(format!(
            "{}: the same name is given more than once",
            two[0].0
        ))),
        None => Ok(pairs),
    }
}

/// Parses each element of a list. Reports the first element for which `read` returns `None`.
fn list<T>(raw: &Raw, read: impl Fn(&Raw) -> Option<T>) -> Result<Vec<T>, Wrong> {
    let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
    let elements = elements.iter();
    let read = elements.map(|element| read(element).ok_or_else(|| Wrong::found(element)));
    read.collect()
}

/// Parses an element of a list as a whole number.
fn whole(element: &Raw) -> Option<u32> {
    match element {
        Raw::Integer(number) => u32::try_from(*number).ok(),
        Raw::Text(text) => super::digits(text).and_then(|number| u32::try_from(number).ok()),
        _ => None,
    }
}

fn shown(numbers: &[u32]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}
