//! Translation of the environment variables `IMGPROXY_…` to settings of Pelton, and the settings of
//! imgproxy URLs as the server needs them.
//!
//! An empty variable counts as not set. A variable that Pelton handles differently, does not
//! support or does not know causes a [`Note`]; nothing is ignored silently.

#[cfg(test)]
mod tests;

use std::ffi::OsString;

use image_plan::imgproxy::ImgproxyRules;
use report::Error;
use server::imgproxy::Imgproxy;
use server::signature::SignatureKey;

use super::settings::{Config, Key};
use super::source::{Assignment, Note, NoteKind, Source};
use super::value::Raw;

const PREFIX: &str = "IMGPROXY_";

/// Translation of a variable of imgproxy.
#[derive(Clone, Copy)]
enum Meaning {
    /// The value is that of this setting of Pelton.
    Same(&'static str),
    /// The value is a boolean in any of imgproxy's spellings, that of this setting.
    Flag(&'static str),
    /// Address to listen at, which may lack the host.
    Bind,
    /// Seconds, the value of this setting.
    Seconds(&'static str),
    /// Megapixels, the value of this setting in pixels.
    Megapixels(&'static str),
    /// Presets, which commas separate.
    Presets,
    /// No effect and no loss; the text says why.
    Nothing(&'static str),
    /// The variable requests a feature that Pelton does not have.
    Unsupported,
}

const ALWAYS_ON: &str = "Pelton always behaves as if this variable were true";
const NO_REMOTE: &str = "remote sources are not supported yet";
const BY_FORMATS: &str =
    "the setting `formats` lists the formats that are sent to clients that accept them";

const VARIABLES: &[(&str, Meaning)] = &[
    ("KEY", Meaning::Same("imgproxy.keys")),
    ("SALT", Meaning::Same("imgproxy.salts")),
    ("SIGNATURE_SIZE", Meaning::Same("imgproxy.signature_size")),
    (
        "TRUSTED_SIGNATURES",
        Meaning::Same("imgproxy.trusted_signatures"),
    ),
    ("PATH_PREFIX", Meaning::Same("imgproxy.prefix")),
    ("PRESETS", Meaning::Presets),
    ("ONLY_PRESETS", Meaning::Flag("imgproxy.only_presets")),
    ("BASE_URL", Meaning::Same("imgproxy.base_url")),
    ("LOCAL_FILESYSTEM_ROOT", Meaning::Same("root")),
    ("BIND", Meaning::Bind),
    ("QUALITY", Meaning::Same("quality")),
    ("TTL", Meaning::Seconds("max_age")),
    (
        "GRACEFUL_STOP_TIMEOUT",
        Meaning::Seconds("limits.drain_timeout"),
    ),
    (
        "MAX_SRC_RESOLUTION",
        Meaning::Megapixels("limits.source_pixels_max"),
    ),
    ("USE_ETAG", Meaning::Nothing(ALWAYS_ON)),
    ("USE_LAST_MODIFIED", Meaning::Nothing(ALWAYS_ON)),
    ("STRIP_METADATA", Meaning::Nothing(ALWAYS_ON)),
    ("AUTO_ROTATE", Meaning::Nothing(ALWAYS_ON)),
    ("AUTO_WEBP", Meaning::Nothing(BY_FORMATS)),
    ("AUTO_AVIF", Meaning::Nothing(BY_FORMATS)),
    ("ENFORCE_WEBP", Meaning::Nothing(BY_FORMATS)),
    ("ENFORCE_AVIF", Meaning::Nothing(BY_FORMATS)),
    ("DOWNLOAD_TIMEOUT", Meaning::Nothing(NO_REMOTE)),
    ("MAX_REDIRECTS", Meaning::Nothing(NO_REMOTE)),
    ("USER_AGENT", Meaning::Nothing(NO_REMOTE)),
    ("SECRET", Meaning::Unsupported),
    ("ALLOWED_SOURCES", Meaning::Unsupported),
    ("ALLOWED_PROCESSING_OPTIONS", Meaning::Unsupported),
    ("ALLOW_SECURITY_OPTIONS", Meaning::Unsupported),
    ("ARGUMENTS_SEPARATOR", Meaning::Unsupported),
    ("BASE64_URL_INCLUDES_FILENAME", Meaning::Unsupported),
    ("PRESETS_PATH", Meaning::Unsupported),
    ("PRESETS_SEPARATOR", Meaning::Unsupported),
    ("SOURCE_URL_QUERY_SEPARATOR", Meaning::Unsupported),
    ("URL_REPLACEMENTS", Meaning::Unsupported),
    ("FORMAT_QUALITY", Meaning::Unsupported),
    ("SKIP_PROCESSING_FORMATS", Meaning::Unsupported),
    ("RETURN_ATTACHMENT", Meaning::Unsupported),
    ("WATERMARK_DATA", Meaning::Unsupported),
    ("WATERMARK_PATH", Meaning::Unsupported),
    ("WATERMARK_URL", Meaning::Unsupported),
    ("FALLBACK_IMAGE_DATA", Meaning::Unsupported),
    ("FALLBACK_IMAGE_PATH", Meaning::Unsupported),
    ("FALLBACK_IMAGE_URL", Meaning::Unsupported),
    ("ENABLE_CLIENT_HINTS", Meaning::Unsupported),
    ("AUTO_JXL", Meaning::Unsupported),
    ("ENFORCE_JXL", Meaning::Unsupported),
];

/// Translates the variables whose names begin with `IMGPROXY_`.
pub(crate) fn variables(variables: &[(OsString, OsString)]) -> (Vec<Assignment>, Vec<Note>) {
    let (mut assignments, mut notes) = (Vec::new(), Vec::new());
    for (variable, value) in variables {
        let variable = variable.to_str();
        let Some((variable, name)) =
            variable.and_then(|variable| Some((variable, variable.strip_prefix(PREFIX)?)))
        else {
            continue;
        };
        if value.is_empty() {
            continue;
        }
        let mut note = |kind, text: &str| {
            let text = format!("{variable} {text}");
            notes.push(Note { kind, text });
        };
        let text = value.to_string_lossy();
        let (setting, text) = match VARIABLES.iter().find(|row| row.0 == name).map(|row| row.1) {
            Some(Meaning::Same(setting)) => (setting, None),
            Some(Meaning::Flag(setting)) => (setting, Some(flag(&text).to_owned())),
            Some(Meaning::Bind) if text.starts_with(':') => {
                ("listen", Some(format!("0.0.0.0{text}")))
            }
            Some(Meaning::Bind) => ("listen", None),
            Some(Meaning::Seconds(setting)) => (setting, Some(format!("{text}s"))),
            Some(Meaning::Megapixels(setting)) => (setting, Some(pixels(&text))),
            Some(Meaning::Presets) => {
                let presets = text.split(',').map(str::trim);
                let presets: Vec<&str> = presets.filter(|it| !it.is_empty()).collect();
                ("imgproxy.presets", Some(presets.join("|")))
            }
            Some(Meaning::Nothing(why)) => {
                note(NoteKind::NoEffect, &format!("has no effect: {why}"));
                continue;
            }
            Some(Meaning::Unsupported) => {
                note(NoteKind::Unsupported, "is not supported");
                continue;
            }
            None => {
                let text =
                    "has no effect: docs/migrate-imgproxy.md lists the variables that Pelton reads";
                note(NoteKind::NoEffect, text);
                continue;
            }
        };
        if name == "QUALITY" {
            let text = "sets the quality of JPEG: other formats get the quality that looks \
                        the same";
            note(NoteKind::Taken, text);
        }
        let key = Key::named(setting).expect("the table contains only settings, as a test shows");
        let raw = Raw::Word(text.map_or_else(|| value.clone(), OsString::from));
        let source = Source::Variable(variable.to_owned());
        assignments.push(Assignment { key, raw, source });
    }
    (assignments, notes)
}

/// Returns a boolean in Pelton's spelling. Any other text stays as it is, and the setting refuses
/// it.
fn flag(text: &str) -> &str {
    match text {
        "1" | "t" | "T" | "TRUE" | "True" => "true",
        "0" | "f" | "F" | "FALSE" | "False" => "false",
        other => other,
    }
}

/// Returns a number of megapixels as pixels. A text that is not a number stays as it is, and the
/// setting refuses it.
fn pixels(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(megapixels) => format!("{:.0}", megapixels * 1e6),
        Err(_) => text.to_owned(),
    }
}

/// Returns a note if `assignments` concern imgproxy URLs but `config` reads no URL as one.
pub(crate) fn unused(config: &Config, first: Option<&Source>) -> Option<Note> {
    let source = first.filter(|_| config.imgproxy.prefix.0.is_none())?;
    Some(Note {
        kind: NoteKind::Unsupported,
        text: format!("{source} is set, but has no effect while imgproxy.prefix is off"),
    })
}

/// Returns the settings for imgproxy URLs, or `None` if the configuration does not enable them.
///
/// # Errors
/// The number of keys differs from the number of salts.
pub fn load(config: &Config) -> Result<Option<Imgproxy>, Error> {
    let settings = &config.imgproxy;
    let (keys, salts) = (&settings.keys.0, &settings.salts.0);
    if keys.len() != salts.len() {
        let (keys, salts) = (keys.len(), salts.len());
        let what = format!("imgproxy.keys has {keys} keys, but imgproxy.salts has {salts} salts");
        return Err(Error::usage(what).hint(
            "give both lists the same length: the first salt belongs to the first key, and so on",
        ));
    }
    if settings.only_presets && settings.presets.0.is_empty() {
        let what = "imgproxy.only_presets is true, but there are no presets";
        return Err(Error::usage(what).hint("imgproxy.presets defines presets"));
    }
    let Some(prefix) = settings.prefix.0.clone() else {
        return Ok(None);
    };
    let pairs = keys.iter().zip(salts);
    Ok(Some(Imgproxy {
        prefix,
        keys: pairs
            .map(|(key, salt)| SignatureKey::new(key, salt))
            .collect(),
        signature_bytes: settings.signature_size.0 as usize,
        trusted_signatures: settings.trusted_signatures.0.clone(),
        rules: ImgproxyRules {
            presets: settings.presets.0.iter().cloned().collect(),
            only_presets: settings.only_presets,
            base_url: settings.base_url.0.clone(),
        },
    }))
}
