//! Header fields of responses: the type of a field, the fields that the operator configured, and
//! the fields of CORS.

use std::borrow::Cow;
use std::collections::BTreeSet;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http1::Request;

/// Name and value of a field.
pub type Field = (Cow<'static, str>, Cow<'static, str>);

/// Fields that the operator configured for every response. They replace fields of the server that
/// have the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

/// Fields that cannot be configured: they frame or describe a response, or depend on the request.
const RESERVED_FIELDS: [&str; 20] = [
    "accept-ranges",
    "access-control-allow-origin",
    "allow",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "keep-alive",
    "last-modified",
    "location",
    "proxy-connection",
    "retry-after",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
];

impl Headers {
    /// Creates the fields from pairs of a name, in lower case, and a value.
    ///
    /// # Errors
    /// The first field that cannot be configured or sent, with the reason.
    pub fn new(fields: Vec<(String, String)>) -> Result<Headers, String> {
        for (name, value) in &fields {
            if http::header::HeaderName::from_bytes(name.as_bytes()).is_err() {
                return Err(format!("{name:?} is not the name of a field"));
            }
            if RESERVED_FIELDS.contains(&&**name) {
                return Err(format!(
                    "{name} cannot be set: the server sets this field for each response"
                ));
            }
            if value.bytes().any(|byte| byte.is_ascii_control()) {
                return Err(format!("the value of {name} has a control character"));
            }
        }
        Ok(Headers(fields))
    }

    /// Returns the names and values of the fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Returns `own` together with the operator's fields for which `is_set` returns true. An
    /// operator's field replaces the fields of the same name in `own`.
    pub(crate) fn combine(
        &self,
        mut own: Vec<(String, String)>,
        is_set: impl Fn(&str) -> bool,
    ) -> Vec<(String, String)> {
        let set: Vec<_> = self.iter().filter(|(name, _)| is_set(name)).collect();
        own.retain(|(name, _)| set.iter().all(|(set, _)| set != name));
        let set = set.into_iter();
        own.extend(set.map(|(name, value)| (name.to_owned(), value.to_owned())));
        own
    }

    /// Adds each of the operator's fields whose name is not in `fields`.
    pub(crate) fn complete(&self, fields: &mut Vec<Field>) {
        for (name, value) in self.iter() {
            if !fields.iter().any(|(known, _)| known == name) {
                fields.push((name.to_owned().into(), value.to_owned().into()));
            }
        }
    }
}

/// Origins whose pages may read the library's responses (CORS in the Fetch standard).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors(BTreeSet<String>);

impl Cors {
    /// Creates the list of `origins`; `*` matches every origin.
    #[must_use]
    pub fn new(origins: impl IntoIterator<Item = String>) -> Cors {
        let origins: BTreeSet<String> = origins.into_iter().collect();
        match origins.contains("*") {
            true => Cors(BTreeSet::from(["*".to_owned()])),
            false => Cors(origins),
        }
    }

    /// Returns whether responses depend on the origin of the requesting page.
    pub(crate) fn is_reflected(&self) -> bool {
        1 < self.0.len()
    }

    /// Returns the CORS fields that are the same in every response.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let only = self.0.first().filter(|_| !self.is_reflected());
        let exposed = ("access-control-expose-headers", "*".to_owned());
        let allowed = only.map(|origin| ("access-control-allow-origin", origin.clone()));
        allowed.into_iter().chain(self.0.first().map(|_| exposed))
    }

    /// Returns the CORS field for the Origin of `request`, if pages of that origin may read the
    /// response.
    pub(crate) fn reflected(&self, request: &Request<'_>) -> Option<Field> {
        if !self.is_reflected() {
            return None;
        }
        let origin = str::from_utf8(request.values("origin").only()?).ok()?;
        let origin = self.0.get(origin)?;
        Some(("access-control-allow-origin".into(), origin.clone().into()))
    }

    /// Returns the fields of a response to a CORS preflight request.
    pub(crate) fn preflight(&self, request: &Request<'_>) -> Vec<Field> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut fields: Vec<Field> = vec![
            ("access-control-allow-methods".into(), "GET, HEAD".into()),
            ("access-control-allow-headers".into(), "*".into()),
            ("access-control-max-age".into(), "86400".into()),
        ];
        fields.extend(
            self.fields()
                .map(|(name, value)| (name.into(), value.into())),
        );
        fields.extend(self.reflected(request));
        if self.is_reflected() {
            fields.push(("vary".into(), "Origin".into()));
        }
        fields
    }
}

/// Returns `fields` as a map. A name that is not a constant of this code must have been validated
/// before.
///
/// # Panics
/// If a name is not a token.
pub(crate) fn listed<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> HeaderMap {
    let mut listed = HeaderMap::new();
    for (name, text) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("the name of a field is a token");
        listed.append(name, value(text));
    }
    listed
}

/// Returns `text` as a field value; control characters become spaces, as in [`Head::field`]. RFC
/// 9110 §5.5.
pub(crate) fn value(text: &str) -> HeaderValue {
    let clean: Vec<u8> = text
        .bytes()
        .map(|byte| if byte.is_ascii_control() { b' ' } else { byte })
        .collect();
    HeaderValue::from_maybe_shared(bytes::Bytes::from(clean))
        .expect("the value has no control characters")
}
