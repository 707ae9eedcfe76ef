//! Addition for INCRBYFLOAT with the same results as in Redis. Redis adds the 80-bit floating-point
//! numbers of x86, and prints at most 17 digits after the decimal point.
//!
//! Other number formats would give other results. In 64 bits, 0.1 + 0.2 would print as
//! 0.30000000000000004, but Redis replies with 0.3. In decimal, 1000.1 + 0 would print as 1000.1,
//! but Redis replies with 1000.09999999999999998. Most numbers are parsed with 128-bit integers;
//! numbers with more than 38 digits, or with more than 17 digits after the point, are parsed with
//! big integers.

use std::cmp::Ordering;

use num_bigint::BigUint;

use crate::text::parse_double;

/// Maximum number of digits after the point in a result.
const DIGITS: u32 = 17;
/// 10^17, the factor that turns a fraction into its 17 digits.
const ONE: u128 = 100_000_000_000_000_000;
/// Maximum distance between the point and the first digit of an 80-bit number: the largest number
/// has 4,933 digits before the point, and the smallest starts 4,951 digits after the point.
const DIGITS_MAX: i64 = 4951;

/// Result of an addition: the sum as text, or `NotFinite` if a number is infinite or the sum is too
/// large.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    Text(Vec<u8>),
    NotFinite,
}

/// Adds two numbers that are given as text. The sum is written without an exponent. Returns `None`
/// if one of the arguments is not a number.
pub(crate) fn add(left: &[u8], right: &[u8]) -> Option<Sum> {
    let (Number::Finite(left), Number::Finite(right)) = (parse(left)?, parse(right)?) else {
        return Some(Sum::NotFinite);
    };
    let sum = left.plus(right);
    Some(match sum.is_finite() {
        true => Sum::Text(sum.text().into_bytes()),
        false => Sum::NotFinite,
    })
}

enum Number {
    Finite(Extended),
    Infinite,
}

/// Parses a decimal number to the nearest 80-bit number. Returns `None` if the text is not a
/// number, or if the number is outside the range of 80-bit numbers.
fn parse(text: &[u8]) -> Option<Number> {
    if parse_double(text)?.is_infinite() && !text.iter().any(u8::is_ascii_digit) {
        return Some(Number::Infinite);
    }
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let mut parts = digits.splitn(2, |byte| byte.eq_ignore_ascii_case(&b'e'));
    let mantissa = parts.next()?;
    let exponent: i64 = match parts.next() {
        Some(exponent) => std::str::from_utf8(exponent).ok()?.parse().ok()?,
        None => 0,
    };
    let mut parts = mantissa.splitn(2, |&byte| byte == b'.');
    let whole = parts.next()?;
    let fraction = parts.next().unwrap_or(b"");
    let digits: Vec<u8> = [whole, fraction].concat();
    let leading = digits.iter().take_while(|&&digit| digit == b'0').count();
    let digits = &digits[leading..];
    if digits.is_empty() {
        return Some(Number::Finite(Extended::zero(is_negative)));
    }
    // Number of digits after the point once the exponent is applied. A negative number counts the
    // zeros between the last digit and the point.
    let fraction_digits = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let before = i64::try_from(digits.len())
        .ok()?
        .checked_sub(fraction_digits)?;
    if DIGITS_MAX < before.abs() {
        return None;
    }
    let number = match (
        small(digits, fraction_digits),
        u32::try_from(fraction_digits),
    ) {
        (Some((number, divisor)), _) => Extended::new(is_negative, number, divisor),
        (None, Ok(fraction_digits)) => {
            Extended::new_large(is_negative, large(digits, 0), fraction_digits)
        }
        (None, Err(_)) => Extended::new_large(is_negative, large(digits, -fraction_digits), 0),
    };
    Some(Number::Finite(number)).filter(|_| number.is_finite())
}

/// Returns the number `digits` / 10^`fraction_digits` as numerator and denominator, if both fit in
/// 128 bits.
fn small(digits: &[u8], fraction_digits: i64) -> Option<(u128, u128)> {
    let zeros = usize::try_from(-fraction_digits.min(0)).ok()?;
    let fraction_digits = u32::try_from(fraction_digits.max(0)).ok();
    let fraction_digits = fraction_digits.filter(|fraction_digits| *fraction_digits <= DIGITS)?;
    let mut number: u128 = 0;
    for byte in digits.iter().chain(std::iter::repeat_n(&b'0', zeros)) {
        let digit = u128::from(byte - b'0');
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    Some((number, 10u128.pow(fraction_digits)))
}

/// Returns the number that consists of `digits`, followed by `zeros` zeros.
fn large(digits: &[u8], zeros: i64) -> BigUint {
    let number = BigUint::parse_bytes(digits, 10).expect("digits form a number");
    number
        * BigUint::from(10_u8)
            .pow(u32::try_from(zeros).expect("the number is at most a few thousand"))
}

/// An 80-bit number: a mantissa of 64 bits times a power of two.
#[derive(Clone, Copy)]
struct Extended {
    is_negative: bool,
    mantissa: u64,
    exponent: i32,
}

impl Extended {
    /// Returns the 80-bit number nearest to `number` / `divisor`; the divisor is at most 10^17.
    fn new(is_negative: bool, number: u128, divisor: u128) -> Self {
        let shift = number.leading_zeros().min(127);
        let number = number << shift;
        let (quotient, rest) = (number / divisor, number % divisor);
        // A remainder sets the lowest bit of the quotient (the sticky bit), so that rounding takes
        // the remainder into account. The quotient has at least 70 bits above this bit.
        let sticky = u128::from(rest != 0);
        Self::rounded(is_negative, quotient | sticky, -(shift as i32))
    }

    fn zero(is_negative: bool) -> Self {
        Self {
            is_negative,
            mantissa: 0,
            exponent: 0,
        }
    }

    /// Returns the 80-bit number nearest to `number` / 10^`fraction_digits`.
    fn new_large(is_negative: bool, number: BigUint, fraction_digits: u32) -> Self {
        let divisor = BigUint::from(10_u8).pow(fraction_digits);
        // The shift gives the quotient 96 or 97 bits: enough to round it to a mantissa of 64 bits,
        // and few enough for a `u128`.
        let wanted =
            i64::try_from(divisor.bits() + 96).expect("the number is at most a few thousand");
        let shift =
            wanted - i64::try_from(number.bits()).expect("the number is at most a few thousand");
        let (number, divisor) = match u64::try_from(shift) {
            Ok(shift) => (number << shift, divisor),
            Err(_) => (number, divisor << shift.unsigned_abs()),
        };
        let (quotient, rest) = (&number / &divisor, &number % &divisor);
        let sticky = u128::from(rest != BigUint::ZERO);
        let quotient = u128::try_from(quotient).expect("the quotient has at most 97 bits");
        let exponent = i32::try_from(-shift).expect("the number is at most a few thousand");
        Self::rounded(is_negative, quotient | sticky, exponent)
    }

    /// Returns whether the exponent fits in 15 bits.
    fn is_finite(self) -> bool {
        self.mantissa == 0 || self.exponent + 64 <= 16_384
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
            // The mantissa was rounded up to the next power of two.
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
        // If the exponents differ by more than 62, the smaller number affects only bits that are
        // rounded away.
        let distance = high.exponent - low.exponent;
        let (shift, drop) = (distance.min(62), (distance - 62).clamp(0, 127));
        let sign = |number: Self| if number.is_negative { -1 } else { 1 };
        let sum = sign(high) * (i128::from(high.mantissa) << shift)
            + sign(low) * (i128::from(low.mantissa) >> drop);
        Self::rounded(sum < 0, sum.unsigned_abs(), high.exponent - shift)
    }

    /// Returns the number in decimal notation: at most 17 digits after the point, and no trailing
    /// zeros.
    fn text(self) -> String {
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
            None => {
                let sign = if self.is_negative { "-" } else { "" };
                return format!("{sign}{}", BigUint::from(mantissa) << self.exponent);
            }
        };
        let (whole, fraction) = (whole + fraction / ONE, fraction % ONE);
        let sign = if self.is_negative && 0 < whole + fraction {
            "-"
        } else {
            ""
        };
        let text = format!("{sign}{whole}.{fraction:017}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
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

    /// The expected sums were printed by redis-server 7.0.15.
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
            ("1e30", "1", "1000000000000000000024696061952"),
            (
                "9223372036854775807102120892",
                "-1",
                "9223372036854775806926258176",
            ),
        ];
        for (left, right, sum) in rows {
            let found = add(left.as_bytes(), right.as_bytes());
            assert_eq!(found, Some(Sum::Text(sum.into())), "{left} + {right}");
        }
        let redis = [
            ("34.06", "946.902809776052890811", "980.96280977605289081"),
            ("1e-20", "-912982.5816118098", "-912982.58161180979999472"),
            ("1.0234094813843297e-15", "0.1", "0.10000000000000102"),
            ("8.871405075954426e-17", "0", "0.00000000000000009"),
            (
                "-548e36",
                "297.0128361985127867",
                "-548000000000000000003611748087808131072",
            ),
            ("742e-26", "-554e28", "-5539999999999999999945776037888"),
            ("0.1", "1e-4940", "0.1"),
            ("7.624677178443108e-08", "45.17", "45.17000007624677178"),
            (
                "00000000000000000000000000000000000000000000000000.5",
                "0",
                "0.5",
            ),
        ];
        for (left, right, sum) in redis {
            let found = add(left.as_bytes(), right.as_bytes());
            assert_eq!(found, Some(Sum::Text(sum.into())), "{left} + {right}");
        }
        let Some(Sum::Text(large)) = add(b"1e308", b"1e308") else {
            panic!("80 bits have room for it");
        };
        assert!(large.starts_with(b"1999999999999999999933717593116") && large.len() == 309);
        assert_eq!(add(b"1e4932", b"1e4932"), Some(Sum::NotFinite));
        assert_eq!(add(b"inf", b"1"), Some(Sum::NotFinite));
        assert_eq!(add(b"1e4933", b"1"), None);
        assert_eq!(add(b"1e-9999999999999999999", b"1"), None);
        assert_eq!(add(b"x", b"1"), None);
    }
}
