//! Accept: which formats the client says it reads. RFC 9110 §12.5.1.

use crate::fields::trim;
use crate::line::is_token;

/// Which of `media_types` the field names in full, with a weight above zero.
///
/// `*/*` and `image/*` promise nothing: every browser sends them, whatever it reads. A range with parameters is about
/// that form of the type only, so it does not promise the bare type. Where a client names a type twice, a weight of
/// zero wins. Members that are not media ranges are ignored one by one.
#[must_use]
pub fn fold<'a, const N: usize>(
    values: impl IntoIterator<Item = &'a [u8]>,
    media_types: &[&str; N],
) -> [bool; N] {
    let mut named = [false; N];
    let mut forbidden = [false; N];
    for member in values.into_iter().flat_map(|value| split(value, b',')) {
        let Some(range) = MediaRange::parse(member).filter(|range| !range.has_parameters) else {
            continue;
        };
        let Some(at) = media_types
            .iter()
            .position(|media_type| media_type.as_bytes().eq_ignore_ascii_case(range.name))
        else {
            continue;
        };
        match range.weight_millis {
            0 => forbidden[at] = true,
            _ => named[at] = true,
        }
    }
    std::array::from_fn(|at| named[at] && !forbidden[at])
}

struct MediaRange<'a> {
    /// `type/subtype`
    name: &'a [u8],
    /// Thousandths.
    weight_millis: u16,
    /// Parameters other than the weight.
    has_parameters: bool,
}

impl<'a> MediaRange<'a> {
    fn parse(member: &'a [u8]) -> Option<MediaRange<'a>> {
        let mut parts = split(member, b';');
        let name = parts.next()?;
        let slash = name.iter().position(|&byte| byte == b'/')?;
        if !is_all_token(&name[..slash]) || !is_all_token(&name[slash + 1..]) {
            return None;
        }
        let mut weight_millis = None;
        let mut has_parameters = false;
        // RFC 9110 §5.6.6: empty parameters do not count.
        for part in parts.filter(|part| !part.is_empty()) {
            let equals = part.iter().position(|&byte| byte == b'=')?;
            let (key, value) = (&part[..equals], &part[equals + 1..]);
            if !is_all_token(key) {
                return None;
            }
            if key.eq_ignore_ascii_case(b"q") {
                // §12.5.1: `q` is the weight wherever it stands, but there is one.
                if weight_millis.replace(weight(value)?).is_some() {
                    return None;
                }
            } else if is_all_token(value) || is_quoted(value) {
                has_parameters = true;
            } else {
                return None;
            }
        }
        Some(MediaRange {
            name,
            weight_millis: weight_millis.unwrap_or(1_000),
            has_parameters,
        })
    }
}

/// RFC 9110 §12.4.2: from `0` to `1` with at most three decimals.
fn weight(value: &[u8]) -> Option<u16> {
    let (whole, decimals) = match value {
        [whole @ (b'0' | b'1')] => (whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut millis = u16::from(whole - b'0') * 1_000;
    for (digit, unit) in decimals.iter().zip([100, 10, 1]) {
        if !digit.is_ascii_digit() {
            return None;
        }
        millis += u16::from(digit - b'0') * unit;
    }
    (millis <= 1_000).then_some(millis)
}

fn is_all_token(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(|&byte| is_token(byte))
}

/// RFC 9110 §5.6.4, whole: the closing quote is the value's last byte.
fn is_quoted(value: &[u8]) -> bool {
    let [b'"', inner @ ..] = value else {
        return false;
    };
    quoted_bytes(inner) == Some(inner.len())
}

/// Bytes up to and with the closing quote.
fn quoted_bytes(inner: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match inner.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The parts between separators, trimmed; a separator inside quotes is none. A quote that is never closed takes the rest.
fn split(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let value = rest?;
        let mut at = 0;
        while at < value.len() && value[at] != separator {
            at += match value[at] {
                b'"' => 1 + quoted_bytes(&value[at + 1..]).unwrap_or(value.len()),
                _ => 1,
            };
        }
        let at = at.min(value.len());
        rest = value.get(at + 1..);
        Some(trim(&value[..at]))
    })
}
