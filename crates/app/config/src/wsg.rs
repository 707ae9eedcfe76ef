//! Translation of the configuration of WebP Server Go to settings of Pelton. That configuration is
//! the file `config.json` and the environment variables `WEBP_…`.
//!
//! The case of keys in the file is ignored. If a key is given twice, the last value wins. A setting
//! that Pelton handles differently or does not support causes a [`Note`]; nothing is ignored
//! silently. A missing key gets Pelton's default, not the default of WebP Server Go.

mod meaning;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use report::Error;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::file::line_at;
use super::nearest::nearest;
use super::source::{Note, NoteKind, Source};
use super::value::Raw;

pub(crate) use meaning::Taken;

/// Translation of a key of WebP Server Go: the setting of Pelton that the key sets, or no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Host,
    Port,
    Root,
    Data,
    Quality,
    AllowedTypes,
    ConvertTypes,
    /// Switch that enables this output format. Keys of this kind are older than CONVERT_TYPES.
    Switch(&'static str),
    ImgMap,
    CacheSize,
    ExtraParams,
    Crop,
    StripMetadata,
    /// No effect; holds the text of the note to the operator.
    Nothing(&'static str),
}

struct WsgKey {
    name: &'static str,
    /// Meaning of the environment variable whose name is `WEBP_` and `name`. `None` if WebP Server
    /// Go reads no such variable.
    variable: Option<Meaning>,
    file: Meaning,
}

const NO_EFFECT: &str = "has no effect, as in WebP Server Go";
const NO_SIDECARS: &str = "has no effect: Pelton writes no metadata files";
const NO_REMOTE: &str = "has no effect: remote sources are not supported yet";

const fn both(name: &'static str, meaning: Meaning) -> WsgKey {
    WsgKey {
        name,
        variable: Some(meaning),
        file: meaning,
    }
}

const fn file_only(name: &'static str, meaning: Meaning) -> WsgKey {
    WsgKey {
        name,
        variable: None,
        file: meaning,
    }
}

const WSG_KEYS: &[WsgKey] = &[
    both("HOST", Meaning::Host),
    both("PORT", Meaning::Port),
    both("IMG_PATH", Meaning::Root),
    both("QUALITY", Meaning::Quality),
    both("ALLOWED_TYPES", Meaning::AllowedTypes),
    both("CONVERT_TYPES", Meaning::ConvertTypes),
    file_only("ENABLE_WEBP", Meaning::Switch("webp")),
    file_only("ENABLE_AVIF", Meaning::Switch("avif")),
    file_only("ENABLE_JXL", Meaning::Switch("jxl")),
    WsgKey {
        name: "IMG_MAP",
        variable: Some(Meaning::Nothing(NO_EFFECT)),
        file: Meaning::ImgMap,
    },
    both("EXHAUST_PATH", Meaning::Data),
    file_only("METADATA_PATH", Meaning::Nothing(NO_SIDECARS)),
    file_only("REMOTE_RAW_PATH", Meaning::Nothing(NO_REMOTE)),
    both("ENABLE_EXTRA_PARAMS", Meaning::ExtraParams),
    both("EXTRA_PARAMS_CROP_INTERESTING", Meaning::Crop),
    both("STRIP_METADATA", Meaning::StripMetadata),
    both("READ_BUFFER_SIZE", Meaning::Nothing(NO_EFFECT)),
    both("CONCURRENCY", Meaning::Nothing(NO_EFFECT)),
    both("DISABLE_KEEPALIVE", Meaning::Nothing(NO_EFFECT)),
    both("CACHE_TTL", Meaning::Nothing(NO_REMOTE)),
    both("MAX_CACHE_SIZE", Meaning::CacheSize),
];

/// Settings whose defaults differ between the two programs: the name in Pelton, the name in WebP
/// Server Go, and the default in WebP Server Go.
pub(crate) const OTHER_DEFAULTS: [(&str, &str, &str); 3] = [
    ("root", "IMG_PATH", "./pics"),
    ("listen", "HOST", "0.0.0.0:3333"),
    ("formats", "CONVERT_TYPES", "webp"),
];

/// Settings of a file or of the environment, not yet interpreted.
#[derive(Default)]
pub(crate) struct WsgSettings {
    entries: Vec<Entry>,
    notes: Vec<Note>,
    errors: Vec<Error>,
}

struct Entry {
    meaning: Meaning,
    raw: Raw,
    source: Source,
}

/// Reads the text of a `config.json`.
pub(crate) fn file(path: &Arc<PathBuf>, text: &str) -> WsgSettings {
    let mut given = WsgSettings::default();
    let pairs = match serde_json::from_str::<Pairs<'_>>(text) {
        Ok(pairs) => pairs.0,
        Err(err) => {
            let message = err.to_string();
            let message = message.split(" at line ").next().unwrap_or(&message);
            let place = format!("{}:{}", path.display(), err.line());
            given
                .errors
                .push(Error::usage(format!("{place}: {message}")));
            return given;
        }
    };
    for (name, value) in pairs {
        // The value is a slice of the file's text, so the difference of the two addresses is its
        // offset in the text, from which the line number follows.
        let offset = value.get().as_ptr().addr() - text.as_ptr().addr();
        let source = Source::File {
            path: Arc::clone(path),
            line: line_at(text, offset),
            name: name.to_ascii_uppercase(),
        };
        match WSG_KEYS
            .iter()
            .find(|key| key.name.eq_ignore_ascii_case(&name))
        {
            Some(key) => given.entries.push(Entry {
                meaning: key.file,
                raw: raw(value),
                source,
            }),
            None => {
                let near = nearest(&name, WSG_KEYS.iter().map(|key| key.name));
                let error = Error::usage(format!("{source}: unknown key: {name}"));
                given.errors.push(error.hint(match near {
                    Some(near) => format!("the nearest known key is {near}"),
                    None => {
                        "a .json file is read as a configuration of WebP Server Go; Pelton's own format is TOML".to_owned()
                    }
                }));
            }
        }
    }
    given
}

/// Reads the environment variables whose names begin with `WEBP_`. An empty variable counts as not
/// set. An unknown variable causes a note, not an error, because other programs also use this
/// prefix.
pub(crate) fn variables(variables: &[(OsString, OsString)]) -> WsgSettings {
    let mut given = WsgSettings::default();
    for (variable, value) in variables {
        let Some((variable, name)) = variable
            .to_str()
            .and_then(|variable| Some((variable, variable.strip_prefix("WEBP_")?)))
        else {
            continue;
        };
        if value.is_empty() {
            continue;
        }
        let source = Source::Variable(variable.to_owned());
        let known = WSG_KEYS
            .iter()
            .filter_map(|key| Some((key.name, key.variable?)));
        match known.clone().find(|(known, _)| *known == name) {
            Some((_, meaning)) => given.entries.push(Entry {
                meaning,
                raw: Raw::Word(value.clone()),
                source,
            }),
            None => {
                let mut text =
                    format!("{variable} has no effect: WebP Server Go has no such variable");
                if let Some(near) = nearest(name, known.map(|(known, _)| known)) {
                    text.push_str(&format!("; the nearest known variable is WEBP_{near}"));
                }
                let kind = NoteKind::NoEffect;
                given.notes.push(Note { kind, text });
            }
        }
    }
    given
}

/// Members of the outermost JSON object, in the order of the file. Each value is its unparsed text.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs<'de>, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object with the keys of WebP Server Go's config.json")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn raw(value: &RawValue) -> Raw {
    match serde_json::from_str(value.get()) {
        Ok(value) => raw_of(value),
        // The value contains a lone surrogate, a number out of range, or more levels of nesting
        // than serde_json supports.
        Err(err) => Raw::Other(err.to_string()),
    }
}

fn raw_of(value: serde_json::Value) -> Raw {
    use serde_json::Value;
    match value {
        Value::Bool(truth) => Raw::Truth(truth),
        Value::String(text) => Raw::Text(text),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Raw::Integer(number),
            None => Raw::Other(number.to_string()),
        },
        Value::Array(elements) => Raw::List(elements.into_iter().map(raw_of).collect()),
        Value::Object(members) => {
            let pairs = members
                .into_iter()
                .map(|(name, value)| (name, raw_of(value)));
            Raw::Table(pairs.collect())
        }
        Value::Null => Raw::Other("null".to_owned()),
    }
}
