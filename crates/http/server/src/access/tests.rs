use expect_test::{Expect, expect};

use super::{AccessLog, Limits, LogRequest, LogResponse, Sink};
use crate::metrics::Served;
use crate::request_id::RequestId;

const RESPONSE: LogResponse = LogResponse {
    unix_ms: 784_111_777_123,
    id: RequestId {
        start_unix_ms: 784_111_000_000,
        core: 3,
        number: 247,
    },
    status: 200,
    served: Served::Hit,
    body_bytes: 1234,
    duration_us: 45,
};

fn request_members(head: &str, field_bytes_max: usize) -> Vec<u8> {
    let head = head.replace('\n', "\r\n");
    let parsed = http1::parse(head.as_bytes(), &http1::Limits::default());
    let remote = "192.0.2.1".parse().expect("an address");
    let request = parsed.expect("sound").expect("whole");
    let mut out = Vec::new();
    LogRequest::of(&request, head.as_bytes(), remote).write(field_bytes_max, &mut out);
    out
}

fn check(head: &str, field_bytes_max: usize, expected: Expect) {
    let mut line = Vec::new();
    RESPONSE.write(&request_members(head, field_bytes_max), &mut line);
    let line = String::from_utf8(line).expect("a line is ASCII");
    expected.assert_eq(&line);
}

#[test]
fn a_line_describes_request_and_response() {
    check(
        "GET /p.jpg?w=3 HTTP/1.1\nHost: h\n\n",
        512,
        expect![[r#"
            {"time":"1994-11-06T08:49:37.123Z","id":"0b690a859c000300000000f7","span_id":"502a09f747de8d83","remote":"192.0.2.1","protocol":"HTTP/1.1","method":"GET","target":"/p.jpg?w=3","host":"h","status":200,"bytes":1234,"duration_us":45,"served":"hit"}
        "#]],
    );
    check(
        "BREW http://a/b%20c HTTP/1.0\nReferer: \"r\\\"\nUSER-AGENT: t\u{e4}b\tx\n\
         traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n\n"
            .replace("BREW", "PUT")
            .as_str(),
        512,
        expect![[r#"
            {"time":"1994-11-06T08:49:37.123Z","id":"0b690a859c000300000000f7","span_id":"502a09f747de8d83","remote":"192.0.2.1","protocol":"HTTP/1.0","method":"PUT","target":"http://a/b%20c","host":"a","referer":"\"r\\\"","user_agent":"t\u00c3\u00a4b\u0009x","trace_id":"0af7651916cd43dd8448eb211c80319c","parent_id":"b7ad6b7169203331","status":200,"bytes":1234,"duration_us":45,"served":"hit"}
        "#]],
    );
}

#[test]
fn long_strings_are_truncated_and_ambiguous_fields_omitted() {
    check(
        "GET /0123456789 HTTP/1.1\nHost: h\nUser-Agent: abcdefghijk\n\
         traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n\
         traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n\n",
        8,
        expect![[r#"
            {"time":"1994-11-06T08:49:37.123Z","id":"0b690a859c000300000000f7","span_id":"502a09f747de8d83","remote":"192.0.2.1","protocol":"HTTP/1.1","method":"GET","target":"/0123456","host":"h","user_agent":"abcdefgh","status":200,"bytes":1234,"duration_us":45,"served":"hit"}
        "#]],
    );
}

#[test]
fn lines_beyond_the_room_are_dropped_and_counted() {
    let folder = std::env::temp_dir().join(format!("pelton-access-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the system has a folder for this");
    let path = folder.join("access.log");
    let limits = Limits {
        buffer_bytes: 2000,
        field_bytes_max: 64,
    };
    let log = AccessLog::start(&Sink::File(path.clone()), 1, limits);
    let log = log.expect("it can be written").expect("it is on");
    let request = request_members("GET /p.jpg HTTP/1.1\nHost: h\n\n", 64);
    for _ in 0..100_000 {
        log.add(0, &request, &RESPONSE);
    }
    log.finish();
    let (logged, dropped) = log.counts();
    assert_eq!(logged + dropped, 100_000);
    assert!(0 < dropped, "no thread writes as fast as this one adds");
    let text = std::fs::read_to_string(&path).expect("it was written");
    std::fs::remove_dir_all(&folder).expect("the log is closed");
    assert_eq!(text.lines().count() as u64, logged);
    let mut line = Vec::new();
    RESPONSE.write(&request, &mut line);
    assert!(
        text.as_bytes()
            .chunks(line.len())
            .all(|written| written == line)
    );
}
