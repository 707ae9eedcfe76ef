//! Head of a request, decoded from its HPACK block.

use crate::limits::Limits;

/// Number of bytes that each field adds to the size of a head, beyond its name and value: RFC 9113
/// §6.5.2.
const FIELD_BYTES: usize = 32;

/// Validated head. Names and values cannot inject lines: names are tokens in lower case, and values
/// contain no CR, LF or NUL, and no white space at either end (RFC 9113 §8.2.1).
#[derive(Debug, Default)]
pub struct Head {
    /// Concatenated names and values.
    bytes: Vec<u8>,
    fields: Vec<FieldSpan>,
    pseudo: [Option<FieldSpan>; PSEUDO],
    content_length: Option<u64>,
    /// Size of the head as RFC 9113 §6.5.2 counts it, including fields that were dropped.
    list_bytes: usize,
    is_too_large: bool,
    malformed: Option<Malformed>,
}

/// Position of a field's name and value in the head's `bytes`.
#[derive(Clone, Copy, Debug)]
struct FieldSpan {
    begin: u32,
    name_end: u32,
    end: u32,
}

/// Reason why a head is malformed: RFC 9113 §8.1.1. The stream is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Description, for debugging.
    pub reason: &'static str,
}

const fn malformed(reason: &'static str) -> Malformed {
    Malformed { reason }
}

const METHOD: usize = 0;
const SCHEME: usize = 1;
const AUTHORITY: usize = 2;
const PATH: usize = 3;
const PSEUDO: usize = 4;

/// Fields that control an HTTP/1.1 connection. HTTP/2 forbids these fields: RFC 9113 §8.2.2.
const CONNECTIONS: [&[u8]; 5] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"transfer-encoding",
    b"upgrade",
];

impl Head {
    /// Returns `:method`.
    #[must_use]
    pub fn method(&self) -> &[u8] {
        self.pseudo(METHOD).unwrap_or_default()
    }

    /// Returns `:scheme`, if any.
    #[must_use]
    pub fn scheme(&self) -> Option<&[u8]> {
        self.pseudo(SCHEME)
    }

    /// Returns `:path`; empty for CONNECT, which has none.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.pseudo(PATH).unwrap_or_default()
    }

    /// Returns `:authority`, if any.
    #[must_use]
    pub fn authority(&self) -> Option<&[u8]> {
        self.pseudo(AUTHORITY)
    }

    /// Returns the names and values of the fields that are not pseudo-header fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|span| {
            let name = &self.bytes[span.begin as usize..span.name_end as usize];
            (name, self.value(*span))
        })
    }

    /// Returns whether the head exceeded [`Limits::head_bytes_max`]. If it did, the fields beyond
    /// this limit were dropped.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    pub(crate) fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    fn pseudo(&self, index: usize) -> Option<&[u8]> {
        self.pseudo[index].map(|span| self.value(span))
    }

    fn value(&self, span: FieldSpan) -> &[u8] {
        &self.bytes[span.name_end as usize..span.end as usize]
    }

    /// Resets the head, but keeps its allocations.
    pub(crate) fn clear(&mut self) {
        let Head { bytes, fields, .. } = std::mem::take(self);
        *self = Head {
            bytes,
            fields,
            ..Head::default()
        };
        self.bytes.clear();
        self.fields.clear();
    }

    /// Adds the next field of the HPACK block. Fields after the first error or beyond the limit are
    /// not stored: one byte of a block may expand to thousands of bytes, so a small block could
    /// otherwise fill the memory.
    pub(crate) fn add(&mut self, name: &[u8], value: &[u8], limits: &Limits) {
        self.list_bytes += name.len() + value.len() + FIELD_BYTES;
        self.is_too_large |= limits.head_bytes_max < self.list_bytes;
        if self.malformed.is_none() && !self.is_too_large {
            self.malformed = self.add_checked(name, value).err();
        }
    }

    fn add_checked(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        // Unlike `any`, `fold` has no early exit, so the compiler can vectorise it.
        let breaks = |found, byte: &u8| found | matches!(byte, b'\r' | b'\n' | b'\0');
        if value.iter().fold(false, breaks) {
            return Err(malformed(
                "the client sent a field value with a line break or NUL",
            ));
        }
        if let [b' ' | b'\t', ..] | [.., b' ' | b'\t'] = value {
            return Err(malformed(
                "the client sent a field value with white space at its start or end",
            ));
        }
        let Some(pseudo) = name.strip_prefix(b":") else {
            self.check_field(name, value)?;
            let span = self.keep(name, value);
            self.fields.push(span);
            return Ok(());
        };
        let index = match pseudo {
            b"method" => METHOD,
            b"scheme" => SCHEME,
            b"authority" => AUTHORITY,
            b"path" => PATH,
            _ => {
                return Err(malformed(
                    "the client sent a pseudo-header field that is not defined for requests",
                ));
            }
        };
        if !self.fields.is_empty() {
            return Err(malformed(
                "the client sent a pseudo-header field after a regular field",
            ));
        }
        if self.pseudo[index].is_some() {
            return Err(malformed(
                "the client sent the same pseudo-header field twice",
            ));
        }
        self.pseudo[index] = Some(self.keep(&[], value));
        Ok(())
    }

    fn check_field(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if name.is_empty() || !name.iter().fold(true, |all, &byte| all & is_name(byte)) {
            return Err(malformed(
                "the client sent a field name that is not a token in lower case",
            ));
        }
        if CONNECTIONS.contains(&name) || name == b"te" && !value.eq_ignore_ascii_case(b"trailers")
        {
            return Err(malformed(
                "the client sent a connection-specific field, which HTTP/2 forbids",
            ));
        }
        if name == b"content-length" {
            let length = decimal(value).ok_or(malformed(
                "the client sent a Content-Length that is not a number",
            ))?;
            if self.content_length.is_some_and(|before| before != length) {
                return Err(malformed(
                    "the client sent two different Content-Length fields",
                ));
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    fn keep(&mut self, name: &[u8], value: &[u8]) -> FieldSpan {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        FieldSpan {
            begin: begin as u32,
            name_end: (begin + name.len()) as u32,
            end: self.bytes.len() as u32,
        }
    }

    /// Checks the rules for the head of a request: RFC 9113 §8.3.1, §8.5.
    pub(crate) fn check_request(&self) -> Result<(), Malformed> {
        if let Some(malformed) = self.malformed {
            return Err(malformed);
        }
        // Required fields are not checked in a head above the limit: they may be among the fields
        // that were dropped.
        if self.is_too_large {
            return Ok(());
        }
        let [method, scheme, authority, path] = self.pseudo.map(|span| span.is_some());
        if !method {
            return Err(malformed("the request has no :method"));
        }
        let has_required_fields = match self.method() {
            b"CONNECT" => authority && !scheme && !path,
            _ => scheme && path && !self.path().is_empty(),
        };
        has_required_fields.then_some(()).ok_or(malformed(
            "the pseudo-header fields are not those that the method requires",
        ))
    }

    /// Checks that the head is a trailer section: RFC 9113 §8.1.
    pub(crate) fn check_trailers(&self) -> Result<(), Malformed> {
        if let Some(malformed) = self.malformed {
            return Err(malformed);
        }
        let none = self.pseudo.iter().all(Option::is_none);
        none.then_some(()).ok_or(malformed(
            "the client sent a pseudo-header field in trailers",
        ))
    }
}

/// Returns whether `byte` may occur in a field name: RFC 9110 §5.6.2, without capital letters (RFC
/// 9113 §8.2).
fn is_name(byte: u8) -> bool {
    const NAMES: [bool; 256] = {
        let mut names = [false; 256];
        let mut byte = 0;
        while byte < names.len() {
            names[byte] = matches!(
                byte as u8,
                b'a'..=b'z' | b'0'..=b'9' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.'
                    | b'^' | b'_' | b'`' | b'|' | b'~'
            );
            byte += 1;
        }
        names
    };
    NAMES[usize::from(byte)]
}

fn decimal(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    text.parse().ok()
}
