//! Decimal numbers of IIIF URLs, as integers in units of 10⁻¹⁰.

/// Number of decimals that a number may have; the specification recommends at most 10 (§4.7).
const DECIMALS: usize = 10;
/// Number of digits before the decimal point that a number may have. It keeps every number below
/// 10¹⁶.
const WHOLE_DIGITS_MAX: usize = 6;
/// The number 1.
pub(super) const ONE: u64 = 10_u64.pow(DECIMALS as u32);

/// Parses a decimal number without sign and exponent, such as `22.5`.
pub(super) fn parse(text: &str) -> Option<u64> {
    let (whole, decimals) = match text.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (text, ""),
    };
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_sound = (1..=WHOLE_DIGITS_MAX).contains(&whole.len()) && decimals.len() <= DECIMALS;
    if !is_sound || !is_number(whole) || !is_number(decimals) {
        return None;
    }
    format!("{whole}{decimals:0<DECIMALS$}").parse().ok()
}

/// Returns `number` percent of `length`, rounded to the nearest integer.
pub(super) fn percent_of(length: u32, number: u64) -> u64 {
    let whole = 100 * u128::from(ONE);
    let rounded = (u128::from(length) * u128::from(number) + whole / 2) / whole;
    u64::try_from(rounded).expect("the product of 32 and 54 bits, divided by 2^39, fits")
}
