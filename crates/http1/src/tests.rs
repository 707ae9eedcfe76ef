mod bodies;
mod dates;
mod heads;
mod prop;
mod requests;
mod semantics;
mod table;

use crate::{Limits, parse};

#[test]
fn limits_that_do_not_fit_are_named() {
    let sound = Limits::default();
    assert_eq!(sound.check(), Ok(()));
    let target_bytes_max = 8_000;
    let least = Limits {
        target_bytes_max,
        head_bytes_max: target_bytes_max + 1,
        ..sound
    };
    assert_eq!(least.check(), Ok(()));
    let table = [
        (
            Limits {
                fields_max: 0,
                ..sound
            },
            "fields_max",
        ),
        (
            Limits {
                fields_max: 65,
                ..sound
            },
            "fields_max",
        ),
        (
            Limits {
                target_bytes_max: 7_999,
                ..sound
            },
            "target_bytes_max",
        ),
        (
            Limits {
                head_bytes_max: 8_192,
                ..sound
            },
            "head_bytes_max",
        ),
        (
            Limits {
                chunk_line_bytes_max: 0,
                ..sound
            },
            "chunk_line_bytes_max",
        ),
    ];
    for (limits, name) in table {
        let error = limits.check().expect_err(name);
        assert!(error.starts_with(name), "{error}");
    }
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
