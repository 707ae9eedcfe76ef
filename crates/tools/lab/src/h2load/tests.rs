use super::*;

const SAID: &str = "finished in 1.01s, 4000.00 req/s, 500.26KB/s\n\
    requests: 4064 total, 4124 started, 4000 done, 4000 succeeded, 0 failed, 0 errored, 0 timeout\n\
    status codes: 4000 2xx, 0 3xx, 0 4xx, 0 5xx\n";

#[test]
fn requests_are_counted_when_all_went_well() {
    assert_eq!(answered(SAID), Some(4_000));
    for (well, badly) in [
        ("4000 succeeded", "3999 succeeded"),
        ("0 failed", "1 failed"),
        ("0 timeout", "1 timeout"),
        ("requests:", "nothing:"),
    ] {
        assert_eq!(answered(&SAID.replace(well, badly)), None, "{badly}");
    }
}
