//! Response of a CGI program, which is parsed from its standard output.

use crate::Limits;

/// Parsed standard output of a CGI program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response<'a> {
    /// Header fields and a body, which begins at the offset `body_at`.
    Document {
        /// Status code from 200 to 599. It is 302 if the program sets `Location` but not `Status`.
        status: u16,
        /// Header fields, including `Content-Type` and `Location` if the program sets them.
        fields: Vec<(&'a str, &'a str)>,
        /// Offset of the body in the output.
        body_at: usize,
    },
    /// Local redirect: path of another resource of this server. The server answers the request with
    /// that resource.
    LocalRedirect(&'a str),
    /// Output without a header; all of it is the body.
    Bytes,
}

/// Error in the header of a program's output. The program is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The field `Status` is not a number from 200 to 599, or occurs twice.
    Status,
    /// The field `Location` occurs twice, is empty or contains a space.
    Location,
    /// The field `Content-Type` occurs twice or is empty.
    ContentType,
    /// The header has more fields than [`Limits::fields_max`].
    Fields,
}

/// Fields that are removed from the response of a program, since the server itself sets them: it
/// knows the length of the body and manages the connection.
const SERVER_FIELDS: &[&str] = &[
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "server",
    "status",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl<'a> Response<'a> {
    /// Parses the output of a program. Only the first [`Limits::head_bytes_max`] bytes are needed.
    ///
    /// # Errors
    /// [`Malformed`] if the header is invalid.
    pub fn parse(output: &'a [u8], limits: &Limits) -> Result<Response<'a>, Malformed> {
        let Some((fields, body_at)) = head(output, limits.head_bytes_max) else {
            return Ok(Response::Bytes);
        };
        let named = |name| only(&fields, name);
        let status = named("status").map_err(|Duplicate| Malformed::Status)?;
        let location = named("location").map_err(|Duplicate| Malformed::Location)?;
        let content_type = named("content-type").map_err(|Duplicate| Malformed::ContentType)?;
        if status.or(location).or(content_type).is_none() {
            return Ok(Response::Bytes);
        }
        if content_type == Some("") {
            return Err(Malformed::ContentType);
        }
        if limits.fields_max < fields.len() {
            return Err(Malformed::Fields);
        }
        // If `Location` is a path, the server itself follows it. If it is a URI with a scheme, the
        // client follows it (RFC 3875 §6.2.2).
        if let (Some(target), None, None) = (location, status, content_type)
            && is_path(target)
        {
            return Ok(Response::LocalRedirect(target));
        }
        if location.is_some_and(|target| target.is_empty() || target.contains(' ')) {
            return Err(Malformed::Location);
        }
        let default = if location.is_some() { 302 } else { 200 };
        let status = status.map_or(Ok(default), code)?;
        let is_server_field = |name: &str| {
            SERVER_FIELDS
                .iter()
                .any(|server_field| server_field.eq_ignore_ascii_case(name))
        };
        let fields = fields
            .into_iter()
            .filter(|(name, _)| !is_server_field(name));
        Ok(Response::Document {
            status,
            fields: fields.collect(),
            body_at,
        })
    }
}

/// Returns the fields before the first empty line, and the offset after that line. Returns `None`
/// if there is no empty line, or if any line before it is not a field.
fn head(output: &[u8], bytes_max: usize) -> Option<(Vec<(&str, &str)>, usize)> {
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let rest = &output[at..output.len().min(bytes_max)];
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        at += end + 1;
        if line.is_empty() {
            return Some((fields, at));
        }
        fields.push(field(line)?);
    }
}

fn field(line: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    let value = value.trim_matches([' ', '\t']);
    let is_name_valid = !name.is_empty() && name.bytes().all(is_token);
    let is_allowed = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
    (is_name_valid && value.bytes().all(is_allowed)).then_some((name, value))
}

/// Returns whether the name of a field may contain `byte` (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns whether `target` is a path on this server. `//host` is not, since it refers to another
/// server.
fn is_path(target: &str) -> bool {
    let visible = target.bytes().all(|byte| byte.is_ascii_graphic());
    target.starts_with('/') && !target.starts_with("//") && visible
}

struct Duplicate;

fn only<'a>(fields: &[(&str, &'a str)], name: &str) -> Result<Option<&'a str>, Duplicate> {
    let mut values = fields
        .iter()
        .filter(|(at, _)| at.eq_ignore_ascii_case(name))
        .map(|(_, value)| *value);
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(Duplicate),
        (value, None) => Ok(value),
    }
}

/// Parses a status code of three digits. Ignores a reason phrase, as in `404 Not Found`.
fn code(status: &str) -> Result<u16, Malformed> {
    let digits = status.split(' ').next().unwrap_or_default();
    let is_code = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let code = digits.parse().ok().filter(|_| is_code);
    code.filter(|code| (200..=599).contains(code))
        .ok_or(Malformed::Status)
}
