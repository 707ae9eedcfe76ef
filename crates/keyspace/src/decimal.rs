//! Decimal addition for INCRBYFLOAT: as exact as the 80-bit arithmetic of Redis, which prints 17 digits after the
//! point. In 64-bit arithmetic 0.1 + 0.2 would print as 0.30000000000000004.

use crate::text::parse_double;

/// Digits behind the point.
const SCALE: usize = 17;
/// 10^17.
const ONE: i128 = 100_000_000_000_000_000;

/// The sum of two numbers as text without an exponent, or `None` if one of them is no number. The caller sees from an
/// infinite or missing sum that there is none.
pub(crate) fn add(left: &[u8], right: &[u8]) -> Option<Sum> {
    let plain = parse_double(left)? + parse_double(right)?;
    if !plain.is_finite() {
        return Some(Sum::NotFinite);
    }
    let exact = parse_scaled(left).zip(parse_scaled(right));
    let sum = exact.and_then(|(left, right)| left.checked_add(right));
    let text = match sum {
        Some(sum) => format_scaled(sum),
        // Beyond 10^21 there are no digits behind the point to lose.
        None => format!("{plain}"),
    };
    Some(Sum::Text(text.into_bytes()))
}

/// What an addition comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    Text(Vec<u8>),
    NotFinite,
}

fn parse_scaled(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let mut digits = digits.splitn(2, |&byte| byte == b'.');
    let whole = digits.next()?;
    let fraction = digits.next().unwrap_or(b"");
    if fraction.len() > SCALE {
        return None;
    }
    let zeros = std::iter::repeat_n(&b'0', SCALE - fraction.len());
    let mut scaled: i128 = 0;
    for byte in whole.iter().chain(fraction).chain(zeros) {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = i128::from(byte - b'0');
        scaled = scaled.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -scaled } else { scaled })
}

fn format_scaled(scaled: i128) -> String {
    let sign = if scaled < 0 { "-" } else { "" };
    let whole = (scaled / ONE).unsigned_abs();
    let fraction = (scaled % ONE).unsigned_abs();
    let text = format!("{sign}{whole}.{fraction:017}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let rows = [
            ("0.1", "0.2", "0.3"),
            ("1", "-1.1", "-0.1"),
            ("10.5", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("17179869184", "1.5", "17179869185.5"),
            ("-0.5", "0.5", "0"),
            ("1e30", "1", "1000000000000000000000000000000"),
            ("3", "+.25", "3.25"),
        ];
        for (left, right, sum) in rows {
            let found = add(left.as_bytes(), right.as_bytes());
            assert_eq!(found, Some(Sum::Text(sum.into())), "{left} + {right}");
        }
        assert_eq!(add(b"1e308", b"1e308"), Some(Sum::NotFinite));
        assert_eq!(add(b"x", b"1"), None);
    }
}
