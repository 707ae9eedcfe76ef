//! A representation made ready to be sent: its head prepared, its bytes in memory or behind an open descriptor.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use http1::conditional::Validators;
use http1::{Connection, Head, Template, date};
use http2::hpack::Line;

use crate::choose::{Body, Choice};
use crate::convert::Sealed;
use crate::head::listed;
use crate::library::{Identity, LibraryPath};
use crate::metrics::Served;
use crate::service::Service;
use crate::variants::Variant;

/// SVG and unknown files may hold scripts: whatever shows them must not run them, nor fetch for them.
const INERT: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// What is sent for one target and one set of accepted formats, and how.
#[derive(Debug)]
pub struct Representation {
    whole: Template,
    fields: Vec<(&'static str, String)>,
    header_map: OnceCell<HeaderMap>,
    lines: OnceCell<(Vec<Line>, Line)>,
    etag: String,
    modified_unix_s: Option<i64>,
    /// Bytes of the body.
    pub length: u64,
    /// Where they are.
    pub bytes: Bytes,
    /// The variant behind it, whose use is to be noted.
    pub variant: Option<Arc<Variant>>,
    /// The original's version it belongs to.
    pub identity: Identity,
    /// Another Accept might have got another one.
    pub negotiated: bool,
    /// A better one is on its way.
    pub provisional: bool,
    /// What counts it.
    pub served: Served,
}

/// A body, immutable while anybody holds it.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Small: sent together with its head.
    Memory(Arc<[u8]>),
    /// Large: sent by the kernel.
    File(Arc<File>),
    /// What the disk did not take.
    Sealed(Arc<Sealed>),
}

impl Service {
    /// Fetches the bytes of `choice` and prepares its head. Sleeps on disks. `took` is the time a client waited for
    /// its making.
    ///
    /// # Errors
    /// Where the bytes are gone by now: choose again.
    pub fn prepare(
        &self,
        choice: &Choice,
        path: &LibraryPath,
        took: Duration,
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
        self.represent(choice, bytes, took)
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
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0)?;
        Ok(Bytes::Memory(bytes.into()))
    }

    fn represent(
        &self,
        choice: &Choice,
        bytes: Bytes,
        took: Duration,
    ) -> io::Result<Representation> {
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
        // A better variant will replace this one without the original changing, so its date would prove nothing.
        let modified_unix_s = (!choice.provisional).then_some(choice.identity.modified_s);
        let fields = self.fields(choice, length, &etag, took);
        let whole = Template::new(200, |head| {
            let head = fields
                .iter()
                .fold(head, |head, (name, value)| head.field(name, value));
            head.content_length(length)
        });
        let served = match (&choice.body, choice.made) {
            (Body::Original(_), _) => Served::Original,
            (_, true) => Served::Miss,
            (_, false) => Served::Hit,
        };
        Ok(Representation {
            whole,
            fields,
            header_map: OnceCell::new(),
            lines: OnceCell::new(),
            etag,
            modified_unix_s,
            length,
            bytes,
            variant,
            identity: choice.identity,
            negotiated: choice.negotiated,
            provisional: choice.provisional,
            served,
        })
    }

    fn fields(
        &self,
        choice: &Choice,
        length: u64,
        etag: &str,
        took: Duration,
    ) -> Vec<(&'static str, String)> {
        let (media_type, active) = match &choice.body {
            Body::Variant(_, media_type) | Body::Uncached(_, _, media_type) => (*media_type, false),
            Body::Original(known) => (known.media_type(), known.may_be_active()),
        };
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
        let mut fields = vec![
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
        if choice.negotiated {
            fields.push(("vary", "Accept".to_owned()));
        }
        if !choice.provisional {
            let date = date::format(choice.identity.modified_s);
            fields.push((
                "last-modified",
                date.iter().copied().map(char::from).collect(),
            ));
        }
        if active {
            fields.push(("content-security-policy", INERT.to_owned()));
        }
        fields
    }
}

impl Representation {
    /// What preconditions and ranges are judged by.
    #[must_use]
    pub fn validators(&self) -> Validators<'_> {
        Validators {
            etag: &self.etag,
            last_modified_unix_s: self.modified_unix_s,
            // Formats are negotiated and variants replaced: a date never tells two representations apart.
            last_modified_is_strong: false,
        }
    }

    /// Appends the head of a 200.
    pub fn write_whole(&self, out: &mut Vec<u8>, date: &[u8; 29], connection: Connection) {
        self.whole.write(out, date, connection);
    }

    /// Appends the head of a 206 with the bytes `start..end`.
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

    /// The fields of a 304 that RFC 9110 §15.4.5 wants in it.
    pub(crate) const KEPT: [&str; 4] = ["etag", "cache-control", "vary", "last-modified"];

    /// Fields that many representations have alike, so that a client of HTTP/2 is to remember them.
    const SHARED: [&str; 8] = [
        "accept-ranges",
        "cache-control",
        "cache-status",
        "content-security-policy",
        "content-type",
        "server-timing",
        "vary",
        "x-content-type-options",
    ];

    /// The fields of a 200 as HTTP/2 has them, and the length; put together by the first who asks.
    pub(crate) fn lines(&self) -> &(Vec<Line>, Line) {
        self.lines.get_or_init(|| {
            let lines = self.fields.iter().map(|(name, text)| {
                let line = match Representation::SHARED.contains(name) {
                    true => Line::shared,
                    false => Line::single,
                };
                line(name.as_bytes(), text.as_bytes())
            });
            let length = self.length.to_string();
            let length = Line::single(b"content-length", length.as_bytes());
            (lines.collect(), length)
        })
    }

    /// Those of a 304.
    pub(crate) fn kept_lines(&self) -> impl Iterator<Item = &Line> {
        let fields = self.fields.iter().zip(&self.lines().0);
        fields
            .filter(|((name, _), _)| Representation::KEPT.contains(name))
            .map(|(_, line)| line)
    }

    /// The fields of a 200 as a map, put together by the first who asks.
    pub(crate) fn header_map(&self) -> &HeaderMap {
        self.header_map.get_or_init(|| {
            let fields = self.fields.iter().map(|(name, text)| (*name, &**text));
            let mut fields = listed(fields);
            fields.insert(CONTENT_LENGTH, HeaderValue::from(self.length));
            fields
        })
    }

    /// Appends a 304.
    pub fn write_not_modified(&self, out: &mut Vec<u8>, date: &[u8; 29], connection: Connection) {
        let kept = self
            .fields
            .iter()
            .filter(|(name, _)| Representation::KEPT.contains(name));
        let begun = Head::begin(out, 304).date(date);
        kept.fold(begun, |head, (name, value)| head.field(name, value))
            .finish(connection);
    }

    /// Bytes of memory it holds, as far as they grow with its body.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        match &self.bytes {
            Bytes::Memory(bytes) => bytes.len() as u64 + self.whole.bytes() as u64,
            Bytes::File(_) | Bytes::Sealed(_) => self.whole.bytes() as u64,
        }
    }

    /// Whether it still is what `choice` says.
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
