//! Representation that is ready to be sent: its head is prepared, its bytes are in memory or behind
//! an open descriptor.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use http1::conditional::Validators;
use http1::{Connection, Head, Template, date};
use http2::hpack::EncodedField;
use variants::cache::Variant;
use variants::library::{self, Identity, LibraryPath};
use variants::sealed::Sealed;

use crate::choose::{Body, Choice};
use crate::coding::{CODED_BYTES_MIN, Coding, coded_etag, extended_vary, is_text};
use crate::head::listed;
use crate::metrics::Served;
use crate::mount::Field;
use crate::service::Service;

/// Policy for SVG and unknown files, which may contain scripts: browsers must neither run them nor
/// fetch for them.
const INERT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Bytes and prepared head for one target and one set of accepted formats.
#[derive(Debug)]
pub struct Representation {
    whole: Template,
    fields: Vec<(String, String)>,
    header_map: OnceCell<HeaderMap>,
    lines: OnceCell<(Vec<EncodedField>, EncodedField)>,
    etag: String,
    modified_unix_s: Option<i64>,
    /// True if the target has no other representation, so that its date distinguishes two versions.
    is_only: bool,
    /// True for text that is also sent in content codings.
    pub(crate) is_codable: bool,
    /// Size of the body in bytes.
    pub length: u64,
    /// Location of the body.
    pub bytes: Bytes,
    /// Variant whose use must be recorded, if any.
    pub variant: Option<Arc<Variant>>,
    /// Version of the original.
    pub identity: Identity,
    /// True if another `Accept` could have produced another representation.
    pub negotiated: bool,
    /// True if an improvement will replace the representation.
    pub provisional: bool,
    /// Category in the metrics.
    pub served: Served,
}

/// Immutable bytes of a body.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Small body, sent together with its head.
    Memory(Arc<[u8]>),
    /// Large body, sent by the kernel.
    File(Arc<File>),
    /// Body that the disk did not accept.
    Sealed(Arc<Sealed>),
}

impl Bytes {
    /// Reads all `length` bytes. May sleep.
    pub(crate) fn read(&self, length: u64) -> io::Result<Arc<[u8]>> {
        let (file, begin) = match self {
            Bytes::Memory(bytes) => return Ok(Arc::clone(bytes)),
            Bytes::File(file) => (&**file, 0),
            Bytes::Sealed(sealed) => (&*sealed.file, sealed.start),
        };
        let mut bytes = vec![0; length as usize];
        FileExt::read_exact_at(file, &mut bytes, begin)?;
        Ok(bytes.into())
    }
}

/// Time at which a response is prepared.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time that a client waited for the conversion.
    pub took: Duration,
    /// Time of the core's field Date.
    pub now_unix_s: i64,
}

/// Facts that the fields of a representation express.
struct Described<'a> {
    choice: &'a Choice,
    path: &'a LibraryPath,
    length: u64,
    etag: &'a str,
    modified_unix_s: Option<i64>,
    took: Duration,
}

impl Service {
    /// Opens the bytes of `choice` and prepares its head. May sleep on the disk.
    ///
    /// # Errors
    /// If the bytes are gone by now: choose again.
    pub fn prepare(
        &self,
        choice: &Choice,
        path: &LibraryPath,
        moment: Moment,
    ) -> io::Result<Representation> {
        let bytes = match &choice.body {
            Body::Variant(variant, _)
                if variant.bytes <= self.settings.limits.memory_body_bytes_max =>
            {
                Bytes::Memory(self.variants().read(variant)?)
            }
            Body::Variant(variant, _) => Bytes::File(Arc::new(self.variants().open(variant)?)),
            Body::Uncached(sealed, ..) => Bytes::Sealed(Arc::clone(sealed)),
            Body::Original(_) => self.original_bytes(path, &choice.identity)?,
        };
        self.represent(choice, path, bytes, moment)
    }

    fn original_bytes(&self, path: &LibraryPath, identity: &Identity) -> io::Result<Bytes> {
        let changed = || io::Error::other("original changed");
        let (file, now) = self.library().open_original(path).map_err(|_| changed())?;
        if now != *identity {
            return Err(changed());
        }
        if self.settings.limits.memory_body_bytes_max < identity.size_bytes {
            return Ok(Bytes::File(Arc::new(file)));
        }
        let mut bytes = vec![0; identity.size_bytes as usize];
        FileExt::read_exact_at(&file, &mut bytes, 0)?;
        // The file may have been overwritten while it was read.
        if library::identity(&file).map_err(|_| changed())? != *identity {
            return Err(changed());
        }
        Ok(Bytes::Memory(bytes.into()))
    }

    fn represent(
        &self,
        choice: &Choice,
        path: &LibraryPath,
        bytes: Bytes,
        moment: Moment,
    ) -> io::Result<Representation> {
        let Moment { took, now_unix_s } = moment;
        let length = match &bytes {
            Bytes::Memory(bytes) => bytes.len() as u64,
            Bytes::File(file) => file.metadata()?.len(),
            Bytes::Sealed(sealed) => sealed.bytes,
        };
        let (variant, etag) = match &choice.body {
            Body::Variant(variant, _) => {
                (Some(Arc::clone(variant)), format!("\"{}\"", variant.key))
            }
            Body::Uncached(_, key, _) => (None, format!("\"{key}\"")),
            Body::Original(_) => (None, choice.identity.etag()),
        };
        // A better variant will replace this one without the original changing, so its date would
        // prove nothing. RFC 9110 §8.8.2.1: a date to come is replaced by that of the answer.
        let modified_s = choice.identity.modified_s;
        let modified_unix_s = (!choice.provisional).then_some(modified_s.min(now_unix_s));
        let is_codable = is_text(choice.body.media_type())
            && (CODED_BYTES_MIN..=self.settings.limits.coded_bytes_max).contains(&length);
        let fields = self.fields(
            &Described {
                choice,
                path,
                length,
                etag: &etag,
                modified_unix_s,
                took,
            },
            is_codable,
        );
        let served = match (&choice.body, choice.made) {
            (Body::Original(_), _) => Served::Original,
            (_, true) => Served::Miss,
            (_, false) => Served::Hit,
        };
        Ok(Representation {
            whole: template(&fields, length),
            fields,
            header_map: OnceCell::new(),
            lines: OnceCell::new(),
            etag,
            modified_unix_s,
            is_only: choice.is_only && modified_s <= now_unix_s && !is_codable,
            is_codable,
            length,
            bytes,
            variant,
            identity: choice.identity,
            negotiated: choice.negotiated,
            provisional: choice.provisional,
            served,
        })
    }

    fn fields(&self, described: &Described<'_>, is_codable: bool) -> Vec<(String, String)> {
        let Described {
            choice,
            path,
            length,
            etag,
            modified_unix_s,
            took,
        } = *described;
        let media_type = choice.body.media_type();
        let age_s = if choice.provisional {
            self.settings.provisional_age_s
        } else {
            self.settings.max_age_s
        };
        let rate = length as f64 / choice.identity.size_bytes.max(1) as f64;
        let (cache_status, timing) = match (&choice.body, choice.made) {
            (Body::Uncached(..), _) => ("Pelton; fwd=uri-miss", Some(took)),
            (_, true) => ("Pelton; fwd=uri-miss; stored", Some(took)),
            (_, false) => ("Pelton; hit", None),
        };
        let mut fields: Vec<(&str, String)> = vec![
            ("content-type", media_type.to_owned()),
            ("etag", etag.to_owned()),
            ("cache-control", format!("public, max-age={age_s}")),
            ("accept-ranges", "bytes".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("x-compression-rate", format!("{rate:.2}")),
            ("cache-status", cache_status.to_owned()),
        ];
        let convert = timing.map(|took| format!(", convert;dur={:.1}", took.as_secs_f64() * 1e3));
        let found = if timing.is_some() { "miss" } else { "hit" };
        fields.push((
            "server-timing",
            format!("cache;desc={found}{}", convert.unwrap_or_else(String::new)),
        ));
        if let Some(modified_unix_s) = modified_unix_s {
            let date = date::format(modified_unix_s);
            fields.push((
                "last-modified",
                date.iter().copied().map(char::from).collect(),
            ));
        }
        fields.extend(self.policies(choice, path, is_codable));
        let own = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        // The freshness of provisional responses is not configurable by the operator's fields.
        let is_set = |name: &str| !(choice.provisional && name == "cache-control");
        self.settings.headers.over(own.collect(), is_set)
    }

    /// Appends the fields for caches and the browser's security policies.
    fn policies(
        &self,
        choice: &Choice,
        path: &LibraryPath,
        is_codable: bool,
    ) -> Vec<(&'static str, String)> {
        let settings = &self.settings;
        let mut fields = Vec::new();
        let varies = [
            (choice.negotiated, "Accept"),
            (is_codable, "Accept-Encoding"),
            (settings.cors.is_reflected(), "Origin"),
        ];
        let varies = varies.into_iter().filter(|(varies, _)| *varies);
        let vary = varies.fold(String::new(), |vary, (_, name)| extended_vary(&vary, name));
        if !vary.is_empty() {
            fields.push(("vary", vary));
        }
        let may_be_active = match &choice.body {
            Body::Original(known) => known.may_be_active(),
            Body::Variant(..) | Body::Uncached(..) => false,
        };
        if may_be_active && !settings.active_types.admits(path.as_path()) {
            fields.push(("content-security-policy", INERT_POLICY.to_owned()));
        }
        fields.extend(settings.cors.fields());
        let resource_policy = settings.resource_policy;
        fields.extend(resource_policy.map(|it| ("cross-origin-resource-policy", it.to_owned())));
        fields
    }
}

fn template(fields: &[(String, String)], length: u64) -> Template {
    Template::new(200, |head| {
        let fields = fields.iter();
        fields
            .fold(head, |head, (name, value)| head.field(name, value))
            .content_length(length)
    })
}

impl Representation {
    /// Returns the validators for preconditions and ranges.
    #[must_use]
    pub fn validators(&self, now_unix_s: i64) -> Validators<'_> {
        // RFC 9110 §8.8.2.2: the file may change again within the second that its date names. Where
        // formats are negotiated or variants replaced, a date tells nothing apart at all.
        let is_past = |modified_s| modified_s + 1 < now_unix_s;
        Validators {
            etag: &self.etag,
            last_modified_unix_s: self.modified_unix_s,
            last_modified_is_strong: self.is_only && self.modified_unix_s.is_some_and(is_past),
        }
    }

    /// Returns whether the representation is audio.
    pub(crate) fn is_sound(&self) -> bool {
        self.field("content-type").starts_with("audio/")
    }

    /// Returns the value of Cache-Control.
    pub(crate) fn cache_control(&self) -> &str {
        self.field("cache-control")
    }

    /// Returns the value of a field; empty if there is no such field.
    fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(other, _)| *other == name);
        found.map_or("", |(_, value)| value)
    }

    /// Appends the head of a 200 response.
    pub fn write_whole(&self, out: &mut Vec<u8>, date: &[u8; 29], connection: Connection) {
        self.whole.write(out, date, connection);
    }

    /// Appends the head of a 206 response with the bytes `start..end`.
    pub fn write_part(
        &self,
        out: &mut Vec<u8>,
        date: &[u8; 29],
        connection: Connection,
        (start, end): (u64, u64),
    ) {
        let head = self
            .fields
            .iter()
            .fold(Head::begin(out, 206).date(date), |head, (name, value)| {
                head.field(name, value)
            });
        head.content_length(end - start)
            .content_range(start, end, self.length)
            .finish(connection);
    }

    /// Fields that RFC 9110 §15.4.5 requires in a 304 response.
    pub(crate) const NOT_MODIFIED_FIELDS: [&str; 4] =
        ["etag", "cache-control", "vary", "last-modified"];

    /// Fields that many representations share, so that HTTP/2 clients should remember them.
    const SHARED: [&str; 12] = [
        "accept-ranges",
        "access-control-allow-origin",
        "access-control-expose-headers",
        "cache-control",
        "cache-status",
        "content-encoding",
        "content-security-policy",
        "content-type",
        "cross-origin-resource-policy",
        "server-timing",
        "vary",
        "x-content-type-options",
    ];

    /// Returns the fields of a 200 response prepared for HTTP/2, and the length. The first call
    /// prepares them.
    pub(crate) fn lines(&self) -> &(Vec<EncodedField>, EncodedField) {
        self.lines.get_or_init(|| {
            let lines = self.fields.iter().map(|(name, text)| {
                let line = match Representation::SHARED.contains(&&**name) {
                    true => EncodedField::shared,
                    false => EncodedField::single,
                };
                line(name.as_bytes(), text.as_bytes())
            });
            let length = self.length.to_string();
            let length = EncodedField::single(b"content-length", length.as_bytes());
            (lines.collect(), length)
        })
    }

    /// Returns the fields of a 304 response prepared for HTTP/2.
    pub(crate) fn kept_lines(&self) -> impl Iterator<Item = &EncodedField> {
        let fields = self.fields.iter().zip(&self.lines().0);
        fields
            .filter(|((name, _), _)| Representation::NOT_MODIFIED_FIELDS.contains(&&**name))
            .map(|(_, line)| line)
    }

    /// Returns the fields of a 200 response as a map. The first call prepares it.
    pub(crate) fn header_map(&self) -> &HeaderMap {
        self.header_map.get_or_init(|| {
            let fields = self.fields.iter().map(|(name, text)| (&**name, &**text));
            let mut fields = listed(fields);
            fields.insert(CONTENT_LENGTH, HeaderValue::from(self.length));
            fields
        })
    }

    /// Appends the head of a 304 response.
    pub fn write_not_modified(&self, out: &mut Vec<u8>, date: &[u8; 29], connection: Connection) {
        let kept = self
            .fields
            .iter()
            .filter(|(name, _)| Representation::NOT_MODIFIED_FIELDS.contains(&&**name));
        let begun = Head::begin(out, 304).date(date);
        kept.fold(begun, |head, (name, value)| head.field(name, value))
            .finish(connection);
    }

    /// Returns the media type.
    pub(crate) fn media_type(&self) -> &str {
        let mut fields = self.fields.iter();
        let found = fields.find(|(name, _)| name == "content-type");
        found.map_or("application/octet-stream", |(_, value)| value)
    }

    /// Returns the fields of a 206 response with several ranges.
    pub(crate) fn parted_fields(&self, boundary: &str, length: u64) -> Vec<Field> {
        let fields = self.fields.iter().map(|(name, value)| match &**name {
            "content-type" => {
                let value = format!("multipart/byteranges; boundary={boundary}");
                (name.clone().into(), value.into())
            }
            _ => (name.clone().into(), value.clone().into()),
        });
        let length = ("content-length".into(), length.to_string().into());
        fields.chain([length]).collect()
    }

    /// Returns the representation in `coding`, whose encoded body is `bytes`.
    pub(crate) fn coded(&self, coding: Coding, bytes: Arc<[u8]>) -> Representation {
        let etag = coded_etag(&self.etag, coding);
        let length = bytes.len() as u64;
        let fields = self.fields.iter().map(|(name, value)| match &**name {
            "etag" => (name.clone(), etag.clone()),
            _ => (name.clone(), value.clone()),
        });
        let named = ("content-encoding".to_owned(), coding.name().to_owned());
        let fields: Vec<_> = fields.chain([named]).collect();
        Representation {
            whole: template(&fields, length),
            fields,
            header_map: OnceCell::new(),
            lines: OnceCell::new(),
            etag,
            length,
            bytes: Bytes::Memory(bytes),
            variant: self.variant.clone(),
            ..*self
        }
    }

    /// Returns the memory that grows with the body, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        match &self.bytes {
            Bytes::Memory(bytes) => bytes.len() as u64 + self.whole.bytes() as u64,
            Bytes::File(_) | Bytes::Sealed(_) => self.whole.bytes() as u64,
        }
    }

    /// Returns whether the representation still matches `choice`.
    #[must_use]
    pub fn is(&self, choice: &Choice) -> bool {
        let same_body = match (&choice.body, &self.variant) {
            (Body::Variant(chosen, _), Some(ours)) => Arc::ptr_eq(chosen, ours),
            (Body::Original(_), None) => self.served == Served::Original,
            _ => false,
        };
        same_body && self.identity == choice.identity && self.provisional == choice.provisional
    }
}
