//! Heads of responses in HTTP/1.1 and HTTP/2. [`crate::route`] decides the content once; this
//! module writes the head.

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, HeaderValue};
use http1::{Connection, Head, date::DATE_BYTES};
use http2::hpack::{self, EncodedField, Encoder};

use crate::fields::{listed, value};
use crate::representation::Representation;
use crate::response::{Fields, Response};

impl Response {
    /// Appends the head as HTTP/1.1 text.
    pub(crate) fn write_head(
        &self,
        out: &mut Vec<u8>,
        date: &[u8; DATE_BYTES],
        connection: Connection,
    ) {
        match &self.fields {
            _ if !self.added.is_empty() => {
                let begun = Head::begin(out, self.status).date(date);
                self.header_map()
                    .iter()
                    .fold(begun, |head, (name, value)| {
                        head.field(name.as_str(), value)
                    })
                    .finish(connection);
            }
            Fields::Whole(representation) => representation.write_whole(out, date, connection),
            Fields::Part(representation, start, end) => {
                representation.write_part(out, date, connection, (*start, *end));
            }
            Fields::NotModified(representation) => {
                representation.write_not_modified(out, date, connection);
            }
            Fields::Listed(fields) => {
                let begun = Head::begin(out, self.status).date(date);
                fields
                    .iter()
                    .fold(begun, |head, (name, value)| head.field(name, &**value))
                    .finish(connection);
            }
        }
    }

    /// Appends the head as a field block of HTTP/2.
    pub(crate) fn write_block(
        &self,
        block: &mut Vec<u8>,
        encoder: &mut Encoder,
        date: &EncodedField,
    ) {
        hpack::status(block, self.status);
        encoder.line(block, date);
        match &self.fields {
            _ if !self.added.is_empty() => write_fields(block, &self.header_map()),
            Fields::Whole(representation) => {
                let (lines, length) = representation.lines();
                for line in lines.iter().chain([length]) {
                    encoder.line(block, line);
                }
            }
            Fields::NotModified(representation) => {
                for line in representation.not_modified_lines() {
                    encoder.line(block, line);
                }
            }
            Fields::Part(..) | Fields::Listed(_) => write_fields(block, &self.header_map()),
        }
    }

    /// Returns all fields except Date.
    fn header_map(&self) -> HeaderMap {
        let mut fields = self.decided_fields();
        if self.added.is_empty() {
            return fields;
        }
        let mut added = listed(self.added.iter().map(|(name, text)| (&**name, &**text)));
        // In an error response, the fields of the problem document (above all Cache-Control) take
        // precedence over added fields of the same name. In other responses, the added fields take
        // precedence.
        let (kept, replaced) = match self.status {
            400.. => (&mut fields, &mut added),
            _ => (&mut added, &mut fields),
        };
        for name in kept.keys() {
            replaced.remove(name);
        }
        fields.extend(added);
        fields
    }

    fn decided_fields(&self) -> HeaderMap {
        match &self.fields {
            Fields::Whole(representation) => representation.header_map().clone(),
            Fields::Part(representation, start, end) => {
                let mut fields = representation.header_map().clone();
                let length = representation.length;
                let range = format!("bytes {start}-{}/{length}", end - 1);
                fields.insert(CONTENT_LENGTH, HeaderValue::from(end - start));
                fields.insert(CONTENT_RANGE, value(&range));
                fields
            }
            Fields::NotModified(representation) => {
                let fields = representation.header_map().iter();
                fields
                    .filter(|(name, _)| {
                        Representation::NOT_MODIFIED_FIELDS.contains(&name.as_str())
                    })
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect()
            }
            Fields::Listed(fields) => listed(fields.iter().map(|(name, text)| (&**name, &**text))),
        }
    }
}

fn write_fields(block: &mut Vec<u8>, fields: &HeaderMap) {
    for (name, value) in fields {
        hpack::field(block, name.as_str().as_bytes(), value.as_bytes());
    }
}
