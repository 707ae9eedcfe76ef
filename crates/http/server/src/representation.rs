//! Representation that is ready to be sent: its head is prepared, and its bytes are in memory or in
//! an open file.

mod prepare;

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use http1::conditional::Validators;
use http1::{Connection, Head, Template};
use http2::hpack::EncodedField;
use variants::cache::Variant;
use variants::library::Identity;
use variants::sealed::Sealed;

use crate::choice::{Body, Choice};
use crate::coding::{Coding, coded_etag};
use crate::fields::Field;
use crate::fields::listed;
use crate::metrics::Served;

/// Body and prepared head for one target and one set of accepted formats. Contains nothing from the
/// request for which it was prepared, so later requests can share it.
#[derive(Debug)]
pub struct Representation {
    whole: Template,
    fields: Vec<(String, String)>,
    header_map: OnceCell<HeaderMap>,
    lines: OnceCell<(Vec<EncodedField>, EncodedField)>,
    etag: String,
    modified_unix_s: Option<i64>,
    /// True if the target has no other representation, so that Last-Modified alone distinguishes
    /// two versions.
    is_only: bool,
    /// True for text, which can also be sent in content codings.
    pub(crate) is_codable: bool,
    /// Size of the body in bytes.
    pub length: u64,
    /// Bytes of the body, or the file that contains them.
    pub bytes: Bytes,
    /// Variant that is sent, if any. Each response updates the variant's time of last use.
    pub variant: Option<Arc<Variant>>,
    /// Version of the original.
    pub identity: Identity,
    /// True if a different `Accept` field could lead to a different representation.
    pub negotiated: bool,
    /// True if a variant that is encoded later at higher effort will replace this representation.
    pub provisional: bool,
    /// Source of the body, for the metrics: [`Served::Original`] or [`Served::Hit`]. The response
    /// to a request that waited for the conversion is counted as [`Served::Miss`] instead.
    pub served: Served,
}

/// Immutable bytes of a body.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Small body, sent together with its head.
    Memory(Arc<[u8]>),
    /// Large body, sent from its file by the kernel.
    File(Arc<File>),
    /// Body that begins at this offset of a file.
    Part(Arc<File>, u64),
    /// Body in memory because it could not be written to the disk.
    Sealed(Arc<Sealed>),
}

impl Bytes {
    /// Reads all `length` bytes. May block on the disk.
    pub(crate) fn read(&self, length: u64) -> io::Result<Arc<[u8]>> {
        let (file, begin) = match self {
            Bytes::Memory(bytes) => return Ok(Arc::clone(bytes)),
            Bytes::File(file) => (&**file, 0),
            Bytes::Part(file, begin) => (&**file, *begin),
            Bytes::Sealed(sealed) => (&*sealed.file, sealed.start),
        };
        let mut bytes = vec![0; length as usize];
        FileExt::read_exact_at(file, &mut bytes, begin)?;
        Ok(bytes.into())
    }
}

/// Representation that was found for a request.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) representation: Rc<Representation>,
    /// Conversion that the request waited for, if any.
    pub(crate) conversion: Option<Conversion>,
}

/// Conversion that a request waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    /// Duration for which the request waited.
    took: Duration,
    /// True if the result of the conversion was stored in the cache.
    is_stored: bool,
}

impl Conversion {
    /// Returns the conversion that `choice` needed, if any, for a request that has waited since
    /// `begun`.
    pub(crate) fn of(choice: &Choice, begun: Instant) -> Option<Conversion> {
        choice.made.then(|| Conversion {
            took: begun.elapsed(),
            is_stored: !matches!(choice.body, Body::Uncached(..)),
        })
    }

    /// Returns the header fields that inform the client about the conversion: Cache-Status and
    /// Server-Timing.
    pub(crate) fn fields(self) -> [Field; 2] {
        let cache_status = if self.is_stored {
            "Pelton; fwd=uri-miss; stored"
        } else {
            "Pelton; fwd=uri-miss"
        };
        let took_ms = self.took.as_secs_f64() * 1e3;
        let timing = format!("cache;desc=miss, convert;dur={took_ms:.1}");
        [
            ("cache-status".into(), cache_status.into()),
            ("server-timing".into(), timing.into()),
        ]
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
        // A date is a strong validator only after its second has passed, since the file may change
        // again within that second (RFC 9110 §8.8.2.2). If formats are negotiated or variants are
        // replaced, two representations may have the same date. Then the date is not a strong
        // validator either.
        let is_past = |modified_s| modified_s + 1 < now_unix_s;
        Validators {
            etag: &self.etag,
            last_modified_unix_s: self.modified_unix_s,
            last_modified_is_strong: self.is_only && self.modified_unix_s.is_some_and(is_past),
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.field("content-type").starts_with("audio/")
    }

    pub(crate) fn is_picture(&self) -> bool {
        self.field("content-type").starts_with("image/")
    }

    pub(crate) fn cache_control(&self) -> &str {
        self.field("cache-control")
    }

    /// Returns the value of the field `name`, or the empty string if the representation has no such
    /// field.
    fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(other, _)| *other == name);
        found.map_or("", |(_, value)| value)
    }

    /// Appends the head of a 200 response.
    pub fn write_whole(&self, out: &mut Vec<u8>, date: &[u8; 29], connection: Connection) {
        self.whole.write(out, date, connection);
    }

    /// Appends the head of a 206 response that contains the bytes `start..end`.
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

    /// Names of the fields that RFC 9110 §15.4.5 requires in a 304 response.
    pub(crate) const NOT_MODIFIED_FIELDS: [&str; 4] =
        ["etag", "cache-control", "vary", "last-modified"];

    /// Names of fields whose values occur in many representations, so that they are worth an entry
    /// in the dynamic table of HPACK.
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

    /// Returns the fields of a 200 response, and separately its Content-Length field, all of them
    /// encoded for HTTP/2. The first call encodes them.
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

    /// Returns the fields of a 304 response, encoded for HTTP/2.
    pub(crate) fn not_modified_lines(&self) -> impl Iterator<Item = &EncodedField> {
        let fields = self.fields.iter().zip(&self.lines().0);
        fields
            .filter(|((name, _), _)| Representation::NOT_MODIFIED_FIELDS.contains(&&**name))
            .map(|(_, line)| line)
    }

    /// Returns the fields of a 200 response as a map, which the first call creates.
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

    pub(crate) fn media_type(&self) -> &str {
        let mut fields = self.fields.iter();
        let found = fields.find(|(name, _)| name == "content-type");
        found.map_or("application/octet-stream", |(_, value)| value)
    }

    /// Returns the fields of a 206 response with several ranges, whose body has the given boundary
    /// and length.
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

    /// Returns a representation of `range` of the bytes, as a separate resource with its own
    /// validators. Returns `None` if the range exceeds the bytes, or for a variant.
    pub(crate) fn section(
        &self,
        range: &Range<u64>,
        media_type: &'static str,
    ) -> Option<Representation> {
        let Range { start, end } = *range;
        if end < start || self.length < end {
            return None;
        }
        let bytes = match &self.bytes {
            Bytes::Memory(bytes) => Bytes::Memory(bytes[start as usize..end as usize].into()),
            Bytes::File(file) => Bytes::Part(Arc::clone(file), start),
            Bytes::Part(file, begin) => Bytes::Part(Arc::clone(file), begin + start),
            // Only variants are sealed, and a variant has no sections.
            Bytes::Sealed(_) => return None,
        };
        let etag = format!("{}-{start}-{end}\"", self.etag.trim_end_matches('"'));
        let mut fields = self.fields.clone();
        // The field states how much smaller a variant is than its original.
        fields.retain(|(name, _)| name != "x-compression-rate");
        for (name, value) in &mut fields {
            match &**name {
                "etag" => value.clone_from(&etag),
                "content-type" => media_type.clone_into(value),
                _ => {}
            }
        }
        let length = end - start;
        Some(Representation {
            whole: template(&fields, length),
            fields,
            header_map: OnceCell::new(),
            lines: OnceCell::new(),
            etag,
            is_codable: false,
            length,
            bytes,
            variant: None,
            ..*self
        })
    }

    /// Returns the number of bytes of memory that the prepared head occupies. A body of the kind
    /// [`Bytes::Memory`] is included.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        match &self.bytes {
            Bytes::Memory(bytes) => bytes.len() as u64 + self.whole.bytes() as u64,
            Bytes::File(_) | Bytes::Part(..) | Bytes::Sealed(_) => self.whole.bytes() as u64,
        }
    }

    /// Returns whether the representation still matches `choice`.
    #[must_use]
    pub fn is(&self, choice: &Choice) -> bool {
        let same_body = match (&choice.body, &self.variant) {
            (Body::Variant(chosen, ..), Some(ours)) => Arc::ptr_eq(chosen, ours),
            (Body::Original(_), None) => self.served == Served::Original,
            _ => false,
        };
        same_body && self.identity == choice.identity && self.provisional == choice.provisional
    }
}
