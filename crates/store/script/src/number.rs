//! Numbers as text, in the form that Lua's `%.14g` gives.

/// Appends a number with at most `precision` significant digits, without trailing zeros. A number
/// whose exponent is below −4, or at least the precision, gets an exponent.
pub(crate) fn general(number: f64, precision: usize, out: &mut Vec<u8>) {
    if number.is_nan() {
        return out.extend_from_slice(if number.is_sign_negative() {
            b"-nan"
        } else {
            b"nan"
        });
    }
    if number.is_infinite() {
        return out.extend_from_slice(if number < 0.0 { b"-inf" } else { b"inf" });
    }
    let precision = precision.max(1);
    let scientific = format!("{number:.*e}", precision - 1);
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("`{:e}` prints an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    if exponent < -4 || precision as i32 <= exponent {
        let sign = if exponent < 0 { '-' } else { '+' };
        let mantissa = without_zeros(mantissa);
        let text = format!("{mantissa}e{sign}{:02}", exponent.abs());
        return out.extend_from_slice(text.as_bytes());
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    let fixed = format!("{number:.decimals$}");
    out.extend_from_slice(without_zeros(&fixed).as_bytes());
}

/// Removes the zeros at the end of a fraction, and a point without digits behind it.
fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}
