//! Numbers as text, in the forms of Redis.

/// Parses an integer in its canonical form: no plus sign, no leading zero, no white space. Returns
/// `None` for anything else, including numbers out of range.
pub fn parse_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut magnitude = 0u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // This cannot overflow: there are at most 19 digits, and any number of 19 digits is below
        // 2⁶⁴.
        magnitude = magnitude * 10 + u64::from(digit - b'0');
    }
    match negative {
        true => 0i64.checked_sub_unsigned(magnitude),
        false => i64::try_from(magnitude).ok(),
    }
}

/// Appends the shortest text that parses back to `value`, in the layout of Redis 7.2. Integers have
/// no point. Only numbers that would be long without an exponent have an exponent. Special values
/// are `inf`, `-inf` and `nan`.
pub fn double(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if value.is_infinite() {
        return out.extend_from_slice(if value < 0.0 { b"-inf" } else { b"inf" });
    }
    // Redis prints integers below 2⁵² without an exponent. It formats larger integers like all
    // other numbers.
    if value.fract() == 0.0 && value.abs() < 4_503_599_627_370_496.0 {
        if value == 0.0 && value.is_sign_negative() {
            return out.extend_from_slice(b"-0");
        }
        return out.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
    }
    if value < 0.0 {
        out.push(b'-');
    }
    let scientific = Scientific::new(value.abs());
    scientific.lay_out(out);
}

/// Decimal form of a positive number: the fewest digits that parse back to the same number, and an
/// exponent.
struct Scientific {
    /// At most 17 digits, without a point.
    digits: Vec<u8>,
    /// Power of ten: the number is `digits × 10^exponent`.
    exponent: i32,
}

impl Scientific {
    fn new(value: f64) -> Scientific {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').expect("Rust prints `{:e}` with an e");
        let digits: Vec<u8> = mantissa.bytes().filter(|byte| *byte != b'.').collect();
        let exponent: i32 = exponent.parse().expect("Rust prints a number after the e");
        Scientific {
            exponent: exponent - (digits.len() as i32 - 1),
            digits,
        }
    }

    fn lay_out(&self, out: &mut Vec<u8>) {
        let count = self.digits.len() as i32;
        let power = self.exponent + count - 1;
        if 0 <= self.exponent && power < count + 7 {
            out.extend_from_slice(&self.digits);
            out.resize(out.len() + self.exponent as usize, b'0');
        } else if self.exponent < 0 && (-7 < self.exponent || power.abs() < 4) {
            self.with_point(count + self.exponent, out);
        } else {
            out.push(self.digits[0]);
            if 1 < count {
                out.push(b'.');
                out.extend_from_slice(&self.digits[1..]);
            }
            out.extend_from_slice(if power < 0 { b"e-" } else { b"e+" });
            out.extend_from_slice(itoa::Buffer::new().format(power.abs()).as_bytes());
        }
    }

    /// Appends the digits with a point after the first `point` digits. If `point` is not positive,
    /// zeros precede the digits.
    fn with_point(&self, point: i32, out: &mut Vec<u8>) {
        if point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(&self.digits);
        } else {
            let (whole, fraction) = self.digits.split_at(point as usize);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    }
}
