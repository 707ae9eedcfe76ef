//! Programs that respond to the requests for a route, in every backend that this host supports.

mod changes;
mod failures;
mod foreign;
mod kept;
mod keys;
mod state;

use std::fs;
use std::path::Path;

use expect_test::expect;
use serde_json::Value;

use crate::backends::backends;
use crate::harness::{Home, Http2, Response, Server, eventually, media};

/// Path of `tests/visitor`, a statically linked program.
const VISITOR: &str = env!("CARGO_BIN_EXE_visitor");

/// Writes the configuration, and starts the server with it.
fn serve(home: &Home, backend: &str, configuration: &str) -> Server {
    configure(home, configuration);
    Server::plain(home, &["--cell-backend", backend])
}

fn configure(home: &Home, configuration: &str) {
    let path = home.directory().join("pelton.toml");
    fs::write(path, configuration).expect("the home can be written");
}

/// Returns the configuration table of a program with the route `/x/NAME` and the file `path`.
fn program(name: &str, path: impl AsRef<Path>, more: &str) -> String {
    let path = path.as_ref().display();
    format!("[programs.{name}]\npath = \"{path}\"\nroute = \"/x/{name}\"\n{more}\n")
}

fn post(server: &Server, target: &str, content_type: &str, body: &[u8]) -> Response {
    let mut client = server.connect();
    let length = body.len();
    let fields = format!("content-type: {content_type}\r\ncontent-length: {length}\r\n");
    client.request("POST", target, &fields);
    client.send(body);
    client.response()
}

/// Returns the response of `/-/api/cells`.
fn cells(server: &Server) -> Value {
    let response = server.get("/-/api/cells");
    assert_eq!(
        (response.status, response.content_type()),
        (200, "application/json")
    );
    serde_json::from_slice(&response.body).expect("JSON")
}

#[test]
fn a_request_reaches_a_program_as_cgi() {
    for backend in backends() {
        let home = Home::new();
        let more = "environment = [\"GREETING=hello\"]\n";
        let server = serve(&home, backend, &program("tell", VISITOR, more));
        let mut client = server.connect();
        client.send(
            "POST /x/tell/a%20b?&w=1 HTTP/1.1\r\nhost: h:81\r\nx-own: 1\r\nproxy: http://evil\r\n\
             content-type: image/png\r\ncontent-length: 4\r\n\r\nbody",
        );
        let response = client.response();
        // The program parses the query `&w=1` as the name of an action. It has no such action, so
        // it fails.
        assert_eq!(response.status, 502, "{backend}");
        client.send(
            "POST /x/tell/a%20b HTTP/1.1\r\nhost: h:81\r\nx-own: 1\r\nproxy: http://evil\r\n\
             content-type: image/png\r\ncontent-length: 4\r\n\r\nbody",
        );
        let response = client.response();
        assert_eq!(
            (response.status, response.content_type()),
            (200, "text/plain"),
            "{backend}"
        );
        let expected = expect![[r#"
            CONTENT_LENGTH=4
            CONTENT_TYPE=image/png
            GATEWAY_INTERFACE=CGI/1.1
            GREETING=hello
            HTTP_HOST=h:81
            HTTP_X_OWN=1
            PATH_INFO=/a b
            QUERY_STRING=
            REMOTE_ADDR=127.0.0.1
            REQUEST_METHOD=POST
            REQUEST_URI=/x/tell/a%20b
            SCRIPT_NAME=/x/tell
            SERVER_NAME=h
            SERVER_PORT=81
            SERVER_PROTOCOL=HTTP/1.1
            SERVER_SOFTWARE=pelton
            body"#]];
        expected.assert_eq(response.text());
        let head = server.send("HEAD", "/x/tell", "");
        assert_eq!((head.status, head.content_type()), (200, "text/plain"));
        assert_eq!(server.get("/x/tell/%00").status, 404);
        assert_eq!(server.get("/x/tell%2f").status, 404);
        assert_eq!(server.get("/x/teller").status, 404);
        let over_h2 = Http2::connect(server.address()).send("GET", "/x/tell/deep", "");
        assert_eq!(over_h2.status, 200);
        assert!(over_h2.text().contains("\nPATH_INFO=/deep\n"));
        server.stop();
    }
}

#[test]
fn output_becomes_an_answer() {
    for backend in backends() {
        let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
        let server = serve(&home, backend, &program("v", VISITOR, ""));
        let ask = |query: &str| server.get(&format!("/x/v?{query}"));
        let missing = ask("missing");
        assert_eq!(
            (missing.status, missing.text(), missing.field("x-own")),
            (404, "no such thing", Some("1"))
        );
        let redirect = ask("redirect");
        assert_eq!(
            (redirect.status, redirect.field("location")),
            (302, Some("https://example.org/"))
        );
        let elsewhere = ask("elsewhere");
        assert_eq!(
            (elsewhere.status, elsewhere.content_type(), elsewhere.size()),
            (200, "image/png", (40, 27))
        );
        assert_eq!(ask("nonsense").status, 502);
        assert_eq!(ask("cached").field("cache-control"), Some("max-age=9"));
        // Output without a CGI head gets the media type that is detected in its first bytes, or
        // else `application/octet-stream`.
        let bytes = post(&server, "/x/v?upper", "text/plain", b"abc");
        assert_eq!(
            (bytes.status, bytes.content_type(), bytes.text()),
            (200, "application/octet-stream", "ABC")
        );
        assert_eq!(bytes.field("cache-control"), Some("no-store"));
        assert_eq!(bytes.field("x-content-type-options"), Some("nosniff"));
        let photo = media::photo(96, 64, 1);
        let mut mirrored = photo.clone();
        mirrored.reverse();
        let picture = post(&server, "/x/v?reverse", "text/plain", &mirrored);
        assert_eq!(picture.content_type(), "image/jpeg");
        assert!(picture.body == photo);
        server.stop();
    }
}

/// Checks promise P1 of the specification, for programs: no state survives a request.
#[test]
fn p1_a_program_begins_anew_for_each_request() {
    for backend in backends() {
        let home = Home::new();
        let server = serve(&home, backend, &program("v", VISITOR, ""));
        for _ in 0..20 {
            assert_eq!(server.get("/x/v?count").text(), "1", "{backend}");
        }
        server.stop();
    }
}

/// Checks promise P8 of the specification: each program of a chain runs in its own cell, its output
/// is the next program's input, and requests that wait for their body do not occupy a cell.
#[test]
fn p8_chains_pass_bytes_on_and_wait_without_a_cell() {
    for backend in backends() {
        let home = Home::new();
        let stage = |name: &str| {
            format!(
                "[programs.{name}]\npath = \"{VISITOR}\"\nmain_arguments = [\"{name}\"]\nconcurrency = 1\n"
            )
        };
        let configuration = "cell.max_queue_time = \"60s\"\n".to_owned()
            + &["upper", "reverse", "typed", "missing"].map(stage).concat()
            + "[programs.both]\nprograms = [\"upper\", \"reverse\"]\nroute = \"/x/both\"\n\
               [programs.types]\nprograms = [\"typed\", \"typed\"]\nroute = \"/x/types\"\n\
               [programs.stops]\nprograms = [\"missing\", \"upper\"]\nroute = \"/x/stops\"\n";
        let server = serve(&home, backend, &configuration);
        let response = post(&server, "/x/both", "text/plain", b"abc");
        assert_eq!(
            (response.status, response.text()),
            (200, "CBA"),
            "{backend}"
        );
        let response = post(&server, "/x/types", "text/plain", b"abc");
        assert_eq!(response.text(), "text/typed 12", "what the first one said");
        let response = post(&server, "/x/stops", "text/plain", b"abc");
        assert_eq!(
            (response.status, response.text()),
            (404, "no such thing"),
            "a response that is not 200 is the chain's"
        );
        let mut slow: Vec<_> = (0..50).map(|_| server.connect()).collect();
        for client in &mut slow {
            client.request("POST", "/x/both", "content-length: 2\r\n");
            client.send("a");
        }
        // The 50 requests above wait for the rest of their bodies. Each program has only one cell.
        // If an incomplete request occupied the cell, this request would not be served.
        let response = post(&server, "/x/both", "text/plain", b"xyz");
        assert_eq!((response.status, response.text()), (200, "ZYX"));
        let stats = cells(&server);
        for name in ["upper", "reverse"] {
            assert_eq!(stats["programs"][name]["running"], 0);
        }
        for client in &mut slow {
            client.send("b");
        }
        for mut client in slow {
            let response = client.response();
            assert_eq!((response.status, response.text()), (200, "BA"));
        }
        server.stop();
    }
}

/// Checks promise P14 of the specification: the statistics of each program are consistent.
#[test]
fn p14_statistics_are_reported_for_each_program() {
    for backend in backends() {
        let home = Home::new();
        let more = "warmup = 2\nmax_request_time = \"300ms\"\n";
        let server = serve(&home, backend, &program("v", VISITOR, more));
        for _ in 0..5 {
            assert_eq!(server.get("/x/v?spin1000000").status, 200);
        }
        assert_eq!(server.get("/x/v?loop").status, 504);
        assert_eq!(server.get("/x/v?fail").status, 502);
        let stats = eventually("all cells are wiped", || {
            let stats = cells(&server);
            let program = &stats["programs"]["v"];
            (program["resets"].as_u64()? >= 7).then_some(stats)
        });
        let program = &stats["programs"]["v"];
        let figure = |name: &str| program[name].as_u64().expect("a number");
        assert_eq!((figure("invocations"), figure("finished")), (9, 7));
        let kills = program["kills"].as_object().expect("a table");
        let killed: u64 = kills
            .values()
            .map(|count| count.as_u64().expect("a number"))
            .sum();
        assert!(killed <= 2, "{kills:?}");
        assert!(300_000 <= figure("wall_us") && 0 < figure("cpu_us"));
        assert!(0 < figure("memory_peak_bytes") && 0 < figure("output_bytes"));
        assert_eq!(program["posture"]["backend"], *backend);
        assert_eq!(stats["conversions"]["invocations"], 0);
        let route = &stats["routes"][0];
        assert_eq!(
            (&route["name"], &route["route"]),
            (&"v".into(), &"/x/v".into())
        );
        assert_eq!(
            (&route["requests"], &route["failures"]),
            (&7.into(), &2.into())
        );
        let metrics = server.metrics();
        let metric = |name: &str| metrics.get(&format!("pelton_program_{name}{{program=\"v\"}}"));
        assert_eq!(metric("runs_total"), 9);
        assert_eq!(metric("finished_total"), 7);
        assert!(300_000 <= metric("wall_microseconds_total"));
        assert_eq!(metrics.get("pelton_program_requests_total{route=\"v\"}"), 7);
        assert_eq!(
            server
                .send("POST", "/-/api/cells", "content-length: 0\r\n")
                .status,
            405
        );
        server.stop();
    }
}
