//! The Accept field: formats that the client says it can read. RFC 9110 §12.5.1.

use crate::fields::trim;

/// Returns for each of `media_types` whether the Accept field names this type with a weight above
/// zero. `values` are the values of the Accept field.
///
/// The wildcards `*/*` and `image/*` are ignored, because every browser sends them, even for
/// formats that it cannot read. A media range with parameters does not count, because it covers
/// only one form of the type. If the field names a type twice, a weight of zero wins. Members that
/// are not media ranges are ignored; the other members still count.
#[must_use]
pub fn fold<'a, const N: usize>(
    values: impl IntoIterator<Item = &'a [u8]>,
    media_types: &[&str; N],
) -> [bool; N] {
    let mut named = [false; N];
    let mut forbidden = [false; N];
    for member in values.into_iter().flat_map(|value| split(value, b',')) {
        let mut parts = split(member, b';');
        let range = parts.next().unwrap_or_default();
        let Some(at) = media_types
            .iter()
            .position(|media_type| media_type.as_bytes().eq_ignore_ascii_case(range))
        else {
            continue;
        };
        match weight_of_bare(parts) {
            Some(0) => forbidden[at] = true,
            Some(_) => named[at] = true,
            None => {}
        }
    }
    std::array::from_fn(|at| named[at] && !forbidden[at])
}

/// Returns whether the Accept field names a media type that starts with `kind`, such as `image/`,
/// with a weight above zero. Wildcards such as `image/*` do not count. `values` are the values of
/// the Accept field.
pub fn names<'a>(values: impl IntoIterator<Item = &'a [u8]>, kind: &str) -> bool {
    let mut members = values.into_iter().flat_map(|value| split(value, b','));
    members.any(|member| {
        let mut parts = split(member, b';');
        let range = parts.next().unwrap_or_default();
        let subtype = range.split_at_checked(kind.len());
        let is_named = subtype.is_some_and(|(start, subtype)| {
            start.eq_ignore_ascii_case(kind.as_bytes()) && !matches!(subtype, b"" | b"*")
        });
        is_named && matches!(weight_of_bare(parts), Some(1..))
    })
}

/// Returns the weight of a media range in thousandths, from the parameters of the range; without
/// parameters, the weight is 1,000. Returns `None` if the weight is invalid or occurs twice, or if
/// there is another parameter.
fn weight_of_bare<'a>(parameters: impl Iterator<Item = &'a [u8]>) -> Option<u16> {
    let mut millis = None;
    // RFC 9110 §5.6.6: empty parameters are ignored.
    for parameter in parameters.filter(|parameter| !parameter.is_empty()) {
        // §12.5.1: a parameter `q` is the weight in any position, but may occur only once.
        let [b'q' | b'Q', b'=', value @ ..] = parameter else {
            return None;
        };
        if millis.replace(weight(value)?).is_some() {
            return None;
        }
    }
    Some(millis.unwrap_or(1_000))
}

/// Parses a weight of RFC 9110 §12.4.2, from `0` to `1` with at most three decimals, into
/// thousandths.
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

/// Splits `value` at the separators outside quotes and trims the parts. A quote that is never
/// closed extends to the end.
fn split(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let value = rest?;
        let end = unquoted(value, separator).unwrap_or(value.len());
        rest = value.get(end + 1..);
        Some(trim(&value[..end]))
    })
}

/// Returns the position of the first separator outside quotes.
fn unquoted(value: &[u8], separator: u8) -> Option<usize> {
    let mut start = 0;
    loop {
        let stop = |&byte: &u8| byte == separator || byte == b'"';
        let at = start + value[start..].iter().position(stop)?;
        if value[at] == separator {
            return Some(at);
        }
        start = at + 1 + quoted_bytes(&value[at + 1..])?;
    }
}

/// Returns the number of bytes up to and including the closing quote; RFC 9110 §5.6.4.
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
