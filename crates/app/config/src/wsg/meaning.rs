//! Translation of the settings of WebP Server Go to settings of Pelton.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use image_plan::quality::native;
use image_plan::{Stage, Target};
use report::Error;

use super::{Entry, Meaning, WsgSettings};
use crate::credentials::hide_passwords;
use crate::settings::Key;
use crate::source::{Assignment, Note, NoteKind, Source};
use crate::value::{Raw, Value, is_remote};

/// Extensions of the pictures that Pelton recognises by content, so that `allowed_types` need not
/// list them.
const PICTURES: [&str; 32] = [
    "jpg", "jpeg", "png", "gif", "bmp", "webp", "avif", "svg", "tif", "tiff", "ico", "tga", "qoi",
    "pbm", "pgm", "ppm", "pnm", "pam", "hdr", "psd", "psb", "heic", "heif", "cr2", "cr3", "nef",
    "arw", "dng", "raf", "orf", "rw2", "jxl",
];

/// Result of the translation by [`WsgSettings::meaning`].
pub(crate) struct Taken {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) notes: Vec<Note>,
    pub(crate) errors: Vec<Error>,
}

impl WsgSettings {
    /// Translates the settings of WebP Server Go. `listen` is Pelton's current address: HOST
    /// replaces its IP address, and PORT replaces its port.
    pub(crate) fn meaning(self, listen: SocketAddr) -> Taken {
        let mut taken = Taken {
            assignments: Vec::new(),
            notes: self.notes,
            errors: self.errors,
        };
        let resizes = self
            .entries
            .iter()
            .any(|entry| entry.meaning == Meaning::ExtraParams && entry.boolean() == Some(true));
        let mut address = Address {
            listen,
            source: None,
        };
        let mut formats = Formats::default();
        for entry in self.entries {
            match entry.meaning {
                Meaning::Host => address.host(&entry, &mut taken),
                Meaning::Port => address.port(&entry, &mut taken),
                Meaning::Root => root(entry, &mut taken),
                Meaning::Data => data(entry, &mut taken),
                Meaning::Quality => quality(entry, &mut taken),
                Meaning::AllowedTypes => allowed_types(entry, &mut taken),
                Meaning::ConvertTypes => formats.list(&entry, &mut taken),
                Meaning::Switch(format) => formats.switch(&entry, format, &mut taken),
                Meaning::ImgMap => img_map(entry, &mut taken),
                Meaning::CacheSize => cache_size(entry, &mut taken),
                Meaning::ExtraParams => extra_params(entry, &mut taken),
                Meaning::Crop => crop(&entry, resizes, &mut taken),
                Meaning::StripMetadata => strip_metadata(&entry, &mut taken),
                Meaning::Nothing(text) => taken.note(NoteKind::NoEffect, &entry, text),
            }
        }
        address.finish(&mut taken);
        formats.finish(&mut taken);
        taken
    }
}

impl Entry {
    fn boolean(&self) -> Option<bool> {
        bool::read(&self.raw).ok()
    }

    /// Returns the value as a non-negative integer. A configuration file may contain the integer as
    /// a number or as a string.
    fn whole(&self) -> Option<u64> {
        match &self.raw {
            Raw::Integer(number) => u64::try_from(*number).ok(),
            raw => raw.text()?.trim().parse().ok(),
        }
    }

    /// Returns the strings of a list in lower case. The file holds them as an array, an environment
    /// variable as text separated by commas.
    fn list(&self) -> Option<Vec<String>> {
        match &self.raw {
            Raw::List(elements) => elements
                .iter()
                .map(|element| Some(element.text()?.to_ascii_lowercase()))
                .collect(),
            Raw::Word(word) => Some(
                word.to_str()?
                    .split(',')
                    .map(|element| element.trim().to_ascii_lowercase())
                    .filter(|element| !element.is_empty())
                    .collect(),
            ),
            _ => None,
        }
    }
}

impl Taken {
    fn note(&mut self, kind: NoteKind, entry: &Entry, text: &str) {
        self.notes.push(Note {
            kind,
            text: format!("{} {}", entry.source.with_name(), hide_passwords(text)),
        });
    }

    fn assign(&mut self, name: &str, raw: Raw, source: Source) {
        let key =
            Key::named(name).expect("every name in this file is in `KEYS`, as the tests show");
        self.assignments.push(Assignment { key, raw, source });
    }

    fn refuse(&mut self, entry: &Entry, expected: &str) {
        let text = format!("expected {expected}, found {}", entry.raw);
        self.fail(entry, &text);
    }

    fn fail(&mut self, entry: &Entry, text: &str) {
        let (place, text) = (entry.source.with_name(), hide_passwords(text));
        self.errors.push(Error::usage(format!("{place}: {text}")));
    }

    /// Returns the value of a boolean setting. A variable that is neither `true` nor `false` causes
    /// a note instead of an error, because WebP Server Go also only logs a warning about such a
    /// variable.
    fn boolean(&mut self, entry: &Entry) -> Option<bool> {
        let truth = entry.boolean();
        match (&entry.raw, truth) {
            (_, Some(_)) => {}
            (Raw::Word(_), None) => {
                let text = "has no effect: the value is neither \"true\" nor \"false\"";
                self.note(NoteKind::NoEffect, entry, text);
            }
            (_, None) => self.refuse(entry, "true or false"),
        }
        truth
    }
}

/// WebP Server Go's settings HOST and PORT, combined into one value for the setting `listen`.
struct Address {
    listen: SocketAddr,
    source: Option<Source>,
}

impl Address {
    fn host(&mut self, entry: &Entry, taken: &mut Taken) {
        let ip = match entry.raw.text() {
            // An empty host means every address of this machine.
            Some("") => Some(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            Some("localhost") => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            Some(text) => text.parse().ok(),
            None => None,
        };
        match ip {
            Some(ip) => {
                self.listen.set_ip(ip);
                self.source = Some(entry.source.clone());
            }
            None => taken.refuse(entry, "an IP address or \"localhost\""),
        }
    }

    fn port(&mut self, entry: &Entry, taken: &mut Taken) {
        match entry.whole().and_then(|number| u16::try_from(number).ok()) {
            Some(port) => {
                self.listen.set_port(port);
                self.source = Some(entry.source.clone());
            }
            None => taken.refuse(entry, "a port from 0 to 65535"),
        }
    }

    fn finish(self, taken: &mut Taken) {
        if let Some(source) = self.source {
            taken.assign("listen", Raw::Text(self.listen.to_string()), source);
        }
    }
}

/// Values of CONVERT_TYPES and of the older switches for single formats, from which the setting
/// `formats` is derived.
#[derive(Default)]
struct Formats {
    listed: Option<Vec<&'static str>>,
    switched_on: Vec<&'static str>,
    source: Option<Source>,
}

impl Formats {
    fn list(&mut self, entry: &Entry, taken: &mut Taken) {
        const EXPECTED: &str = "a list of \"webp\", \"avif\" and \"jxl\"";
        let Some(names) = entry.list() else {
            taken.refuse(entry, EXPECTED);
            return;
        };
        let mut listed = Vec::with_capacity(names.len());
        for name in names {
            match name.as_str() {
                "webp" => listed.push("webp"),
                "avif" => listed.push("avif"),
                "jxl" => no_jxl(entry, taken),
                _ => taken.fail(entry, &format!("expected {EXPECTED}, found {name:?}")),
            }
        }
        self.listed = Some(listed);
        self.source = Some(entry.source.clone());
    }

    fn switch(&mut self, entry: &Entry, format: &'static str, taken: &mut Taken) {
        match taken.boolean(entry) {
            Some(true) if format == "jxl" => no_jxl(entry, taken),
            Some(true) => self.switched_on.push(format),
            Some(false) => {}
            None => return,
        }
        self.source.get_or_insert_with(|| entry.source.clone());
    }

    fn finish(self, taken: &mut Taken) {
        let Some(source) = self.source else {
            return;
        };
        // Switches such as ENABLE_WEBP add formats to CONVERT_TYPES. If CONVERT_TYPES is not given,
        // it contains only WebP.
        let mut names = self.listed.unwrap_or_else(|| vec!["webp"]);
        names.extend(self.switched_on);
        // The sorted order puts AVIF first, as in Pelton's default.
        names.sort_unstable();
        let names = names.iter().map(|name| Raw::Text((*name).to_owned()));
        taken.assign("formats", Raw::List(names.collect()), source);
    }
}

fn no_jxl(entry: &Entry, taken: &mut Taken) {
    let text = "requests jxl, but JPEG XL output is not supported yet";
    taken.note(NoteKind::Unsupported, entry, text);
}

fn root(entry: Entry, taken: &mut Taken) {
    match entry.raw.text() {
        Some(text) if is_remote(text) => {
            taken.fail(
                &entry,
                &format!("remote sources are not supported yet: {text:?}"),
            );
        }
        _ => taken.assign("root", entry.raw, entry.source),
    }
}

fn data(entry: Entry, taken: &mut Taken) {
    let text = "is used as the data directory: files that WebP Server Go left there are neither used nor removed";
    taken.note(NoteKind::Taken, &entry, text);
    taken.assign("data", entry.raw, entry.source);
}

fn quality(entry: Entry, taken: &mut Taken) {
    let Some(webp) = entry.whole() else {
        taken.refuse(&entry, "a whole number");
        return;
    };
    let ours = alike(webp.clamp(1, 100) as u8);
    if webp < 100 {
        let text = format!(
            "{webp} is a quality on WebP's own scale; Pelton uses {ours} instead, because a \
             number on Pelton's scale looks the same in every format"
        );
        taken.note(NoteKind::Taken, &entry, &text);
    } else {
        let text = "requests lossless WebP and AVIF; quality 100 has the same meaning in Pelton";
        taken.note(NoteKind::Taken, &entry, text);
    }
    taken.assign("quality", Raw::Integer(ours.into()), entry.source);
}

/// Converts the quality of WebP Server Go to Pelton's scale. The result is the highest quality for
/// which Pelton passes at most `webp` to the WebP encoder.
///
/// WebP Server Go passes the configured number to every encoder. Here the number counts as a
/// quality of WebP. Most users chose it for WebP, which was long the only output format and is
/// still the default.
fn alike(webp: u8) -> u8 {
    (1..=100)
        .rev()
        .find(|ours| native(*ours, Target::Webp, Stage::Quick) <= webp)
        .expect("quality 1 of the setting is 1 on the scale of every encoder")
}

fn allowed_types(entry: Entry, taken: &mut Taken) {
    let Some(listed) = entry.list() else {
        taken.refuse(&entry, "a list of extensions");
        return;
    };
    if listed.first().is_some_and(|first| first == "*") {
        taken.assign("allowed_types", Raw::Text("*".to_owned()), entry.source);
        return;
    }
    // In WebP Server Go, "*" has an effect only as the first element of the list.
    let admitted: Vec<String> = listed.into_iter().filter(|it| it != "*").collect();
    let others = admitted
        .iter()
        .filter(|it| !PICTURES.contains(&it.as_str()));
    let others = Raw::List(others.cloned().map(Raw::Text).collect());
    taken.assign("allowed_types", others, entry.source.clone());
    let admitted = Raw::List(admitted.into_iter().map(Raw::Text).collect());
    taken.assign("only_types", admitted, entry.source);
}

fn img_map(entry: Entry, taken: &mut Taken) {
    let Raw::Table(pairs) = entry.raw else {
        taken.refuse(&entry, "an object of prefixes and directories");
        return;
    };
    let (pairs, skipped): (Vec<_>, Vec<_>) = pairs
        .into_iter()
        .partition(|(prefix, _)| prefix.starts_with('/') || is_remote(prefix));
    let entry = Entry {
        raw: Raw::Table(pairs),
        ..entry
    };
    for (prefix, _) in skipped {
        let text = format!(
            "has no effect for the prefix {prefix:?}, as in WebP Server Go, because the prefix \
             does not begin with a slash"
        );
        taken.note(NoteKind::NoEffect, &entry, &text);
    }
    taken.assign("img_map", entry.raw, entry.source);
}

fn cache_size(entry: Entry, taken: &mut Taken) {
    match entry.whole() {
        Some(0) => {
            let text =
                "0 means no limit in WebP Server Go; in Pelton, limits.variants_bytes_max applies";
            taken.note(NoteKind::Taken, &entry, text);
        }
        // WebP Server Go calls the unit MB, and counts 2²⁰ bytes.
        Some(mib) => {
            let raw = Raw::Text(format!("{mib}MiB"));
            taken.assign("limits.variants_bytes_max", raw, entry.source);
        }
        None => taken.refuse(&entry, "a whole number of megabytes"),
    }
}

fn extra_params(entry: Entry, taken: &mut Taken) {
    if let Some(resizes) = taken.boolean(&entry) {
        let queries = if resizes {
            "webp-server-go"
        } else {
            "meta-only"
        };
        taken.assign("queries", Raw::Text(queries.to_owned()), entry.source);
    }
}

fn crop(entry: &Entry, resizes: bool, taken: &mut Taken) {
    match entry.raw.text() {
        None => taken.refuse(entry, "a string"),
        Some("InterestingCentre") => {}
        Some(_) if resizes => {
            let text = "is not supported yet: a crop always keeps the centre of the picture";
            taken.note(NoteKind::Unsupported, entry, text);
        }
        Some(_) => {
            let text = "has no effect: a crop always keeps the centre of the picture";
            taken.note(NoteKind::NoEffect, entry, text);
        }
    }
}

fn strip_metadata(entry: &Entry, taken: &mut Taken) {
    if taken.boolean(entry) == Some(false) {
        let text = "false is not supported: conversions always remove EXIF and XMP, but preserve \
                    the colours";
        taken.note(NoteKind::Unsupported, entry, text);
    }
}
