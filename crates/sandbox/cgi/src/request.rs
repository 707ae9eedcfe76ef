//! Request, and its conversion to the environment of a program.

/// Properties of a request that are passed to a program.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Method, as the client sent it.
    pub method: &'a str,
    /// Part of the path that names the program, without a slash at its end.
    pub script: &'a str,
    /// Whole path, not decoded, starting with `script`.
    pub path: &'a str,
    /// Query after the question mark, not decoded; `None` if there is no question mark.
    pub query: Option<&'a str>,
    /// Fields of the request, in their order.
    pub fields: &'a [(&'a str, &'a [u8])],
    /// Media type of the body. In a chain of programs, the body is the output of the previous
    /// program, so its type differs from that of the request.
    pub content_type: Option<&'a [u8]>,
    /// Length of the body.
    pub body_bytes: u64,
    /// Address of the client.
    pub peer: &'a str,
    /// True if the request came over HTTPS.
    pub secure: bool,
}

/// Reason why a request cannot be passed to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The path has `%` without two hexadecimal digits after it, or decodes to a zero byte or to a
    /// slash within a segment.
    Path,
}

/// Fields that are not passed to a program: they concern the connection, have variables of their
/// own, or are for the server only (RFC 3875 §4.1.18). `Proxy` would become the variable
/// `HTTP_PROXY`, which HTTP libraries interpret as a setting of the user.
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
    /// Returns `NAME=value` for each variable of RFC 3875 §4.1 that has a value, each followed by a
    /// zero byte.
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
        // The RFC does not define this variable, but programs rely on it.
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

    /// Returns the name and the port from the field `Host`. If either is missing, returns a
    /// default, which RFC 3875 leaves to the server.
    fn authority(&self) -> (&[u8], &[u8]) {
        let default: &[u8] = if self.secure { b"443" } else { b"80" };
        let host = self.values("host").next().unwrap_or(b"localhost");
        // Only a colon after the brackets of an IPv6 address separates the port.
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

    /// Writes one variable per field name, with all values of this name. Skips names with bytes
    /// other than letters, digits and `-`, which could map to the variable of another name.
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
    /// Appends a variable. The value is cut at its first zero byte, which would end the variable.
    fn put(&mut self, name: &str, value: &[u8]) {
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b'=');
        self.0
            .extend(value.iter().copied().take_while(|byte| *byte != 0));
        self.0.push(0);
    }
}

/// Decodes the percent escapes of a path; `None` if the path is invalid, as [`RequestError::Path`]
/// describes it.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                match (high << 4 | low) as u8 {
                    0 | b'/' => return None,
                    byte => byte,
                }
            }
            0 => return None,
            byte => byte,
        };
        out.push(byte);
    }
    Some(out)
}
