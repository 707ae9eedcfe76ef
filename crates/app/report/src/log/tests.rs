//! Lines that the log writes for events.

use std::io::Write;
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use tracing::subscriber::with_default;
use tracing::{Level, debug, info, warn};

use super::{Form, subscriber};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Checks the lines of three events. In the timestamp at the start of each line, every digit is
/// replaced by 0.
fn check(form: Form, level: Level, expected: Expect) {
    let written = Written::default();
    let out = written.clone();
    with_default(subscriber(form, level, move || out.clone()), || {
        info!(port = 3333, "listening");
        warn!(path = "a \"b\"\n.jpg", "undecodable");
        debug!("idle");
        warn!(target: "rustls::msgs::handshake", "a client's doing");
    });
    let bytes = written.0.lock().expect("no writer panics").clone();
    let text = String::from_utf8(bytes).expect("the log is text");
    let is_digit = |c: char| c.is_ascii_digit();
    let lines = text.lines().map(|line| {
        let (time, rest) = line.split_at(line.find('Z').expect("times are in UTC"));
        format!("{}{rest}\n", time.replace(is_digit, "0"))
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn text_on_a_terminal() {
    check(
        Form::Text,
        Level::INFO,
        expect![[r#"
        0000-00-00T00:00:00.000000Z  INFO listening port=3333
        0000-00-00T00:00:00.000000Z  WARN undecodable path="a \"b\"\n.jpg"
    "#]],
    );
}

#[test]
fn an_object_a_line_otherwise() {
    check(
        Form::Json,
        Level::DEBUG,
        expect![[r#"
        {"timestamp":"0000-00-00T00:00:00.000000Z","level":"INFO","message":"listening","port":3333,"target":"report::log::tests"}
        {"timestamp":"0000-00-00T00:00:00.000000Z","level":"WARN","message":"undecodable","path":"a \"b\"\n.jpg","target":"report::log::tests"}
        {"timestamp":"0000-00-00T00:00:00.000000Z","level":"DEBUG","message":"idle","target":"report::log::tests"}
        {"timestamp":"0000-00-00T00:00:00.000000Z","level":"WARN","message":"a client's doing","target":"rustls::msgs::handshake"}
    "#]],
    );
}
