use std::time::{Duration, UNIX_EPOCH};

use super::since_1970;

#[test]
fn a_time_before_1970_counts_as_1970() {
    let second = Duration::from_secs(1);
    assert_eq!(since_1970(UNIX_EPOCH + second), second);
    assert_eq!(since_1970(UNIX_EPOCH - second), Duration::ZERO);
}
