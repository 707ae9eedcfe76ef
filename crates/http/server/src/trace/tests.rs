use super::Traceparent;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

#[test]
fn invalid_traceparents_are_ignored() {
    let zeros = "0".repeat(32);
    let rows = [
        (format!("00-{TRACE}-{PARENT}-01"), true),
        (format!("00-{TRACE}-{PARENT}-00"), true),
        // Future versions may append fields after a dash; version 00 may not.
        (format!("cc-{TRACE}-{PARENT}-01-more"), true),
        (format!("cc-{TRACE}-{PARENT}-01more"), false),
        (format!("00-{TRACE}-{PARENT}-01-more"), false),
        (format!("ff-{TRACE}-{PARENT}-01"), false),
        (format!("00-{zeros}-{PARENT}-01"), false),
        (format!("00-{TRACE}-{}-01", &zeros[..16]), false),
        (format!("00-{}-{PARENT}-01", TRACE.to_uppercase()), false),
        (format!("00-{TRACE}-{PARENT}-0"), false),
        (format!("00-{TRACE}-{PARENT}-0x"), false),
        (format!("00-{}-{PARENT}f-01", &TRACE[..31]), false),
        (format!("00_{TRACE}_{PARENT}_01"), false),
        (format!("00-{TRACE}-{}ä-01", &PARENT[..14]), false),
        (String::new(), false),
    ];
    for (value, valid) in &rows {
        let traceparent = Traceparent::parse(value.as_bytes());
        let expected = valid.then_some(Traceparent {
            trace_id: TRACE,
            parent_id: PARENT,
        });
        assert_eq!(traceparent, expected, "{value}");
    }
}
