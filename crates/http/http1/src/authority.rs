//! Authority of a URL (host and port): RFC 3986 §3.2.

use crate::class::is_host;

/// Returns whether `authority` has the form `host [":" port]`. An empty host, userinfo, a path or a
/// list is invalid.
///
/// DISPUTED: the grammar allows an empty host and commas in a host. Both are rejected here, because
/// attackers have used them to bypass caches. The grammar also reserves a syntax for future IP
/// literals; it is rejected here, because no such literals are defined yet.
pub(crate) fn is_valid(authority: &[u8]) -> bool {
    let (host_is_valid, rest) = match authority {
        [b'[', literal @ ..] => match literal.iter().position(|&byte| byte == b']') {
            Some(end) => (is_ipv6(&literal[..end]), &literal[end + 1..]),
            None => return false,
        },
        _ => {
            let end = authority.iter().position(|&byte| byte == b':');
            let (name, rest) = authority.split_at(end.unwrap_or(authority.len()));
            (is_name(name), rest)
        }
    };
    host_is_valid && (rest.is_empty() || rest.strip_prefix(b":").is_some_and(is_port))
}

fn is_ipv6(literal: &[u8]) -> bool {
    str::from_utf8(literal).is_ok_and(|text| text.parse::<core::net::Ipv6Addr>().is_ok())
}

/// Returns whether `name` is a registered name, which includes the IPv4 forms. Two hex digits must
/// follow a percent sign.
fn is_name(name: &[u8]) -> bool {
    let is_plain = |part: &[u8]| part.iter().all(|&byte| is_host(byte));
    let mut parts = name.split(|&byte| byte == b'%');
    !name.is_empty()
        && parts.next().is_some_and(is_plain)
        && parts.all(|part| {
            part.split_at_checked(2).is_some_and(|(encoded, rest)| {
                encoded.iter().all(u8::is_ascii_hexdigit) && is_plain(rest)
            })
        })
}

/// Returns whether `digits` is a port number up to 65535, or empty, as RFC 3986 §3.2.3 allows.
fn is_port(digits: &[u8]) -> bool {
    digits.len() <= 5
        && digits.iter().all(u8::is_ascii_digit)
        && digits
            .iter()
            .fold(0, |port, digit| port * 10 + u32::from(digit - b'0'))
            <= u32::from(u16::MAX)
}
