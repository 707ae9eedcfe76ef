use super::nearest;
use crate::KEYS;

#[test]
fn nearest_known_name() {
    let cases = [
        ("qualty", Some("quality")),
        ("QUALITY", Some("quality")),
        ("lsiten", Some("listen")),
        ("format", Some("formats")),
        ("queue_max", Some("limits.queue_max")),
        ("cell.queue_max", Some("limits.queue_max")),
        ("limit.queue_max", Some("limits.queue_max")),
        ("cell.max_memry", Some("cell.max_memory")),
        ("port", None),
        ("x", None),
        ("", None),
        ("colour_of_the_page", None),
    ];
    for (unknown, near) in cases {
        let known = KEYS.iter().map(|key| key.name);
        assert_eq!(nearest(unknown, known), near, "{unknown}");
    }
}
