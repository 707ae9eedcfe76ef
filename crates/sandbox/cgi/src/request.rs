//! Request to a CGI program, and its conversion to environment variables.

use percent_encoding::percent_decode_str;

/// Properties of a request that are passed to a program as environment variables.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Request method, as the client sent it.
    pub method: &'a str,
    /// First part of `path`, which identifies the program. It has no slash at its end.
    pub script: &'a str,
    /// Whole path of the request, not decoded. It starts with `script`.
    pub path: &'a str,
    /// Query after the question mark, not decoded, or `None` if there is no question mark.
    pub query: Option<&'a str>,
    /// Header fields of the request, in order.
    pub fields: &'a [(&'a str, &'a [u8])],
    /// Media type of the body, if known. In a chain of programs, the output of one program is the
    /// body for the next program. So this type may differ from the type that the client stated.
    pub content_type: Option<&'a [u8]>,
    /// Length of the body in bytes.
    pub body_bytes: u64,
    /// IP address of the client.
    pub peer: &'a str,
    /// True if the request was received over HTTPS.
    pub secure: bool,
}

/// Reason why a request cannot be passed to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The path contains a `%` without two hexadecimal digits, or an encoded zero byte or slash.
    Path,
}

/// Fields that do not become `HTTP_…` variables: they concern the connection, have variables of
/// their own, or are only for the server (RFC 3875 §4.1.18). The field `Proxy` is hidden because
/// its variable would be `HTTP_PROXY`, which HTTP libraries read as a setting of the user.
const HIDDEN_FIELDS: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "keep-alive",
    "proxy",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Request<'_> {
    /// Returns the environment variables of RFC 3875 §4.1 that have a value, as `NAME=value`, each
    /// followed by a zero byte.
    ///
    /// # Errors
    /// [`RequestError`] if the path cannot be decoded.
    pub fn variables(&self) -> Result<Vec<u8>, RequestError> {
        let rest = self.path.strip_prefix(self.script).unwrap_or_default();
        let path_info = decoded(rest).ok_or(RequestError::Path)?;
        let script_name = decoded(self.script).ok_or(RequestError::Path)?;
        let (name, port) = self.authority();
        let query = self.query.unwrap_or_default();
        let mut out = Variables(Vec::with_capacity(1_024));
        out.put("GATEWAY_INTERFACE", b"CGI/1.1");
        out.put("SERVER_SOFTWARE", b"pelton");
        out.put("SERVER_PROTOCOL", b"HTTP/1.1");
        out.put("SERVER_NAME", name);
        out.put("SERVER_PORT", port);
        out.put("REQUEST_METHOD", self.method.as_bytes());
        out.put("SCRIPT_NAME", &script_name);
        out.put("PATH_INFO", &path_info);
        out.put("QUERY_STRING", query.as_bytes());
        out.put("REMOTE_ADDR", self.peer.as_bytes());
        // `REQUEST_URI` is not in the RFC, but many programs need it.
        let uri = match self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.to_owned(),
        };
        out.put("REQUEST_URI", uri.as_bytes());
        if self.secure {
            out.put("HTTPS", b"on");
        }
        if self.body_bytes != 0 || self.content_type.is_some() {
            out.put("CONTENT_LENGTH", self.body_bytes.to_string().as_bytes());
        }
        if let Some(content_type) = self.content_type {
            out.put("CONTENT_TYPE", content_type);
        }
        self.fields(&mut out);
        Ok(out.0)
    }

    /// Returns the host name and the port from the field `Host`. Without this field, the name is
    /// `localhost`. Without a port, the port is the default of HTTP or HTTPS.
    fn authority(&self) -> (&[u8], &[u8]) {
        let default: &[u8] = if self.secure { b"443" } else { b"80" };
        let host = self.values("host").next().unwrap_or(b"localhost");
        // In an IPv6 address, colons before the closing bracket do not separate the port.
        let bracket = host.iter().rposition(|byte| *byte == b']').unwrap_or(0);
        match host[bracket..].iter().rposition(|byte| *byte == b':') {
            Some(colon) => {
                let (name, port) = host.split_at(bracket + colon);
                let port = &port[1..];
                (name, if port.is_empty() { default } else { port })
            }
            None => (host, default),
        }
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let fields = self.fields.iter();
        fields
            .filter(move |(at, _)| at.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }

    /// Adds one variable per field name. If several fields have this name, the variable contains
    /// all their values. Skips names with bytes other than letters, digits and `-`: otherwise `a-b`
    /// and `a_b` would give the same variable.
    fn fields(&self, out: &mut Variables) {
        for (index, (name, _)) in self.fields.iter().enumerate() {
            let is = |other: &&str| other.eq_ignore_ascii_case(name);
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            let before = &self.fields[..index];
            if HIDDEN_FIELDS.iter().any(is)
                || !name.bytes().all(is_allowed)
                || before.iter().any(|(earlier, _)| is(earlier))
            {
                continue;
            }
            let separator: &[u8] = if is(&"cookie") { b"; " } else { b", " };
            let values: Vec<_> = self.values(name).collect();
            let variable = name.to_ascii_uppercase().replace('-', "_");
            out.put(&format!("HTTP_{variable}"), &values.join(separator));
        }
    }
}

struct Variables(Vec<u8>);

impl Variables {
    /// Appends a variable. Cuts the value before its first zero byte, because a zero byte ends the
    /// variable.
    fn put(&mut self, name: &str, value: &[u8]) {
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b'=');
        self.0
            .extend(value.iter().copied().take_while(|byte| *byte != 0));
        self.0.push(0);
    }
}

/// Decodes the percent-encoding of a path. Returns `None` if the path is invalid, see
/// [`RequestError::Path`].
fn decoded(path: &str) -> Option<Vec<u8>> {
    // `percent_decode_str` keeps invalid triplets as they are.
    let mut triplets = path.as_bytes().split(|byte| *byte == b'%').skip(1);
    let is_valid = triplets.all(|triplet| {
        let mut byte = [0];
        let digits = triplet.get(..2).unwrap_or(triplet);
        hex::decode_to_slice(digits, &mut byte).is_ok() && !matches!(byte, [0 | b'/'])
    });
    (is_valid && !path.contains('\0')).then(|| percent_decode_str(path).collect())
}
