//! Types of settings of the library's catalog.

#[cfg(test)]
mod tests;

use catalog::Source;
use scan::WatchMode;

use super::{Raw, Value, Wrong};

/// List of strings in which spaces are significant. In a flag or variable, an element may be quoted
/// to keep the spaces at its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts(pub Vec<String>);

impl Value for Texts {
    const EXPECTED: &'static str = "a list of strings, such as [\" feat. \", \"; \"]";

    fn read(raw: &Raw) -> Result<Texts, Wrong> {
        let quoted = |text: &str| {
            let inner = text
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            inner.unwrap_or(text).to_owned()
        };
        let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
        let texts = elements.iter().map(|element| match (raw, element) {
            (Raw::Word(_), Raw::Text(text)) => Some(quoted(text)),
            (_, Raw::Text(text)) => Some(text.clone()),
            _ => None,
        });
        let texts: Option<Vec<String>> = texts.collect();
        let texts = texts.filter(|texts| texts.iter().all(|text| !text.is_empty()));
        texts.map(Texts).ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        let texts = self.0.iter().map(|text| format!("\"{text}\""));
        texts.collect::<Vec<_>>().join(",")
    }
}

/// Sources of covers, in order of preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources(pub Vec<Source>);

const SOURCES: [(&str, Source); 4] = [
    ("any", Source::Any),
    ("embedded", Source::Embedded),
    ("disc", Source::Disc),
    ("album", Source::Album),
];

impl Value for Sources {
    const EXPECTED: &'static str = "a list whose entries are file names such as \"cover.*\", or \"embedded\", \"disc\", \"album\" or \"any\"";

    fn read(raw: &Raw) -> Result<Sources, Wrong> {
        let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
        let sources = elements.iter().map(|element| {
            let text = element.text()?;
            let named = SOURCES.iter().find(|(name, _)| *name == text);
            let is_file = text.contains(['.', '*']) && !text.contains('/');
            match named {
                Some((_, source)) => Some(source.clone()),
                None => is_file.then(|| Source::File(text.to_owned())),
            }
        });
        let sources: Option<Vec<Source>> = sources.collect();
        sources.map(Sources).ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        let names = self.0.iter().map(|source| {
            let named = SOURCES.iter().find(|(_, known)| known == source);
            match (named, source) {
                (Some((name, _)), _) => *name,
                (None, Source::File(name)) => name,
                (None, _) => unreachable!("every source other than a file has a name"),
            }
        });
        names.collect::<Vec<_>>().join(",")
    }
}

/// Method of detecting changes in the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchMeans(pub WatchMode);

const MEANS: [(&str, WatchMode); 3] = [
    ("auto", WatchMode::Auto),
    ("poll", WatchMode::Polling),
    ("off", WatchMode::Off),
];

impl Value for WatchMeans {
    const EXPECTED: &'static str = "\"auto\", \"poll\" or \"off\"";

    fn read(raw: &Raw) -> Result<WatchMeans, Wrong> {
        let row = MEANS.iter().find(|row| raw.text() == Some(row.0));
        row.map(|row| WatchMeans(row.1))
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        let row = MEANS.iter().find(|row| row.1 == self.0);
        row.expect("every value that can be set has a name")
            .0
            .to_owned()
    }
}

/// Side lengths of pictures in pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides(pub Vec<u32>);

/// Maximum side length, in pixels, of a picture that is converted ahead of requests.
const SIDE_PX_MAX: u32 = 4_096;

impl Value for Sides {
    const EXPECTED: &'static str = "a list of sizes in pixels, from 1 to 4096";

    fn read(raw: &Raw) -> Result<Sides, Wrong> {
        let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
        let sides = elements.iter().map(|element| {
            let number = match element {
                Raw::Integer(number) => u32::try_from(*number).ok(),
                Raw::Text(text) => text.parse().ok(),
                _ => None,
            };
            number.filter(|side| (1..=SIDE_PX_MAX).contains(side))
        });
        let sides: Option<Vec<u32>> = sides.collect();
        sides.map(Sides).ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        let sides = self.0.iter().map(u32::to_string);
        sides.collect::<Vec<_>>().join(",")
    }
}
