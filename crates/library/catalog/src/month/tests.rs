use super::{DAY_S, Month, seconds_of};
use proptest::prelude::*;

#[test]
fn known_days_have_their_months() {
    for (time_s, month, day) in [
        (0, "1970-01", 1),
        (-1, "1969-12", 31),
        (951_782_400, "2000-02", 29),
        (951_868_800, "2000-03", 1),
        (1_052_749_801, "2003-05", 12),
        (4_107_542_399, "2100-02", 28),
        (4_107_542_400, "2100-03", 1),
        (-62_135_596_800, "0001-01", 1),
    ] {
        let (found, found_day) = Month::of(time_s);
        assert_eq!((&*found.to_string(), found_day), (month, day), "{time_s}");
        assert_eq!(month.parse(), Ok(found));
    }
    for odd in [
        "",
        "2019",
        "2019-7",
        "2019-13",
        "2019-00",
        "+019-07",
        "2019-07-01",
        "२०१९-०७",
    ] {
        assert!(odd.parse::<Month>().is_err(), "{odd}");
    }
}

#[test]
fn dates_cover_years_months_and_days() {
    let days = |text: &str| {
        let seconds = seconds_of(text)?;
        Some((
            Month::of(seconds.start),
            (seconds.end - seconds.start) / DAY_S,
        ))
    };
    let month = |text: &str| text.parse::<Month>().expect("a month");
    assert_eq!(days("2020"), Some(((month("2020-01"), 1), 366)));
    assert_eq!(days("2019-02"), Some(((month("2019-02"), 1), 28)));
    assert_eq!(days("2019-12-31"), Some(((month("2019-12"), 31), 1)));
    for odd in [
        "",
        "19",
        "2019-",
        "2019-02-29",
        "2019-02-00",
        "2019-02-03-04",
        "img-01",
    ] {
        assert_eq!(days(odd), None, "{odd}");
    }
}

proptest! {
    #[test]
    fn every_time_lies_in_its_month(time_s in -62_135_596_800..253_402_300_800_i64) {
        let (month, day) = Month::of(time_s);
        let start = month.start_s() + (i64::from(day) - 1) * DAY_S;
        prop_assert!((start..start + DAY_S).contains(&time_s));
        prop_assert!(time_s < month.next().start_s());
    }
}
