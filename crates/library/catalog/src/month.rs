//! Months of the Gregorian calendar, and conversion between dates and seconds since 1970.

use std::fmt;
use std::str::FromStr;

const DAY_S: i64 = 86_400;

/// Month of a year. Months sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    year: i32,
    /// Number of the month, from 1 to 12.
    month: u8,
}

impl Month {
    /// Returns the month that contains `time_s`, in seconds since 1970, and the day of the month,
    /// from 1 on.
    #[must_use]
    pub fn of(time_s: i64) -> (Month, u8) {
        // In this computation a year begins in March, so that a leap day is the last day of a year.
        let days = time_s.div_euclid(DAY_S) + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let leaps = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
        let year_of_era = (day_of_era - leaps) / 365;
        let years = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
        let day_of_year = day_of_era - years;
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        let month = Month {
            year: i32::try_from(year).unwrap_or(i32::MAX),
            month: month as u8,
        };
        (month, day as u8)
    }

    /// Returns the month with this number, from 1 to 12. Returns `None` for other numbers.
    #[must_use]
    pub fn new(year: u16, month: u8) -> Option<Month> {
        let year = year.into();
        (1..=12).contains(&month).then_some(Month { year, month })
    }

    /// Returns the first second of the month, in seconds since 1970.
    #[must_use]
    pub fn start_s(self) -> i64 {
        let month = i64::from(self.month);
        let year = i64::from(self.year) - i64::from(month <= 2);
        let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        let days = 365 * year + leaps + (153 * ((month + 9) % 12) + 2) / 5 - 719_468;
        days * DAY_S
    }

    /// Returns the following month.
    #[must_use]
    pub fn next(self) -> Month {
        match self.month {
            12 => Month {
                year: self.year + 1,
                month: 1,
            },
            month => Month {
                month: month + 1,
                ..self
            },
        }
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

/// Error for a text that is not a month such as `2019-07`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a month such as 2019-07")]
pub struct MonthError;

impl FromStr for Month {
    type Err = MonthError;

    /// Parses a month such as `2019-07`: four digits, a hyphen and two digits.
    fn from_str(text: &str) -> Result<Month, MonthError> {
        let parsed = text.split_once('-').and_then(|(year, month)| {
            let year = number(year, 4)?;
            Month::new(year, number(month, 2)?.try_into().ok()?)
        });
        parsed.ok_or(MonthError)
    }
}

/// Parses a number of exactly `digits` decimal digits.
fn number(text: &str, digits: usize) -> Option<u16> {
    let is_plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok())?
}

/// Returns the range of seconds since 1970 that a date covers: a year such as `2019`, a month such
/// as `2019-07`, or a day such as `2019-07-23`. Returns `None` if `text` is not a date.
pub(crate) fn seconds_of(text: &str) -> Option<std::ops::Range<i64>> {
    let mut parts = text.split('-');
    let year = number(parts.next()?, 4)?;
    let (first, last) = match parts.next() {
        None => (Month::new(year, 1)?, Month::new(year, 12)?),
        Some(month) => {
            let month = Month::new(year, number(month, 2)?.try_into().ok()?)?;
            (month, month)
        }
    };
    let (mut start, mut end) = (first.start_s(), last.next().start_s());
    if let Some(day) = parts.next() {
        let day = i64::from(number(day, 2)?).checked_sub(1)?;
        start += day * DAY_S;
        let is_real = 0 <= day && start < end;
        end = is_real.then_some(start + DAY_S)?;
    }
    parts.next().is_none().then_some(start..end)
}

#[cfg(test)]
mod tests;
