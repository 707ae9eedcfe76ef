/// A date of day, month or year precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// Year, 1 to 9999.
    pub year: u16,
    /// Month, 1 to 12; 0 if unknown.
    pub month: u8,
    /// Day of the month, 1 to 31; 0 if unknown.
    pub day: u8,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl Date {
    /// Parses a date in common notations: `2003`, `2003-05-12` with any separator, `20030512`,
    /// `12.05.2003`, `May 12, 2003`. Other text may follow the date. If either of two numbers may
    /// be the month, only the year is kept.
    #[must_use]
    pub fn parse(text: &str) -> Option<Date> {
        let numbers = text.split(|letter: char| !letter.is_ascii_digit());
        let mut numbers = numbers.filter(|number| !number.is_empty());
        let first = numbers.next()?;
        let mut next = || numbers.next().and_then(|number| number.parse().ok());
        match first.len() {
            4 => {
                let month = named_month(text).or_else(&mut next);
                Date::new(first, month, next())
            }
            // In a number of 12 or 14 digits, a time of day follows the date.
            6 | 8 | 12 | 14 => Date::of_digits(first),
            _ => Date::year_last(text),
        }
    }

    /// Creates a date. An invalid month or day becomes unknown.
    fn new(year: &str, month: Option<u8>, day: Option<u8>) -> Option<Date> {
        let year = year.parse().ok().filter(|year| *year != 0)?;
        let month = month.filter(|month| (1..=12).contains(month)).unwrap_or(0);
        let day = day.filter(|day| month != 0 && (1..=31).contains(day));
        Some(Date {
            year,
            month,
            day: day.unwrap_or(0),
        })
    }

    /// Parses `YYYYMM` and `YYYYMMDD`. If the digits can only be `DDMMYYYY`, keeps only the year.
    fn of_digits(digits: &str) -> Option<Date> {
        let (year, rest) = digits.split_at(4);
        let month = rest[..2].parse().ok();
        if !year.starts_with('0') && month.is_some_and(|month: u8| month <= 12) {
            let day = rest.get(2..4).and_then(|day| day.parse().ok());
            return Date::new(year, month, day);
        }
        let (_, year) = digits.split_at(digits.len().min(8) - 4);
        Date::new(&year[..4], None, None)
    }

    /// Parses a date whose year comes last, after the month and day or after other words.
    fn year_last(text: &str) -> Option<Date> {
        let numbers = text.split(|letter: char| !letter.is_ascii_digit());
        let numbers = numbers.filter(|number| !number.is_empty()).take(3);
        let numbers: Vec<&str> = numbers.collect();
        let at = numbers.iter().position(|number| number.len() == 4)?;
        let before = numbers[..at].iter();
        let before: Vec<u8> = before.filter_map(|number| number.parse().ok()).collect();
        let (month, day) = match (&before[..], named_month(text)) {
            (&[day], Some(month)) => (Some(month), Some(day)),
            // With dots the day always comes before the month; with slashes both orders are in use.
            (&[one, other], None) if text.contains('.') || 12 < one => (Some(other), Some(one)),
            (&[one, other], None) if 12 < other || one == other => (Some(one), Some(other)),
            _ => (None, None),
        };
        Date::new(numbers[at], month, day)
    }
}

/// Returns the month named in the text: an English name, in full or at least its first three
/// letters.
fn named_month(text: &str) -> Option<u8> {
    let words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    let mut words = words.filter(|word| 3 <= word.len());
    words.find_map(|word| {
        let begins = |month: &&str| {
            let prefix = month.get(..word.len());
            prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(word))
        };
        let month = MONTHS.iter().position(begins)?;
        Some(month as u8 + 1)
    })
}
