//! Naive parser of a complete head that follows the RFCs literally: it splits the head into lines
//! and words, and matches each against its grammar. It is slow, and simple enough to be trusted.

use std::net::Ipv6Addr;

use http1::{Connection, Framing, Method, Version};

/// Content of a valid and complete head.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) query: Option<&'a str>,
    pub(super) version: Version,
    pub(super) host: Option<String>,
    pub(super) framing: Framing,
    pub(super) connection: Connection,
    pub(super) head_bytes: usize,
}

/// Pairs of a field's name in lower case and the field's value. Each character stands for one byte
/// of the head.
type Fields = Vec<(String, String)>;

pub(super) fn read(bytes: &[u8]) -> Option<Head<'_>> {
    let blank_bytes = if bytes.starts_with(b"\r\n") { 2 } else { 0 };
    let end = bytes[blank_bytes..]
        .windows(4)
        .position(|window| window == b"\r\n\r\n")?;
    let head = &bytes[blank_bytes..blank_bytes + end];
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\r' | b'\n' | b' '..=b'~' | 0x80..);
    let mut lines = split_lines(head).into_iter();
    if !head.iter().all(is_text) {
        return None;
    }
    let first = lines.next()?;
    let words: Vec<&str> = str::from_utf8(first).ok()?.split(' ').collect();
    let &[method, target, version] = words.as_slice() else {
        return None;
    };
    let method = read_method(method)?;
    let version = read_version(version)?;
    let (authority, path, query) = read_target(target, method)?;
    let fields = lines.map(read_field).collect::<Option<Fields>>()?;
    let host = read_host(&fields, version)?;
    if !expectations_are_known(&fields) {
        return None;
    }
    Some(Head {
        method,
        path,
        query,
        version,
        host: authority.map(str::to_owned).or(host),
        framing: read_framing(&fields, version)?,
        connection: read_connection(&fields, version),
        head_bytes: blank_bytes + end + 4,
    })
}

fn split_lines(head: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = head;
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        lines.push(&rest[..end]);
        rest = &rest[end + 2..];
    }
    lines.push(rest);
    lines
}

fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

fn read_method(word: &str) -> Option<Method> {
    match word {
        "GET" => Some(Method::Get),
        "HEAD" => Some(Method::Head),
        "OPTIONS" => Some(Method::Options),
        "POST" | "PUT" | "DELETE" | "PATCH" | "TRACE" => Some(Method::Other),
        _ => None,
    }
}

fn read_version(word: &str) -> Option<Version> {
    match word.strip_prefix("HTTP/1.")?.as_bytes() {
        b"0" => Some(Version::Http10),
        [b'1'..=b'9'] => Some(Version::Http11),
        _ => None,
    }
}

/// Splits a target into authority, path and query.
fn read_target(word: &str, method: Method) -> Option<(Option<&str>, &str, Option<&str>)> {
    if !word
        .bytes()
        .all(|byte| matches!(byte, b'!'..=b'~') && byte != b'#')
    {
        return None;
    }
    if word == "*" {
        return (method == Method::Options).then_some((None, "*", None));
    }
    let lower = word.to_ascii_lowercase();
    let scheme = ["http://", "https://"]
        .into_iter()
        .find(|scheme| lower.starts_with(scheme));
    let (authority, rest) = match scheme {
        Some(scheme) => {
            let rest = &word[scheme.len()..];
            let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            if !is_authority(authority) {
                return None;
            }
            (Some(authority), rest)
        }
        None if word.starts_with('/') => (None, word),
        None => return None,
    };
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let path = match (path, query, method) {
        ("", None, Method::Options) => "*",
        ("", _, _) => "/",
        _ => path,
    };
    Some((authority, path, query))
}

fn is_authority(text: &str) -> bool {
    let host_end = match text.strip_prefix('[') {
        Some(literal) => literal.find(']').map(|end| end + 2),
        None => Some(text.find(':').unwrap_or(text.len())),
    };
    let Some(host_end) = host_end else {
        return false;
    };
    let (host, port) = text.split_at(host_end);
    let is_host_valid = match host.strip_prefix('[') {
        Some(literal) => literal.trim_end_matches(']').parse::<Ipv6Addr>().is_ok(),
        None => is_name(host),
    };
    let is_port_valid = match port.strip_prefix(':') {
        None => port.is_empty(),
        Some("") => true,
        Some(port) => {
            let is_number = port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
            is_number && port.parse::<u16>().is_ok()
        }
    };
    is_host_valid && is_port_valid
}

fn is_name(text: &str) -> bool {
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = match letter {
            '%' => {
                let Some((pair, after)) = rest[1..].split_at_checked(2) else {
                    return false;
                };
                if !pair.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return false;
                }
                after
            }
            _ if letter.is_ascii_alphanumeric() || "-._~!$&'()*+;=".contains(letter) => &rest[1..],
            _ => return false,
        };
    }
    !text.is_empty()
}

fn read_field(line: &[u8]) -> Option<(String, String)> {
    if line.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
        return None;
    }
    let text: String = line.iter().map(|&byte| char::from(byte)).collect();
    let (name, value) = text.split_once(':')?;
    let value = value.trim_matches([' ', '\t']);
    is_token(name).then(|| (name.to_ascii_lowercase(), value.to_owned()))
}

fn all<'f>(fields: &'f Fields, name: &str) -> Vec<&'f str> {
    let lines = fields.iter().filter(|(at, _)| at == name);
    lines.map(|(_, value)| value.as_str()).collect()
}

/// Returns the host, which HTTP/1.0 may omit. The outer `None` means that the head must be refused.
fn read_host(fields: &Fields, version: Version) -> Option<Option<String>> {
    match all(fields, "host").as_slice() {
        [] if version == Version::Http10 => Some(None),
        [host] if is_authority(host) => Some(Some((*host).to_owned())),
        _ => None,
    }
}

fn read_framing(fields: &Fields, version: Version) -> Option<Framing> {
    let lengths = all(fields, "content-length");
    let codings = all(fields, "transfer-encoding");
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Some(Framing::None),
        ([length], []) => {
            let number: u64 = length.parse().ok()?;
            (number.to_string() == *length).then_some(Framing::Length(number))
        }
        ([], [coding]) if version == Version::Http11 => coding
            .eq_ignore_ascii_case("chunked")
            .then_some(Framing::Chunked),
        _ => None,
    }
}

fn members(fields: &Fields, name: &str) -> Vec<String> {
    let whole = all(fields, name).join(",").to_ascii_lowercase();
    let members = whole
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']));
    members
        .filter(|member| !member.is_empty())
        .map(str::to_owned)
        .collect()
}

fn expectations_are_known(fields: &Fields) -> bool {
    members(fields, "expect")
        .iter()
        .all(|member| member == "100-continue")
}

fn read_connection(fields: &Fields, version: Version) -> Connection {
    let options = members(fields, "connection");
    let has = |wanted: &str| options.iter().any(|option| option == wanted);
    match version {
        _ if has("close") => Connection::Close,
        Version::Http11 => Connection::Persistent,
        Version::Http10 if has("keep-alive") => Connection::KeepAlive,
        Version::Http10 => Connection::Close,
    }
}
