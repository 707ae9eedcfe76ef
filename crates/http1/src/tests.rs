mod bodies;
mod dates;
mod heads;
mod prop;
mod requests;
mod semantics;
mod table;

use crate::{Limits, parse};

#[test]
fn the_defaults_fit_each_other() {
    assert_eq!(Limits::default().check(), Ok(()));
}

/// Feeds every prefix: first "more", then one verdict that stays, whatever comes behind it.
fn assert_verdicts_are_final(bytes: &[u8], limits: &Limits) {
    let longer = [bytes, b"GET /behind HTTP/1.1\r\n\r\n \0"].concat();
    let whole = parse(&longer, limits);
    for end in 0..longer.len() {
        match parse(&longer[..end], limits) {
            Ok(None) => {}
            Ok(Some(request)) => {
                let whole = whole.as_ref().expect("sound").expect("whole");
                assert_eq!(format!("{request:?}"), format!("{whole:?}"), "cut at {end}");
            }
            Err(reject) => assert_eq!(whole.as_ref().err(), Some(&reject), "cut at {end}"),
        }
    }
}
