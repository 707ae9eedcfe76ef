use crate::{Request, RequestError};
use expect_test::{Expect, expect};

const PLAIN: Request<'_> = Request {
    method: "GET",
    script: "/x/p",
    path: "/x/p",
    query: None,
    fields: &[],
    content_type: None,
    body_bytes: 0,
    peer: "192.0.2.1",
    secure: false,
};

fn check(request: &Request<'_>, expected: &Expect) {
    let rendered = match request.variables() {
        Ok(variables) => {
            let text = String::from_utf8_lossy(&variables).into_owned();
            assert!(text.ends_with('\0'), "each variable is ended");
            text.replace('\0', "\n")
        }
        Err(error) => format!("{error:?}\n"),
    };
    expected.assert_eq(&rendered);
}

#[test]
fn a_request_without_anything_has_the_variables_that_must_be_there() {
    check(
        &PLAIN,
        &expect![[r#"
            GATEWAY_INTERFACE=CGI/1.1
            SERVER_SOFTWARE=pelton
            SERVER_PROTOCOL=HTTP/1.1
            SERVER_NAME=localhost
            SERVER_PORT=80
            REQUEST_METHOD=GET
            SCRIPT_NAME=/x/p
            PATH_INFO=
            QUERY_STRING=
            REMOTE_ADDR=192.0.2.1
            REQUEST_URI=/x/p
        "#]],
    );
}

#[test]
fn a_full_request_has_all_variables() {
    let request = Request {
        method: "POST",
        path: "/x/p/a%20b/%C3%A4",
        query: Some("w=1&name=%2F"),
        fields: &[
            ("Host", b"[2001:db8::1]:8443"),
            ("Accept", b"text/html"),
            ("X-A", b"1"),
            ("accept", b"image/webp"),
            ("Cookie", b"a=1"),
            ("cookie", b"b=2"),
        ],
        content_type: Some(b"image/png"),
        body_bytes: 12,
        secure: true,
        ..PLAIN
    };
    check(
        &request,
        &expect![[r#"
            GATEWAY_INTERFACE=CGI/1.1
            SERVER_SOFTWARE=pelton
            SERVER_PROTOCOL=HTTP/1.1
            SERVER_NAME=[2001:db8::1]
            SERVER_PORT=8443
            REQUEST_METHOD=POST
            SCRIPT_NAME=/x/p
            PATH_INFO=/a b/ä
            QUERY_STRING=w=1&name=%2F
            REMOTE_ADDR=192.0.2.1
            REQUEST_URI=/x/p/a%20b/%C3%A4?w=1&name=%2F
            HTTPS=on
            CONTENT_LENGTH=12
            CONTENT_TYPE=image/png
            HTTP_HOST=[2001:db8::1]:8443
            HTTP_ACCEPT=text/html, image/webp
            HTTP_X_A=1
            HTTP_COOKIE=a=1; b=2
        "#]],
    );
}

#[test]
fn fields_that_would_mislead_a_program_are_withheld() {
    let request = Request {
        fields: &[
            ("Host", b"h"),
            ("Proxy", b"http://evil"),
            ("Authorization", b"Basic x"),
            ("Connection", b"close"),
            ("Content-Length", b"9"),
            ("Transfer-Encoding", b"chunked"),
            ("X_A", b"could be X-A"),
        ],
        ..PLAIN
    };
    let variables = request.variables().expect("sound");
    let text = String::from_utf8(variables).expect("text");
    let rendered: Vec<&str> = text
        .split('\0')
        .filter(|one| one.starts_with("HTTP_"))
        .collect();
    assert_eq!(rendered, ["HTTP_HOST=h"]);
}

#[test]
fn paths_that_cannot_be_decoded_are_refused() {
    for path in [
        "/x/p/%00",
        "/x/p/\0",
        "/x/p/a%2Fb",
        "/x/p/a%2f",
        "/x/p/%",
        "/x/p/%4",
        "/x/p/%4/1",
        "/x/p/%+4",
        "/x/p/%zz",
        "/x/p/%4ä",
        "/x/p/%20%",
    ] {
        let request = Request { path, ..PLAIN };
        assert_eq!(request.variables(), Err(RequestError::Path), "{path}");
    }
}

#[test]
fn a_value_ends_at_a_zero_byte_and_no_variable_is_smuggled_in() {
    let request = Request {
        fields: &[("X-A", b"1\0DO=evil")],
        ..PLAIN
    };
    let variables = request.variables().expect("sound");
    assert!(variables.ends_with(b"\0HTTP_X_A=1\0"));
}
