//! Types of the values of settings, with parsing and display. A displayed value can be passed back
//! as a flag or an environment variable.

mod fields;
mod gate;
mod iiif;
mod images;
mod imgproxy;
mod library;
mod tags;
#[cfg(test)]
mod tests;

pub(crate) use fields::{CorsOrigins, HeaderFields, ResourcePolicy};
pub(crate) use gate::{Hosts, LoginNeed, MaybeFile, Origins};
pub(crate) use iiif::IiifService;
pub(crate) use images::{
    Operations, PermittedFormats, PermittedQualities, PermittedSides, Presets, SignatureKeys,
};
pub(crate) use imgproxy::{
    BaseUrl, HexSecrets, ImgproxyPresets, SignatureSize, TrustedSignatures, UrlPrefix,
};
pub(crate) use library::{Sides, Sources, Texts, WatchMeans};
pub(crate) use tags::Tags;

use std::ffi::OsString;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use image_plan::{Grammar, Target};
use reactor::{Network, Steering};
use sandbox::{Backend, Isolation};
use server::access::Sink;

use crate::credentials::{hide_password_of_url, hide_passwords};

/// Value as it was given, not yet parsed into the type of its setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    /// Text of an environment variable or a command-line flag. The setting determines how this text
    /// is parsed.
    Word(OsString),
    /// String in a configuration file.
    Text(String),
    /// Integer in a configuration file.
    Integer(i64),
    /// Boolean in a configuration file.
    Truth(bool),
    /// List in a configuration file.
    List(Vec<Raw>),
    /// Table in a configuration file.
    Table(Vec<(String, Raw)>),
    /// Value of a type that no setting accepts, as written in the file.
    Other(String),
}

impl Raw {
    /// Returns the text of a `Text` or a `Word`. Returns `None` for other values, and for words
    /// that are not UTF-8.
    pub fn text(&self) -> Option<&str> {
        match self {
            Raw::Word(word) => word.to_str(),
            Raw::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a non-negative integer: an `Integer` of a file, or a `Word` of digits. A string in a
    /// file is not a number.
    fn whole(&self) -> Option<u64> {
        match self {
            Raw::Integer(number) => u64::try_from(*number).ok(),
            Raw::Word(word) => digits(word.to_str()?),
            _ => None,
        }
    }

    /// Returns the elements of a list. A `Word` is split at its commas; surrounding spaces and
    /// empty elements are dropped. Returns `None` for other values.
    fn elements(&self) -> Option<Vec<Raw>> {
        match self {
            Raw::List(list) => Some(list.clone()),
            Raw::Word(word) => Some(
                word.to_str()?
                    .split(',')
                    .map(str::trim)
                    .filter(|element| !element.is_empty())
                    .map(|element| Raw::Text(element.to_owned()))
                    .collect(),
            ),
            _ => None,
        }
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raw::Word(word) => write!(f, "{word:?}"),
            Raw::Text(text) => write!(f, "{text:?}"),
            Raw::Integer(number) => write!(f, "{number}"),
            Raw::Truth(truth) => write!(f, "{truth}"),
            Raw::List(_) => write!(f, "a list"),
            Raw::Table(_) => write!(f, "a table"),
            Raw::Other(text) => write!(f, "{text}"),
        }
    }
}

/// Reason why a value was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Value of a wrong type or outside the accepted range; holds a description of the value.
    Found(String),
    /// Valid value that requests an unsupported feature; holds the message.
    Unsupported(String),
    /// Value with an invalid part, or with parts that contradict each other; holds the message.
    Because(String),
}

impl Wrong {
    pub(super) fn found(raw: &Raw) -> Wrong {
        Wrong::Found(raw.to_string())
    }
}

/// Type of a setting's value.
pub(crate) trait Value: Sized {
    /// Description of the accepted values, which completes "expected …" in error messages.
    const EXPECTED: &'static str;
    /// True if the value is secret, so that tables must not show it.
    const IS_SECRET: bool = false;

    /// Parses `raw`, or returns the reason why it is not a value of this type.
    fn read(raw: &Raw) -> Result<Self, Wrong>;

    /// Returns the value as text that is accepted as a flag or a variable.
    fn show(&self) -> String;

    /// Returns the value as text for tables, without secrets and passwords of URLs.
    fn show_public(&self) -> String {
        match self.show() {
            text if !text.is_empty() && Self::IS_SECRET => "(secret)".to_owned(),
            text => hide_passwords(&text),
        }
    }
}

impl Value for PathBuf {
    const EXPECTED: &'static str = "a path";

    fn read(raw: &Raw) -> Result<PathBuf, Wrong> {
        match raw {
            Raw::Word(word) if !word.is_empty() => Ok(PathBuf::from(word)),
            Raw::Text(text) if !text.is_empty() => Ok(PathBuf::from(text)),
            _ => Err(Wrong::found(raw)),
        }
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Value for SocketAddr {
    const EXPECTED: &'static str = "an address with a port, such as \"127.0.0.1:3333\"";

    fn read(raw: &Raw) -> Result<SocketAddr, Wrong> {
        raw.text()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(raw: &Raw) -> Result<bool, Wrong> {
        match raw {
            Raw::Truth(truth) => Ok(*truth),
            Raw::Word(word) if word == "true" => Ok(true),
            Raw::Word(word) if word == "false" => Ok(false),
            _ => Err(Wrong::found(raw)),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for u32 {
    const EXPECTED: &'static str = "a whole number";

    fn read(raw: &Raw) -> Result<u32, Wrong> {
        raw.whole()
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for NonZeroU32 {
    const EXPECTED: &'static str = "a whole number above 0";

    fn read(raw: &Raw) -> Result<NonZeroU32, Wrong> {
        raw.whole()
            .and_then(|number| u32::try_from(number).ok())
            .and_then(NonZeroU32::new)
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for NonZeroU64 {
    const EXPECTED: &'static str = "a whole number above 0";

    fn read(raw: &Raw) -> Result<NonZeroU64, Wrong> {
        raw.whole()
            .and_then(NonZeroU64::new)
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// Number of cores or of concurrent jobs: fixed, or derived from the number of usable cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerCore {
    /// Derived from the number of cores that this process may use.
    Auto,
    /// Fixed number.
    Exactly(NonZeroU32),
}

impl Value for PerCore {
    const EXPECTED: &'static str = "\"auto\" or a whole number above 0";

    fn read(raw: &Raw) -> Result<PerCore, Wrong> {
        if raw.text() == Some("auto") {
            return Ok(PerCore::Auto);
        }
        NonZeroU32::read(raw).map(PerCore::Exactly)
    }

    fn show(&self) -> String {
        match self {
            PerCore::Auto => "auto".to_owned(),
            PerCore::Exactly(number) => number.to_string(),
        }
    }
}

/// Quality on libjpeg's scale, 1 to 100. `image_plan::quality` maps it to the scale of each
/// encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality(pub u8);

impl Value for Quality {
    const EXPECTED: &'static str = "a whole number from 1 to 100";

    fn read(raw: &Raw) -> Result<Quality, Wrong> {
        match raw.whole() {
            Some(number @ 1..=100) => Ok(Quality(number as u8)),
            _ => Err(Wrong::found(raw)),
        }
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// Number of bytes, written with a decimal unit (kB, MB, GB, TB), a binary unit (KiB, MiB, GiB,
/// TiB), or without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// Binary units, largest first, because [`Value::show`] takes the first unit that divides the
/// value.
const BINARY_UNITS: [(&str, u64); 4] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];
const DECIMAL_UNITS: [(&str, u64); 5] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

impl Bytes {
    /// Returns `n` × 2¹⁰ bytes.
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }

    /// Returns `n` × 2²⁰ bytes.
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }

    /// Returns `n` × 2³⁰ bytes.
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }
}

impl Value for Bytes {
    const EXPECTED: &'static str = "a size, such as \"256MiB\" or \"4GB\"";

    fn read(raw: &Raw) -> Result<Bytes, Wrong> {
        if let Some(bytes) = raw.whole() {
            return Ok(Bytes(bytes));
        }
        raw.text()
            .and_then(|text| measured(text, BINARY_UNITS.iter().chain(&DECIMAL_UNITS)))
            .map(Bytes)
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        show_measured(self.0, &BINARY_UNITS).unwrap_or_else(|| self.0.to_string())
    }
}

/// Units of time and their lengths in milliseconds, largest first like [`BINARY_UNITS`].
const TIME_UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("min", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Longest accepted timeout: one day. Adding it to a point in time cannot overflow.
const TIMEOUT_MAX: Duration = Duration::from_secs(86_400);
/// Longest duration of a setting: one year. Caches (RFC 9111) gain nothing from a longer freshness
/// lifetime.
const OPTIONAL_DURATION_MAX: Duration = Duration::from_secs(365 * 86_400);

/// Timeout of an operation; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timeout(pub Duration);

impl Timeout {
    /// Returns a timeout of `n` seconds.
    pub const fn seconds(n: u64) -> Timeout {
        Timeout(Duration::from_secs(n))
    }
}

impl Value for Timeout {
    const EXPECTED: &'static str =
        "a time with its unit, such as \"8s\" or \"500ms\", above 0 and up to 1d";

    fn read(raw: &Raw) -> Result<Timeout, Wrong> {
        read_time(raw)
            .filter(|time| !time.is_zero() && *time <= TIMEOUT_MAX)
            .map(Timeout)
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        show_time(self.0)
    }
}

/// Duration that may be zero, unlike [`Timeout`]. The setting says what zero means: for example, a
/// `max_age` of zero makes caches revalidate each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OptionalDuration(pub Duration);

impl OptionalDuration {
    /// Returns a duration of `n` seconds.
    pub const fn seconds(n: u64) -> OptionalDuration {
        OptionalDuration(Duration::from_secs(n))
    }
}

impl Value for OptionalDuration {
    const EXPECTED: &'static str = "a time with its unit, such as \"10s\" or \"30d\", up to 365d";

    fn read(raw: &Raw) -> Result<OptionalDuration, Wrong> {
        read_time(raw)
            .filter(|time| *time <= OPTIONAL_DURATION_MAX)
            .map(OptionalDuration)
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        show_time(self.0)
    }
}

/// Output formats of conversions, without duplicates, in the order in which the user wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formats(pub Vec<Target>);

impl Value for Formats {
    const EXPECTED: &'static str = "a list of \"avif\" and \"webp\"";

    fn read(raw: &Raw) -> Result<Formats, Wrong> {
        let mut formats = Vec::new();
        for element in raw.elements().ok_or_else(|| Wrong::found(raw))? {
            let format = match element.text() {
                Some("avif") => Target::Avif,
                Some("webp") => Target::Webp,
                Some("jxl") => {
                    let what = "JPEG XL output is not supported yet";
                    return Err(Wrong::Unsupported(what.to_owned()));
                }
                _ => return Err(Wrong::found(&element)),
            };
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
        Ok(Formats(formats))
    }

    fn show(&self) -> String {
        let names = self.0.iter().map(|format| format.name());
        names.collect::<Vec<_>>().join(",")
    }
}

/// Grammar by which query strings are parsed. The strict grammar is not among the values, because
/// the setting `strict_query` selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queries(pub Grammar);

impl Queries {
    const NAMED: [(&str, Grammar); 3] = [
        ("pelton", Grammar::Pelton),
        ("webp-server-go", Grammar::WebpServerGo),
        ("meta-only", Grammar::MetaOnly),
    ];
}

impl Value for Queries {
    const EXPECTED: &'static str = "\"pelton\", \"webp-server-go\" or \"meta-only\"";

    fn read(raw: &Raw) -> Result<Queries, Wrong> {
        let mut named = Queries::NAMED.into_iter();
        let found = named.find(|(name, _)| raw.text() == Some(name));
        let (_, grammar) = found.ok_or_else(|| Wrong::found(raw))?;
        Ok(Queries(grammar))
    }

    fn show(&self) -> String {
        let mut named = Queries::NAMED.into_iter();
        let found = named.find(|(_, grammar)| *grammar == self.0);
        let (name, _) = found.expect("every grammar that can be set has a name");
        name.to_owned()
    }
}

/// Set of file extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Types {
    /// Every extension.
    Every,
    /// The listed extensions, in lower case and without the leading dot.
    Only(Vec<String>),
}

impl Types {
    /// Returns the set of these extensions.
    pub(crate) fn of(extensions: &[&str]) -> Types {
        Types::Only(extensions.iter().map(|&it| it.to_owned()).collect())
    }
}

impl Value for Types {
    const EXPECTED: &'static str = "a list of extensions such as \"pdf\", or \"*\" alone";

    fn read(raw: &Raw) -> Result<Types, Wrong> {
        if raw.text() == Some("*") {
            return Ok(Types::Every);
        }
        let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
        if let [element] = &elements[..]
            && element.text() == Some("*")
        {
            return Ok(Types::Every);
        }
        let mut extensions = Vec::with_capacity(elements.len());
        for element in &elements {
            match element.text().map(|text| text.trim_start_matches('.')) {
                Some(text) if is_extension(text) => extensions.push(text.to_ascii_lowercase()),
                _ => return Err(Wrong::found(element)),
            }
        }
        Ok(Types::Only(extensions))
    }

    fn show(&self) -> String {
        match self {
            Types::Every => "*".to_owned(),
            Types::Only(extensions) => extensions.join(","),
        }
    }
}

fn is_extension(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Prefix of URL paths that is served from a directory of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Prefix, which begins with a slash and does not end with one.
    pub prefix: String,
    /// Directory of the files below the prefix.
    pub directory: PathBuf,
}

/// Directories that are served in addition to the root. They are sorted by the length of their path
/// prefixes, longest first: the first prefix that matches a path is the most specific one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mappings(pub Vec<Mapping>);

impl Value for Mappings {
    const EXPECTED: &'static str = "path prefixes with their directories: { \"/a\" = \"/srv/a\" } \
                                    in the configuration file, /a=/srv/a in a flag or variable";

    fn read(raw: &Raw) -> Result<Mappings, Wrong> {
        let pairs = match raw {
            Raw::Table(pairs) => pairs.clone(),
            Raw::Word(_) => word_pairs(raw)?,
            _ => return Err(Wrong::found(raw)),
        };
        let mut mappings = Vec::with_capacity(pairs.len());
        for (prefix, directory) in pairs {
            if is_remote(&prefix) || directory.text().is_some_and(is_remote) {
                return Err(Wrong::Unsupported(format!(
                    "remote sources are not supported yet: {prefix} = {directory}"
                )));
            }
            let trimmed = prefix.trim_end_matches('/');
            if !trimmed.starts_with('/') {
                return Err(Wrong::Found(format!("the prefix {prefix:?}")));
            }
            mappings.push(Mapping {
                prefix: trimmed.to_owned(),
                directory: PathBuf::read(&directory)?,
            });
        }
        mappings.sort_by(|a, b| (b.prefix.len(), &a.prefix).cmp(&(a.prefix.len(), &b.prefix)));
        Ok(Mappings(mappings))
    }

    fn show(&self) -> String {
        let pairs = self
            .0
            .iter()
            .map(|mapping| format!("{}={}", mapping.prefix, mapping.directory.display()));
        pairs.collect::<Vec<_>>().join(",")
    }
}

/// Splits the text of a flag or variable at its commas into `/prefix=directory` pairs.
fn word_pairs(raw: &Raw) -> Result<Vec<(String, Raw)>, Wrong> {
    let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
    let split = |element: &Raw| {
        let (prefix, directory) = element.text()?.split_once('=')?;
        Some((prefix.to_owned(), Raw::Text(directory.to_owned())))
    };
    elements
        .iter()
        .map(|element| split(element).ok_or_else(|| Wrong::found(element)))
        .collect()
}

/// Returns whether `text` is an HTTP or HTTPS URL, not a path on this machine.
pub(crate) fn is_remote(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.starts_with("http://") || text.starts_with("https://")
}

/// List of files, in the order in which the user wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files(pub Vec<PathBuf>);

impl Value for Files {
    const EXPECTED: &'static str = "a path, or a list of paths";

    fn read(raw: &Raw) -> Result<Files, Wrong> {
        let elements = match raw {
            Raw::Text(_) => vec![raw.clone()],
            _ => raw.elements().ok_or_else(|| Wrong::found(raw))?,
        };
        let paths = elements.iter().map(PathBuf::read);
        paths.collect::<Result<_, _>>().map(Files)
    }

    fn show(&self) -> String {
        let paths = self.0.iter().map(|path| path.display().to_string());
        paths.collect::<Vec<_>>().join(",")
    }
}

/// Redirection of HTTP requests to HTTPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// No redirection: HTTP requests are served.
    Off,
    /// Redirection to the port on which the server listens for HTTPS.
    On,
    /// Redirection to this port, which a proxy or a port-forwarding rule maps to the server's HTTPS
    /// port.
    Port(NonZeroU16),
}

impl Value for Redirect {
    const EXPECTED: &'static str = "true, false or a port";

    fn read(raw: &Raw) -> Result<Redirect, Wrong> {
        let port = raw.whole().and_then(|port| u16::try_from(port).ok());
        match port.and_then(NonZeroU16::new) {
            Some(port) => Ok(Redirect::Port(port)),
            None if bool::read(raw)? => Ok(Redirect::On),
            None => Ok(Redirect::Off),
        }
    }

    fn show(&self) -> String {
        match self {
            Redirect::Off => "false".to_owned(),
            Redirect::On => "true".to_owned(),
            Redirect::Port(port) => port.to_string(),
        }
    }
}

/// Method of distributing connections over cores. The methods have the same names in the
/// configuration as in the crate `reactor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteeringMode(pub Steering);

impl Value for SteeringMode {
    const EXPECTED: &'static str = "\"auto\", \"hash\", \"incoming-cpu\" or \"cbpf\"";

    fn read(raw: &Raw) -> Result<SteeringMode, Wrong> {
        let known = Steering::ALL.into_iter();
        let mut named = known.filter(|steering| raw.text() == Some(steering.name()));
        named
            .next()
            .map(SteeringMode)
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        self.0.name().to_owned()
    }
}

/// List of networks, each written as an address with or without a prefix length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Networks(pub Vec<Network>);

impl Networks {
    /// Returns the loopback networks of IPv4 and IPv6.
    pub fn loopback() -> Networks {
        let v4 = Network::new(Ipv4Addr::new(127, 0, 0, 0).into(), 8);
        let v6 = Network::new(Ipv6Addr::LOCALHOST.into(), 128);
        Networks(v4.into_iter().chain(v6).collect())
    }
}

impl Value for Networks {
    const EXPECTED: &'static str = "a list of addresses such as \"10.0.0.0/8\" or \"::1\"";

    fn read(raw: &Raw) -> Result<Networks, Wrong> {
        let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
        let read = |element: &Raw| {
            let network = element.text().and_then(|text| text.parse().ok());
            network.ok_or_else(|| Wrong::found(element))
        };
        elements
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Networks)
    }

    fn show(&self) -> String {
        let networks = self.0.iter().map(Network::to_string);
        networks.collect::<Vec<_>>().join(",")
    }
}

/// Destination of the access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog(pub Sink);

impl Value for AccessLog {
    const EXPECTED: &'static str = "\"off\", \"stderr\" or a path";

    fn read(raw: &Raw) -> Result<AccessLog, Wrong> {
        Ok(AccessLog(match raw.text() {
            Some("off") => Sink::Off,
            Some("stderr") => Sink::Stderr,
            _ => Sink::File(PathBuf::read(raw)?),
        }))
    }

    fn show(&self) -> String {
        match &self.0 {
            Sink::Off => "off".to_owned(),
            Sink::Stderr => "stderr".to_owned(),
            Sink::File(path) => path.show(),
        }
    }
}

/// Address to listen on, or `None` if the setting is "off".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaybeAddress(pub Option<SocketAddr>);

impl Value for MaybeAddress {
    const EXPECTED: &'static str = "\"off\", or an address with a port, such as \"127.0.0.1:6380\"";

    fn read(raw: &Raw) -> Result<MaybeAddress, Wrong> {
        match raw.text() {
            Some("off") => Ok(MaybeAddress(None)),
            _ => Ok(MaybeAddress(Some(SocketAddr::read(raw)?))),
        }
    }

    fn show(&self) -> String {
        self.0
            .map_or("off".to_owned(), |address| address.to_string())
    }
}

/// Directory, or `None` if the setting is "off".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaybeFolder(pub Option<PathBuf>);

impl Value for MaybeFolder {
    const EXPECTED: &'static str = "\"off\" or a directory";

    fn read(raw: &Raw) -> Result<MaybeFolder, Wrong> {
        match raw.text() {
            Some("off") => Ok(MaybeFolder(None)),
            _ => PathBuf::read(raw).map(|path| MaybeFolder(Some(path))),
        }
    }

    fn show(&self) -> String {
        self.0.as_ref().map_or("off".to_owned(), Value::show)
    }
}

/// URL of an external store, or `None` if the setting is "off".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaybeUrl(pub Option<store::Url>);

impl Value for MaybeUrl {
    const EXPECTED: &'static str = "\"off\", or redis://[user:password@]host[:port][/database]";

    fn read(raw: &Raw) -> Result<MaybeUrl, Wrong> {
        match raw.text() {
            Some("off") => Ok(MaybeUrl(None)),
            Some(text) => match text.parse() {
                Ok(url) => Ok(MaybeUrl(Some(url))),
                Err(store::UrlError) => {
                    let shown = hide_password_of_url(text);
                    Err(Wrong::found(&Raw::Text(shown)))
                }
            },
            None => Err(Wrong::found(raw)),
        }
    }

    fn show(&self) -> String {
        self.0
            .as_ref()
            .map_or("off".to_owned(), |url| url.to_string())
    }

    fn show_public(&self) -> String {
        let url = self.0.as_ref();
        url.map_or("off".to_owned(), store::Url::redacted)
    }
}

/// Level of the least severe events that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLevel(pub tracing::Level);

impl Value for LogLevel {
    const EXPECTED: &'static str = "\"error\", \"warn\", \"info\", \"debug\" or \"trace\"";

    fn read(raw: &Raw) -> Result<LogLevel, Wrong> {
        let level = match raw.text() {
            Some("error") => tracing::Level::ERROR,
            Some("warn") => tracing::Level::WARN,
            Some("info") => tracing::Level::INFO,
            Some("debug") => tracing::Level::DEBUG,
            Some("trace") => tracing::Level::TRACE,
            _ => return Err(Wrong::found(raw)),
        };
        Ok(LogLevel(level))
    }

    fn show(&self) -> String {
        self.0.as_str().to_ascii_lowercase()
    }
}

/// Parses a number that consists of digits only. `u64::from_str` would accept a sign as well.
fn digits(text: &str) -> Option<u64> {
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits { text.parse().ok() } else { None }
}

/// Parses a number with a unit, and returns the number multiplied by the factor of the unit.
/// `units` contains the names and factors of the known units. Case and spaces between number and
/// unit are ignored. Returns `None` for other text, or if the result exceeds 64 bits.
fn measured<'a>(text: &str, mut units: impl Iterator<Item = &'a (&'a str, u64)>) -> Option<u64> {
    let text = text.trim();
    let number_bytes = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(number_bytes);
    let unit = unit.trim_start();
    let (_, factor) = units.find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    digits(number)?.checked_mul(*factor)
}

/// Formats `amount` in the first of `units` that divides it without remainder. Returns `None` if
/// there is no such unit, or if `amount` is zero.
fn show_measured(amount: u64, units: &[(&str, u64)]) -> Option<String> {
    let (name, factor) = units
        .iter()
        .find(|(_, factor)| amount != 0 && amount.is_multiple_of(*factor))?;
    Some(format!("{}{name}", amount / factor))
}

/// Parses a duration with its unit, such as `1h`.
#[must_use]
pub fn parse_time(text: &str) -> Option<Duration> {
    measured(text, TIME_UNITS.iter()).map(Duration::from_millis)
}

fn read_time(raw: &Raw) -> Option<Duration> {
    parse_time(raw.text()?)
}

fn show_time(time: Duration) -> String {
    let ms = u64::try_from(time.as_millis()).expect("times are bounded by OPTIONAL_DURATION_MAX");
    show_measured(ms, &TIME_UNITS).unwrap_or_else(|| "0s".to_owned())
}

/// Minimum level of isolation that every cell must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinIsolation(pub Isolation);

const ISOLATIONS: [(&str, Isolation); 4] = [
    ("filter", Isolation::Filter),
    ("landlock", Isolation::Landlock),
    ("namespaces", Isolation::Namespaces),
    ("microvm", Isolation::MicroVm),
];

impl Value for MinIsolation {
    const EXPECTED: &'static str = "\"filter\", \"landlock\", \"namespaces\" or \"microvm\"";

    fn read(raw: &Raw) -> Result<MinIsolation, Wrong> {
        let row = ISOLATIONS.iter().find(|row| raw.text() == Some(row.0));
        row.map(|row| MinIsolation(row.1))
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        let row = ISOLATIONS.iter().find(|row| row.1 == self.0);
        row.expect("every level that can be set has a name")
            .0
            .to_owned()
    }
}

/// Backend that runs jobs. The backends have the same names in the configuration as in the crate
/// `sandbox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellBackend(pub Backend);

impl CellBackend {
    const ALL: [Backend; 3] = [Backend::Auto, Backend::Process, Backend::Kvm];
}

impl Value for CellBackend {
    const EXPECTED: &'static str = "\"auto\", \"process\" or \"kvm\"";

    fn read(raw: &Raw) -> Result<CellBackend, Wrong> {
        let named = |backend: &Backend| raw.text() == Some(backend.to_string().as_str());
        let backend = CellBackend::ALL.into_iter().find(named);
        backend.map(CellBackend).ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}
