//! Runs the test tables of the crate http1 against a running server. If a table expects that a
//! request is refused, the server must respond with the status in the table and close the
//! connection.

use testkit::table::{Row, rows};

use crate::harness::{Home, Server};

const REQUESTS: &str = include_str!("../../../../http/http1/src/tests/requests.txt");
const STREAMS: &str = include_str!("../../../../http/http1/src/tests/streams.txt");

/// Longest row that is sent byte by byte; longer rows are sent in larger pieces.
const BYTE_BY_BYTE_MAX: usize = 200;

/// Returns the status with which the server refuses the request, if `verdict`, the expected result
/// in the table, is a refusal.
fn refusal(verdict: &str) -> Option<u16> {
    verdict.split(' ').next()?.parse().ok()
}

/// Expected reaction of the server to the bytes of one row.
struct Expected {
    /// Statuses of the responses; `None` matches any status.
    answers: Vec<Option<u16>>,
    /// True if the server closes the connection before the client does.
    ends: bool,
}

/// Returns whether the row starts with the HTTP/2 preface. The server then speaks HTTP/2, to which
/// the table does not apply.
fn is_http2(row: &Row<'_>) -> bool {
    row.bytes.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
}

fn check(server: &Server, row: &Row<'_>, piece_bytes: usize, expected: &Expected) {
    let mut client = server.connect();
    for piece in row.bytes.chunks(piece_bytes) {
        client.send(piece);
    }
    if !expected.ends {
        client.end_sending();
    }
    for status in &expected.answers {
        let response = client.response();
        assert_eq!(
            response.status,
            status.unwrap_or(response.status),
            "{}",
            row.name
        );
    }
    assert!(client.is_ended(), "{}", row.name);
}

fn piece_bytes(row: &Row<'_>) -> usize {
    match row.bytes.len() {
        ..=BYTE_BY_BYTE_MAX => 1,
        _ => 1_021,
    }
}

#[test]
fn every_refused_row_gets_an_error_and_a_close_in_any_pieces() {
    let home = Home::new();
    let server = Server::plain(&home, &[]);
    let rows = rows(REQUESTS).into_iter().filter(|row| !is_http2(row));
    let refused: Vec<_> = rows
        .filter_map(|row| Some((refusal(row.verdict)?, row)))
        .collect();
    assert!(200 < refused.len(), "{} rows", refused.len());
    for (status, row) in refused {
        let expected = Expected {
            answers: vec![Some(status)],
            ends: true,
        };
        check(&server, &row, row.bytes.len(), &expected);
        check(&server, &row, piece_bytes(&row), &expected);
    }
    server.stop();
}

#[test]
fn every_connection_gets_as_many_answers_as_it_has_requests() {
    let home = Home::new();
    let server = Server::plain(&home, &[]);
    for row in rows(STREAMS).into_iter().filter(|row| !is_http2(row)) {
        let parts: Vec<&str> = row.verdict.split(" | ").collect();
        // Skips rows with HEAD (the response has no body), with Expect (the connection ends
        // afterwards), and with incomplete requests (the server waits for the rest).
        let is_special = |part: &&str| part.starts_with("HEAD") || part.contains(" continue");
        let last = *parts.last().expect("a verdict has parts");
        if parts.iter().any(is_special) || matches!(last, "more" | "body") {
            continue;
        }
        let mut answers: Vec<_> = parts.iter().map(|part| refusal(part)).collect();
        let body = last.strip_prefix("body ");
        if let Some(body) = body {
            // The last two parts of the verdict concern the same request: its head is accepted,
            // and its body is refused. The request gets one response, with the status of the
            // refusal. If the body is too long (413), any status is accepted, because the server
            // may send a file before it has read the body.
            answers.truncate(parts.len() - 2);
            answers.push(refusal(body).filter(|status| *status != 413));
        }
        let is_refused = body.is_some() || answers.last().is_some_and(Option::is_some);
        let closes = last.contains(" close");
        let expected = Expected {
            answers,
            ends: is_refused || closes,
        };
        check(&server, &row, row.bytes.len(), &expected);
        if !closes {
            check(&server, &row, piece_bytes(&row), &expected);
        }
    }
    server.stop();
}
