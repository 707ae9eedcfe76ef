//! HTTP dates: RFC 9110 §5.6.7. Converts dates to Unix seconds and back. A leap second counts as
//! the next second.
//!
//! The tests compare this module with the crate `httpdate`. Only the tests use that crate. It
//! refuses leap seconds, although the grammar allows them. It refuses dates before 1970, although
//! files may have such modification times. It also accepts spaces around a date. `httpdate` formats
//! a date in 180 to 230 ns, this module in 32 ns. `httpdate` parses a date in 140 ns, this module
//! in 390 ns.

/// Length, in bytes, of every date that this crate writes.
pub const DATE_BYTES: usize = 29;

const DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY_S: i64 = 86_400;
/// 0000-01-01 and 9999-12-31T23:59:59, the range of four-digit years.
const UNIX_S_MIN: i64 = -62_167_219_200;
const UNIX_S_MAX: i64 = 253_402_300_799;

/// Formats a date in the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`. A time before year 0 or
/// after year 9999, which a file system may report, is clamped to that range.
#[must_use]
pub fn format(unix_s: i64) -> [u8; DATE_BYTES] {
    let unix_s = unix_s.clamp(UNIX_S_MIN, UNIX_S_MAX);
    let days = unix_s.div_euclid(DAY_S);
    let second_of_day = unix_s.rem_euclid(DAY_S);
    let (year, month, day) = civil(days);
    let mut out = *b"ddd, 00 mmm 0000 00:00:00 GMT";
    out[0..3].copy_from_slice(&weekday(days).as_bytes()[..3]);
    put(&mut out[5..7], day);
    out[8..11].copy_from_slice(MONTHS[month as usize - 1].as_bytes());
    put(&mut out[12..16], year);
    put(&mut out[17..19], second_of_day / 3_600);
    put(&mut out[20..22], second_of_day / 60 % 60);
    put(&mut out[23..25], second_of_day % 60);
    out
}

/// Fills `out` with the lowest decimal digits of `number`, with leading zeros.
fn put(out: &mut [u8], mut number: i64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Parses a date in any of the three forms: IMF-fixdate, RFC 850, asctime. Returns `None` if the
/// day of the week is wrong.
///
/// An RFC 850 date has a year of two digits, so its century is unknown. This function chooses the
/// century, 19xx or 20xx, in which the date has the given day of the week. Unlike the fifty-year
/// rule of RFC 9110, this needs no clock. For every date still in use, both rules choose the same
/// century.
#[must_use]
pub fn parse(value: &[u8]) -> Option<i64> {
    let text = str::from_utf8(value).ok()?;
    if let Some((day_name, rest)) = text.split_once(", ") {
        return match rest.as_bytes().get(2)? {
            b'-' => parse_rfc850(day_name, rest),
            _ => parse_imf_fixdate(day_name, rest),
        };
    }
    parse_asctime(text)
}

/// Parses `Sun` and `06 Nov 1994 08:49:37 GMT`.
fn parse_imf_fixdate(day_name: &str, rest: &str) -> Option<i64> {
    let mut parts = rest.split(' ');
    let day = digits(parts.next()?, 2)?;
    let month = month(parts.next()?)?;
    let year = digits(parts.next()?, 4)?;
    let second_of_day = time(parts.next()?)?;
    if parts.next()? != "GMT" || parts.next().is_some() {
        return None;
    }
    let days = days(year, month, day)?;
    (weekday(days)[..3] == *day_name).then_some(days * DAY_S + second_of_day)
}

/// Parses `Sunday` and `06-Nov-94 08:49:37 GMT`.
fn parse_rfc850(day_name: &str, rest: &str) -> Option<i64> {
    let mut parts = rest.split(' ');
    let mut date = parts.next()?.split('-');
    let day = digits(date.next()?, 2)?;
    let month = month(date.next()?)?;
    let year = digits(date.next()?, 2)?;
    let second_of_day = time(parts.next()?)?;
    if date.next().is_some() || parts.next()? != "GMT" || parts.next().is_some() {
        return None;
    }
    [1_900, 2_000]
        .into_iter()
        .filter_map(|century| days(century + year, month, day))
        .find(|&days| weekday(days) == day_name)
        .map(|days| days * DAY_S + second_of_day)
}

/// Parses `Sun Nov  6 08:49:37 1994`.
fn parse_asctime(text: &str) -> Option<i64> {
    let (day_name, rest) = text.split_at_checked(3)?;
    let (month_name, rest) = rest.strip_prefix(' ')?.split_at_checked(3)?;
    let (day, rest) = rest.strip_prefix(' ')?.split_at_checked(2)?;
    let (clock, year) = rest.strip_prefix(' ')?.split_once(' ')?;
    let day = match day.strip_prefix(' ') {
        Some(digit) => digits(digit, 1)?,
        None => digits(day, 2)?,
    };
    let days = days(digits(year, 4)?, month(month_name)?, day)?;
    (weekday(days)[..3] == *day_name).then_some(days * DAY_S + time(clock)?)
}

/// Parses exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| {
        text.bytes()
            .fold(0, |number, byte| number * 10 + i64::from(byte - b'0'))
    })
}

/// Returns the number of a month, from 1.
fn month(name: &str) -> Option<i64> {
    let index = MONTHS.iter().position(|&month| month == name)?;
    Some(index as i64 + 1)
}

/// Parses `08:49:37` into seconds; the grammar allows a leap second.
fn time(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let hour = digits(parts.next()?, 2)?;
    let minute = digits(parts.next()?, 2)?;
    let second = digits(parts.next()?, 2)?;
    let fits = parts.next().is_none() && hour < 24 && minute < 60 && second <= 60;
    fits.then_some(hour * 3_600 + minute * 60 + second)
}

fn weekday(days: i64) -> &'static str {
    DAYS[days.rem_euclid(7) as usize]
}

/// Returns the number of days from 1970-01-01 to a date, or `None` if the date does not exist. In
/// this computation, a year begins in March: a leap day is then the last day of its year. 400 years
/// have 146,097 days.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let march_year = if month <= 2 { year - 1 } else { year };
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    (civil(days) == (year, month, day)).then_some(days)
}

/// Returns the year, month and day of a number of days since 1970-01-01: the inverse of [`days`].
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}
