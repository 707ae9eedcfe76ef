//! The access log: one line per response, the content of a line, and the rotation of the file.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use rustls::version::TLS13;
use serde_json::Value;

use crate::harness::{
    Certificate, Client, Home, Http2, Server, eventually, media, signal, trusting,
};

fn path(home: &Home) -> PathBuf {
    home.directory().join("access.log")
}

fn served(home: &Home) -> Server {
    let path = path(home);
    let path = path.to_str().expect("paths of tests are text");
    // Use one core, so that the lines are in the order of the responses.
    Server::plain(home, &["--cores", "1", "--access-log", path])
}

/// Returns the lines of the log once there are at least `count`.
fn lines(path: PathBuf, count: usize) -> Vec<Value> {
    eventually("the lines are written", || {
        let text = fs::read_to_string(&path).ok()?;
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let lines: Vec<Value> = lines.collect();
        (count <= lines.len()).then_some(lines)
    })
}

/// Returns the JSON members of a log line that are the same in every run.
fn shown(line: &Value) -> String {
    let member = |name: &str| line[name].to_string().replace('"', "");
    let names = [
        "remote", "method", "target", "protocol", "host", "status", "bytes", "served",
    ];
    names.map(member).join(" ")
}

/// Returns the value of the `traceresponse` field in the response that this log line describes.
fn span(line: &Value) -> String {
    let [trace, span] = ["trace_id", "span_id"].map(|name| line[name].as_str().expect("digits"));
    format!("00-{trace}-{span}-01")
}

#[test]
fn every_answer_has_its_line() {
    let home = Home::with(&[("p.jpg", &media::photo(200, 150, 1))]);
    let server = served(&home);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = "b7ad6b7169203331";
    let fields = format!(
        "accept: image/webp\r\nuser-agent: a \"test\"\r\nreferer: http://r/\r\n\
         traceparent: 00-{trace}-{parent}-01\r\n"
    );
    let miss = server.send("GET", "/p.jpg?w=100", &fields);
    let hit = server.send("HEAD", "/p.jpg?w=100", "accept: image/webp\r\n");
    let missing = server.get("/missing.jpg");
    let mut broken = server.connect();
    broken.send("GET /p.jpg HTTP/1.1\r\n\r\n");
    let refused = broken.response();
    let lines = lines(path(&home), 4);
    assert_eq!(lines.len(), 4);
    let bytes = miss.body.len();
    assert_eq!(
        shown(&lines[0]),
        format!("127.0.0.1 GET /p.jpg?w=100 HTTP/1.1 pelton 200 {bytes} miss")
    );
    assert_eq!(lines[0]["user_agent"], "a \"test\"");
    assert_eq!(lines[0]["referer"], "http://r/");
    assert_eq!(lines[0]["trace_id"], trace);
    assert_eq!(lines[0]["parent_id"], parent);
    assert_eq!(miss.field("traceresponse"), Some(&*span(&lines[0])));
    assert_eq!(hit.field("traceresponse"), None);
    assert!(lines[0]["duration_us"].as_u64() < Some(120_000_000));
    assert_eq!(hit.status, 200);
    assert_eq!(
        shown(&lines[1]),
        "127.0.0.1 HEAD /p.jpg?w=100 HTTP/1.1 pelton 200 0 hit"
    );
    assert_eq!(lines[1]["trace_id"], Value::Null);
    assert_eq!(lines[2]["status"], 404);
    assert_eq!(lines[3]["status"], 400);
    assert_eq!(lines[3]["method"], Value::Null);
    // The body of an error response contains the identifier that the request has in the log.
    for (response, line) in [(&missing, &lines[2]), (&refused, &lines[3])] {
        let id = line["id"].as_str().expect("a name");
        assert_eq!(id.len(), 24);
        assert!(
            response
                .text()
                .contains(&format!("urn:pelton:request:{id}"))
        );
    }
    let ids = lines.iter().map(|line| line["id"].to_string());
    assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 4);
    let metrics = server.metrics();
    assert_eq!(metrics.get("pelton_access_log_dropped_total"), 0);
    server.stop();
    drop(home);
}

#[test]
fn who_leaves_before_the_end_has_a_line_with_what_was_sent() {
    const LARGE_BYTES: usize = 16 << 20;
    let home = Home::with(&[("large.txt", &vec![b'.'; LARGE_BYTES])]);
    let certificate = Certificate::issue(&home, "localhost", &["localhost"]);
    let tls = Certificate::flags(&[&certificate]);
    let path = path(&home);
    let mut flags = vec!["--allowed-types", "txt", "--access-log"];
    flags.push(path.to_str().expect("paths of tests are text"));
    flags.extend(tls.iter().map(String::as_str));
    let server = Server::plain(&home, &flags);
    let mut plain = server.connect();
    plain.request("GET", "/large.txt", "");
    assert_eq!(plain.head().status, 200);
    drop(plain);
    lines(path.clone(), 1);
    let config = trusting(&[&certificate], &["http/1.1"], &[&TLS13]);
    let secure = Client::secure(server.secure_address(), &config, "localhost");
    let mut secure = secure.expect("the server is trusted");
    secure.request("GET", "/large.txt", "");
    assert_eq!(secure.head().status, 200);
    drop(secure);
    for line in lines(path, 2) {
        assert_eq!(line["status"], 200);
        let bytes = line["bytes"].as_u64().expect("a number") as usize;
        assert!(0 < bytes && bytes < LARGE_BYTES, "{bytes}");
    }
    server.stop();
}

#[test]
fn every_answer_of_http2_has_its_line() {
    let home = Home::with(&[("p.jpg", &media::photo(200, 150, 1))]);
    let server = served(&home);
    let mut client = Http2::connect(server.address());
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = "b7ad6b7169203331";
    let fields = format!(
        "accept: image/webp\r\nuser-agent: a \"test\"\r\nreferer: http://r/\r\n\
         traceparent: 00-{trace}-{parent}-01\r\n"
    );
    let miss = client.send("GET", "/p.jpg?w=100", &fields);
    let twice = format!("traceparent: 00-{trace}-{parent}-01\r\n").repeat(2);
    let hit = format!("accept: image/webp\r\n{twice}");
    assert_eq!(client.send("HEAD", "/p.jpg?w=100", &hit).status, 200);
    let missing = client.send("GET", "/missing.jpg", "");
    // The request is refused, since Host differs from `:authority`. The head was parsed, so the log
    // line contains its fields.
    let refused = client.send("GET", "/p.jpg", "host: another\r\n");
    let lines = lines(path(&home), 4);
    let bytes = [&miss, &missing, &refused].map(|response| response.body.len());
    assert_eq!(
        lines.iter().map(shown).collect::<Vec<_>>(),
        [
            format!(
                "127.0.0.1 GET /p.jpg?w=100 HTTP/2.0 pelton 200 {} miss",
                bytes[0]
            ),
            "127.0.0.1 HEAD /p.jpg?w=100 HTTP/2.0 pelton 200 0 hit".to_owned(),
            format!(
                "127.0.0.1 GET /missing.jpg HTTP/2.0 pelton 404 {} other",
                bytes[1]
            ),
            format!(
                "127.0.0.1 GET /p.jpg HTTP/2.0 pelton 400 {} other",
                bytes[2]
            ),
        ]
    );
    assert_eq!(lines[0]["user_agent"], "a \"test\"");
    assert_eq!(lines[0]["referer"], "http://r/");
    assert_eq!(lines[0]["trace_id"], trace);
    assert_eq!(lines[0]["parent_id"], parent);
    assert_eq!(miss.field("traceresponse"), Some(&*span(&lines[0])));
    assert_eq!(missing.field("traceresponse"), None);
    assert_eq!(lines[1]["trace_id"], Value::Null);
    for (response, line) in [(&missing, &lines[2]), (&refused, &lines[3])] {
        let id = line["id"].as_str().expect("a name");
        assert!(
            response
                .text()
                .contains(&format!("urn:pelton:request:{id}"))
        );
    }
    let metrics = server.metrics();
    assert_eq!(
        metrics.get("pelton_http_version_responses_total{version=\"2\"}"),
        4
    );
    for (method, status) in [("GET", 200), ("HEAD", 200), ("GET", 404), ("GET", 400)] {
        let labels =
            format!("http_request_method=\"{method}\",http_response_status_code=\"{status}\"");
        let counted = format!("http_server_request_duration_seconds_count{{{labels}}}");
        assert_eq!(metrics.get(&counted), 1, "{labels}");
    }
}

#[test]
fn a_file_that_was_moved_away_is_opened_anew() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = served(&home);
    server.get("/p.jpg");
    lines(path(&home), 1);
    let moved = home.directory().join("access.log.1");
    fs::rename(path(&home), &moved).expect("the home can be written");
    signal(server.pid(), Signal::USR1);
    eventually("the file is there again", || {
        path(&home).exists().then_some(())
    });
    server.get("/p.jpg");
    assert_eq!(lines(path(&home), 1).len(), 1);
    assert_eq!(lines(moved, 1).len(), 1);
    server.stop();
}

#[test]
fn what_was_answered_before_the_end_is_written() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = served(&home);
    let mut client = server.connect();
    for _ in 0..100 {
        client.request("GET", "/p.jpg", "");
    }
    for _ in 0..100 {
        assert_eq!(client.response().status, 200);
    }
    server.stop();
    assert_eq!(lines(path(&home), 100).len(), 100);
}

#[test]
fn a_log_that_cannot_be_opened_is_reported_at_the_start() {
    let home = Home::new();
    let words = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--access-log",
        "missing/access.log",
    ];
    let output = crate::harness::pelton(&home, words).output();
    let output = output.expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("errors are text");
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let message =
        "pelton: cannot open the access log missing/access.log: No such file or directory";
    assert!(stderr.contains(message), "{stderr}");
}
