//! Responses of the whole server at `/-/api` compared with the OpenAPI document. The responses that
//! describe the library are compared in `library-api`.

use serde_json::Value;
use testkit::openapi::Document;

use crate::harness::{Home, Response, Server, media};
use crate::players::user;

const TEXT: &str = include_str!("../../../../../docs/openapi/pelton.json");
/// Origin of the server's own page.
const OWN: &str = "origin: http://pelton\r\n";

fn send(server: &Server, method: &str, path: &str, fields: &str, body: &str) -> Response {
    let length = body.len();
    let mut client = server.connect();
    client.send(format!(
        "{method} /-/api{path} HTTP/1.1\r\nhost: pelton\r\n{fields}content-length: {length}\r\n\r\n{body}"
    ));
    client.response()
}

#[test]
fn responses_about_the_server_are_those_of_the_openapi_document() {
    let home = Home::with(&[("photo.jpg", &media::photo(48, 32, 1))]);
    let server = Server::plain(&home, &[]);
    let document = Document::parse(TEXT);
    let check = |method: &str, path: &str, response: &Response| -> Value {
        let body = serde_json::from_str(response.text()).expect("JSON");
        let path = path.split('?').next().unwrap_or(path);
        document.check(method, path, response.status, &body);
        body
    };
    let ask = |method: &str, path: &str, fields: &str, status: u16| {
        let response = send(&server, method, path, fields, "");
        assert_eq!(
            response.status,
            status,
            "{method} {path}: {}",
            response.text()
        );
        check(method, path, &response)
    };
    let log_in = |password: &str| {
        let fields = format!("{OWN}content-type: application/json\r\n");
        let body = format!("{{\"name\":\"ann\",\"password\":\"{password}\"}}");
        let response = send(&server, "POST", "/session", &fields, &body);
        check("POST", "/session", &response);
        response
    };
    assert_eq!(log_in("sesame").status, 409, "there are no users");
    assert_eq!(
        user(&home, &["add", "ann", "--admin"], "sesame\n").0,
        Some(0)
    );
    ask("GET", "/session", "", 200);
    let pictures = crate::harness::eventually("the library is indexed", || {
        let pictures = ask("GET", "/pictures", "", 200);
        pictures["items"][0]["id"].as_str().map(str::to_owned)
    });
    ask(
        "GET",
        &format!("/pictures/{pictures}/compare?w=24&format=webp"),
        "",
        200,
    );
    ask("GET", "/sessions", "", 401);
    ask("POST", "/session", OWN, 400);
    assert_eq!(log_in("wrong").status, 401);
    let begun = log_in("sesame");
    assert_eq!(begun.status, 200);
    let cookie = begun
        .field("set-cookie")
        .and_then(|cookie| cookie.split(';').next());
    let cookie = format!("{OWN}cookie: {}\r\n", cookie.expect("a cookie"));
    let listed = ask("GET", "/sessions", &cookie, 200);
    let id = listed["items"][0]["id"].as_str().expect("text").to_owned();
    ask("DELETE", "/sessions/none", &cookie, 404);
    ask("GET", "/quarantine", &cookie, 200);
    ask(
        "DELETE",
        &format!("/quarantine/{}", "0".repeat(64)),
        &cookie,
        404,
    );
    ask("GET", "/cells", &cookie, 200);
    ask("GET", "/ops", "", 401);
    ask("GET", "/ops?since=x", &cookie, 400);
    let ops = crate::harness::eventually("the first sample is taken", || {
        let ops = ask("GET", "/ops", &cookie, 200);
        (Some(0) < ops["seq"].as_u64()).then_some(ops)
    });
    assert!(
        !ops["history"].as_array().expect("a list").is_empty(),
        "{ops}"
    );
    ask("GET", "/doctor", "", 401);
    let report = ask("GET", "/doctor", &cookie, 200);
    assert_eq!(report["server"], server.pid());
    ask("DELETE", "/variants", "", 401);
    ask("DELETE", "/variants?path=none", &cookie, 404);
    ask("DELETE", "/variants", &cookie, 200);
    ask("GET", "/prefetch", &cookie, 200);
    ask("POST", "/prefetch?folder=..", &cookie, 400);
    ask("POST", "/prefetch", &cookie, 200);
    ask("DELETE", "/prefetch", &cookie, 200);
    ask("DELETE", &format!("/sessions/{id}"), &cookie, 200);
    ask("DELETE", "/session", &cookie, 200);
    let served = send(&server, "GET", "/openapi.json", "", "");
    assert_eq!((served.status, served.text()), (200, TEXT));
    server.stop();
}
