//! A request's head, as its block of fields had it.

use crate::limits::Limits;

/// Bytes a field counts as besides its name and value: RFC 9113 §6.5.2.
const FIELD_BYTES: usize = 32;

/// A sound head. Nothing in it can break out of a line: names are tokens in lower case, and no value has CR, LF or NUL in it,
/// or white space around it (RFC 9113 §8.2.1).
#[derive(Debug, Default)]
pub struct Head {
    /// Names and values, one behind the other.
    bytes: Vec<u8>,
    fields: Vec<Place>,
    pseudo: [Option<Place>; PSEUDO],
    content_length: Option<u64>,
    /// What it counts as, of which not all may have been kept.
    list_bytes: usize,
    is_too_large: bool,
    malformed: Option<Malformed>,
}

/// Where a field is in the bytes.
#[derive(Clone, Copy, Debug)]
struct Place {
    begin: u32,
    name_end: u32,
    end: u32,
}

/// Why a head is no request: RFC 9113 §8.1.1. The stream is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// For whoever looks for the mistake.
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

/// RFC 9113 §8.2.2: what speaks of an HTTP/1.1 connection.
const CONNECTIONS: [&[u8]; 5] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"transfer-encoding",
    b"upgrade",
];

impl Head {
    /// `:method`
    #[must_use]
    pub fn method(&self) -> &[u8] {
        self.pseudo(METHOD).unwrap_or_default()
    }

    /// `:scheme`, if there is one.
    #[must_use]
    pub fn scheme(&self) -> Option<&[u8]> {
        self.pseudo(SCHEME)
    }

    /// `:path`; empty for CONNECT, which has none.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.pseudo(PATH).unwrap_or_default()
    }

    /// `:authority`, if there is one.
    #[must_use]
    pub fn authority(&self) -> Option<&[u8]> {
        self.pseudo(AUTHORITY)
    }

    /// Names and values of the other fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|place| {
            let name = &self.bytes[place.begin as usize..place.name_end as usize];
            (name, self.value(*place))
        })
    }

    /// More than [`Limits::head_bytes_max`]; what was beyond is not here.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    pub(crate) fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    fn pseudo(&self, index: usize) -> Option<&[u8]> {
        self.pseudo[index].map(|place| self.value(place))
    }

    fn value(&self, place: Place) -> &[u8] {
        &self.bytes[place.name_end as usize..place.end as usize]
    }

    /// Forgets all of it but the room.
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

    /// The next field of the block. After the first mistake nothing is looked at any more, nor beyond the limit: a byte of a
    /// block may stand for thousands.
    pub(crate) fn add(&mut self, name: &[u8], value: &[u8], limits: &Limits) {
        self.list_bytes += name.len() + value.len() + FIELD_BYTES;
        self.is_too_large |= limits.head_bytes_max < self.list_bytes;
        if self.malformed.is_none() && !self.is_too_large {
            self.malformed = self.judge(name, value).err();
        }
    }

    fn judge(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        // No early end: so it is done many bytes at a time.
        let breaks = |found, byte: &u8| found | matches!(byte, b'\r' | b'\n' | b'\0');
        if value.iter().fold(false, breaks) {
            return Err(malformed("a value with a line break or NUL"));
        }
        if let [b' ' | b'\t', ..] | [.., b' ' | b'\t'] = value {
            return Err(malformed("a value with white space around it"));
        }
        let Some(pseudo) = name.strip_prefix(b":") else {
            self.judge_field(name, value)?;
            let place = self.keep(name, value);
            self.fields.push(place);
            return Ok(());
        };
        let index = match pseudo {
            b"method" => METHOD,
            b"scheme" => SCHEME,
            b"authority" => AUTHORITY,
            b"path" => PATH,
            _ => return Err(malformed("a pseudo-field that no request has")),
        };
        if !self.fields.is_empty() {
            return Err(malformed("a pseudo-field behind a field"));
        }
        if self.pseudo[index].is_some() {
            return Err(malformed("a pseudo-field twice"));
        }
        self.pseudo[index] = Some(self.keep(&[], value));
        Ok(())
    }

    fn judge_field(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if name.is_empty() || !name.iter().fold(true, |all, &byte| all & is_name(byte)) {
            return Err(malformed("a name that is no token in lower case"));
        }
        if CONNECTIONS.contains(&name) || name == b"te" && !value.eq_ignore_ascii_case(b"trailers")
        {
            return Err(malformed("a field that speaks of the connection"));
        }
        if name == b"content-length" {
            let length = decimal(value).ok_or(malformed("a Content-Length that is no number"))?;
            if self.content_length.is_some_and(|before| before != length) {
                return Err(malformed("two lengths"));
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    fn keep(&mut self, name: &[u8], value: &[u8]) -> Place {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        Place {
            begin: begin as u32,
            name_end: (begin + name.len()) as u32,
            end: self.bytes.len() as u32,
        }
    }

    /// Whether it is a request's: RFC 9113 §8.3.1, §8.5.
    pub(crate) fn judge_request(&self) -> Result<(), Malformed> {
        if let Some(malformed) = self.malformed {
            return Err(malformed);
        }
        // What it needs may be beyond the limit.
        if self.is_too_large {
            return Ok(());
        }
        let [method, scheme, authority, path] = self.pseudo.map(|place| place.is_some());
        if !method {
            return Err(malformed("no :method"));
        }
        let whole = match self.method() {
            b"CONNECT" => authority && !scheme && !path,
            _ => scheme && path && !self.path().is_empty(),
        };
        whole
            .then_some(())
            .ok_or(malformed("not the pseudo-fields its method needs"))
    }

    /// Whether it is a body's end: RFC 9113 §8.1.
    pub(crate) fn judge_trailers(&self) -> Result<(), Malformed> {
        if let Some(malformed) = self.malformed {
            return Err(malformed);
        }
        let none = self.pseudo.iter().all(Option::is_none);
        none.then_some(())
            .ok_or(malformed("a pseudo-field in trailers"))
    }
}

/// RFC 9110 §5.6.2, without capitals: RFC 9113 §8.2.
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
