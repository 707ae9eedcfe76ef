mod bodies;
mod dates;
mod heads;
mod prop;
mod requests;
mod semantics;
mod streams;

use crate::Limits;

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
                fields_max: 101,
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
