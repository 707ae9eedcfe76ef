use super::*;

#[test]
fn a_metric_is_read_by_its_whole_name() {
    let text = "# TYPE pelton_conversions_running gauge\npelton_conversions_running_total 7\npelton_conversions_running 2\n";
    assert_eq!(metric(text, "pelton_conversions_running"), Some(2.0));
    assert_eq!(metric(text, "pelton_conversions"), None);
}

#[test]
fn a_server_that_ends_at_once_is_distinguished_from_a_slow_one() {
    let address = free_address().expect("the loopback has room");
    let failed = Server::start(Command::new("false"), address, "/");
    let line = failed.expect_err("it serves nothing").to_string();
    assert!(line.contains("false ended: exit status: 1"), "{line}");
}
