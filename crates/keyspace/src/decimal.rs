//! Addition for INCRBYFLOAT, as Redis does it: in the 80-bit numbers of x86, printed with 17 digits after the point.
//!
//! In 64-bit arithmetic 0.1 + 0.2 would print as 0.30000000000000004; in decimal arithmetic 1000.1 would not print as
//! 1000.09999999999999998, which is what Redis answers. Numbers beyond 10^21, and those with more than 17 digits behind
//! the point, are added as 64-bit ones.

use std::cmp::Ordering;

use crate::text::parse_double;

/// Digits behind the point.
const DIGITS: i32 = 17;
/// 10^17.
const ONE: u128 = 100_000_000_000_000_000;
/// What an addition comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    Text(Vec<u8>),
    NotFinite,
}

/// The sum of two numbers as text without an exponent, or `None` if one of them is no number.
pub(crate) fn add(left: &[u8], right: &[u8]) -> Option<Sum> {
    let plain = parse_double(left)? + parse_double(right)?;
    if !plain.is_finite() {
        return Some(Sum::NotFinite);
    }
    let exact = parse_scaled(left).zip(parse_scaled(right));
    let sum = exact.map(|(left, right)| Extended::new(left).plus(Extended::new(right)));
    let text = sum
        .and_then(Extended::text)
        .unwrap_or_else(|| format!("{plain}"));
    Some(Sum::Text(text.into_bytes()))
}

/// A decimal number times 10^17.
fn parse_scaled(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let mut parts = digits.splitn(2, |byte| byte.eq_ignore_ascii_case(&b'e'));
    let mantissa = parts.next()?;
    let exponent: i32 = match parts.next() {
        Some(exponent) => std::str::from_utf8(exponent).ok()?.parse().ok()?,
        None => 0,
    };
    let mut parts = mantissa.splitn(2, |&byte| byte == b'.');
    let whole = parts.next()?;
    let fraction = parts.next().unwrap_or(b"");
    let zeros = exponent
        .checked_add(DIGITS)?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let zeros = usize::try_from(zeros).ok()?;
    let mut scaled: i128 = 0;
    for byte in whole
        .iter()
        .chain(fraction)
        .chain(std::iter::repeat_n(&b'0', zeros))
    {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = i128::from(byte - b'0');
        scaled = scaled.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -scaled } else { scaled })
}

/// A number of 80 bits: a mantissa of 64, times a power of two.
#[derive(Clone, Copy)]
struct Extended {
    is_negative: bool,
    mantissa: u64,
    exponent: i32,
}

impl Extended {
    /// The nearest one to a number times 10^17.
    fn new(scaled: i128) -> Self {
        let magnitude = scaled.unsigned_abs();
        let shift = magnitude.leading_zeros().min(127);
        let number = magnitude << shift;
        // At least 70 bits, and one more that tells whether anything is left.
        let quotient = ((number / ONE) << 1) | u128::from(!number.is_multiple_of(ONE));
        Self::rounded(scaled < 0, quotient, -(shift as i32) - 1)
    }

    fn rounded(is_negative: bool, number: u128, exponent: i32) -> Self {
        let excess = 64u32.saturating_sub(number.leading_zeros());
        let mantissa = divide_to_even(number, 1 << excess);
        let exponent = exponent + excess as i32;
        match u64::try_from(mantissa) {
            Ok(mantissa) => Self {
                is_negative,
                mantissa,
                exponent,
            },
            // Rounded up to the next power of two.
            Err(_) => Self {
                is_negative,
                mantissa: 1 << 63,
                exponent: exponent + 1,
            },
        }
    }

    fn plus(self, other: Self) -> Self {
        let is_larger = other.exponent <= self.exponent;
        let (high, low) = if is_larger {
            (self, other)
        } else {
            (other, self)
        };
        if high.mantissa == 0 {
            return low;
        }
        // Beyond 62 bits the smaller one only shows in bits that are rounded away.
        let distance = high.exponent - low.exponent;
        let (shift, drop) = (distance.min(62), (distance - 62).clamp(0, 127));
        let sign = |number: Self| if number.is_negative { -1 } else { 1 };
        let sum = sign(high) * (i128::from(high.mantissa) << shift)
            + sign(low) * (i128::from(low.mantissa) >> drop);
        Self::rounded(sum < 0, sum.unsigned_abs(), high.exponent - shift)
    }

    /// Its digits, 17 of them behind the point, less the zeros at the end.
    fn text(self) -> Option<String> {
        let mantissa = u128::from(self.mantissa);
        let bits = u32::try_from(-self.exponent)
            .ok()
            .filter(|&bits| bits < 128);
        let (whole, fraction) = match bits {
            Some(bits) => {
                let whole = mantissa >> bits;
                let rest = mantissa & ((1 << bits) - 1);
                (whole, divide_to_even(rest * ONE, 1 << bits))
            }
            None if self.exponent <= -128 => (0, 0),
            None if self.exponent < 64 => (mantissa << self.exponent, 0),
            None => return None,
        };
        let (whole, fraction) = (whole + fraction / ONE, fraction % ONE);
        let sign = if self.is_negative && 0 < whole + fraction {
            "-"
        } else {
            ""
        };
        let text = format!("{sign}{whole}.{fraction:017}");
        Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
    }
}

fn divide_to_even(number: u128, by: u128) -> u128 {
    let (quotient, rest) = (number / by, number % by);
    let is_up = match rest.cmp(&(by - rest)) {
        Ordering::Less => false,
        Ordering::Equal => quotient % 2 == 1,
        Ordering::Greater => true,
    };
    quotient + u128::from(is_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What redis-server 7.0.15 answers.
    #[test]
    fn sums() {
        let rows = [
            ("0.1", "0.2", "0.3"),
            ("1", "-1.1", "-0.1"),
            ("10.5", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("17179869184", "1.5", "17179869185.5"),
            ("-0.5", "0.5", "0"),
            ("3", "+.25", "3.25"),
            ("1000.1", "0", "1000.09999999999999998"),
            ("123456.789", "0.001", "123456.78999999999999915"),
            ("-9223372036854775808", "1e3", "-9223372036854774808"),
            ("9223372036854775807", "0.25", "9223372036854775807"),
            ("0.00001", "0.000002", "0.000012"),
            ("1e-17", "0", "0.00000000000000001"),
            ("3.14159", "2.71828", "5.85987"),
            ("99999999.99", "0.01", "100000000"),
            ("1e-10", "1e-12", "0.000000000101"),
            ("0", "0", "0"),
        ];
        for (left, right, sum) in rows {
            let found = add(left.as_bytes(), right.as_bytes());
            assert_eq!(found, Some(Sum::Text(sum.into())), "{left} + {right}");
        }
        assert_eq!(add(b"1e308", b"1e308"), Some(Sum::NotFinite));
        assert_eq!(add(b"x", b"1"), None);
    }
}
