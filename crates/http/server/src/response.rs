//! Response to one request: its status, fields and body, before [`crate::head`] writes it for
//! HTTP/1.1 or HTTP/2.

use std::fs::File;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use conversion::growing::Growing;
use variants::cache::{Kind, Variant};
use variants::sealed::Sealed;

use crate::archive::Archive;
use crate::fields::Field;
use crate::fields::Headers;
use crate::metrics::Served;
use crate::parted::Parted;
use crate::representation::{Bytes, Conversion, Representation};
use crate::request_id::RequestId;

/// Response to one request, before it is written.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) served: Served,
    pub(crate) fields: Fields,
    /// Additional fields, which replace fields of the same name. For example, a mount sets fields
    /// when it responds with a file of the library.
    pub(crate) added: Vec<Field>,
    pub(crate) payload: Payload,
    /// Request id that was used in the body or in the field `traceresponse`, if any.
    pub(crate) request_id: Option<RequestId>,
}

/// Fields of a response, except Date and fields that control the connection, such as Connection.
#[derive(Debug)]
pub(crate) enum Fields {
    /// Fields of a 200 response.
    Whole(Rc<Representation>),
    /// Fields of a 206 response with the bytes `start..end`.
    Part(Rc<Representation>, u64, u64),
    /// Fields of a 304 response.
    NotModified(Rc<Representation>),
    /// Fields of a response without a representation, in order.
    Listed(Vec<Field>),
}

/// Body that follows the head.
#[derive(Debug)]
pub(crate) enum Payload {
    None,
    Owned(bytes::Bytes),
    Memory(Arc<[u8]>, Range<usize>),
    File(Arc<File>, Range<u64>),
    Sealed(Arc<Sealed>, Range<u64>),
    /// Several ranges of a file.
    Parted(Box<Parted>),
    /// Transcoded track that is still being produced.
    Growing(Arc<Growing>),
    /// ZIP archive of several files, produced while it is sent.
    Archive(Box<Archive>),
}

impl Payload {
    /// Returns the bytes `start..end` of `representation`.
    pub(crate) fn of(representation: &Representation, start: u64, end: u64) -> Payload {
        match &representation.bytes {
            _ if start == end => Payload::None,
            Bytes::Memory(bytes) => {
                Payload::Memory(Arc::clone(bytes), start as usize..end as usize)
            }
            Bytes::File(file) => Payload::File(Arc::clone(file), start..end),
            Bytes::Part(file, begin) => Payload::File(Arc::clone(file), begin + start..begin + end),
            Bytes::Sealed(sealed) => {
                let range = sealed.start + start..sealed.start + end;
                Payload::Sealed(Arc::clone(sealed), range)
            }
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            // The length of a growing track is unknown; its bytes are counted as they are sent.
            Payload::None | Payload::Growing(_) => 0,
            Payload::Owned(bytes) => bytes.len() as u64,
            Payload::Archive(archive) => archive.left(),
            Payload::Parted(parted) => parted.length,
            Payload::Memory(_, range) => range.len() as u64,
            Payload::File(_, range) | Payload::Sealed(_, range) => range.end - range.start,
        }
    }
}

/// Properties of a request that every response to the request must respect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// True for HEAD: the body is omitted.
    pub(crate) bodiless: bool,
    /// True if a different `Accept` field could lead to a different response.
    pub(crate) negotiable: bool,
}

impl Shape {
    /// Properties that apply to requests that could not be parsed.
    pub(crate) const UNPARSED: Shape = Shape {
        bodiless: false,
        negotiable: false,
    };
}

/// Value of the field Allow: the methods that files support.
pub(crate) const ALLOW: &str = "GET, HEAD, OPTIONS";

impl Response {
    /// Adds the fields of [`crate::ready::Entry::added`]. They replace earlier fields of the same
    /// name.
    pub(crate) fn add_all(&mut self, fields: &[Field]) {
        if !fields.is_empty() {
            self.add(fields.to_vec());
        }
    }

    /// Returns the number of bytes by which the variant of a picture is smaller than its original.
    /// Returns 0 for any other response, and for responses without the whole body.
    pub(crate) fn saved_bytes(&self) -> u64 {
        let (Fields::Whole(kept), true) = (&self.fields, !matches!(self.payload, Payload::None))
        else {
            return 0;
        };
        let is_picture = |variant: &Arc<Variant>| matches!(variant.kind, Kind::Picture(_));
        match kept.variant.as_ref().is_some_and(is_picture) {
            true => kept.identity.size_bytes.saturating_sub(kept.length),
            false => 0,
        }
    }

    /// Adds fields. They replace earlier fields of the same name.
    pub(crate) fn add(&mut self, fields: Vec<Field>) {
        let added = &mut self.added;
        added.retain(|(name, _)| fields.iter().all(|(newer, _)| newer != name));
        added.extend(fields);
    }

    /// Adds fields that describe the conversion that the request waited for. Fields that the
    /// operator or a mount has set stay as they are.
    pub(crate) fn report(&mut self, conversion: Conversion, headers: &Headers) {
        if self.served == Served::Hit {
            self.served = Served::Miss;
        }
        if !matches!(self.status, 200 | 206) {
            return;
        }
        for field in conversion.fields() {
            let is_set = headers.iter().any(|(name, _)| name == field.0)
                || self.added.iter().any(|(name, _)| *name == field.0);
            if !is_set {
                self.added.push(field);
            }
        }
    }

    /// Adds the operator's fields, unless the response is a representation, which contains them
    /// already.
    pub(crate) fn complete(&mut self, headers: &Headers) {
        if let Fields::Listed(fields) = &mut self.fields {
            headers.complete(fields);
        }
    }

    pub(crate) fn add_field(&mut self, name: &'static str, value: String) {
        match &mut self.fields {
            Fields::Listed(fields) if self.added.is_empty() => {
                fields.push((name.into(), value.into()));
            }
            _ => self.added.push((name.into(), value.into())),
        }
    }

    /// Keeps shared caches from storing the response (RFC 9111 §5.2.2.7).
    pub(crate) fn make_private(&mut self) {
        self.change_cache_control(|value| value.replace("public", "private"));
    }

    /// Keeps caches, also shared ones, from storing the response for more than `age_s_max` seconds.
    pub(crate) fn limit_age(&mut self, age_s_max: u64) {
        self.change_cache_control(|value| {
            let directives = value.split(',').map(|it| limited(it.trim(), age_s_max));
            directives.collect::<Vec<String>>().join(", ")
        });
    }

    /// Replaces the value of Cache-Control, if the response has this field, by `change` of it.
    fn change_cache_control(&mut self, change: impl Fn(&str) -> String) {
        const NAME: &str = "cache-control";
        if let Fields::Whole(kept) | Fields::Part(kept, ..) | Fields::NotModified(kept) =
            &self.fields
            && !self.added.iter().any(|(name, _)| name == NAME)
        {
            let value = change(kept.cache_control());
            self.added.push((NAME.into(), value.into()));
            return;
        }
        let listed: &mut [Field] = match &mut self.fields {
            Fields::Listed(fields) => fields,
            _ => &mut [],
        };
        for (name, value) in listed.iter_mut().chain(&mut self.added) {
            if name == NAME {
                *value = change(value).into();
            }
        }
    }
}

/// Returns the directive of Cache-Control with at most `age_s_max` seconds if it is max-age or
/// s-maxage (RFC 9111 §5.2.2). A number that cannot be parsed becomes `age_s_max`.
fn limited(directive: &str, age_s_max: u64) -> String {
    match directive.split_once('=') {
        Some((name, age))
            if ["max-age", "s-maxage"]
                .iter()
                .any(|it| name.eq_ignore_ascii_case(it)) =>
        {
            let age = age.trim_matches('"').parse::<u64>();
            format!(
                "{name}={}",
                age.map_or(age_s_max, |age_s| age_s.min(age_s_max))
            )
        }
        _ => directive.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ages_of_cache_control_are_limited() {
        let limited_to = |age_s| {
            let value = "public, Max-Age=60, s-maxage=\"86400\", immutable";
            let directives = value.split(',').map(|it| limited(it.trim(), age_s));
            directives.collect::<Vec<String>>()
        };
        assert_eq!(
            limited_to(90),
            ["public", "Max-Age=60", "s-maxage=90", "immutable"]
        );
        assert_eq!(
            limited_to(5),
            ["public", "Max-Age=5", "s-maxage=5", "immutable"]
        );
        assert_eq!(limited("max-age=soon", 7), "max-age=7");
    }
}
